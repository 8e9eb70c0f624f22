// Which new series are admitted, what the scripts (test/rules/limits.txt) cannot say: very many of
// them, several targets, memory.

import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/load.ts';
import { type SeriesTable, tableBytes } from '../../../src/model/series-table.ts';
import type { PageLimits } from '../../../src/model/page-rules.ts';
import { SeriesBudget, seriesIn } from '../../../src/pipeline/derive/options.ts';
import { limitRestored } from '../../../src/pipeline/derive/state.ts';
import { successorOf, type Seen, Target, type TargetOptions } from '../../support/target.ts';

const { metrics } = defaultConfig();

function limitsOf(limits: Partial<PageLimits>): { limits: PageLimits } {
  return { limits: { ...metrics.limits, ...limits } };
}

function targetOf(limits: Partial<PageLimits>, options: TargetOptions = {}): Target {
  return new Target({ ...options, metrics: { ...options.metrics, ...limitsOf(limits) } });
}

/** A gauge with one label for each of `from` … `to`-1, without timestamps. */
function gauges(from: number, to: number, more = ''): string {
  const indexes = Array.from({ length: Math.max(to - from, 0) }, (_, i) => from + i);
  return indexes.map(i => `threads{user="u${i}"${more}} ${i}\n`).join('');
}

/** The values that were sent, without markers. */
function sent(seen: Seen): number[] {
  const values = seen.points.filter(({ flags }) => flags === 0);
  return values.map(({ value }) => Number(value)).sort((a, b) => a - b);
}

