// PromQL over HTTP, as Prometheus and VictoriaMetrics both answer it.

import { readValue } from './exposition.ts';

/** One series of an answer, at one time. */
export interface PromqlSample {
  /** Labels as stored; the name is `__name__`, if the query keeps it. */
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One series of an answer over a range: values by time. */
export interface PromqlSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: ReadonlyMap<number, number>;
}

type Pair = readonly [seconds: number, value: string];

/** The result of a query at a time; by default now. */
export async function askPromql(
  url: string,
  query: string,
  atMs?: number,
): Promise<PromqlSample[]> {
  const time: Record<string, string> = atMs === undefined ? {} : { time: String(atMs / 1000) };
  const result = await post<{ value: Pair }>(`${url}/api/v1/query`, { query, ...time });
  return result.map(({ metric, value }) => ({ metric, value: readValue(value[1]) }));
}

/** The results of a query minute by minute, both ends included. */
export async function askPromqlByMinute(
  url: string,
  query: string,
  [fromMs, toMs]: readonly [number, number],
): Promise<PromqlSeries[]> {
  const range = { start: String(fromMs / 1000), end: String(toMs / 1000), step: '60' };
  const result = await post<{ values: Pair[] }>(`${url}/api/v1/query_range`, { query, ...range });
  return result.map(({ metric, values }) => ({
    metric,
    values: new Map(values.map(([seconds, value]) => [seconds * 1000, readValue(value)])),
  }));
}

async function post<Series>(
  url: string,
  form: Record<string, string>,
): Promise<(Series & { metric: Record<string, string> })[]> {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
  if (!answer.ok)
    throw new Error(`cannot query ${form['query']}: ${answer.status} ${await answer.text()}`);
  const { data } = (await answer.json()) as {
    data: { result: (Series & { metric: Record<string, string> })[] };
  };
  return data.result;
}
