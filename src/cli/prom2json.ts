// Families in the JSON that the prom2json tool prints, for `show decode --output prom2json`: one object per family that
// has samples, with the type in upper case and every number as a string. Buckets, quantiles, count and sum of one label
// set are folded into one metric. Types that the tool does not know (info, stateset) keep their names, in upper case.

import type { Family, Metric } from 'parse-prometheus-text-format';
import { causeText } from '../errors.ts';
import { formatGoFloat } from '../lib/format.ts';
import type { DeclaredType } from '../model/metric.ts';
import type { Problem } from '../model/page.ts';

/** A number, `NaN`, `+Inf` or `-Inf`; from the reference parser also the page's text, if that is none of these. */
export type Shown = number | string;

export interface ShownExemplar {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: Shown;
  readonly timestampMs?: Shown;
}

export interface ShownSample extends ShownExemplar {
  readonly name: string;
  readonly exemplar?: ShownExemplar;
}

export interface ShownFamily {
  readonly name: string;
  readonly type: DeclaredType;
  readonly help: string;
  readonly unit: string;
  readonly samples: readonly ShownSample[];
}

export interface ShownPage {
  readonly problems: readonly Problem[];
  readonly families: readonly ShownFamily[];
}

const TYPE_WORDS: Partial<Record<ShownFamily['type'], string>> = {
  unknown: 'UNTYPED',
  gaugehistogram: 'GAUGE_HISTOGRAM',
};

/** The families in prom2json's shape. Families without samples are left out, as in the tool. */
export function toProm2Json(families: readonly ShownFamily[]): Family[] {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(family => ({
      name: family.name,
      help: family.help,
      type: TYPE_WORDS[family.type] ?? family.type.toUpperCase(),
      metrics: metricsOf(family),
    }));
}

function metricsOf({ name, type, samples }: ShownFamily): Metric[] {
  if (type === 'summary') return folded(name, samples, 'quantile', 'quantiles');
  if (type === 'histogram' || type === 'gaugehistogram')
    return folded(name, samples, 'le', 'buckets');
  return samples.map(({ labels, value, timestampMs }) => ({
    ...shownLabels(labels),
    ...shownTime(timestampMs),
    value: goFloat(value),
  }));
}

/** One metric per label set (without `bound`); as in the tool, the last timestamp of the set wins. */
function folded(
  name: string,
  samples: readonly ShownSample[],
  bound: 'le' | 'quantile',
  bounds: 'buckets' | 'quantiles',
): Metric[] {
  const metrics = new Map<string, Metric>();
  for (const sample of samples) {
    const { [bound]: limit, ...labels } = sample.labels;
    const key = JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
    let metric = metrics.get(key);
    if (metric === undefined) {
      metric = { ...shownLabels(labels), count: '0', sum: '0' };
      metrics.set(key, metric);
    }
    Object.assign(metric, shownTime(sample.timestampMs));
    const suffix = sample.name.slice(name.length);
    if (suffix === '_count' || suffix === '_gcount') metric.count = goCount(sample.value);
    else if (suffix === '_sum' || suffix === '_gsum') metric.sum = goFloat(sample.value);
    else if (limit !== undefined)
      (metric[bounds] ??= {})[goFloat(toNumber(limit))] =
        bounds === 'buckets' ? goCount(sample.value) : goFloat(sample.value);
  }
  return [...metrics.values()];
}

function shownLabels(labels: Readonly<Record<string, string>>): {
  labels?: Record<string, string>;
} {
  return Object.keys(labels).length === 0 ? {} : { labels: { ...labels } };
}

function shownTime(timestampMs: Shown | undefined): { timestamp_ms?: string } {
  return timestampMs === undefined ? {} : { timestamp_ms: String(timestampMs) };
}

/** Number() alone would turn an infinity into NaN. */
function toNumber(text: string): Shown {
  const infinity = /^([+-]?)inf(?:inity)?$/i.exec(text);
  if (infinity !== null) return infinity[1] === '-' ? '-Inf' : '+Inf';
  const value = Number(text);
  return Number.isNaN(value) ? 'NaN' : value;
}

/** A float as the tool, which is written in Go, prints it. */
function goFloat(value: Shown): string {
  if (typeof value === 'string') return value;
  return Object.is(value, -0) ? '-0' : formatGoFloat(value);
}

/** A count as the tool prints it: an integer in full; a float, as in a histogram of floats, like any other. */
function goCount(value: Shown): string {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
    ? BigInt(value).toString()
    : goFloat(value);
}

// Reads a page of text format 0.0.4 with parse-prometheus-text-format, which returns the same form: for `show decode
// --parser reference`, to compare our parser with another one. The package is loaded only here, on demand, and is no
// part of the data path. test/reference/ tests and explains how it reads labelled histograms, broken lines and missing
// newlines.

/**
 * The families of a page as the package reads them, with histograms and summaries split into samples again. Or a problem
 * without its line: the package gives up at the first line that it cannot read, and does not say which.
 */
export async function parseWithReference(page: string): Promise<ShownPage> {
  const { default: parse } = await import('parse-prometheus-text-format');
  try {
    return { problems: [], families: parse(page).map(toFamily) };
  } catch (error) {
    return { problems: [{ line: 0, column: 0, reason: causeText(error) }], families: [] };
  }
}

/** The package knows no units. */
function toFamily({ name, help, type: word, metrics }: Family): ShownFamily {
  const type = word === 'UNTYPED' ? 'unknown' : (word.toLowerCase() as ShownFamily['type']);
  const samples = metrics.flatMap(metric => samplesOf(name, metric));
  return { name, type, help, unit: '', samples };
}

function samplesOf(name: string, metric: Metric): ShownSample[] {
  const { labels = {}, timestamp_ms: timestamp, buckets = {}, quantiles = {} } = metric;
  const time = timestamp === undefined ? {} : { timestampMs: toShown(timestamp) };
  const sample = (suffix: string, text: string, label = {}): ShownSample => ({
    name: name + suffix,
    labels: { ...labels, ...label },
    value: toShown(text),
    ...time,
  });
  const samples = [
    ...Object.entries(buckets).map(([le, text]) => sample('_bucket', text, { le })),
    ...Object.entries(quantiles).map(([quantile, text]) => sample('', text, { quantile })),
  ];
  if (metric.value !== undefined) samples.push(sample('', metric.value));
  if (metric.sum !== undefined) samples.push(sample('_sum', metric.sum));
  if (metric.count !== undefined) samples.push(sample('_count', metric.count));
  return samples;
}

/** The package returns the page's text; Number() alone would turn an empty text into 0. */
function toShown(text: string): Shown {
  const value = toNumber(text);
  return text === '' || value === 'NaN' ? text : value;
}
