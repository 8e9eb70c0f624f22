// Reads a page of text format 0.0.4 with parse-prometheus-text-format, for `show decode --parser reference`: another
// parser's opinion, to hold ours against. It is loaded only here, on demand, and is no part of the data path; what it
// makes of labelled histograms, broken lines and missing newlines is tested and explained in test/reference/.
import type { Family, Metric } from 'parse-prometheus-text-format';

/** A number, `NaN`, `+Inf` or `-Inf`; or the page's text where that is none of these. */
export type ReferenceValue = number | string;

export interface ReferenceSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: ReferenceValue;
  readonly timestampMs?: ReferenceValue;
}

export interface ReferenceFamily {
  readonly name: string;
  /** In lower case; `unknown` where the page says nothing. */
  readonly type: string;
  readonly help: string;
  /** Always empty: the package knows no units. */
  readonly unit: string;
  readonly samples: readonly ReferenceSample[];
}

/** Either the whole page or nothing: the package gives up at the first line that it cannot read. */
export type ReferenceResult =
  | { readonly ok: true; readonly families: readonly ReferenceFamily[] }
  | { readonly ok: false; readonly reason: string };

/** The families of a page as the package sees them; histograms and summaries are taken apart into lines again. */
export async function parseWithReference(page: string): Promise<ReferenceResult> {
  const { default: parse } = await import('parse-prometheus-text-format');
  try {
    return { ok: true, families: parse(page).map(toFamily) };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

function toFamily({ name, help, type, metrics }: Family): ReferenceFamily {
  const lowerCase = type.toLowerCase();
  return {
    name,
    type: lowerCase === 'untyped' ? 'unknown' : lowerCase,
    help,
    unit: '',
    samples: metrics.flatMap(metric => samplesOf(name, metric)),
  };
}

function samplesOf(name: string, metric: Metric): ReferenceSample[] {
  const { labels = {}, timestamp_ms: timestamp, buckets = {}, quantiles = {} } = metric;
  const time = timestamp === undefined ? {} : { timestampMs: toValue(timestamp) };
  const sample = (suffix: string, text: string, label = {}): ReferenceSample => ({
    name: name + suffix,
    labels: { ...labels, ...label },
    value: toValue(text),
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

/** The package returns the page's text; Number() alone would turn an empty text into 0 and an infinity into NaN. */
function toValue(text: string): ReferenceValue {
  const infinity = /^([+-]?)inf(?:inity)?$/i.exec(text);
  if (infinity !== null) return infinity[1] === '-' ? '-Inf' : '+Inf';
  const value = Number(text);
  return text === '' || Number.isNaN(value) ? text : value;
}
