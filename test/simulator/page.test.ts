import { describe, expect, test } from 'vitest';
import { formatValue, layoutPage, type PageLayout, renderPage } from '../../src/simulator/page.ts';
import { labelsOf } from '../../src/simulator/series.ts';
import { demoServices } from '../../src/simulator/topology.ts';
import { World } from '../../src/simulator/world.ts';

const NOW = Date.UTC(2026, 2, 4, 9);
const world = new World({ services: demoServices(), seed: 1, originMs: Date.UTC(2026, 0, 1) });

function render(layout: PageLayout, isExplicit = true): string {
  const times = layout.servers.map(({ service, server }) => ({
    moment: world.momentOf(service, server, NOW),
    isExplicit,
  }));
  return renderPage(layout, times).toString();
}

test('numbers are written as the exporters write them', () => {
  const check = (value: number, want: string): void => expect(formatValue(value)).toBe(want);
  check(0, '0');
  check(1, '1');
  check(999_999, '999999');
  check(1_000_000, '1e+06');
  check(3_473_204, '3.473204e+06');
  check(9.223372036854776e18, '9.223372036854776e+18');
  check(1e100, '1e+100');
  check(-2_500_000, '-2.5e+06');
  check(0.000277976, '0.000277976');
  check(0.00007, '7e-05');
  check(NaN, 'NaN');
  check(Infinity, '+Inf');
  check(-Infinity, '-Inf');
});

describe('the page', () => {
  const lines = render(layoutPage(world.series, {})).split('\n');
  const samples = lines.filter(line => line !== '' && !line.startsWith('#'));

  test('has one line for every series, with the value of the world and the time', () => {
    expect(samples).toHaveLength(world.series.length);
    const shown = new Set(samples);
    for (const series of world.series) {
      const labels = labelsOf(series)
        .map(([name, value]) => `${name}="${value}"`)
        .join(',');
      const value = formatValue(world.valueOf(series, NOW));
      const line = `${series.name}{${labels}} ${value} ${NOW}`;
      expect(shown.has(line), line).toBe(true);
    }
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

  test('has the habits of the service in its metadata', () => {
    const types = lines.filter(line => /^# ?TYPE/u.test(line));
    const has = (line: string): void => expect(types).toContain(line);
    has('#TYPE engine_up gauge');
    has('# TYPE engine_global_status_queries gauge');
    has('# TYPE engine_global_status_wsrep_replicated untyped');
    has('# TYPE engine_global_status_commands_total counter');
    has('# TYPE proxy_modules gauge');
    const dist = types.filter(line => line.includes('engine_dist_'));
    expect(dist.every(line => line.endsWith(' untyped'))).toBe(true);
    expect(dist.length).toBeGreaterThan(5);
    expect(dist.length).toBeLessThan(45);
    const helps = lines.filter(line => line.startsWith('# HELP'));
    expect(helps.length).toBeGreaterThan(100);
    expect(helps.length).toBeLessThan(160);
  });

  test('ends in one newline', () => {
    expect(lines.at(-1)).toBe('');
    expect(lines.at(-2)).not.toBe('');
  });

  test('can leave the timestamps out', () => {
    const page = render(layoutPage(world.series, {}), false);
    expect(page.match(/\} \S+$/gmu)).toHaveLength(world.series.length);
  });
});

test('bad lines are added to the good ones and name their service', () => {
  const page = render(layoutPage(world.series, { dbpgf10000002: 3 }));
  const bad = page.split('\n').filter(line => line.endsWith(' 12,5'));
  expect(bad).toHaveLength(3);
  expect(bad.every(line => line.includes('namespace="dbpgf10000002"'))).toBe(true);
  expect(page.match(new RegExp(` ${NOW}$`, 'gmu'))).toHaveLength(world.series.length);
});

test('a layout of no series is an empty page', () => {
  expect(render(layoutPage([], {}))).toBe('');
});

test('label values are escaped', () => {
  const [series] = world.series;
  if (series === undefined) expect.fail('no series');
  const odd = { ...series, own: { schema: 'a"b\\c\nd' } };
  expect(render(layoutPage([odd], {}))).toContain(',schema="a\\"b\\\\c\\nd",');
});
