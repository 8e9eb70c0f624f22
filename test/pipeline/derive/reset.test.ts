// Rules F4 to F7: when a counter, histogram or summary began to count.
import { describe, expect, test } from 'vitest';
import { at, outcomeOf, Target, type TargetOptions } from '../../support/target.ts';

type Pages = readonly (readonly [seconds: number, text: string, ...unknown[]])[];
/** A page of one engine server: its uptime and one counter, stamped at `seconds` by default. */
function page(seconds: number, uptime: number | null, queries: number, uptimeAt = seconds): string {
  const line = `engine_global_status_uptime ${uptime} @${uptimeAt}\n`;
  return `${uptime === null ? '' : line}engine_global_status_queries ${queries} @${seconds}\n`;
}

/** A page of another server; `named` adds this server's uptime and counter. */
const other = (seconds: number): string => `load{server_name="b"} 1 @${seconds}\n`;
const named = (seconds: number, uptime: number, queries: number): string =>
  other(seconds) + page(seconds, uptime, queries).replaceAll(/(_\w+) /g, '$1{server_name="a"} ');

/** The start of the last point of a counter, histogram or summary on each page, in seconds after T0. */
function starts(pages: Pages, options: TargetOptions = {}): (number | null)[] {
  const target = new Target(options);
  return pages.map(([seconds, text]) => {
    const points = target.page(seconds, text).shown.filter(point => !point.startsWith('gauge '));
    const found = / from (-?[\d.]+)$/.exec(points.at(-1) ?? '');
    return found === null ? null : Number(found[1]);
  });
}

type Start = number | null;

/**
 * A poll: a page with the start that it must show, or a text with polls of the one engine server. `60: 100 5 from -40`
 * has the uptime 100 (`-` if it is missing), the counter 5 and the start -40 at 60 s; `@` gives a value another time.
 */
type Poll = string | readonly [seconds: number, text: string, want: Start];

function pollsOf(text: string): readonly Exclude<Poll, string>[] {
  return text.split(', ').map(one => {
    const found = /^(\S+): (\d+|-)(?:@(\S+))? (\d+)(?:@(\S+))?(?: from (\S+))?$/.exec(one);
    const [, at = '', uptime, uptimeAt = at, queries, queriesAt = at, want] =
      found ?? expect.fail(one);
    const shown = uptime === '-' ? null : Number(uptime);
    const text = page(Number(queriesAt), shown, Number(queries), Number(uptimeAt));
    return [Number(at), text, want === undefined ? null : Number(want)];
  });
}

const pagesOf = (polls: readonly Poll[]): readonly Exclude<Poll, string>[] =>
  polls.flatMap(poll => (typeof poll === 'string' ? pollsOf(poll) : [poll]));

function checkWith(options: TargetOptions, ...polls: readonly Poll[]): void {
  const all = pagesOf(polls);
  const wants = all.map(([, , want]) => want);
  expect(starts(all, options)).toEqual(wants);
}

const check = (...polls: readonly Poll[]): void => checkWith({}, ...polls);

function checkPages(pages: Pages, want: readonly Start[], options?: TargetOptions): void {
  expect(starts(pages, options)).toEqual(want);
}

