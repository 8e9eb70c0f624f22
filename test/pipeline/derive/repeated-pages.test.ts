// A page that repeats (F7), because a cache answered: nothing of it is sent, and no restart is read into it.

import { describe, expect, test } from 'vitest';
import { Target, type TargetOptions, successorOf } from '../../support/target.ts';

const INTERVAL: TargetOptions = { metrics: { intervalMs: 15_000 } };
const UPTIME = 'engine_global_status_uptime';
const QUERIES = 'engine_global_status_queries';

/** A page of one server; with `at`, its samples have this timestamp. */
function page(uptime: number, queries: number, at?: number): string {
  const stamp = at === undefined ? '' : ` @${at}`;
  const samples = [`${UPTIME} ${uptime}`, `${QUERIES} ${queries}`, 'load 7', ...histogram(queries)];
  return `# TYPE h histogram\n${samples.map(sample => `${sample}${stamp}\n`).join('')}`;
}

const histogram = (count: number): readonly string[] => [
  `h_bucket{le="1"} ${count - 1}`,
  `h_bucket{le="+Inf"} ${count}`,
  `h_count ${count}`,
  `h_sum ${count}`,
];

describe('F7: the same page again', () => {
  test.each(['cumulative', 'delta'] as const)('F7: without stamps, %s', temporality => {
    const target = new Target({ ...INTERVAL, temporality });
    target.page(0, page(100, 5));
    target.page(15, page(115, 8));
    expect(target.shows(30, page(115, 8)).reads).toEqual({ repeated: 7 });
    const { shown } = target.page(45, page(145, 9));
    expect(shown).toHaveLength(4);
    expect(shown).toContain(
      temporality === 'delta'
        ? `delta ${QUERIES}{} 1 @45 from 30`
        : `sum ${QUERIES}{} 9 @45 from -100`,
    );
  });

  test('F7: a value that moved, a series that came or went, or no uptime make it another page', () => {
    const target = new Target(INTERVAL);
    target.page(0, page(100, 5));
    for (const [seconds, text] of [
      [15, page(100, 6)],
      [30, `${page(100, 6)}more 1\n`],
      [45, page(100, 6)],
      [60, page(100, 6).replace(/.*uptime.*\n/, '')],
      [75, page(100, 6).replace(/.*uptime.*\n/, '')],
    ] as const)
      target.has(seconds, text, `gauge load{} 7 @${seconds}`);
  });

  test('F7: another server of the page may move', () => {
    const target = new Target(INTERVAL);
    const server = (name: string, count: number): string =>
      [UPTIME, QUERIES].map(metric => `${metric}{server_name="${name}"} ${count}\n`).join('');
    const both = (a: number, b: number): string => server('a', a) + server('b', b);
    target.page(0, both(100, 100));
    const { shown, reads } = target.page(15, both(100, 115));
    expect(shown.every(point => point.includes('server_name=b'))).toBe(true);
    expect(reads).toEqual({ used: 2, repeated: 2 });
  });

  test('F7: after a failed scrape, the page is sent: its series had ended', () => {
    const target = new Target(INTERVAL);
    target.page(0, page(100, 5));
    target.fail(15);
    target.has(30, page(100, 5), 'gauge load{} 7 @30');
    target.shows(45, page(100, 5));
  });

  test.each(['cumulative', 'delta'] as const)(
    'F7: over a clean stop of prom2otlp, %s',
    temporality => {
      const options = { ...INTERVAL, temporality };
      const target = new Target(options);
      target.page(0, page(100, 5));
      target.page(15, page(115, 8));
      target.shows(30, page(115, 8));
      const next = successorOf(target, options);
      next.shows(45, page(115, 8));
      expect(next.page(60, page(160, 9)).shown).toHaveLength(4);
    },
  );

  test('strict mode sends it, as the receiver does', () => {
    const target = new Target({ metrics: { intervalMs: 15_000, mapping: 'strict' } });
    target.page(0, page(100, 5));
    expect(target.page(15, page(100, 5)).shown).toHaveLength(4);
  });

  test('F7: with stamps, too, it tells of a cache: a small rise of the uptime is no evidence', () => {
    const cached = new Target(INTERVAL);
    cached.page(0, page(1000, 5, 0));
    cached.shows(15, page(1000, 5, 0));
    cached.has(30, page(1015, 8, 30), `sum ${QUERIES}{} 8 @30 from -1000`);
    const plain = new Target(INTERVAL);
    plain.page(0, page(1000, 5, 0));
    plain.has(30, page(1015, 8, 30), `sum ${QUERIES}{} 8 @30 from 30`);
  });
});

test('F5: a restart that the counter has shown stays known when the uptime goes back again', () => {
  const target = new Target(INTERVAL);
  const poll = (at: number, uptime: number, queries: number, want: string): void => {
    const text = `${UPTIME} ${uptime} @${at}\n${QUERIES} ${queries} @${at}\n`;
    target.has(at, text, `sum ${QUERIES}{} ${queries} @${at} from ${want}`);
  };
  poll(0, 1000, 500, '-1000');
  poll(15, 1015, 5, '0');
  poll(30, 16, 7, '0');
  poll(40, 15, 8, '0');
});
