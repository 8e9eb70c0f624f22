// What each type of OpenMetrics 1.0 asks of a single sample: its suffix, its special label, its value, whether it
// may carry an exemplar. In: a sample and the family it belongs to. Out: the first rule that it breaks.

import type { LineFailure } from './line-cursor.ts';
import { shown } from './problem-list.ts';
import { labelOf, numberOf, type StrictLabel, type StrictSample } from './sample-syntax.ts';

export type OpenMetricsType =
  | 'counter'
  | 'gauge'
  | 'histogram'
  | 'gaugehistogram'
  | 'stateset'
  | 'info'
  | 'summary'
  | 'unknown';

/** What may follow the family's name in the names of its samples. */
export const SAMPLE_SUFFIXES: Readonly<Record<OpenMetricsType, readonly string[]>> = {
  counter: ['_total', '_created'],
  summary: ['', '_count', '_sum', '_created'],
  histogram: ['_bucket', '_count', '_sum', '_created'],
  gaugehistogram: ['_bucket', '_gcount', '_gsum'],
  info: ['_info'],
  gauge: [''],
  stateset: [''],
  unknown: [''],
};

const NOT_NAN = new Set(['_total', '_count', '_sum', '_bucket', '_gcount', '_gsum']);
const NOT_NEGATIVE = new Set(['_total', '_count', '_sum', '_bucket', '_gcount']);
const INTEGERS = new Set(['_count', '_bucket', '_gcount']);

/** The label that tells the samples of one point apart: it is no label of the metric. Null where there is none. */
export function pointLabelOf(type: OpenMetricsType, family: string): string | null {
  if (type === 'stateset') return family;
  if (type === 'summary') return 'quantile';
  return isHistogram(type) ? 'le' : null;
}

/** The first rule of its type that a sample breaks, or null. `suffix` is what follows the family's name. */
export function sampleFailure(
  type: OpenMetricsType,
  family: string,
  suffix: string,
  sample: StrictSample,
): LineFailure | null {
  return (
    labelFailure(type, family, suffix, sample) ??
    valueFailure(type, suffix, sample) ??
    exemplarFailure(type, suffix, sample)
  );
}

function labelFailure(
  type: OpenMetricsType,
  family: string,
  suffix: string,
  { labels }: StrictSample,
): LineFailure | null {
  const name = pointLabelOf(type, family);
  if (name === null) return null;
  const label = labelOf(labels, name);
  const isNeeded = suffix === (isHistogram(type) ? '_bucket' : '');
  if (label === null)
    return isNeeded ? { offset: 0, reason: `the label ${shown(name)} is missing` } : null;
  if (!isNeeded) return { offset: label.offset, reason: `the label ${name} does not belong here` };
  if (type === 'stateset') return null;
  return type === 'summary' ? quantileFailure(label) : thresholdFailure(label);
}

function thresholdFailure({ value, offset }: StrictLabel): LineFailure | null {
  const threshold = numberOf(value);
  if (threshold === null || Number.isNaN(threshold))
    return { offset, reason: `the threshold ${shown(value)} is no number` };
  // Other numbers may be written in any way, but infinity must read the same everywhere.
  if (threshold === Infinity && value !== '+Inf')
    return { offset, reason: `the threshold ${shown(value)} is to be written "+Inf"` };
  return null;
}

function quantileFailure({ value, offset }: StrictLabel): LineFailure | null {
  const quantile = numberOf(value) ?? -1;
  if (quantile >= 0 && quantile <= 1) return null;
  return { offset, reason: `the quantile ${shown(value)} is not between 0 and 1` };
}

function valueFailure(
  type: OpenMetricsType,
  suffix: string,
  { value, valueOffset: offset }: StrictSample,
): LineFailure | null {
  if (type === 'stateset' && value !== 0 && value !== 1)
    return { offset, reason: 'the value of a state is 0 or 1' };
  if (type === 'info' && value !== 1) return { offset, reason: 'the value of an info is 1' };
  if (type === 'summary' && suffix === '' && value < 0)
    return { offset, reason: 'the value of a quantile is negative' };
  if (suffix === '_created' && !Number.isFinite(value))
    return { offset, reason: 'the creation time is no time' };
  if (NOT_NAN.has(suffix) && Number.isNaN(value))
    return { offset, reason: `the value of ${suffix} is NaN` };
  if (NOT_NEGATIVE.has(suffix) && value < 0)
    return { offset, reason: `the value of ${suffix} is negative` };
  if (INTEGERS.has(suffix) && !Number.isInteger(value))
    return { offset, reason: `the value of ${suffix} is no integer` };
  return null;
}

function exemplarFailure(
  type: OpenMetricsType,
  suffix: string,
  { exemplar, labels }: StrictSample,
): LineFailure | null {
  if (exemplar === null) return null;
  const { offset } = exemplar;
  const isBucket = isHistogram(type) && suffix === '_bucket';
  if (!isBucket && !(type === 'counter' && suffix === '_total'))
    return { offset, reason: 'only counters and buckets may have an exemplar' };
  if (!isBucket) return null;
  const threshold = numberOf(labelOf(labels, 'le')?.value ?? '') ?? Infinity;
  if (!(exemplar.value > threshold)) return null;
  return { offset, reason: "the exemplar's value is above the bucket's threshold" };
}

/** The two types that have buckets. */
export function isHistogram(type: OpenMetricsType): boolean {
  return type === 'histogram' || type === 'gaugehistogram';
}
