// The history of the service (seen on real deployments): PromQL over what it has stored, for at most seven days. Only raw
// samples are asked for, with a range selector: `query_range` would answer with values at times that nobody measured.

import { isObject, membersOf } from '../lib/json.ts';
import { ApiArea } from './api-area.ts';
import type { ReadOptions } from './http-client.ts';
import type { Result } from './service-error.ts';

/** One stored series: its labels, without the name, and its samples in the order of time. */
export interface StoredSeries {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly StoredSample[];
}

export interface StoredSample {
  /** Milliseconds since the epoch: the sample's own time. */
  readonly timeMs: number;
  /** As exposition text has it: a number, NaN, +Inf or -Inf. */
  readonly value: string;
}

export interface StoredQuery extends ReadOptions {
  /** The label and the value that select the series. */
  readonly label: string;
  readonly value: string;
  /** Samples after `fromMs` and before `toMs`: what lies on a bound is known already. */
  readonly fromMs: number;
  readonly toMs: number;
}

type Stored = Result<{ readonly series: readonly StoredSeries[] }>;

/** About 250,000 samples. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;
const NUMBER = /^(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|NaN|[-+]?Inf)$/;

export class HistoryApi extends ApiArea {
  /** The stored samples of one window. An answer of more than 8 MiB is an error: `too_large`. */
  async read({ label, value, fromMs, toMs, signal }: StoredQuery): Promise<Stored> {
    const selector = `{${label}=${JSON.stringify(value)}}`;
    const answer = await this.http.requestJson('GET', this.path, {
      query: { query: `${selector}[${toMs - fromMs}ms]`, time: String(toMs / 1000) },
      maxBodyBytes: BODY_BYTES_MAX,
      part: 'history',
      signal,
    });
    if (!answer.ok) return answer;
    const { result, resultType } = membersOf(membersOf(answer.json)['data']);
    if (!Array.isArray(result) || resultType !== 'matrix')
      return this.unreadable('read the history', 'holds no range of samples', answer.status);
    const series = result.flatMap(one => seriesOf(one, fromMs, toMs));
    return { ok: true, series };
  }
}

function seriesOf(item: unknown, fromMs: number, toMs: number): StoredSeries[] {
  const { metric, values } = membersOf(item);
  if (!isObject(metric) || !Array.isArray(values)) return [];
  const { __name__: name, ...others } = metric;
  if (typeof name !== 'string') return [];
  const texts = Object.entries(others).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  const samples = values.flatMap(sampleOf).filter(({ timeMs }) => timeMs > fromMs && timeMs < toMs);
  return [{ name, labels: Object.fromEntries(texts), samples }];
}

function sampleOf(pair: unknown): StoredSample[] {
  const [seconds, value]: unknown[] = Array.isArray(pair) ? pair : [];
  if (typeof seconds !== 'number' || typeof value !== 'string' || !NUMBER.test(value)) return [];
  return [{ timeMs: Math.round(seconds * 1000), value }];
}
