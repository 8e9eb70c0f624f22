// What users ask of a back end, answered by real ones from what the daemon has sent them: a made-up story of ten
// minutes, whose answers are worked out by hand.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prometheus, type PrometheusRunning } from './parts/prometheus.ts';
import { victoriaMetrics, type VictoriaMetricsRunning } from './parts/victoria-metrics.ts';
import { bridgePages } from './story/bridge-pages.ts';
import { storyPages } from './story/story-pages.ts';
import { type Answers, type Named, storyQueries } from './story/story-queries.ts';
import { Parts, reasonToSkip } from './support/part.ts';
import { askPromql } from './support/promql.ts';

const noVictoriaMetrics = await reasonToSkip([victoriaMetrics]);
const noPrometheus = await reasonToSkip([prometheus]);

const MINUTE_MS = 60_000;

interface BackEnd {
  readonly name: string;
  readonly language: 'prometheus' | 'victoriaMetrics';
  readonly skip: string | null;
  readonly named: Named;
  readonly start: () => Promise<VictoriaMetricsRunning | PrometheusRunning>;
}

/** What Prometheus makes of the names by default; docs/mapping.md has the whole list. */
const TRANSLATED: ReadonlyMap<string, string> = new Map([
  ['engine_global_status_queries', 'engine_global_status_queries_total'],
  ['engine_global_status_slow_queries', 'engine_global_status_slow_queries_total'],
  ['engine_global_status_bytes_sent', 'engine_global_status_bytes_sent_total'],
  ['engine_global_status_uptime', 'engine_global_status_uptime_seconds'],
  ['engine_info_schema_table_size', 'engine_info_schema_table_size_bytes'],
  ['engine_dist_qps', 'engine_dist_qps_per_second'],
  ['proxy_server_total_connections', 'proxy_server_connections_total'],
]);

/** Its own guide asks for this with OTLP; the last test here says what becomes of samples without it. */
const WINDOW = 'storage: {tsdb: {out_of_order_time_window: 30m}}\n';

const backEnds: readonly BackEnd[] = [
  {
    name: 'VictoriaMetrics',
    language: 'victoriaMetrics',
    skip: noVictoriaMetrics,
    named: name => name,
    start: () => victoriaMetrics.start({}),
  },
  {
    name: 'Prometheus',
    language: 'prometheus',
    skip: noPrometheus,
    named: name => TRANSLATED.get(name) ?? name,
    start: () => prometheus.start({ config: WINDOW }),
  },
];

/** The last whole minute but one: the end of every story. */
const endMs = Math.floor(Date.now() / MINUTE_MS - 1) * MINUTE_MS;

describe.each(backEnds)('$name answers', ({ skip, start, language, named }) => {
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
      // The story ends with what its last page has, and with the ends of what was not on it.
      hasArrived: async () => {
        await running.flush();
        const flow = 'engine_global_status_wsrep_flow_control_paused{server_name!="bank-1"}';
        return isSame(await answersOf(url, flow, 'server_name', endMs), lastSeen);
      },
    });
  });
  afterAll(() => parts.stop());

  test.skipIf(skip !== null).for(storyQueries)('$asks', async ({ query, by, answers }) => {
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
