// Runs every query of the dashboards and the alert rules on a real Prometheus and a real VictoriaMetrics. A daemon
// fills them from the simulated service: Prometheus through a real Collector, both with the files of deploy/compose.
// A query fails here if it is wrong, or if nobody sends its metric.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { dashboards } from '../../tools/dashboards.ts';
import { shippedRules } from '../support/alert-rules.ts';
import { start, tempDirectory, until } from '../support/program.ts';
import { Receiver } from '../support/receiver.ts';
import { configFor } from '../support/rig.ts';
import { collector, type CollectorConfig } from './parts/collector.ts';
import { prometheus } from './parts/prometheus.ts';
import { victoriaMetrics } from './parts/victoria-metrics.ts';
import { checkoutFolder } from './support/folder.ts';
import { reasonToSkip } from './support/part.ts';
import { askPromql } from './support/promql.ts';

const skip = await reasonToSkip([collector, prometheus, victoriaMetrics]);

const KEY = 'key-of-the-dashboards-test';
const deploy = join(checkoutFolder, 'deploy');
const read = (file: string): string => readFileSync(join(deploy, file), 'utf8');

/** Metrics that appear with the first trouble of their kind; docs/operate/telemetry.md has them all. */
const ONLY_IN_TROUBLE = [
  'prom2otlp_backup_last_finished_age_seconds',
  'prom2otlp_logs_gaps_total',
  'prom2otlp_queue_evicted_points_total',
  'prom2otlp_queue_full_seconds',
  'prom2otlp_queue_storage_errors_total',
];

const VICTORIA = 'VictoriaMetrics, names as sent';
const VICTORIA_TRANSLATING = 'VictoriaMetrics, names of Prometheus';

/** The naming strategies of back ends, with the dashboards that fit them. */
const SETS = [
  { strategy: 'UnderscoreEscapingWithoutSuffixes', names: ['prom2otlp', 'services'] },
  { strategy: 'NoTranslation', names: ['prom2otlp', 'services', 'queries'] },
  { strategy: 'UnderscoreEscapingWithSuffixes', names: ['prom2otlp', 'services-with-suffixes'] },
  { strategy: VICTORIA, names: ['prom2otlp', 'services', 'queries'] },
  { strategy: VICTORIA_TRANSLATING, names: ['prom2otlp', 'services-with-suffixes'] },
] as const;