describe('F4: the page gives the start', () => {
  const openMetrics = (value: number, created: string): string =>
    `# TYPE x counter\nx_total{a="b"} ${value}\nx_created{a="b"} ${created}\n# EOF\n`;
  const epoch = at(0) / 1000;

  test('F4: `_created` may precede its counter, or arrive later', () => {
    const before = `# TYPE x counter\nx_created ${epoch - 100}\nx_total 5\n# EOF\n`;
    check([10, before, -100]);
    const without = '# TYPE x counter\nx_total 5\n# EOF\n';
    checkWith({ metrics: { mapping: 'strict' } }, [10, without, null], [20, before, -100]);
  });

  test.each([
    ['a histogram that was a number', 'x_bucket{le="1"} 1\nx_sum 2\nx_count 5', 'x 1'],
    ['one whose count was a number', 'x_count 5', 'x_count 5'],
  ])('F5: %s in between has an unknown start if it is dated before that', (_, first, number) => {
    const head = '# TYPE x histogram\n';
    const last = `${head}x_bucket{le="1"} 1\nx_sum 2\nx_count 5\nx_created ${epoch - 100}\n`;
    check([0, `${head}${first}\n`, 0], [60, `${number} @60\n`, null], [120, last, 120]);
  });

  test.each([`${epoch + 60}`, 'NaN', '0'])(
    'F4: a `_created` of %s, later than its sample or invalid, is ignored',
    created => {
      check([10, openMetrics(5, created), 10]);
      checkWith({ metrics: { mapping: 'strict' } }, [10, openMetrics(5, created), null]);
    },
  );

  test('F4: a start never goes back: a `_created` that goes back belongs to another process', () => {
    const pages: Pages = [
      [10, openMetrics(5, `${epoch}`)],
      [20, openMetrics(6, `${epoch - 50}`)],
      [30, openMetrics(7, `${epoch - 50}`)],
    ];
    checkPages(pages, [0, 20, 20]);
    checkPages(pages, [0, 0, 0], { metrics: { mapping: 'strict' } });
  });

  test('F4: in strict mode a start ends with a fall, until the page gives a newer one', () => {
    const strict = { metrics: { mapping: 'strict' } } as const;
    const pages: Pages = [
      [10, openMetrics(5, `${epoch}`)],
      [20, openMetrics(2, `${epoch}`)],
      [30, openMetrics(3, `${epoch}`)],
      [40, openMetrics(4, `${epoch + 15}`)],
      [50, '# TYPE x counter\nx_total{a="b"} 1\n# EOF\n'],
      [60, openMetrics(1, `${epoch + 15}`)],
      [70, openMetrics(0, `${epoch + 45}`)],
      [80, openMetrics(0, `${epoch + 45}`)],
    ];
    checkPages(pages, [0, null, null, 15, null, null, 60, 60], strict);
  });

  test('F4: `_created` beats the uptime', () => {
    const name = 'engine_global_status_commands';
    const text = (uptime: number, value: number): string =>
      `engine_global_status_uptime ${uptime}\n# TYPE ${name} counter\n${name}_total ${value}\n${name}_created ${epoch}\n# EOF\n`;
    check([10, text(100, 5), 0], [70, text(5, 6), 0]);
  });

  test('F4: a `_created` that is missing on one page is no other process', () => {
    const name = 'engine_global_status_commands';
    const text = (seconds: number, created: string): string =>
      `engine_global_status_uptime ${5000 + seconds}\n# TYPE ${name} counter\n${name}_total ${1000 + seconds}\n${created}# EOF\n`;
    const created = `${name}_created ${epoch - 1000}\n`;
    check(
      [0, text(0, created), -1000],
      [60, text(60, ''), -1000],
      [120, text(120, created), -1000],
    );
  });

  test('F4: histograms and summaries have it, too', () => {
    const tail = (name: string): string =>
      `${name}_count 2\n${name}_sum 3\n${name}_created ${epoch - 7}\n`;
    const histogram = `# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 2\n${tail('h')}# EOF\n`;
    check([10, histogram, -7]);
    check([10, `# TYPE s summary\ns{quantile="0.5"} 1\n${tail('s')}# EOF\n`, -7]);
  });

  test('F4: strict mode, and start_times: false, have no other start', () => {
    const pages: Pages = [
      [0, page(0, 100, 5)],
      [60, page(60, 10, 1)],
    ];
    const strict = '# TYPE engine_global_status_queries counter\n';
    const declared: Pages = pages.map(([seconds, text]) => [seconds, strict + text]);
    checkPages(declared, [null, null], { metrics: { mapping: 'strict' } });
    checkPages(pages, [null, null], { metrics: { startTimes: false } });
  });
});

/** The deltas of the engine's counter on pages of [uptime, counter], added up. */
function sumOfDeltas(
  secondsApart: number,
  isStamped: boolean,
  ...polls: readonly (readonly [uptime: number | null, queries: number])[]
): number {
  const metrics = { intervalMs: secondsApart * 1000 };
  const target = new Target({ temporality: 'delta', metrics });
  let sum = 0;
  for (const [i, [uptime, queries]] of polls.entries()) {
    const seconds = secondsApart * (i + 1);
    const text = page(seconds, uptime, queries);
    const { points } = target.page(seconds, isStamped ? text : text.replaceAll(/ @\d+/g, ''));
    for (const { type, value } of points) if (type === 'sum') sum += Number(value);
  }
  return sum;
}

