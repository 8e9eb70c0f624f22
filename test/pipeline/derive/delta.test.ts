// Rule F8: delta temporality.
import { describe, expect, test } from 'vitest';
import { at, Target, type TargetOptions } from '../../support/target.ts';

const DELTA: TargetOptions = { temporality: 'delta' };

const counter = (value: number | string): string => `# TYPE x counter\nx ${value}`;
const histogram = (buckets: readonly number[], count: number, sum: number): string =>
  `# TYPE h histogram\n${buckets.map((value, i) => `h_bucket{le="${i + 1}"} ${value}\n`).join('')}h_count ${count}\nh_sum ${sum}`;

describe('F8: counters', () => {
  const page = (uptime: number, queries: number): string =>
    `engine_global_status_uptime ${uptime}\nengine_global_status_queries ${queries}`;

  test('F8: the value at first contact is the baseline: no spike, although the start is derived', () => {
    const target = new Target(DELTA);
    expect(target.page(0, page(9000, 5_000_000)).reads).toEqual({ used: 1, baseline: 1 });
    target.has(60, page(9060, 5_000_007), 'delta engine_global_status_queries{} 7 @60 from 0');
  });

  test('F8: a series that began under observation is sent whole', () => {
    const target = new Target(DELTA);
    target.page(0, page(500, 9));
    target.shows(
      60,
      `${page(20, 2)}\nengine_global_status_slow_queries 4`,
      'gauge engine_global_status_uptime{} 20 @60',
      'delta engine_global_status_queries{} 2 @60 from 0',
      'delta engine_global_status_slow_queries{} 4 @60 from 40',
    );
  });

  test.each([
    ['under observation is growth', 5, 30, { used: 2, metadata: 1 }],
    ['before is a baseline', 5, -30, { used: 1, metadata: 1, baseline: 1 }],
    [
      'under observation is a baseline if it is below zero',
      -5,
      30,
      { used: 1, metadata: 1, baseline: 1 },
    ],
  ])('F8: a count whose `_created` lies %s', (_, value, created, reads) => {
    const target = new Target(DELTA);
    target.page(0, 'z 0');
    const text = `# TYPE y counter\ny_total ${value}\ny_created ${at(created) / 1000}\nz 1\n# EOF`;
    const seen = target.page(60, text);
    expect(seen.reads).toEqual(reads);
    expect(seen.shown.includes('delta y_total{} 5 @60 from 30')).toBe(reads.used === 2);
  });

  test.each([0, 1000, at(-86_400 * 100)])(
    'F8: an old or absurd timestamp beside it (%i) does not make a count the growth of our time',
    stamp => {
      const text = `x 1 ${stamp}\n${page(86_400 * 90, 1e9).replaceAll(/(?<= \d+)$/gm, ' @0')}`;
      const seen = new Target(DELTA).page(0, text);
      expect(seen.shown.filter(point => point.startsWith('delta'))).toEqual([]);
      expect(seen.reads['baseline']).toBe(1);
    },
  );

  test('F8: a later series with an unknown start is a baseline', () => {
    const target = new Target(DELTA);
    target.page(0, 'z 0');
    expect(target.page(60, counter(1_000_000)).reads).toEqual({ baseline: 1 });
    target.shows(120, counter(1_000_001), 'delta x{} 1 @120 from 60');
  });

  test('F8: a forgotten series is a baseline when it returns, although it began under observation', () => {
    const target = new Target(DELTA);
    const uptime = (seconds: number): string => `engine_global_status_uptime ${seconds}`;
    target.page(0, uptime(900));
    target.has(60, page(20, 7), 'delta engine_global_status_queries{} 7 @60 from 40');
    for (const minutes of [2, 3, 70, 71]) target.page(60 * minutes, uptime(60 * minutes - 40));
    expect(target.page(7200, page(7160, 9)).reads).toEqual({ used: 1, baseline: 1 });
  });

  test('F8: a restart is a reset even if the counter has passed its old value', () => {
    const target = new Target(DELTA);
    target.page(0, page(500, 100));
    target.has(60, page(20, 103), 'delta engine_global_status_queries{} 103 @60 from 0');
  });

  test.each([
    [90_000, 5_000_000],
    [90_000, 70],
    [200, 5_000_000],
    [200, 70],
  ])('F8: a failover to another process is a baseline: uptime %i, count %i', (uptime, queries) => {
    const target = new Target(DELTA);
    target.page(0, page(500, 100));
    expect(target.page(60, page(uptime, queries)).reads).toEqual({ used: 1, baseline: 1 });
    const next = page(uptime + 60, queries + 4);
    target.has(120, next, 'delta engine_global_status_queries{} 4 @120 from 60');
  });

  test('F8: a value below zero is a baseline, and so is the next value', () => {
    const target = new Target(DELTA);
    target.shows(0, counter(5));
    expect(target.shows(60, counter(-3)).reads).toEqual({ baseline: 1 });
    target.shows(120, counter(-1));
    target.shows(180, counter(4));
    target.shows(240, counter(6), 'delta x{} 2 @240 from 180');
    const cumulative = new Target();
    cumulative.shows(0, counter(-5), 'sum x{} -5 @0 from 0');
    cumulative.shows(60, counter(-3), 'sum x{} -3 @60 from 0');
  });

  test('F8: a gap and a marker lose no growth', () => {
    const target = new Target(DELTA);
    target.page(0, counter(50));
    target.page(60, counter(51));
    expect(target.fail(120).shown).toEqual(['delta x{} stale @120 from 60']);
    target.shows(180, counter(58), 'delta x{} 7 @180 from 120');
  });

  test('F8: a series with only a baseline gets no marker', () => {
    const target = new Target(DELTA);
    target.page(0, counter(50));
    expect(target.fail(60).shown).toEqual([]);
  });

  test.each(['NaN', '+Inf', '-Inf'])('F8: a value of %s adds no growth and loses none', value => {
    const target = new Target(DELTA);
    target.page(0, counter(50));
    expect(target.shows(60, counter(value)).reads).toEqual({ baseline: 1 });
    target.shows(120, counter(value));
    target.shows(180, counter(57), 'delta x{} 7 @180 from 120');
  });

  test('F8: strict mode and start_times: false have deltas, too', () => {
    for (const metrics of [{ mapping: 'strict' as const }, { startTimes: false }]) {
      const target = new Target({ ...DELTA, metrics });
      target.page(0, counter(50));
      target.shows(60, counter(53), 'delta x{} 3 @60 from 0');
    }
  });
});

