// Applies config/collector-names.yaml to a page of the service. Compares the name, the attribute and the attribute's
// values of each metric with those that dashboards for the Collector's receiver query.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { OtlpPoint } from '../support/otlp-points.ts';
import { T0, Target } from '../support/target.ts';

/** Each metric with its attribute and the attribute's values; null: no attribute. `…`: and others. */
const EXPECTED: Readonly<Record<string, readonly [attribute: string, ...values: string[]] | null>> =
  {
    'mysql.uptime': null,
    'mysql.threads': ['kind', 'cached', 'connected', 'running'],
    'mysql.connection.errors': ['error', 'aborted', 'aborted_clients'],
    'mysql.client.network.io': ['kind', 'received', 'sent'],
    'mysql.query.count': null,
    'mysql.query.client.count': null,
    'mysql.query.slow.count': null,
    'mysql.commands': ['command', 'delete', 'insert', 'select', 'update', '…'],
    'mysql.handlers': ['kind', '…'],
    'mysql.joins': ['kind', 'full', 'full_range', 'range', 'range_check', 'scan'],
    'mysql.sorts': ['kind', 'merge_passes', 'range', 'rows', 'scan'],
    'mysql.tmp_resources': ['resource', 'disk_tables', 'files', 'tables'],
    'mysql.opened_resources': ['kind', 'file', 'table', 'table_definition'],
    'mysql.locks': ['kind', 'immediate', 'waited'],
    'mysql.table_open_cache': ['status', 'hit', 'miss', 'overflow'],
    'mysql.buffer_pool.pages': ['kind', 'data', 'free', 'misc', '…'],
    'mysql.buffer_pool.limit': null,
    'mysql.replica.time_behind_source': null,
  };

const FILE = 'config/collector-names.yaml';
const text = readFileSync(new URL(`../../${FILE}`, import.meta.url), 'utf8');
const readFile = (): { text: string } => ({ text: 'k' });
const { rename } = parseConfig(text, { file: FILE, environment: {}, readFile }).metrics;

async function pointsOfPage(): Promise<readonly OtlpPoint[]> {
  const clock = new FakeClock();
  const simulator = await startSimulator({ clock, key: 'k' });
  try {
    const headers = { 'x-api-key': 'k' };
    const answer = await fetch(`${simulator.url}/observability/v2/metrics`, { headers });
    // The first service has a replica.
    const [service] = simulator.world.services;
    const target = new Target({ services: [service?.id ?? ''], metrics: { rename } });
    return target.page((clock.nowMs() - T0) / 1000, await answer.text()).points;
  } finally {
    await simulator.close();
  }
}

test('every name of the receiver is there with its attribute, each series once', async () => {
  const points = await pointsOfPage();
  const named = Map.groupBy(points, ({ metric }) => metric);
  const valueOf = (attributes: string, name: string): string[] =>
    attributes
      .split(',')
      .flatMap(one => (one.startsWith(`${name}=`) ? [one.slice(name.length + 1)] : []));
  for (const [metric, attribute] of Object.entries(EXPECTED)) {
    const own = named.get(metric) ?? [];
    expect(own.length, metric).toBeGreaterThan(0);
    expect(new Set(own.map(({ type }) => type)).size, `${metric}: one type`).toBe(1);
    if (attribute === null) continue;
    const [name, ...values] = attribute;
    const found = new Set(own.flatMap(({ attributes }) => valueOf(attributes, name)));
    expect(
      own.every(({ attributes }) => valueOf(attributes, name).length === 1),
      metric,
    ).toBe(true);
    for (const value of values.filter(one => one !== '…'))
      expect([...found], metric).toContain(value);
    if (!values.includes('…')) expect([...found].sort(), metric).toEqual(values);
  }
});

test('every rule renames something that the service has', async () => {
  const points = await pointsOfPage();
  const names = new Set(points.map(({ metric }) => metric));
  const left = [...names].filter(name => rename.some(({ match }) => match.test(name)));
  expect(left).toEqual([]);
  expect([...names].filter(name => name.startsWith('mysql.')).sort()).toEqual(
    Object.keys(EXPECTED).sort(),
  );
});
