// A gap is filled from the service's own history: by the daemon after it was killed, from a real Prometheus that scraped
// the service meanwhile, and by the verb, for an hour with a restart in it. VictoriaMetrics stores the points; each stored
// sample is compared with the value that the simulated service had at that time.

import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS, systemClock as clock } from '../../src/lib/clock.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import type { SimulatedSeries } from '../../src/simulator/world.ts';
import { startHttpServer } from '../support/http-server.ts';
import { run, start, tempDirectory } from '../support/program.ts';
import { prometheus } from './parts/prometheus.ts';
import {
  type StoredSeries,
  victoriaMetrics,
  type VictoriaMetricsRunning,
} from './parts/victoria-metrics.ts';
import { Parts, reasonToSkip } from './support/part.ts';
import { askPromql } from './support/promql.ts';

const skip = await reasonToSkip([prometheus, victoriaMetrics]);

/** The command and the keys of the page for users. */
const text = readFileSync(new URL('../../docs/use/backfill.md', import.meta.url), 'utf8');
const [, command = ''] = /```sh\nnpx prom2otlp (.*)\n```/.exec(text) ?? [];
const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(text) ?? [];

const KEY = 'canary-key-of-the-backfill';
const SERVER = 'orders-1';
const QUERIES = 'engine_global_status_queries';
const SECONDS = 1000;
/** The daemon and Prometheus scrape twice as often: a late scrape misses no sample. */
const REFRESH_MS = 2000;