describe('F8: the other kinds', () => {
  test('F8: gauges and non-monotonic sums are unchanged, and so is a summary', () => {
    const target = new Target(DELTA);
    for (const [seconds, value] of [
      [0, 5],
      [60, 7],
    ] as const)
      target.shows(
        seconds,
        `g ${value}\n# TYPE s stateset\ns{s="a"} ${value}\n# TYPE q summary\nq_count ${value}\nq_sum 1\n# EOF`,
        `gauge g{} ${value} @${seconds}`,
        `updown s{s=a} ${value} @${seconds}`,
        `summary q{} count=${value} sum=1 @${seconds} from 0`,
      );
  });

  test('F8: a histogram: every bucket, count and sum since the previous point', () => {
    const target = new Target(DELTA);
    target.shows(0, histogram([1, 3], 4, 9));
    const grown = 'histogram h{} count=5 sum=2.5 le1:1 le2:1 inf:3 @60 from 0';
    const { points } = target.shows(60, histogram([2, 5], 9, 11.5), grown);
    expect(points[0]?.temporality).toBe('delta');
    const reset = 'histogram h{} count=2 sum=3 le1:1 le2:0 inf:1 @120 from 60';
    target.shows(120, histogram([1, 1], 2, 3), reset);
  });

  test('F8: a histogram whose bounds have changed is a new baseline', () => {
    const target = new Target(DELTA);
    target.shows(0, histogram([1, 3], 4, 9));
    expect(target.shows(60, histogram([2], 6, 9)).reads).toEqual({ baseline: 3 });
    const grown = 'histogram h{} count=2 sum=1 le1:1 inf:1 @120 from 60';
    target.shows(120, histogram([3], 8, 10), grown);
    target.shows(180, histogram([3, 5], 9, 10));
  });

  test('F8: text and OpenMetrics alternate: bounds and families are spelled differently, growth is the same', () => {
    const target = new Target({ temporality: 'delta' });
    const page = (round: number): string => {
      const isText = round % 2 === 0;
      const [le, family] = isText ? ['1', 'c_total'] : ['1.0', 'c'];
      const lines = [
        `# TYPE h histogram\nh_bucket{le="${le}"} ${round}\nh_bucket{le="+Inf"} ${2 * round}`,
        `h_sum ${round}\nh_count ${2 * round}\n# TYPE ${family} counter\nc_total ${3 * round}`,
      ];
      return `${lines.join('\n')}\n${isText ? '' : '# EOF\n'}`;
    };
    target.page(0, page(0));
    for (let round = 1; round < 6; round++)
      target.shows(
        60 * round,
        page(round),
        `histogram h{} count=2 sum=1 le1:1 inf:1 @${60 * round} from ${60 * round - 60}`,
        `delta c_total{} 3 @${60 * round} from ${60 * round - 60}`,
      );
  });

  test('F8: if only a bucket falls, as the one beyond the last bound, the point is a baseline', () => {
    const target = new Target(DELTA);
    target.page(0, histogram([1], 9, 9));
    expect(target.page(60, histogram([5], 9, 9)).reads).toEqual({ baseline: 3 });
  });

  test('F8: lowmemory is cumulative for scraped metrics', () => {
    const target = new Target({ temporality: 'lowmemory' });
    target.shows(0, counter(5), 'sum x{} 5 @0 from 0');
    target.shows(60, counter(7), 'sum x{} 7 @60 from 0');
  });
});

test('F8: the deltas of a series add up to its growth', () => {
  const target = new Target(DELTA);
  const values = [10, 12, 12, 30, 4, 9, 9.5, 0, 100];
  const points = values.flatMap((value, i) => target.page(i * 60, counter(value)).points);
  const sum = points.reduce((total, { value }) => total + Number(value), 0);
  expect(sum).toBe(2 + 0 + 18 + 4 + 5 + 0.5 + 0 + 100);
});