const FIRST = '60: 1000 500 from -940';

describe('F5: the uptime shows another process', () => {
  test.each<readonly [string, string]>([
    ['it comes seconds early or late', '120: 1063 60 from -940, 180: 1120 70 from -940'],
    ['it fell: a restart, although the counter has passed its old value', '120: 20 600 from 100'],
    ['it fell, and its process began a little before the previous sample', '120: 70 600 from 60'],
    ['it fell, and its process had counted for others before', '120: 500 700 from 120'],
    ['it grew by less than time: a restart', '120: 1010 9000 from 120'],
    ['it ran ahead of time: a failover', '120: 90000 700 from 120, 180: 90060 800 from 120'],
    ['the counter fell first: the same restart', '120: 1060 7 from 60, 180: 70 90 from 60'],
    ['a flush, and then a restart', '120: 1060 7 from 60, 240: 40 90 from 200'],
    ['a clock that steps costs one interval', '180: 1060 600 from 180, 240: 1120 700 from 180'],
  ])('F5: %s', (_, polls) => {
    const first = polls.includes(' 60 from') ? '60: 1000 50 from -940' : FIRST;
    check(`${first}, ${polls}`);
  });

  test('F5: a young process that was replaced by a younger one', () => {
    check('60: 10 5 from 50, 120: 20 9 from 100');
  });

  test('F5: a cached page claims nothing, and its failover is a baseline', () => {
    const polls = [100_000, 100_000, 100_060, 100_060, 5000, 5000, 5060].map(
      (uptime, i) => [uptime, [50, 50, 60, 60, 7_000_000, 7_000_000][i] ?? 7_000_010] as const,
    );
    expect(sumOfDeltas(30, false, ...polls)).toBe(20);
  });

  test('F5: an uptime of which a part is older than the page is no restart', () => {
    const polls = [1000, 1000, 1060, 1060, 1120, 1120].map((uptime, i) => [uptime, 9 * i] as const);
    const target = new Target({ metrics: { intervalMs: 30_000 } });
    const pages = polls.map(([uptime, queries], i) => {
      const text = page(0, uptime, queries).replaceAll(/ @\d+/g, '');
      return target.page(30 * (i + 1), text).shown.find(point => point.startsWith('sum '));
    });
    expect(pages.map(point => point?.split(' from ')[1])).toEqual(polls.map(() => '-970'));
  });

  test('F5: a series that was absent meanwhile is judged by its own previous sample', () => {
    const target = new Target();
    target.page(60, named(60, 1000, 500));
    const uptime = named(120, 20, 0).replace(/.*queries.*\n/, '');
    target.page(120, uptime);
    target.page(180, uptime.replace(' 20 ', ' 80 ').replaceAll('@120', '@180'));
    target.has(
      240,
      named(240, 140, 700),
      'sum engine_global_status_queries{server_name=a} 700 @240 from 100',
    );
  });
});

