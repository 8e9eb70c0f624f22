// A page keeps its meaning whatever pages came before it: after freed rows, keys that change their spelling, families
// that change their type, and pages that were cut off. Each case went wrong once.

import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../src/config/load.ts';
import { keysOf } from '../support/decode-page.ts';
import { Target, type TargetOptions } from '../support/target.ts';

const { limits } = defaultConfig().metrics;
const HOUR_S = 3600;

/** Scrapes these pages, one a minute; null is a failed scrape. Returns the points of the last page. */
function shownAfter(
  pages: readonly (string | null)[],
  options: TargetOptions = {},
): readonly string[] {
  const target = new Target(options);
  const seen = pages.map((page, i) =>
    page === null ? target.fail(60 * i) : target.page(60 * i, page),
  );
  return seen.at(-1)?.shown ?? [];
}

const lines = (count: number): string =>
  Array.from({ length: count }, (_, i) => `engine_table_rows{table="orders_${i}"} 1\n`).join('');

describe('keys', () => {
  test('a series is gone for an hour, and later half of all: the rest goes on', () => {
    const target = new Target();
    target.page(0, `gone 1\n${lines(3000)}`);
    target.page(60, lines(3000));
    target.page(60 + HOUR_S + 60, lines(3000));
    target.page(60 + HOUR_S + 120, lines(3000));
    target.page(60 + HOUR_S + 180, lines(1000));
    target.page(60 + HOUR_S + 240, lines(1000));
    const { shown } = target.page(60 + 2 * HOUR_S + 300, lines(1000));
    expect(shown.filter(line => line.includes('stale'))).toEqual([]);
    expect(shown).toHaveLength(1000);
    expect(keysOf(target.translation.table)).toContain('engine_table_rows{table="orders_999"}');
    expect(keysOf(target.translation.table)).not.toContain('gone');
  });

  test.each([
    ['', 'a layout'],
    ['y 1\ny 1\n', 'a repeat'],
    ['bad{ 1\n', 'a bad line'],
  ])('labels change their order with every page: no room is lost (%j)', extra => {
    const target = new Target({
      metrics: { limits: { ...limits, memoryBytes: 1e6 }, badShare: 1 },
    });
    for (let i = 0; i < 60; i++) {
      const labels = (n: number): string =>
        i % 2 === 0 ? `namespace="local",table="t_${n}"` : `table="t_${n}",namespace="local"`;
      const page = Array.from({ length: 500 }, (_, n) => `engine_x{${labels(n)}} ${i}\n`).join('');
      const { translated } = target.page(60 * i, page + extra);
      expect([i, translated.reason]).toEqual([i, '']);
    }
  });

  test.each([
    ['x+1\n', 'x5\n'],
    ['x-1\n', 'xNaN\n'],
    ['x+1\n', 'x2 9\n'],
  ])('a value that touches the name (%j) does not become a part of it (%j)', (first, second) => {
    expect(shownAfter([first, second]).filter(line => !line.includes('stale'))).toEqual(
      shownAfter([null, second]),
    );
  });
});

describe('families', () => {
  const TYPES = { histogram: '_bucket{le="+Inf"', summary: '{quantile="0.5"' } as const;

  test.each(['histogram', 'summary'] as const)(
    'a %s is sent again after a page without its TYPE',
    type => {
      const part = (job: string): string => `h${TYPES[type]}${job === '' ? '' : `,${job}`}} 1\n`;
      const both = `${part('job="x"')}h_count{job="x"} 1\n${part('')}h_count 1\n`;
      const typed = `# TYPE h ${type}\n${both}`;
      const again = shownAfter([typed, both, typed, typed]);
      expect(again.filter(line => line.startsWith(type))).toHaveLength(1);
    },
  );

  test.each(['histogram', 'summary'])('a gauge that became a %s ends', type => {
    const target = new Target();
    target.page(0, '# TYPE h gauge\nh{pod="1"} 1\n');
    const sample = type === 'histogram' ? 'h_bucket{pod="2",le="+Inf"}' : 'h{pod="2",quantile="1"}';
    const page = `# TYPE h ${type}\n${sample} 1\nh_count{pod="2"} 1\nh_sum{pod="2"} 1\n`;
    for (let hour = 1; hour < 4; hour++) target.page(60 + HOUR_S * hour, page);
    expect(keysOf(target.translation.table).filter(key => key.includes('pod="1"'))).toEqual([]);
  });

  test('a histogram that has lost buckets to another metric begins anew', () => {
    const target = new Target();
    const pages = [
      '# TYPE x histogram\nx_bucket{le="1"} 1\nx_bucket{le="5"} 4\nx_sum 2\nx_count 5\n# TYPE x_bucket counter\n',
      '# TYPE x histogram\nx_bucket{le="1.0"} 2\nx_bucket{le="2.0"} 4\nx_count 5\n',
      '# TYPE x counter\nx_count 5\nx_bucket{le="2.0"} 4\nx_bucket{le="1.0"} 2\n# TYPE x histogram\n',
      '# TYPE x histogram\nx_bucket{le="1"} 1\nx_bucket{le="5"} 4\nx_sum 2\nx_count 5\n',
    ];
    const last = pages.map((page, i) => target.page(60 * i, page)).at(-1);
    expect(last?.shown.filter(line => line.startsWith('histogram x{} count'))).toEqual([
      expect.stringContaining('@180 from 180'),
    ]);
  });

  test('of two target_info on a page the last one counts, whatever came before', () => {
    const both = 'target_info{a="1"} 1\ntarget_info{b="2"} 1\ny 1\n';
    for (const before of [
      [],
      ['target_info{a="1"} 1\ny 1\n'],
      ['target_info{b="2"} 1\ny 1\n'],
      [both],
    ]) {
      const target = new Target();
      for (const [i, page] of [...before, both].entries()) target.page(60 * i, page);
      expect([...(target.translation.table.services[0]?.info ?? [])]).toEqual([['b', '2']]);
    }
  });
});

describe('a page that a limit cuts off is as a failed scrape', () => {
  const options = { metrics: { limits: { ...limits, samples: 6 } } };
  const rest = Array.from({ length: 8 }, (_, i) => `z${i} 1\n`).join('');
  const histogram = (n: number): string => `h_bucket{le="1"} ${n}\nh_count ${n}\nh_sum 2\n`;

  test.each<readonly [string, (n: number) => string, string]>([
    [
      'a counter with its TYPE at the end',
      n => `x_total ${n}\n# TYPE x counter\n# EOF\n`,
      `x_total 3\n${rest}# TYPE x counter\n# EOF\n`,
    ],
    [
      'a histogram with its TYPE at the end',
      n => `${histogram(n)}# TYPE h histogram\n`,
      `${histogram(3)}${rest}# TYPE h histogram\n`,
    ],
    [
      'a TYPE that changes on it',
      n => `# TYPE x counter\n# TYPE g gauge\ng 1\nx ${n}\n`,
      `x 3\n# TYPE x summary\n${rest}`,
    ],
  ])('%s', (_, good, cut) => {
    for (const after of [[], [good(4)], [good(4), good(5)]])
      expect(shownAfter([good(1), good(2), cut, ...after], options)).toEqual(
        shownAfter([good(1), good(2), null, ...after], options),
      );
  });
});