function upTo(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** Each sample line of the page has an outcome. */
function expectBalance(seen: Seen): void {
  const sum = Object.values(seen.reads).reduce((total, count) => total + count, 0);
  expect(sum).toBe(seen.translated.page?.samples);
}

describe('series', () => {
  test('very many repeated lines beside a refused series are kept', () => {
    const target = targetOf({ series: 1, serviceSamples: 500_000 });
    const seen = target.page(0, gauges(0, 2) + gauges(0, 1).repeat(200_000));
    expect(seen.reads).toEqual({ used: 1, duplicate: 200_000, series_limit: 1 });
  });

  test('known ones go on under endless churn, and the table stays within the limit', () => {
    const target = targetOf({ series: 100 });
    const { table } = target.translation;
    for (let page = 0; page < 40; page++) {
      const seen = target.page(page * 60, gauges(0, 20) + gauges(page * 30 + 20, page * 30 + 50));
      expectBalance(seen);
      expect(sent(seen).slice(0, 20)).toEqual(upTo(0, 20));
      expect(seriesIn(table)).toBeLessThanOrEqual(100);
    }
    expect(table.count).toBeLessThan(180);
  });

  test('those that include and exclude leave out do not count', () => {
    const filters = { exclude: [/^(?:table_size)$/] };
    const options = { metrics: { ...filters } };
    const target = targetOf({ series: 3, serviceSamples: 3, samples: 5 }, options);
    const tables = upTo(0, 500).map(i => `table_size{table="t${i}"} ${i}\n`);
    for (const seconds of [0, 60]) {
      const seen = target.page(seconds, tables.join('') + gauges(0, 4) + tables.join(''));
      expect(seen.reads).toEqual({ used: 3, series_limit: 1, excluded: 1000 });
      expectBalance(seen);
    }
    expect(target.page(120, gauges(0, 6)).translated.page?.limit).toBe('samples');
  });

  test('15,000 tables that exclude leaves out cost nothing but their lines (a field report)', () => {
    const target = new Target({ metrics: { exclude: [/^engine_info_schema_.*$/u] } });
    const tables = upTo(0, 15_000).flatMap(i =>
      ['data_length', 'index_length', 'data_free', 'rows'].map(
        part =>
          `engine_info_schema_table_size{server_name="db-0",schema="tenant_${i}",component="${part}"} ${i}\n`,
      ),
    );
    const kept = (uptime: number): string =>
      `engine_global_status_queries{server_name="db-0"} 5\nengine_global_status_uptime{server_name="db-0"} ${uptime}\n`;
    for (const seconds of [0, 60]) {
      const seen = target.page(seconds, kept(500 + seconds) + tables.join(''));
      expect(seen.reads).toEqual({ used: 2, excluded: 60_000 });
      expect(seen.translated.derived.services).toMatchObject([{ isUp: true }]);
      expect(seen.translated.path).toBe(seconds === 0 ? 'full' : 'repeating');
    }
  });

  test('an unusable page leaves nothing in the table', () => {
    const target = targetOf({ samples: 10 });
    const { table } = target.translation;
    for (let page = 0; page < 5; page++) {
      const seen = target.page(page * 60, gauges(page * 20, page * 20 + 20));
      expect(seen.translated.page?.limit).toBe('samples');
    }
    expect(table.count - table.free.length).toBe(6);
    expect(table.fresh).toHaveLength(0);
    expect(sent(target.page(600, gauges(0, 3)))).toEqual(upTo(0, 3));
  });
});

test('a series that loses a label takes more memory', () => {
  const bytes = (label: string): number => {
    const target = targetOf({});
    target.page(0, gauges(0, 100, `,${label}="10.0.0.1:9104"`));
    return tableBytes(target.translation.table);
  };
  // `instance` is not sent, so the table also stores the identity that the back end sees.
  expect(bytes('instance') - bytes('handler_')).toBeGreaterThan(100 * 150);
});

test('the limit holds for all targets together', () => {
  const limits = limitsOf({ series: 15 });
  const budget = new SeriesBudget(limits.limits);
  const [first, second] = ['a', 'b'].map(
    id => new Target({ services: [id], metrics: limits, budget }),
  );
  expect(first?.page(0, gauges(0, 10)).reads).toEqual({ used: 10 });
  expect(second?.page(0, gauges(0, 10)).reads).toEqual({ used: 5, series_limit: 5 });
  expect(first?.page(60, gauges(0, 12)).reads).toEqual({ used: 10, series_limit: 2 });
  expect(budget.series).toBe(15);
});

test('new series of a target cost no look at the tables of the others', () => {
  const budget = new SeriesBudget(limitsOf({}).limits);
  const [first, second] = ['a', 'b'].map(id => new Target({ services: [id], budget }));
  second?.page(0, gauges(0, 10));
  const { table } = second?.translation ?? {};
  const { metrics: known } = table ?? {};
  let looks = 0;
  Object.defineProperty(table, 'metrics', { get: () => (looks++, known) });
  expect(first?.page(0, gauges(0, 10)).reads).toEqual({ used: 10 });
  expect(first?.page(60, gauges(5, 20)).reads).toEqual({ used: 15 });
  expect(looks).toBe(0);
  expect(budget.series).toBe(30);
});

test('endless new services leave nothing in the table', () => {
  const target = targetOf({ series: 40 }, { services: ['a', 'b'] });
  for (let page = 0; page < 30; page++) {
    const lines = upTo(0, 5).map(i => gauges(0, 2, `,namespace="x${page}_${i}"`));
    expectBalance(target.page(page * 1800, lines.join('')));
  }
  const { table } = target.translation;
  expect(table.services.length).toBeLessThanOrEqual(30);
  expect(table.metrics.length).toBeLessThanOrEqual(10);
});

describe('memory', () => {
  test('a target has what the tables of the others leave, after each of their pages', () => {
    const { limits } = limitsOf({});
    const budget = new SeriesBudget(limits);
    const [first, second] = ['a', 'b'].map(id => new Target({ services: [id], budget }));
    if (first === undefined || second === undefined) throw new Error('no targets');
    const tableOf = (target: Target): SeriesTable => target.translation.table;
    const held: number[] = [];
    // After three hours the first series are forgotten.
    for (const [seconds, last] of [
      [0, 50],
      [60, 500],
      [10_860, 20],
    ] as const) {
      first.page(seconds, gauges(0, last));
      second.page(seconds, gauges(0, 10));
      held.push(tableBytes(tableOf(first)));
      expect(budget.bytesFor(tableOf(second))).toBe(
        limits.memoryBytes - tableBytes(tableOf(first)),
      );
      expect(budget.bytesFor(tableOf(first))).toBe(
        limits.memoryBytes - tableBytes(tableOf(second)),
      );
    }
    const [early = 0, full = 0, late = 0] = held;
    expect(full).toBeGreaterThan(early);
    expect(late).toBeLessThan(full);
  });

  test('new series are refused where their texts have no room, known ones go on', () => {
    const target = targetOf({ memoryBytes: 1_000_000 });
    const label = 'x'.repeat(900);
    const lines = upTo(0, 2000).map(i => `a{b="${label}${i}"} ${i}\n`);
    const page = (to: number): Buffer => Buffer.from(lines.slice(0, to).join(''));
    target.page(0, page(50));
    for (const seconds of [60, 120]) {
      const seen = target.page(seconds, page(300));
      expect(seen.translated.page?.limit).toBeNull();
      expect(sent(seen).slice(0, 50)).toEqual(upTo(0, 50));
      expect(seen.reads['series_limit']).toBeGreaterThan(50);
      expect(seen.reads['used']).toBeGreaterThan(100);
      expect(seen.translated.derived.refused?.limits).toEqual(new Set(['memory']));
      expect(seen.translated.derived.refused?.byFamily).toEqual(
        new Map([['a', seen.reads['series_limit']]]),
      );
      expectBalance(seen);
    }
  });

  test('a page that needs too much by itself is refused as a whole, with its reason', () => {
    const target = targetOf({ memoryBytes: 1_000_000 });
    const { table } = target.translation;
    const comments = upTo(0, 2000).map(i => `# ${'x'.repeat(900)}${i}\n`);
    for (const seconds of [0, 60]) {
      const seen = target.page(seconds, Buffer.from(`${comments.join('')}a 1\n`));
      expect(seen.translated.page?.limit).toBe('memory');
      expect(seen.translated.page?.problems.at(-1)?.reason).toContain('limits.memory');
      expect(table.count - table.free.length).toBe(6);
    }
    expect(sent(target.page(120, gauges(0, 3)))).toEqual(upTo(0, 3));
  });

  test('series are refused if the entries that they need besides their row have no room', () => {
    const target = targetOf({ memoryBytes: 1_000_000 });
    const lines = upTo(0, 1500).map(i => `a{server_name="s${i}"} ${i}\n`);
    const seen = target.page(0, lines.join(''));
    expect(seen.translated.page?.limit).toBeNull();
    expect(seen.reads['used']).toBeLessThan(800);
    expect(seen.reads['used']).toBeGreaterThan(90);
    expectBalance(seen);
  });

  test('services that no entry names are refused alike, also with a Resource of their own', () => {
    const target = targetOf(
      { memoryBytes: 1_000_000 },
      { services: ['a', 'b'], unconfigured: 'send' },
    );
    const strangers = upTo(0, 500).map(i => gauges(0, 1, `,namespace="x${i}"`));
    const known = gauges(0, 1, ',namespace="b"');
    for (const seconds of [0, 60, 120]) {
      const seen = target.page(seconds, known + strangers.join(''));
      expect(seen.reads['series_limit']).toBeGreaterThan(300);
      expect(seen.translated.derived.services.length).toBeLessThan(200);
      expectBalance(seen);
    }
  });

  test('the state of present series survives a page that is refused for its size', () => {
    const target = targetOf({ memoryBytes: 1_000_000 }, { temporality: 'delta' });
    target.page(0, '# TYPE queries counter\nqueries 100');
    const comments = upTo(0, 2000).map(i => `# ${'x'.repeat(900)}${i}\n`);
    expect(target.page(60, comments.join('')).translated.page?.limit).toBe('memory');
    target.shows(120, '# TYPE queries counter\nqueries 130', 'delta queries{} 30 @120 from 0');
  });
});

test('a restored state is limited to the available room: what was sent longest ago is dropped', () => {
  const former = targetOf({});
  former.page(0, gauges(0, 3));
  former.page(60, gauges(3, 6));
  former.page(120, gauges(6, 9));
  const state = successorOf(former).translation.table.restored ?? expect.fail('no state');
  expect(state.indexById.size).toBe(9);
  const limited = limitRestored(state, 4);
  expect(limited.indexById.size).toBe(4);
  const next = targetOf({ series: 4, serviceSamples: 10 });
  next.translation.table.restored = limited;
  // A gauge whose time was sent before is not sent twice.
  expect(next.page(120, gauges(6, 9)).reads).toEqual({ repeated: 3 });
});
