// Rule F8: delta temporality.
import { describe, expect, test } from 'vitest';
import { at, runPages, type Seen, Target, type TargetOptions } from '../../support/target.ts';

const DELTA: TargetOptions = { temporality: 'delta' };

const shown = (seen: readonly Seen[]): (readonly string[])[] => seen.map(one => one.shown);
const counter = (value: number | string): string => `# TYPE x counter\nx ${value}`;
const histogram = (buckets: readonly number[], count: number, sum: number): string =>
  `# TYPE h histogram\n${buckets.map((value, i) => `h_bucket{le="${i + 1}"} ${value}\n`).join('')}h_count ${count}\nh_sum ${sum}`;

describe('F8: counters', () => {
  const page = (uptime: number, queries: number): string =>
    `engine_global_status_uptime ${uptime}\nengine_global_status_queries ${queries}`;

  test('F8: the value at first contact is the baseline: no spike, although the start is derived', () => {
    const seen = runPages(DELTA, [0, page(9000, 5_000_000)], [60, page(9060, 5_000_007)]);
    expect(seen[0]?.reads).toEqual({ used: 1, baseline: 1 });
    expect(seen[1]?.shown[1]).toBe('delta engine_global_status_queries{} 7 @60 from 0');
  });

  test('F8: a series that began under observation is sent whole', () => {
    const uptime = (seconds: number): string => `engine_global_status_uptime ${seconds}`;
    const seen = runPages(
      DELTA,
      [0, `${uptime(500)}\nengine_global_status_queries 9`],
      [60, `${uptime(20)}\nengine_global_status_queries 2\nengine_global_status_slow_queries 4`],
    );
    expect(seen[1]?.shown.slice(1)).toEqual([
      'delta engine_global_status_queries{} 2 @60 from 0',
      'delta engine_global_status_slow_queries{} 4 @60 from 40',
    ]);
    const openMetrics = (created: number): string =>
      `# TYPE y counter\ny_total 5\ny_created ${at(created) / 1000}\nz 1\n# EOF`;
    expect(runPages(DELTA, [0, 'z 0'], [60, openMetrics(30)])[1]?.shown).toContain(
      'delta y_total{} 5 @60 from 30',
    );
    expect(runPages(DELTA, [0, 'z 0'], [60, openMetrics(-30)])[1]?.reads).toEqual({
      used: 1,
      metadata: 1,
      baseline: 1,
    });
  });

  test('F8: an old or absurd timestamp beside it does not make a count the growth of our time', () => {
    for (const stamp of [0, 1000, at(-86_400 * 100)]) {
      const text = `x 1 ${stamp}\n${page(86_400 * 90, 1e9).replaceAll(/(?<= \d+)$/gm, ` ${at(0)}`)}`;
      const [seen] = runPages(DELTA, [0, text]);
      expect(seen?.shown.filter(point => point.startsWith('delta'))).toEqual([]);
      expect(seen?.reads['baseline']).toBe(1);
    }
  });

  test('F8: a later series with an unknown start is a baseline', () => {
    const seen = runPages(DELTA, [0, 'z 0'], [60, counter(1_000_000)], [120, counter(1_000_001)]);
    expect(seen[1]?.reads).toEqual({ baseline: 1 });
    expect(seen[2]?.shown).toEqual(['delta x{} 1 @120 from 60']);
  });

  test('F8: a forgotten series is a baseline when it returns, although it began under observation', () => {
    const page = (seconds: number, queries: string): string =>
      `engine_global_status_uptime ${seconds + 10}\n${queries}\n`;
    const target = new Target(DELTA);
    target.page(0, 'engine_global_status_uptime 900\n');
    const counter = (value: number): string => `engine_global_status_queries ${value}`;
    expect(target.page(60, page(10, counter(7))).shown).toContain(
      'delta engine_global_status_queries{} 7 @60 from 40',
    );
    for (const minutes of [2, 3, 70, 71]) target.page(60 * minutes, page(60 * minutes - 50, ''));
    expect(target.page(7200, page(7150, counter(9))).reads).toEqual({ used: 1, baseline: 1 });
  });

  test('F8: a restart is a reset even if the counter has passed its old value', () => {
    const seen = runPages(DELTA, [0, page(500, 100)], [60, page(20, 103)]);
    expect(seen[1]?.shown[1]).toBe('delta engine_global_status_queries{} 103 @60 from 0');
  });

  test('F8: a failover to another process is a baseline, whichever process is older', () => {
    for (const [uptime, queries] of [
      [90_000, 5_000_000],
      [90_000, 70],
      [200, 5_000_000],
      [200, 70],
    ] as const) {
      const seen = runPages(
        DELTA,
        [0, page(500, 100)],
        [60, page(uptime, queries)],
        [120, page(uptime + 60, queries + 4)],
      );
      expect(seen[1]?.reads).toEqual({ used: 1, baseline: 1 });
      expect(seen[2]?.shown[1]).toBe('delta engine_global_status_queries{} 4 @120 from 60');
    }
  });

  test('F8: a value below zero is a baseline, and so is the next value', () => {
    const seen = runPages(
      DELTA,
      [0, counter(5)],
      [60, counter(-3)],
      [120, counter(-1)],
      [180, counter(4)],
      [240, counter(6)],
    );
    expect(shown(seen)).toEqual([[], [], [], [], ['delta x{} 2 @240 from 180']]);
    expect(seen[1]?.reads).toEqual({ baseline: 1 });
    const first = runPages(
      DELTA,
      [0, 'z 0'],
      [60, `# TYPE y counter\ny_total -5\ny_created ${at(30) / 1000}\nz 1\n# EOF`],
    );
    expect(first[1]?.reads).toEqual({ used: 1, metadata: 1, baseline: 1 });
    const sent = runPages({}, [0, counter(-5)], [60, counter(-3)]);
    expect(shown(sent)).toEqual([['sum x{} -5 @0 from 0'], ['sum x{} -3 @60 from 0']]);
  });

  test('F8: a gap and a marker lose no growth', () => {
    const target = new Target(DELTA);
    target.page(0, counter(50));
    target.page(60, counter(51));
    expect(target.fail(120).shown).toEqual(['delta x{} stale @120 from 60']);
    expect(target.page(180, counter(58)).shown).toEqual(['delta x{} 7 @180 from 120']);
  });

  test('F8: a series with only a baseline gets no marker', () => {
    const target = new Target(DELTA);
    target.page(0, counter(50));
    expect(target.fail(60).shown).toEqual([]);
  });

  test.each(['NaN', '+Inf', '-Inf'])('F8: a value of %s adds no growth and loses none', value => {
    const odd = counter(value);
    const seen = runPages(DELTA, [0, counter(50)], [60, odd], [120, odd], [180, counter(57)]);
    expect(shown(seen).slice(1)).toEqual([[], [], ['delta x{} 7 @180 from 120']]);
    expect(seen[1]?.reads).toEqual({ baseline: 1 });
  });

  test('F8: strict mode and start_times: false have deltas, too', () => {
    for (const metrics of [{ mapping: 'strict' as const }, { startTimes: false }])
      expect(
        shown(runPages({ ...DELTA, metrics }, [0, counter(50)], [60, counter(53)]))[1],
      ).toEqual(['delta x{} 3 @60 from 0']);
  });
});

