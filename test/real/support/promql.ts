// PromQL over HTTP, as Prometheus and VictoriaMetrics both answer it; and the shipped alert rules.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readValue } from './exposition.ts';
import { checkoutFolder } from './folder.ts';

/** One series of an answer, at one moment. */
export interface PromqlSample {
  /** Labels as stored; the name is `__name__`, where the query has kept it. */
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One series of an answer over a range: values by time. */
export interface PromqlSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: ReadonlyMap<number, number>;
}

type Pair = readonly [seconds: number, value: string];

/** What a query says at a moment; by default now. */
export async function askPromql(
  url: string,
  query: string,
  atMs?: number,
): Promise<PromqlSample[]> {
  const time: Record<string, string> = atMs === undefined ? {} : { time: String(atMs / 1000) };
  const result = await post<{ value: Pair }>(`${url}/api/v1/query`, { query, ...time });
  return result.map(({ metric, value }) => ({ metric, value: readValue(value[1]) }));
}

/** What a query says minute by minute, both ends included. */
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

/**
 * The shipped rules of these alerts as a file of Prometheus. Only their patience is shorter: a test does not wait
 * minutes. Throws for an alert that has no rule.
 */
export function impatientRules(alerts: readonly string[]): string {
  const file = join(checkoutFolder, 'deploy/helm/alerts/prom2otlp.rules.yaml');
  const { groups } = parse(readFileSync(file, 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[];
  };
  const all = groups.flatMap(group => group.rules);
  const rules = alerts.map(name => {
    const rule = all.find(({ alert }) => alert === name);
    if (rule === undefined) throw new Error(`there is no rule ${name}`);
    return { ...rule, for: '1s', expr: rule.expr.replaceAll(/(?<=\[|offset )\d+m/g, '15s') };
  });
  return JSON.stringify({ groups: [{ name: 'impatient', interval: '1s', rules }] });
}

/** The labels of the alerts that fire at a Prometheus. */
export async function firingAlerts(
  url: string,
): Promise<readonly { readonly alertname?: string; readonly instance?: string }[]> {
  const answer = await fetch(`${url}/api/v1/alerts`);
  const { data } = (await answer.json()) as {
    data: { alerts: { state: string; labels: Record<string, string> }[] };
  };
  return data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels);
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
