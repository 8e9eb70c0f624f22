// Reads a page of text format 0.0.4 with parse-prometheus-text-format, for `show decode --parser reference`: another
// parser's opinion, to hold ours against. It is loaded only here, on demand, and is no part of the data path; what it
// makes of labelled histograms, broken lines and missing newlines is tested and explained in test/reference/.
import type { Family, Metric } from 'parse-prometheus-text-format';
import { causeText } from '../errors.ts';
import { type Shown, type ShownFamily, type ShownSample, toNumber } from './prom2json.ts';

/** Either the whole page or nothing: the package gives up at the first line that it cannot read. */
type ReferenceResult =
  | { readonly ok: true; readonly families: readonly ShownFamily[] }
  | { readonly ok: false; readonly reason: string };

/** The families of a page as the package sees them; histograms and summaries are taken apart into lines again. */
export async function parseWithReference(page: string): Promise<ReferenceResult> {
  const { default: parse } = await import('parse-prometheus-text-format');
  try {
    return { ok: true, families: parse(page).map(toFamily) };
  } catch (error) {
    return { ok: false, reason: causeText(error) };
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