describe('F8: the other kinds', () => {
  test('F8: gauges and non-monotonic sums are unchanged, and so is a summary', () => {
    const text = (value: number): string =>
      `g ${value}\n# TYPE s stateset\ns{s="a"} ${value}\n# TYPE q summary\nq_count ${value}\nq_sum 1\n# EOF`;
    expect(shown(runPages(DELTA, [0, text(5)], [60, text(7)]))).toEqual([
      ['gauge g{} 5 @0', 'updown s{s=a} 5 @0', 'summary q{} count=5 sum=1 @0 from 0'],
      ['gauge g{} 7 @60', 'updown s{s=a} 7 @60', 'summary q{} count=7 sum=1 @60 from 0'],
    ]);
  });

  test('F8: a histogram: every bucket, count and sum since the previous point', () => {
    const seen = runPages(
      DELTA,
      [0, histogram([1, 3], 4, 9)],
      [60, histogram([2, 5], 9, 11.5)],
      [120, histogram([1, 1], 2, 3)],
    );
    expect(shown(seen)).toEqual([
      [],
      ['histogram h{} count=5 sum=2.5 le1:1 le2:1 inf:3 @60 from 0'],
      ['histogram h{} count=2 sum=3 le1:1 le2:0 inf:1 @120 from 60'],
    ]);
    expect(seen[1]?.points[0]?.temporality).toBe('delta');
  });

  test('F8: a histogram whose bounds have changed is a new baseline', () => {
    const seen = runPages(
      DELTA,
      [0, histogram([1, 3], 4, 9)],
      [60, histogram([2], 6, 9)],
      [120, histogram([3], 8, 10)],
      [180, histogram([3, 5], 9, 10)],
    );
    expect(shown(seen)).toEqual([
      [],
      [],
      ['histogram h{} count=2 sum=1 le1:1 inf:1 @120 from 60'],
      [],
    ]);
    expect(seen[1]?.reads).toEqual({ baseline: 3 });
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
      expect(target.page(60 * round, page(round)).shown).toEqual([
        `histogram h{} count=2 sum=1 le1:1 inf:1 @${60 * round} from ${60 * round - 60}`,
        `delta c_total{} 3 @${60 * round} from ${60 * round - 60}`,
      ]);
  });

  test('F8: if only a bucket falls, as the one beyond the last bound, the point is a baseline', () => {
    const seen = runPages(DELTA, [0, histogram([1], 9, 9)], [60, histogram([5], 9, 9)]);
    expect(seen[1]?.reads).toEqual({ baseline: 3 });
  });

  test('F8: lowmemory is cumulative for scraped metrics', () => {
    const seen = runPages({ temporality: 'lowmemory' }, [0, counter(5)], [60, counter(7)]);
    expect(shown(seen)).toEqual([['sum x{} 5 @0 from 0'], ['sum x{} 7 @60 from 0']]);
  });
});

test('F8: the deltas of a series add up to its growth', () => {
  const values = [10, 12, 12, 30, 4, 9, 9.5, 0, 100];
  const seen = runPages(DELTA, ...values.map((value, i) => [i * 60, counter(value)] as const));
  const sum = seen
    .flatMap(({ points }) => points)
    .reduce((total, { value }) => total + Number(value), 0);
  expect(sum).toBe(2 + 0 + 18 + 4 + 5 + 0.5 + 0 + 100);
});