describe.skipIf(skip !== null)('a gap is filled from the history', () => {
  const parts = new Parts();
  const files = tempDirectory();
  let store: VictoriaMetricsRunning;
  let simulator: Simulator;

  beforeAll(async () => {
    store = parts.keep(await victoriaMetrics.start({}));
  });
  afterAll(async () => {
    await simulator.close();
    await parts.stop();
    files[Symbol.dispose]();
  });

  /** The configuration for one service; the name tells its points from those of the other test. */
  async function configure(name: string, serviceUrl: string, metrics: object): Promise<string> {
    const file = join(files.path, `${name}.yaml`);
    const config = {
      api: { base_url: serviceUrl, key: KEY },
      services: [{ id: simulator.world.services[0]?.id, name }],
      metrics,
      queue: { directory: join(files.path, name) },
      telemetry: { enabled: false },
      status: { listen: '127.0.0.1:0' },
      otlp: { backend: 'victoria-metrics', metrics_endpoint: store.otlpUrl },
    };
    await writeFile(file, JSON.stringify(config));
    return file;
  }

  /** The stored series of the engine and the proxy under this name. */
  async function stored(name: string): Promise<StoredSeries[]> {
    const all = await store.series(`{"service.name"="${name}"}`);
    return all.filter(({ metric }) => /^(engine|proxy)_/.test(metric['__name__'] ?? ''));
  }

  /**
   * Expects that each sample has the value of its time, and that none is missing or twice between the first and the last.
   * A proxy's samples are two refreshes older than their page: after each kill, these are missing.
   */
  function expectTruth(all: readonly StoredSeries[], refreshMs: number, kills: number): void {
    const { world } = simulator;
    const [service] = world.services;
    const byName = Map.groupBy(
      world.series.filter(series => series.service === service),
      ({ name, server }) => `${name} ${server.name}`,
    );
    for (const { metric, timestamps, values } of all) {
      const name = metric['__name__'] ?? '';
      const candidates = byName.get(`${name} ${metric['server_name'] ?? ''}`) ?? [];
      const series = candidates.find(({ own }) => isLabelled(metric, own));
      if (series === undefined) continue;
      for (const [index, timeMs] of timestamps.entries())
        expect(values[index], `${name} at ${timeMs}`).toBe(world.valueOf(series, timeMs));
      const steps = timestamps.slice(1).map((timeMs, index) => timeMs - (timestamps[index] ?? 0));
      const others = steps.filter(step => step !== refreshMs);
      if (name.startsWith('proxy_')) {
        expect(others.length, name).toBeLessThanOrEqual(kills);
        for (const step of others) expect(step, name).toBeLessThanOrEqual(3 * refreshMs);
      } else expect(others, name).toEqual([]);
    }
  }

  test('by the daemon after a stop and after kill -9, from what a Prometheus has scraped', {
    timeout: 180_000,
  }, async () => {
    simulator = await startSimulator({ clock, key: KEY, refreshMs: REFRESH_MS });
    const past = parts.keep(await prometheus.start({ config: scrapeOf(simulator.url) }));
    await using front = await startHttpServer(async ({ path, headers }, response) => {
      const isHistory = path.startsWith('/observability/v2/query');
      const url = isHistory
        ? `${past.url}${path.replace('/observability/v2', '/api/v1')}`
        : `${simulator.url}${path}`;
      const answer = await fetch(url, { headers: { 'x-api-key': String(headers['x-api-key']) } });
      const type = answer.headers.get('content-type') ?? '';
      response.writeHead(answer.status, { 'content-type': type }).end(await answer.text());
    });
    const { metrics: documented } = parse(yaml) as { metrics: object };
    const metrics = { interval: '1s', ...documented };
    const file = await configure('killed', front.origin, metrics);
    const stopped = start(['run', '--config', file]);
    await stopped.ready();
    await clock.sleep(6 * SECONDS);
    await stopped.stop();
    await clock.sleep(4 * SECONDS);
    simulator.restart(SERVER);
    await clock.sleep(4 * SECONDS);
    const killed = start(['run', '--config', file]);
    await killed.ready();
    await clock.sleep(6 * SECONDS);
    await killed.kill();
    await clock.sleep(6 * SECONDS);
    const last = start(['run', '--config', file]);
    await last.ready();
    await clock.sleep(6 * SECONDS);
    const { stderr } = await last.stop();
    for (const text of [killed.stderr(), stderr])
      expect(text).toContain('the gap is filled from the history');
    const all = await stored('killed');
    const queries = all.filter(({ metric }) => metric['__name__'] === QUERIES);
    expect(new Set(queries.map(({ metric }) => metric['server_name']))).toEqual(
      new Set(['orders-0', SERVER]),
    );
    for (const { timestamps } of queries) expect(timestamps.length).toBeGreaterThanOrEqual(14);
    const restarted = all.filter(({ metric }) => metric['server_name'] === SERVER);
    const unstored = await askPromql(store.url, `resets(${QUERIES}{"service.name"="killed"}[5m])`);
    const found = new Map(unstored.map(({ metric, value }) => [metric['server_name'], value]));
    expect(found).toEqual(
      new Map([
        ['orders-0', 0],
        [SERVER, 1],
      ]),
    );
    expect(restarted.length).toBeGreaterThan(100);
    expectTruth(all, REFRESH_MS, 1);
  });

  test('by the verb, for an hour with a restart in it', { timeout: 120_000 }, async () => {
    await simulator.close();
    simulator = await startSimulator({ clock, key: KEY });
    const toMs = Math.floor(clock.nowMs() / MINUTE_MS) * MINUTE_MS - 10 * MINUTE_MS;
    const fromMs = toMs - HOUR_MS;
    simulator.world.restart(SERVER, fromMs + 20 * MINUTE_MS + 7 * SECONDS);
    const file = await configure('hour', simulator.url, {});
    const dry = await run(command.replace('prom2otlp.yaml', file).split(' '));
    expect(dry.code, dry.stderr).toBe(0);
    expect(await stored('hour')).toEqual([]);
    const span = ['--from', new Date(fromMs).toISOString(), '--to', new Date(toMs).toISOString()];
    const done = await run(['backfill', '--config', file, ...span]);
    expect(done.code, done.stderr).toBe(0);
    const all = await stored('hour');
    for (const { timestamps } of all) expect(timestamps).toHaveLength(59);
    expectTruth(all, MINUTE_MS, 0);
    const query = `increase(${QUERIES}{"service.name"="hour",server_name="${SERVER}"}[57m])`;
    const [increase] = await askPromql(store.url, query, toMs - MINUTE_MS);
    expect(increase?.value).toBeCloseTo(growth(fromMs + 2 * MINUTE_MS, toMs - MINUTE_MS), 0);
  });

  /** How often the counter of the restarted server was counted up, by the simulated service itself. */
  function growth(fromMs: number, toMs: number): number {
    const { world } = simulator;
    const isIt = ({ name, server }: SimulatedSeries): boolean =>
      name === QUERIES && server.name === SERVER;
    const series = world.series.find(isIt) ?? expect.fail('no such series');
    let sum = 0;
    for (let timeMs = fromMs + MINUTE_MS; timeMs <= toMs; timeMs += MINUTE_MS) {
      const before = world.valueOf(series, timeMs - MINUTE_MS);
      const now = world.valueOf(series, timeMs);
      sum += now >= before ? now - before : now;
    }
    return sum;
  }
});

function isLabelled(
  metric: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(labels).every(([name, value]) => metric[name] === value);
}

/** A Prometheus that scrapes the simulated service, with the labels and times of its page. */
function scrapeOf(url: string): string {
  return JSON.stringify({
    scrape_configs: [
      {
        job_name: 'service',
        scrape_interval: '1s',
        scrape_timeout: '1s',
        honor_labels: true,
        fallback_scrape_protocol: 'PrometheusText0.0.4',
        metrics_path: '/observability/v2/metrics',
        http_headers: { 'X-API-Key': { values: [KEY] } },
        static_configs: [{ targets: [new URL(url).host] }],
      },
    ],
  });
}