describe.skipIf(skip !== null).each(SETS)('a back end with $strategy', ({ strategy, names }) => {
  const closing: (() => Promise<unknown>)[] = [];
  const directory = tempDirectory();
  let simulator: Simulator;
  let url = '';
  const isPrometheus = strategy !== VICTORIA && strategy !== VICTORIA_TRANSLATING;

  beforeAll(async () => {
    const otlp = isPrometheus ? await openPrometheus(strategy) : await openVictoriaMetrics();
    simulator = await startSimulator({ clock, key: KEY, refreshMs: 1000 });
    closing.push(() => simulator.close());
    const daemon = start(['run', '--config', bridgeConfig(otlp)]);
    closing.push(() => daemon.kill());
    const has = async (query: string): Promise<boolean> => (await askPromql(url, query)).length > 0;
    await until(
      '20 s of telemetry',
      () => has('count_over_time(prom2otlp_build_info[2m]) >= 20'),
      90_000,
    );
    await until(
      'the first pull of logs',
      () => has('sum(prom2otlp_logs_records_total) > 0'),
      90_000,
    );
    // An increase needs two points of a series, and each comes with a pull.
    const twice = 'count(count_over_time(prom2otlp_slow_query_seconds_total[1h]) >= 2) > 0';
    if (names.some(name => name === 'queries'))
      await until('slow queries of two pulls', () => has(twice), 180_000);
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
    directory[Symbol.dispose]();
  });

  async function openPrometheus(translation: string): Promise<Otlp> {
    const back = await prometheus.start({ config: prometheusConfig(translation) });
    closing.push(() => back.stop());
    url = back.url;
    const middle = await collector.start({ configure: usual => takeFile(usual, url) });
    closing.push(() => middle.stop());
    return { endpoint: middle.httpUrl };
  }

  async function openVictoriaMetrics(): Promise<Otlp> {
    const relabelFile = join(deploy, 'victoria-metrics/relabel.yaml');
    const hasPrometheusNaming = strategy === VICTORIA_TRANSLATING;
    const back = await victoriaMetrics.start({ relabelFile, hasPrometheusNaming });
    closing.push(() => back.stop());
    url = back.url;
    // VictoriaMetrics takes no logs.
    const receiver = await Receiver.start();
    closing.push(() => receiver.close());
    return { endpoint: receiver.url, metrics_endpoint: back.otlpUrl };
  }

  function bridgeConfig(otlp: Otlp): string {
    const changes = {
      logs: { enabled: true, schedule: '30s', slow_query: { digests: { enabled: true } } },
      backups: { enabled: true, interval: '5s' },
      otlp,
      queue: { directory: join(directory.path, 'queue') },
      telemetry: { interval: '1s' },
    };
    return directory.write('prom2otlp.yaml', configFor(simulator, changes));
  }

  const panels = names.flatMap(name =>
    (dashboards[name]?.rows ?? []).flatMap(row =>
      row.panels.flatMap(({ title, queries }) =>
        queries.map(({ expr }) => ({ panel: `${name}: ${row.title}: ${title}`, expr })),
      ),
    ),
  );

  test.each(panels)('has an answer for $panel', async ({ expr }) => {
    const query = expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(service|daemon)/g, '.+');
    const samples = await askPromql(url, query);
    expect(samples.filter(({ value }) => Number.isFinite(value)).length, query).toBeGreaterThan(0);
  });

  test('offers the services and the daemon to choose from', async () => {
    const choices = async (name: string): Promise<string[]> => {
      const { metric, key } = dashboards[name]?.variable ?? { metric: '', key: '' };
      const samples = await askPromql(url, `count by (${key}) (${metric})`);
      return samples.map(sample => sample.metric[key] ?? '').sort();
    };
    expect(await choices(names[1])).toEqual(['catalog', 'ledger', 'orders', 'sessions']);
    expect(await choices('prom2otlp')).toEqual([expect.stringMatching(/^[^/]+:[0-9a-f]{8}$/)]);
  });

  const rules = shippedRules();

  test.each(rules)('has every metric of the alert $alert', async ({ expr }) => {
    await askPromql(url, expr);
    // Only Prometheus shows how it parses a query.
    if (!isPrometheus) return;
    for (const name of await metricsOf(url, expr)) {
      if (ONLY_IN_TROUBLE.includes(name)) continue;
      // Slow queries have the times of the log, of the last hour.
      const count = `count(last_over_time(${name}[1h]))`;
      await until(name, async () => (await askPromql(url, count)).length > 0, 60_000);
    }
  });

  test.skipIf(!isPrometheus)('evaluates every rule; no alert of the daemon fires', async () => {
    const rulesOf = async (): Promise<readonly EvaluatedRule[]> => {
      const { data } = (await ask(`${url}/api/v1/rules`)) as {
        data: { groups: { rules: EvaluatedRule[] }[] };
      };
      return data.groups.flatMap(group => group.rules);
    };
    const evaluated = await until('an evaluation', async () => {
      const found = await rulesOf();
      return found.every(({ health }) => health !== 'unknown') && found;
    });
    expect(evaluated).toHaveLength(rules.length);
    expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([]);
    const loud = evaluated.filter(({ state }) => state !== 'inactive').map(({ name }) => name);
    expect(
      loud.filter(name =>
        /^(Daemon|Service|Key|Pull|Source|Queue|Delivery|Points|Storage|Configuration)/.test(name),
      ),
    ).toEqual([]);
  });
});

interface Otlp {
  readonly endpoint: string;
  readonly metrics_endpoint?: string;
}

interface EvaluatedRule {
  readonly name: string;
  readonly health: 'ok' | 'err' | 'unknown';
  readonly state: 'inactive' | 'pending' | 'firing';
}

function prometheusConfig(translation_strategy: string): string {
  const parsed = parse(read('compose/prometheus.yaml')) as Record<string, unknown>;
  const config = { ...parsed, otlp: { translation_strategy } };
  const rule_files = [join(deploy, 'helm/alerts/*.rules.yaml')];
  return stringify({ ...config, rule_files, global: { evaluation_interval: '5s' } });
}

/** Takes the configuration in deploy/compose, except for the addresses. */
function takeFile(usual: CollectorConfig, prometheusUrl: string): void {
  const text = read('compose/collector.yaml').replace('http://prometheus:9090', prometheusUrl);
  const { receivers, service, ...rest } = parse(text) as CollectorConfig;
  expect(receivers).toEqual({ otlp: { protocols: { http: { endpoint: '0.0.0.0:4318' } } } });
  Object.assign(usual, rest);
  usual.service = { ...service, telemetry: usual.service.telemetry };
}

async function ask(address: string): Promise<unknown> {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`cannot ask ${address}: ${await answer.text()}`);
  return answer.json();
}

/** The names of the metrics in an expression, as Prometheus itself parses it. */
async function metricsOf(url: string, expr: string): Promise<string[]> {
  const query = new URLSearchParams({ query: expr });
  const tree = JSON.stringify(await ask(`${url}/api/v1/parse_query?${query.toString()}`));
  const names = [...tree.matchAll(/"name":"__name__","type":"=","value":"([^"]+)"/g)];
  const found = names.map(([, name = '']) => name);
  if (found.length === 0) throw new Error(`cannot find a metric in ${expr}: ${tree}`);
  return [...new Set(found)];
}