describe('F5: a page lacks the uptime that it had', () => {
  test('F5: deltas wait for the next page', () => {
    const polls = [
      [1_000_000, 50],
      [1_000_060, 60],
      [null, 7_000_000],
      [2_000_180, 7_000_010],
    ] as const;
    expect(sumOfDeltas(60, true, ...polls)).toBe(10);
    const goesOn = [
      [1000, 50],
      [null, 60],
      [1120, 70],
    ] as const;
    expect(sumOfDeltas(60, true, ...goesOn)).toBe(20);
  });

  test('F5: cumulative values go on with their start, and wait if they fell', () => {
    const target = new Target();
    target.page(60, page(60, 1000, 500));
    target.shows(
      120,
      page(120, null, 510),
      'sum engine_global_status_queries{} 510 @120 from -940',
    );
    const seen = target.shows(180, page(180, null, 3));
    expect(seen.reads).toMatchObject({ baseline: 1 });
    target.has(240, page(240, 100, 9), 'sum engine_global_status_queries{} 9 @240 from 140');
  });

  test('F5: after three pages its counters are judged without it, and it is reported', () => {
    const target = new Target();
    target.page(60, page(60, 1000, 500));
    for (const seconds of [120, 180, 240])
      expect(outcomeOf(target.shows(seconds, page(seconds, null, 3)))?.lostUptimes).toBe(0);
    const seen = target.shows(
      300,
      page(300, null, 4),
      'sum engine_global_status_queries{} 4 @300 from 60',
    );
    expect(outcomeOf(seen)?.lostUptimes).toBe(1);
    const back = target.page(360, page(360, 1300, 5));
    expect(outcomeOf(back)?.lostUptimes).toBe(0);
    expect(back.shown[1]).toBe('sum engine_global_status_queries{} 5 @360 from 60');
  });

  test('F5: with two uptimes of one name in a component nothing is derived', () => {
    const both = (seconds: number, queries: number): string =>
      `engine_global_status_uptime{a="1"} 1000 @${seconds}\n` +
      `engine_global_status_uptime{a="2"} 5 @${seconds}\n` +
      `engine_global_status_queries ${queries} @${seconds}\n`;
    checkPages(
      [
        [60, both(60, 5)],
        [120, both(120, 3)],
      ],
      [60, 60.001],
    );
  });

  test.each(['-5', 'NaN', '+Inf', '1e300', '9e9'])('F5: an uptime of %s shows nothing', value => {
    const text = `engine_global_status_uptime ${value} @60\nengine_global_status_queries 5 @60\n`;
    checkPages([[60, text]], [60]);
  });
});

test('F6: the first point starts at its own time, and later points keep that start', () => {
  const text = (value: number): string => `# TYPE x_total counter\nx_total ${value}\n`;
  check([0, text(5), 0], [60, text(6), 0], [120, text(9), 0]);
});

describe('F7: resets', () => {
  test('F7: a flush and then a restart are two resets', () => {
    check('0: 100 50 from -100, 60: 160 3 from 0, 120: 10 1 from 110');
  });

  test('F7: a counter that the page dates with an old `_created` still resets when it falls', () => {
    const text = (value: number): string =>
      `# TYPE x counter\nx_total ${value}\nx_created ${at(-100) / 1000}\n# EOF\n`;
    check([0, text(50), -100], [60, text(3), 0], [120, text(4), 0]);
  });

  test('F7: a histogram resets if its count or any bucket falls, whatever its sum does', () => {
    const text = (buckets: readonly number[], sum: number): string =>
      `# TYPE h histogram\nh_bucket{le="1"} ${buckets[0]}\nh_bucket{le="2"} ${buckets[1]}\nh_count ${buckets[2]}\nh_sum ${sum}\n`;
    const checkThird = (buckets: readonly number[], sum: number, want: number): void =>
      check(
        [0, text([2, 3, 4], 5), 0],
        [60, text([2, 3, 4], 5), 0],
        [120, text(buckets, sum), want],
      );
    checkThird([2, 3, 4], 4, 0);
    checkThird([2, 3, 3], 6, 60);
    checkThird([1, 3, 4], 6, 60);
    checkThird([2, 2, 4], 6, 60);
    // Only the count between two bounds fell: the cause is unknown.
    checkThird([3, 3, 4], 6, 120);
    checkThird([2, 4, 4], 6, 120);
  });

  test('F7: a summary resets if its count falls, not if a quantile or its sum does', () => {
    const text = (quantile: number, count: number, sum: number): string =>
      `# TYPE s summary\ns{quantile="0.5"} ${quantile}\ns_count ${count}\ns_sum ${sum}\n`;
    const checkThird = (third: string, want: number): void =>
      check([0, text(9, 3, 5), 0], [60, text(9, 4, 5), 0], [120, third, want]);
    checkThird(text(2, 5, 5), 0);
    checkThird(text(9, 5, 1), 0);
    checkThird(text(9, 3, 5), 60);
  });

  test.each([
    ['NaN', '3', [0, 0, 0, 120]],
    ['+Inf', '57', [0, 0, 0, 120]],
    ['-Inf', '57', [0, 0.001, 0.001, 0.001]],
  ])('F7: a value of %s hides no reset', (odd, last, want) => {
    const text = (value: string): string => `# TYPE x_total counter\nx_total ${value}\n`;
    const pages = ['50', odd, odd, last].map((value, i) => [60 * i, text(value)] as const);
    checkPages(pages, want);
  });
});
