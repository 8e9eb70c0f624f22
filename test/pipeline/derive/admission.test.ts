// Which new series are admitted: metrics.limits.series, .services and .memory.

import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/load.ts';
import { type SeriesTable, tableBytes } from '../../../src/model/series-table.ts';
import type { PageLimits } from '../../../src/config/config.ts';
import { SeriesBudget } from '../../../src/pipeline/derive/options.ts';
import { limitRestored } from '../../../src/pipeline/derive/state.ts';
import { keysOf } from '../../support/decode-page.ts';
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
  test('above the limit, new ones are refused and counted by family', () => {
    const target = targetOf({ series: 5, serviceSamples: 10 });
    const seen = target.page(0, gauges(0, 8));
    expect(sent(seen)).toEqual(upTo(0, 5));
    expect(seen.reads).toEqual({ used: 5, series_limit: 3 });
    expectBalance(seen);
    expect(seen.translated.derived.refused?.byFamily).toEqual(new Map([['threads', 3]]));
    expect(seen.translated.derived.refused?.byService).toEqual(new Map([['local', 3]]));
  });

  test('a histogram of which parts were forgotten for new ones begins again', () => {
    const target = targetOf({ series: 14, serviceSamples: 7 });
    const histogram = (first: number, all: number): string =>
      `# TYPE h histogram\nh_bucket{le="1"} ${first}\nh_bucket{le="2"} ${all}\nh_bucket{le="+Inf"} ${all}\nh_count ${all}\nh_sum ${all}\n`;
    target.page(0, histogram(0, 1000));
    for (const [minute, text] of [
      'y 1',
      'y 1',
      gauges(0, 6),
      gauges(0, 6),
      gauges(10, 16),
    ].entries())
      target.page((minute + 1) * 60, text);
    for (const minute of [6, 7]) target.page(minute * 60, 'y 1');
    const [point] = target
      .page(480, histogram(0, 3))
      .shown.filter(shown => shown.startsWith('histogram'));
    expect(point).toMatch(/^histogram h\{\} count=3 .* @480 from (?!0$)/);
  });

  test('very many repeated lines beside a refused series are kept', () => {
    const target = targetOf({ series: 1, serviceSamples: 500_000 });
    const seen = target.page(0, gauges(0, 2) + gauges(0, 1).repeat(200_000));
    expect(seen.reads).toEqual({ used: 1, repeated: 200_000, series_limit: 1 });
  });

  test('admitted ones stay, refused ones stay refused, in any order on the page', () => {
    const target = targetOf({ series: 5, serviceSamples: 10 });
    target.page(0, gauges(0, 5));
    const lines = gauges(0, 8).split('\n').filter(Boolean).reverse().join('\n');
    for (const seconds of [60, 120, 180]) {
      const seen = target.page(seconds, lines);
      expect(sent(seen)).toEqual(upTo(0, 5));
      expectBalance(seen);
    }
  });

  test('ended ones make room once their markers are sent, the oldest first', () => {
    const target = targetOf({ series: 6, serviceSamples: 10 });
    target.page(0, gauges(0, 2));
    // 0 and 1 end here, 2 and 3 a minute later; 2 alone comes back.
    expect(target.page(60, gauges(2, 4)).reads).toEqual({ used: 2 });
    expect(target.page(120, gauges(4, 6)).reads).toEqual({ used: 2 });
    expect(gaugesIn(target)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(target.page(180, gauges(2, 3) + gauges(6, 7)).reads).toEqual({ used: 2 });
    expect(gaugesIn(target)).toEqual([1, 2, 3, 4, 5, 6]);
    // 4 and 5 ended on the previous page: their markers are in the queue.
    expect(target.page(240, gauges(7, 13)).reads).toEqual({ used: 4, series_limit: 2 });
    expect(gaugesIn(target)).toEqual([2, 6, 7, 8, 9, 10]);
  });

  test('a series that returned after its end is not forgotten', () => {
    const target = targetOf({ series: 4, serviceSamples: 10 });
    target.page(0, gauges(0, 2));
    target.page(60, gauges(2, 4));
    const seen = target.page(120, gauges(0, 1) + gauges(4, 6));
    expect(sent(seen)).toEqual([0, 4]);
    expect(seen.reads).toEqual({ used: 2, series_limit: 1 });
    expect(gaugesIn(target)).toEqual([0, 2, 3, 4]);
  });

  test('absent series that were never sent, and so have no end, make room too', () => {
    const options = { services: ['a', 'b'] };
    const target = targetOf({ series: 4, serviceSamples: 2 }, options);
    target.page(0, gauges(0, 4, ',namespace="x"'));
    expect(target.page(60, gauges(4, 8, ',namespace="x"')).reads).toEqual({ unconfigured: 4 });
  });

  test('endless churn stays within the limit', () => {
    const target = targetOf({ series: 100, serviceSamples: 50 });
    const { table } = target.translation;
    for (let page = 0; page < 40; page++) {
      const seen = target.page(page * 60, gauges(page * 30, page * 30 + 30));
      expect(seen.reads).toEqual({ used: 30 });
      expect(table.count - table.free.length).toBeLessThanOrEqual(106);
    }
    expect(table.count).toBeLessThan(150);
  });

  test('with timestamps too, where series end late', () => {
    const target = targetOf({ series: 100, serviceSamples: 50 });
    const { table } = target.translation;
    let refused = 0;
    for (let page = 0; page < 60; page++) {
      const seconds = page * 60;
      const lines = upTo(page * 30, page * 30 + 30).map(i => `t{u="${i}"} ${i} @${seconds}\n`);
      const seen = target.page(seconds, lines.join(''));
      expectBalance(seen);
      refused += seen.reads['series_limit'] ?? 0;
      expect(table.count - table.free.length).toBeLessThanOrEqual(106);
    }
    // Each stays for five minutes: 100 places allow 20 new series a minute.
    expect(refused).toBeGreaterThan(400);
    expect(refused).toBeLessThanOrEqual(800);
  });

  test('a refused series may occur twice, or with an exemplar', () => {
    const target = targetOf({ series: 1, serviceSamples: 10 });
    const text = 'a 1\n# TYPE b counter\nb_total 1 # {x="y"} 1\nb_total 2\nb_total 2 17\n# EOF\n';
    const seen = target.page(0, text);
    expect(seen.reads).toEqual({ used: 1, series_limit: 3 });
    expectBalance(seen);
  });

  test('histograms: refused parts do not spoil the point of the others later', () => {
    const target = targetOf({ series: 4, serviceSamples: 10 });
    const histogram =
      '# TYPE h histogram\nh_count 3\nh_bucket{le="1"} 1\nh_bucket{le="2"} 2\nh_bucket{le="+Inf"} 3\nh_sum 4\n';
    for (const seconds of [0, 60]) {
      const seen = target.page(seconds, histogram);
      expect(seen.reads).toEqual({ used: 4, series_limit: 1 });
      expect(seen.points).toHaveLength(1);
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

/** The gauges in the table. */
function gaugesIn({ translation: { table } }: Target): number[] {
  const indexes = keysOf(table).flatMap(key => /user="u(\d+)"/.exec(key)?.[1] ?? []);
  return indexes.map(Number).sort((a, b) => a - b);
}

test('a series that loses a label takes more memory', () => {
  const bytes = (label: string): number => {
    const target = targetOf({});
    target.page(0, gauges(0, 100, `,${label}="10.0.0.1:9104"`));
    return tableBytes(target.translation.table);
  };
  // `instance` is not sent, so the table also stores the identity that the back end sees.
  expect(bytes('instance') - bytes('handler_')).toBeGreaterThan(100 * 150);
});

test('series that are gone take no room for an hour after a restart while a service is down', () => {
  const options = { services: ['a', 'b'], metrics: limitsOf({ series: 12, serviceSamples: 10 }) };
  const of = (from: number, to: number): string => gauges(from, to, ',namespace="a"');
  const target = new Target(options);
  target.page(0, of(0, 6));
  target.page(60, of(6, 12));
  const after = successorOf(target, options);
  const taken = Array.from(
    { length: 12 },
    (_, minute) => sent(after.page(60 * (minute + 2), of(6, 14))).length,
  );
  // The gone series make room as soon as enough good pages have not shown them.
  expect(taken.slice(0, 9)).not.toContain(8);
  expect(taken.at(-1)).toBe(8);
});

describe('shares', () => {
  const two = { services: ['a', 'b'] };
  const of = (id: string, from: number, to: number): string =>
    gauges(from, to, `,namespace="${id}"`);

  test('only a service that exceeds its share loses new series', () => {
    const target = targetOf({ series: 20, serviceSamples: 5 }, two);
    // With timestamps, absent series have not ended yet.
    const stamped = (seconds: number, from: number, to: number): string =>
      of('a', from, to).replaceAll('\n', ` @${seconds}\n`);
    target.page(0, stamped(0, 0, 5) + of('b', 0, 5));
    target.page(60, stamped(60, 5, 9) + of('b', 0, 5));
    const seen = target.page(120, stamped(120, 9, 12) + of('b', 1, 6));
    expect(seen.reads).toEqual({ used: 6, series_limit: 2 });
    expect(seen.translated.derived.refused?.byService).toEqual(new Map([['a', 2]]));
    expectBalance(seen);
  });

  test('the share is at least two pages, but the others keep their parts', () => {
    const target = targetOf({ series: 20, serviceSamples: 9 }, two);
    // Two pages are 18 series, which is more than half of 20.
    const seen = target.page(0, of('a', 0, 9) + of('b', 0, 1));
    expect(seen.reads).toEqual({ used: 10 });
    expect(target.page(60, of('a', 9, 18) + of('b', 0, 1)).reads).toEqual({ used: 10 });
    // There are 19 series now: one place is free for any service, but b may have ten.
    const third = target.page(120, of('a', 9, 18) + of('b', 0, 9));
    expect(third.reads).toEqual({ used: 18 });
  });

  test('ended series of one service make no room for another service', () => {
    const target = targetOf({ series: 20, serviceSamples: 5 }, two);
    target.page(0, of('b', 0, 5));
    target.page(60, of('b', 5, 10));
    // a may have ten and wants twelve.
    target.page(120, of('a', 0, 12) + of('b', 5, 10));
    const services = target.translation.table.blocks;
    const { table } = target.translation;
    const ofB = upTo(0, table.count).filter(row => {
      const block = services[table.block[row] ?? 0];
      return table.keyLength[row] !== 0 && table.services[block?.service ?? 0]?.id === 'b';
    });
    expect(ofB).toHaveLength(10 + 6);
  });

  test('the limit holds for all targets together', () => {
    const limits = limitsOf({ series: 20, serviceSamples: 10 });
    const budget = new SeriesBudget(limits.limits);
    const [first, second] = ['a', 'b'].map(
      id => new Target({ services: [id], metrics: limits, budget }),
    );
    expect(first?.page(0, gauges(0, 10)).reads).toEqual({ used: 10 });
    expect(first?.page(60, gauges(0, 20)).reads).toEqual({ service_failed: 20 });
    expect(second?.page(0, gauges(0, 10)).reads).toEqual({ used: 10 });
    expect(budget.series).toBe(30);
  });

  test('new series of a target cost no look at the tables of the others', () => {
    const budget = new SeriesBudget(limitsOf({}).limits);
    const [first, second] = ['a', 'b'].map(id => new Target({ services: [id], budget }));
    second?.page(0, gauges(0, 10));
    const { table } = second?.translation ?? {};
    const { services } = table ?? {};
    let looks = 0;
    Object.defineProperty(table, 'services', { get: () => (looks++, services) });
    expect(first?.page(0, gauges(0, 10)).reads).toEqual({ used: 10 });
    expect(first?.page(60, gauges(5, 20)).reads).toEqual({ used: 15 });
    expect(looks).toBe(0);
    expect(budget.series).toBe(30);
  });

  test('unconfigured services share one part', () => {
    const target = targetOf({ series: 30, serviceSamples: 10 }, { ...two, unconfigured: 'send' });
    const strangers = upTo(0, 40)
      .map(i => of(`x${i}`, 0, 1))
      .join('');
    const seen = target.page(0, strangers);
    expect(seen.reads).toEqual({ used: 30, series_limit: 10 });
    // Configured services still have their parts.
    expect(target.page(60, strangers + of('a', 0, 10)).reads).toEqual({
      used: 40,
      series_limit: 10,
    });
  });
});

describe('services', () => {
  test('unconfigured ones are limited, configured ones are not', () => {
    const target = targetOf({ services: 3 }, { services: ['a', 'b'], unconfigured: 'send' });
    const strangers = upTo(0, 5)
      .map(i => gauges(0, 2, `,namespace="x${i}"`))
      .join('');
    for (const seconds of [0, 60, 120]) {
      const seen = target.page(seconds, strangers + gauges(0, 1, ',namespace="b"'));
      expect(seen.reads).toEqual({ used: 7, service_limit: 4 });
      expectBalance(seen);
      expect(target.translation.table.serviceById.size).toBe(5);
      expect(seen.translated.derived.services).toHaveLength(5);
    }
  });

  test('endless new names leave nothing in the table', () => {
    const target = targetOf(
      { services: 3, serviceSamples: 5, series: 40 },
      { services: ['a', 'b'] },
    );
    for (let page = 0; page < 30; page++) {
      const lines = upTo(0, 5).map(i => gauges(0, 2, `,namespace="x${page}_${i}"`));
      expectBalance(target.page(page * 600, lines.join('')));
    }
    const { table } = target.translation;
    expect(table.services.length).toBeLessThanOrEqual(10);
    expect(table.metrics.length).toBeLessThanOrEqual(10);
  });
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

  test('a page that needs too much is refused as a whole, with its reason, and leaves nothing', () => {
    const target = targetOf({ memoryBytes: 1_000_000 });
    const { table } = target.translation;
    const label = 'x'.repeat(900);
    const lines = upTo(0, 2000).map(i => `a{b="${label}${i}"} 1\n`);
    for (const seconds of [0, 60]) {
      const seen = target.page(seconds, Buffer.from(lines.join('')));
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
    expect(seen.reads['used']).toBeGreaterThan(300);
    expectBalance(seen);
  });

  test('series without state make room too: a target does not stay full of them', () => {
    const target = targetOf({ memoryBytes: 1_000_000, serviceSamples: 3000 });
    const full = target.page(0, gauges(0, 4000));
    expect(full.translated.derived.services[0]?.reason).toBe('service_samples');
    expect(target.page(60, gauges(10_000, 13_000)).translated.page?.limit).toBe('memory');
    expect(target.page(120, gauges(10_000, 13_000)).reads).toEqual({ used: 3000 });
  });

  test('the state of present series survives a page that is refused for its size', () => {
    const target = targetOf({ memoryBytes: 1_000_000 }, { temporality: 'delta' });
    target.page(0, '# TYPE queries counter\nqueries 100');
    const label = 'x'.repeat(900);
    const large = upTo(0, 2000).map(i => `a{b="${label}${i}"} 1\n`);
    expect(target.page(60, large.join('')).translated.page?.limit).toBe('memory');
    target.shows(120, '# TYPE queries counter\nqueries 130', 'delta queries{} 30 @120 from 0');
  });

  test('ended series make room for a page', () => {
    const target = targetOf({ memoryBytes: 1_000_000 });
    let failed = 0;
    for (let page = 0; page < 20; page++) {
      const seen = target.page(page * 60, gauges(page * 1000, page * 1000 + 1000));
      if (seen.translated.page?.limit !== null) failed++;
    }
    expect(failed).toBeLessThan(12);
  });
});

describe('series that return', () => {
  const counter = (i: number, value: number): string =>
    `# TYPE queries counter\nqueries{user="u${i}"} ${value}\n`;

  test('in delta mode a forgotten series is a baseline', () => {
    const target = targetOf({ series: 2, serviceSamples: 1 }, { temporality: 'delta' });
    target.page(0, counter(0, 100));
    target.shows(60, counter(0, 110), 'delta queries{user=u0} 10 @60 from 0');
    target.page(120, counter(1, 5));
    target.page(180, counter(2, 5));
    target.page(240, counter(3, 5));
    const back = target.page(300, counter(0, 150));
    expect(back.reads).toMatchObject({ baseline: 1 });
    target.has(360, counter(0, 151), 'delta queries{user=u0} 1 @360 from 300');
  });

  test('a forgotten one starts with its own first point: its process may have restarted since', () => {
    const target = targetOf({ series: 3, serviceSamples: 2 });
    const queries = (value: number): string => `engine_global_status_queries ${value}\n`;
    target.has(
      0,
      `engine_global_status_uptime 1000\n${queries(97)}`,
      'sum engine_global_status_queries{} 97 @0 from -1000',
    );
    target.page(60, gauges(0, 1));
    target.page(120, gauges(1, 3));
    target.has(180, queries(20), 'sum engine_global_status_queries{} 20 @180 from 180');
  });

  test.each([
    ['if another series of its server brought the uptime meanwhile', 'uptime'],
    ['if one of its server that was never sent was forgotten after it', 'never'],
  ] as const)('so does the only one of its server, even %s', (_, how) => {
    const target = targetOf({ series: 2, serviceSamples: 1 });
    const of = (name: string, sample: string): string =>
      `engine_global_status_${name}{server_name="s"} ${sample}\n`;
    const never = of('commands_total', '5 @7200');
    const pages = {
      uptime: [gauges(0, 1), gauges(1, 2), of('uptime', '1180')],
      never: [gauges(0, 1), of('uptime', '1120'), never, gauges(1, 2), gauges(2, 3)],
    };
    const all = [of('queries', '10'), ...pages[how], of('queries', '20')];
    const seen = all.map((text, minute) => target.page(60 * minute, text));
    if (how === 'never') expect(seen[3]?.reads).toEqual({ time_future: 1 });
    const last = 60 * (all.length - 1);
    expect(seen.at(-1)?.shown).toContain(
      `sum engine_global_status_queries{server_name=s} 20 @${last} from ${last}`,
    );
  });

  test('series admitted by the previous process are known again, while new ones are refused', () => {
    const limits = { series: 5, serviceSamples: 10 };
    const former = targetOf(limits);
    former.page(0, gauges(0, 5));
    const next = successorOf(former, { metrics: limitsOf(limits) });
    const lines = gauges(0, 8).split('\n').filter(Boolean).reverse().join('\n');
    const seen = next.page(60, lines);
    expect(sent(seen)).toEqual(upTo(0, 5));
    expect(seen.reads).toEqual({ used: 5, series_limit: 3 });
  });

  test('a restored state is limited to the available room: ended series are dropped first', () => {
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
});
