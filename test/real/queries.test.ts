// Typical queries of users, answered by real back ends from the data that the daemon has sent them: a made-up story of
// ten minutes, whose answers are worked out by hand.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bridgePages } from './story/bridge-pages.ts';
import { stores } from './story/stores.ts';
import { storyPages } from './story/story-pages.ts';
import { type Answers, type Named, storyQueries } from './story/story-queries.ts';
import { Parts } from './support/part.ts';
import { askPromql } from './support/promql.ts';

const MINUTE_MS = 60_000;

/** The names that Prometheus makes by default; docs/back-ends/names.md has the whole list. */
const TRANSLATED: ReadonlyMap<string, string> = new Map([
  ['engine_global_status_queries', 'engine_global_status_queries_total'],
  ['engine_global_status_slow_queries', 'engine_global_status_slow_queries_total'],
  ['engine_global_status_bytes_sent', 'engine_global_status_bytes_sent_total'],
  ['engine_global_status_uptime', 'engine_global_status_uptime_seconds'],
  ['engine_info_schema_table_size', 'engine_info_schema_table_size_bytes'],
  ['engine_dist_qps', 'engine_dist_qps_per_second'],
  ['proxy_server_total_connections', 'proxy_server_connections_total'],
]);

/** The last whole minute but one: the end of every story. */
const endMs = Math.floor(Date.now() / MINUTE_MS - 1) * MINUTE_MS;

describe.each(await stores())('$name answers', ({ name, skip, start }) => {
  const isPrometheus = name === 'Prometheus';
  const named: Named = page => (isPrometheus ? (TRANSLATED.get(page) ?? page) : page);
  const parts = new Parts();
  let url = '';

  beforeAll(async () => {
    if (skip !== null) return;
    const running = parts.keep(await start());
    url = running.url;
    const lastSeen = { 'bank-0': 1 };
    await bridgePages({
      sources: [
        { services: ['dbstory-shop', 'dbstory-bank', 'dbstory-stock'], pages: storyPages(endMs) },
      ],
      otlpUrl: running.otlpUrl,
      // The story is complete when the last page has arrived, and the markers of the series that it does not have.
      hasArrived: async () => {
        await running.flush();
        const flow = 'engine_global_status_wsrep_flow_control_paused{server_name!="bank-1"}';
        return isSame(await answersOf(url, flow, 'server_name', endMs), lastSeen);
      },
    });
  });
  afterAll(() => parts.stop());

  test.skipIf(skip !== null).for(storyQueries)('$asks', async ({ query, by, answers }) => {
    const language = isPrometheus ? 'prometheus' : 'victoriaMetrics';
    const wanted =
      'prometheus' in answers ? (answers as Record<typeof language, Answers>)[language] : answers;
    const found = await answersOf(url, query(named), by ?? null, endMs);
    expect(Object.keys(found).sort()).toEqual(Object.keys(wanted).sort());
    for (const [key, value] of Object.entries(wanted))
      expect(found[key], key).toBeCloseTo(value, 9);
  });
});

async function answersOf(
  url: string,
  query: string,
  by: string | null,
  atMs: number,
): Promise<Record<string, number>> {
  const samples = await askPromql(url, query, atMs);
  return Object.fromEntries(
    samples.map(({ metric, value }) => [by === null ? '' : (metric[by] ?? ''), value]),
  );
}

function isSame(found: Answers, wanted: Answers): boolean {
  return JSON.stringify(found) === JSON.stringify(wanted);
}
