import { describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/catalog/all.ts';
import { formatGoFloat } from '../../src/lib/format.ts';
import {
  constant,
  grows,
  hashText,
  level,
  loadSeconds,
  loadWave,
  noise,
  noiseSeconds,
  position,
  type Shape,
  unit,
  uptime,
} from '../../src/simulator/load.ts';
import { pageLines, renderPage } from '../../src/simulator/page.ts';
import { demoServices, labelsOf, World } from '../../src/simulator/world.ts';

const ORIGIN = Date.UTC(2026, 0, 1);
const NOW = Date.UTC(2026, 2, 4, 9);
const MINUTE = 60_000;

function demoWorld(seed = 1): World {
  const services = demoServices();
  return new World({ services, seed, originMs: ORIGIN, refreshMs: 1_000, proxyLagMs: 0 });
}

/** The value of the one series with this name, server and first own label. */
function value(world: World, name: string, server: string, timeMs = NOW, own?: string): number {
  const found = world.series.filter(
    one =>
      one.name === name &&
      one.server.name === server &&
      (own ?? Object.values(one.own)[0]) === Object.values(one.own)[0],
  );
  const [series] = found;
  if (series === undefined || found.length > 1) expect.fail(`${found.length} times ${name}`);
  return world.valueOf(series, timeMs);
}

test('any number of services have the four topologies in turn, each with names of its own', () => {
  const services = demoServices(9);
  expect(services.slice(0, 4)).toEqual(demoServices());
  expect(services.slice(4, 8).map(({ topology }) => topology)).toEqual(
    demoServices().map(({ topology }) => topology),
  );
  const servers = services.flatMap(one => one.servers.map(({ name }) => name));
  for (const names of [services.map(({ id }) => id), services.map(({ name }) => name), servers])
    expect(new Set(names).size).toBe(names.length);
  expect(services[8]).toMatchObject({ id: 'dbpgf10000009', name: 'orders-3' });
});

describe('the load', () => {
  test('never falls, noise included, over a day', () => {
    for (const hash of [0, 1, 0xffffffff, hashText('orders-0', 1), hashText('ledger-2', 7)]) {
      const seen = Array.from({ length: 12_000 }, (_, i) => {
        const timeMs = NOW + i * 7_000;
        return loadSeconds(hash, timeMs) + noiseSeconds(hash, timeMs);
      });
      expect(seen.filter((now, i) => i > 0 && now <= (seen[i - 1] ?? NaN))).toEqual([]);
    }
  });

  test('grows by a second a second in the long run', () => {
    const days = 30;
    const grown = loadSeconds(5, NOW + days * 86_400_000) - loadSeconds(5, NOW);
    expect(grown / (days * 86_400)).toBeCloseTo(1, 3);
  });

  test.each([
    ['wave', loadWave],
    ['noise', noise],
  ])('has a %s within -1 and 1 that moves', (_, of) => {
    const values = Array.from({ length: 1440 }, (_, minute) => of(9, NOW + minute * MINUTE));
    expect(Math.max(...values)).toBeLessThanOrEqual(1);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(-1);
    expect(Math.max(...values) - Math.min(...values)).toBeGreaterThan(1.5);
  });

  test('has the same hashes and draws on every machine', () => {
    expect([hashText('', 0), unit(0, 1), unit(1, 0)]).toMatchInlineSnapshot(`
      [
        2872998923,
        0.07026689755730331,
        0.3175988623406738,
      ]
    `);
  });
});

describe('a series', () => {
  const START = Date.UTC(2026, 2, 4);
  const at = (shape: Shape, timeMs: number, startMs = START): number => {
    const load = loadSeconds(12_345, timeMs) - loadSeconds(12_345, startMs);
    const wave = loadWave(12_345, timeMs);
    return shape.at({ timeMs, serviceStartMs: START, startMs, load, wave }, 678);
  };
  const values = (shape: Shape, seconds: number, step: number): number[] =>
    Array.from({ length: seconds / step }, (_, i) => at(shape, START + i * step * 1000));

  test('that counts begins at zero, never falls, and begins again with its process', () => {
    for (const shape of [grows(240), grows(0.03), grows(0.4, 1e-6)]) {
      const seen = values(shape, 86_400, 60);
      expect(seen[0]).toBe(0);
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
    }
    expect(values(grows(100), 86_400, 60).at(-1)).toBeGreaterThan(0.6 * 100 * 86_400);
    expect(values(grows(3.7), 600, 10).every(Number.isInteger)).toBe(true);
    for (const seconds of values(grows(0.123, 1e-6), 600, 10))
      expect(String(seconds)).toMatch(/^\d+(\.\d{1,6})?$/u);
    expect(at(grows(100), START + 3_600_000, START + 3_600_000)).toBe(0);
  });

  test.each([
    [level(64, 40), 24, 104, 0],
    [level(20, -6), 14, 26, 0],
    [level(0.62, 0.02, 1e-4), 0.6, 0.64, 4],
  ])('that is a level stays within its spread, in its steps, and moves (%#)', (shape, ...want) => {
    const [low, high, digits] = want;
    const seen = values(shape, 86_400, 60);
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(low);
    expect(Math.max(...seen)).toBeLessThanOrEqual(high);
    expect(new Set(seen).size).toBeGreaterThan(5);
    for (const one of seen) expect(one).toBe(Number(one.toFixed(digits)));
  });

  test('that is an uptime counts whole seconds from the start of the server or the service', () => {
    expect(at(uptime(), START + 10_999, START + 8_000)).toBe(2);
    expect(at(uptime('service'), START + 10_999, START + 8_000)).toBe(10);
  });

  test('that is a position outlives the process, lags, and falls only where its file ends', () => {
    const check = (shape: Shape, second: number): number =>
      at(shape, START + MINUTE + second * 1000, START + MINUTE);
    expect(check(position(20), 5) - check(position(20), 0)).toBe(100);
    expect(check(position(20, Infinity, 5), 5)).toBe(check(position(20), 0));
    const wrapped = [0, 1, 2, 3].map(second => check(position(100, 250), second));
    expect(wrapped.every(one => one >= 4 && one < 254)).toBe(true);
    expect(wrapped).not.toEqual([...wrapped].sort((a, b) => a - b));
    expect(values(constant(16_384), 60, 10)).toEqual(Array(6).fill(16_384));
  });
});

describe('the demo services', () => {
  const world = demoWorld();

  test('have between them all series of the catalog, none twice', () => {
    const names = new Set(world.series.map(series => series.name));
    expect([...names].sort()).toEqual(CATALOG.map(({ name }) => name).sort());
    const keys = world.series.map(series => JSON.stringify([series.name, labelsOf(series)]));
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('have on every series the common labels and the labels of the catalog', () => {
    const ofService = ['namespace', 'service_name', 'topology_type'];
    const ofServer = [...ofService, 'server_name', 'server_type'];
    const own = new Map(CATALOG.map(entry => [entry.name, entry.labels]));
    for (const series of world.series) {
      const names = labelsOf(series).map(([label]) => label);
      const common = series.name === 'engine_service_status' ? ofService : ofServer;
      expect(names, series.name).toEqual([...common, ...(own.get(series.name) ?? [])].sort());
    }
  });

  test('have consistent values', () => {
    const status = (suffix: string, own?: string): number =>
      value(world, `engine_global_status_${suffix}`, 'orders-0', NOW, own);
    expect(status('questions')).toBeLessThan(status('queries'));
    expect(status('created_tmp_disk_tables')).toBeLessThan(status('created_tmp_tables'));
    expect(status('threads_running')).toBeLessThan(status('threads_connected'));
    const pages = ['data', 'free', 'misc'].map(state => status('buffer_pool_pages', state));
    expect(pages.reduce((sum, count) => sum + count)).toBe(65_536);
    const disk = (suffix: string): number =>
      value(world, `engine_dist_capacity_disk_system_${suffix}`, 'catalog-1');
    expect(disk('usage_ratio')).toBeCloseTo(1 - disk('avail_bytes') / disk('max_bytes'), 5);
    const host = (suffix: string): number => value(world, `engine_server_${suffix}`, 'catalog-1');
    const volume = ['used', 'available'].map(part => host(`volume_stats_${part}_bytes`));
    expect(volume.reduce((sum, part) => sum + part)).toBe(host('volume_stats_capacity_bytes'));
    expect(host('memory_rss') + host('memory_cache')).toBeLessThan(host('spec_memory_limit_bytes'));
  });

  test('are the same for the same seed, and different for another', () => {
    const all = (seed: number): number[] => {
      const own = demoWorld(seed);
      return own.series.map(series => own.valueOf(series, NOW));
    };
    expect(all(1)).toEqual(all(1));
    expect(all(1)).not.toEqual(all(2));
  });

  test('have counters that only grow and values that are finite, minute by minute', () => {
    const counters = new Set(
      CATALOG.filter(({ type }) => type === 'counter').map(({ name }) => name),
    );
    for (const series of world.series) {
      let before = 0;
      for (let minute = 0; minute < 10; minute++) {
        const now = world.valueOf(series, NOW + minute * MINUTE);
        expect(Number.isFinite(now) && now >= 0, series.name).toBe(true);
        if (counters.has(series.name)) expect(now, series.name).toBeGreaterThanOrEqual(before);
        before = now;
      }
    }
  });
});

test('a server that restarts has new counters and a new uptime; all others continue', () => {
  const [world, untouched] = [demoWorld(), demoWorld()];
  const restartMs = NOW + 30_000;
  const later = restartMs + 5_900;
  expect(world.restart('catalog-1', restartMs)).toBe(true);
  expect(world.restart('orders-proxy-0', restartMs)).toBe(true);
  expect(world.restart('nowhere-0', restartMs)).toBe(false);
  const selects = value(world, 'engine_dist_stats_Com_select', 'catalog-1', later);
  expect(selects).toBeLessThan(5 * 30 * 2);
  expect(value(world, 'proxy_uptime_seconds', 'orders-proxy-0', later)).toBe(5);
  // The age of the cluster is not that of the server.
  const age = value(world, 'engine_dist_cluster_uptime_seconds', 'catalog-1', later);
  expect(age).toBeGreaterThan((NOW - ORIGIN) / 1000);
  for (const [i, series] of world.series.entries()) {
    const twin = untouched.series[i] ?? expect.fail('the worlds differ');
    expect(world.valueOf(series, NOW), 'before it').toBe(untouched.valueOf(twin, NOW));
    if (['catalog-1', 'orders-proxy-0'].includes(series.server.name)) continue;
    expect(world.valueOf(series, later)).toBe(untouched.valueOf(twin, later));
  }
});

describe('the page', () => {
  const world = demoWorld();
  const text = renderPage(world, pageLines(world.series), NOW);
  const lines = text.split('\n');
  const samples = lines.filter(line => /^[a-z]/u.test(line));

  test('has one line for every series, with the value of the world and the time', () => {
    const wanted = world.series.map(series => {
      const labels = labelsOf(series).map(([name, text]) => `${name}="${text}"`);
      const shown = formatGoFloat(world.valueOf(series, NOW));
      return `${series.name}{${labels.join(',')}} ${shown} ${NOW}`;
    });
    expect([...samples].sort()).toEqual(wanted.sort());
    expect([lines.at(-1), lines.at(-2) === '']).toEqual(['', false]);
  });

  test('keeps the samples of one name together, below its metadata', () => {
    const order = samples.map(line => line.replace(/\{.*$/u, ''));
    expect(order).toEqual([...order].sort());
    const names = new Set<string>();
    for (const line of lines) {
      const metadata = /^# ?(?:HELP|TYPE) (\S+)/u.exec(line)?.[1];
      if (metadata !== undefined) expect(names.has(metadata), line).toBe(false);
      else names.add(line.replace(/\{.*$/u, ''));
    }
  });

  test('writes its metadata as the service does', () => {
    const types = lines.filter(line => /^# ?TYPE/u.test(line));
    expect(types).toEqual(
      expect.arrayContaining([
        '#TYPE engine_up gauge',
        '# TYPE engine_global_status_queries gauge',
        '# TYPE engine_global_status_wsrep_replicated untyped',
        '# TYPE engine_global_status_commands_total counter',
        '# TYPE proxy_modules gauge',
      ]),
    );
    const dist = types.filter(line => line.includes('engine_dist_'));
    expect(dist.every(line => line.endsWith(' untyped'))).toBe(true);
    expect(dist.length).toBeGreaterThan(5);
    expect(dist.length).toBeLessThan(45);
    const helps = lines.filter(line => line.startsWith('# HELP'));
    expect(helps.length).toBeGreaterThan(100);
    expect(helps.length).toBeLessThan(CATALOG.length);
  });
});
