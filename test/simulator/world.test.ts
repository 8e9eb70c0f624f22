import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/catalog/all.ts';
import { labelsOf, type SimulatedSeries } from '../../src/simulator/series.ts';
import { corpusServices, demoServices } from '../../src/simulator/topology.ts';
import { RESTARTS_MAX, World } from '../../src/simulator/world.ts';

const ORIGIN = Date.UTC(2026, 0, 1);
const NOW = Date.UTC(2026, 2, 4, 9);

function demoWorld(seed = 1): World {
  return new World({ services: demoServices(), seed, originMs: ORIGIN });
}

function value(world: World, name: string, labels: Record<string, string>, timeMs = NOW): number {
  const series = world.find(name, labels) ?? expect.fail(`no single ${name}`);
  return world.valueOf(series, timeMs);
}

function keyOf(series: SimulatedSeries): string {
  return JSON.stringify([series.name, labelsOf(series)]);
}

describe('the demo services', () => {
  const world = demoWorld();

  test('have between them exactly the 160 series of the specification', () => {
    const fixture = new URL('../fixtures/series-names.txt', import.meta.url);
    const specified = readFileSync(fixture, 'utf8').trimEnd().split('\n').sort();
    expect([...new Set(world.series.map(series => series.name))].sort()).toEqual(specified);
  });

  test('have on every series the five common labels and the labels of the catalog', () => {
    const common = ['namespace', 'server_name', 'server_type', 'service_name', 'topology_type'];
    const own = new Map(CATALOG.map(entry => [entry.name, entry.labels]));
    for (const series of world.series) {
      const { name } = series;
      const names = labelsOf(series).map(([label]) => label);
      expect(names, name).toEqual([...common, ...(own.get(name) ?? [])].sort());
    }
  });

  test('have no series twice', () => {
    const keys = world.series.map(keyOf);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('have consistent values', () => {
    const at = { server_name: 'orders-0' };
    const status = (suffix: string, labels = {}): number =>
      value(world, `engine_global_status_${suffix}`, { ...at, ...labels });
    expect(status('questions')).toBeLessThan(status('queries'));
    expect(status('created_tmp_disk_tables')).toBeLessThan(status('created_tmp_tables'));
    expect(status('threads_running')).toBeLessThan(status('threads_connected'));
    const pages = ['data', 'free', 'misc'].map(state => status('buffer_pool_pages', { state }));
    expect(pages.reduce((sum, count) => sum + count)).toBe(65_536);
    const node = { server_name: 'catalog-1' };
    const dist = (suffix: string): number => value(world, `engine_dist_${suffix}`, node);
    const used =
      1 - dist('capacity_disk_system_avail_bytes') / dist('capacity_disk_system_max_bytes');
    expect(dist('capacity_disk_system_usage_ratio')).toBeCloseTo(used, 5);
  });
});

describe('a world', () => {
  test('is the same for the same seed and another for another', () => {
    const [first, second, other] = [demoWorld(1), demoWorld(1), demoWorld(2)];
    const all = (world: World): number[] => world.series.map(series => world.valueOf(series, NOW));
    expect(all(first)).toEqual(all(second));
    expect(all(first)).not.toEqual(all(other));
  });

  test('has counters that only grow and values that are finite, minute by minute', () => {
    const world = demoWorld();
    const counters = new Set(
      CATALOG.filter(entry => entry.type === 'counter').map(entry => entry.name),
    );
    for (const series of world.series) {
      let before = 0;
      for (let minute = 0; minute < 10; minute++) {
        const now = world.valueOf(series, NOW + minute * 60_000);
        expect(Number.isFinite(now) && now >= 0, series.name).toBe(true);
        if (counters.has(series.name)) expect(now, series.name).toBeGreaterThanOrEqual(before);
        before = now;
      }
    }
  });

  test('lets one server restart: its counters and uptime fall, all others continue', () => {
    const [world, untouched] = [demoWorld(), demoWorld()];
    const restartMs = NOW + 30_000;
    const { version } = world;
    expect(world.restart('catalog-1', restartMs)).toBe(true);
    expect(world.version).toBeGreaterThan(version);
    const at = { server_name: 'catalog-1' };
    const later = restartMs + 5_000;
    expect(value(world, 'engine_dist_stats_Com_select', at, later)).toBeLessThan(5 * 610 * 2);
    // The cluster's age does not tell of it.
    const age = value(world, 'engine_dist_cluster_uptime_seconds', at, later);
    expect(age).toBeGreaterThan((NOW - ORIGIN) / 1000);
    const twins = world.series.map((series, i) => [series, untouched.series[i]] as const);
    for (const [series, twin] of twins) {
      if (twin === undefined) expect.fail('the worlds differ');
      expect(world.valueOf(series, NOW), 'before it').toBe(untouched.valueOf(twin, NOW));
      if (series.server.name === 'catalog-1') continue;
      expect(world.valueOf(series, later)).toBe(untouched.valueOf(twin, later));
    }
  });

  test('dates an uptime from the restart', () => {
    const world = demoWorld();
    world.restart('orders-proxy-0', NOW);
    const proxy = { server_name: 'orders-proxy-0' };
    expect(value(world, 'proxy_uptime_seconds', proxy, NOW + 7_900)).toBe(7);
    expect(value(world, 'proxy_uptime_seconds', proxy, NOW - 1)).toBeGreaterThan(7);
  });

  test('lets the status be flushed: some counters fall while the uptime grows', () => {
    const world = demoWorld();
    const at = { server_name: 'sessions-0' };
    const read = (suffix: string, timeMs: number): number =>
      value(world, `engine_global_status_${suffix}`, at, timeMs);
    world.flushStatus('sessions-0', NOW);
    expect(read('table_locks_immediate', NOW)).toBe(0);
    expect(read('table_locks_immediate', NOW - 1)).toBeGreaterThan(0);
    expect(read('queries', NOW)).toBeGreaterThanOrEqual(read('queries', NOW - 1));
    expect(read('uptime', NOW)).toBeGreaterThan(86_400);
  });

  test('knows no other servers, and remembers a bounded number of restarts', () => {
    const world = demoWorld();
    expect(world.restart('nowhere-0', NOW)).toBe(false);
    expect(world.flushStatus('nowhere-0', NOW)).toBe(false);
    for (let i = 0; i < RESTARTS_MAX + 10; i++) world.restart('orders-0', NOW + i * 1000);
    const at = { server_name: 'orders-0' };
    const last = NOW + (RESTARTS_MAX + 9) * 1000;
    expect(value(world, 'engine_global_status_uptime', at, last + 2_000)).toBe(2);
    expect(value(world, 'engine_global_status_uptime', at, NOW - 1)).toBeGreaterThan(86_400);
  });

  test('finds a series only if the labels identify one', () => {
    const world = demoWorld();
    expect(world.find('engine_up', { server_name: 'orders-0' })?.server.name).toBe('orders-0');
    expect(world.find('engine_up', { namespace: 'dbpgf10000001' })).toBeUndefined();
    expect(world.find('engine_up', { server_name: 'nowhere' })).toBeUndefined();
  });
});

test('a corpus has exactly as many series per service as asked for, few or many', () => {
  for (const seriesPerService of [1, 57, 500, 1_003]) {
    const services = corpusServices({ services: 3, seriesPerService });
    const { series } = new World({ services, seed: 1, originMs: ORIGIN });
    expect(series).toHaveLength(3 * seriesPerService);
    const keys = series.map(keyOf);
    expect(new Set(keys).size).toBe(series.length);
    for (const { id } of services) {
      expect(series.filter(one => one.service.id === id)).toHaveLength(seriesPerService);
    }
  }
});
