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

describe('F5: several samples of the uptime on one page', () => {
  test('F5: the newest one shows the restart', () => {
    const before = page(120, 1060, 600);
    const first = '60: 1000 500 from -940';
    check(
      first,
      [120, page(60, 1000, 500) + before, -940],
      [180, before + page(180, 10, 700), 170],
      [240, page(180, 10, 700) + page(240, 70, 800), 170],
    );
    // An uptime from the future shows nothing.
    check(first, [120, page(7200, 9000, 550) + page(120, 10, 600), 110]);
  });

  test('F5: nothing changes if each sample comes with the page after it, too', () => {
    const polls = [
      [60, 1000, 500],
      [120, 1060, 592],
      [180, 51, 215],
      [240, 47, 579],
      [300, 30, 20],
      [360, 12, 396],
    ] as const;
    const texts = polls.map(([seconds, uptime, queries]) => page(seconds, uptime, queries));
    for (const temporality of ['cumulative', 'delta'] as const) {
      const [once, twice] = [new Target({ temporality }), new Target({ temporality })];
      for (const [i, [seconds]] of polls.entries()) {
        const text = texts[i] ?? '';
        const { shown } = once.page(seconds, text);
        expect(twice.page(seconds, (texts[i - 1] ?? '') + text).shown).toEqual(shown);
      }
    }
  });

  test('F5: a restart between two samples of a page is shown by the next page', () => {
    const target = new Target();
    target.page(60, page(60, 1000, 500));
    const both = page(110, 1050, 600) + page(180, 10, 700);
    const sums = target.page(180, both).shown.filter(point => point.startsWith('sum '));
    expect(sums).toEqual(['sum engine_global_status_queries{} 600 @110 from -940']);
    target.has(240, page(240, 70, 800), 'sum engine_global_status_queries{} 800 @240 from 170');
  });
});

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

  test('F4: a newer `_created` from before the previous sample belongs to another process, too', () => {
    const pages: Pages = [
      [10, openMetrics(5, `${epoch}`)],
      [60, openMetrics(9, `${epoch + 5}`)],
    ];
    checkPages(pages, [0, 60]);
    // Strict mode believes the page, but streams do not overlap.
    checkPages(pages, [0, 10], { metrics: { mapping: 'strict' } });
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

  test('F4: another process on a page without `_created` is a failover', () => {
    const name = 'engine_global_status_commands';
    const text = (uptime: number, value: number, created: string): string =>
      `engine_global_status_uptime ${uptime}\n# TYPE ${name} counter\n${name}_total ${value}\n${created}# EOF\n`;
    const created = `${name}_created ${epoch - 1000}\n`;
    check(
      [0, text(1000, 1000, created), -1000],
      [60, text(1060, 1010, created), -1000],
      [120, text(900_000, 5000, ''), 120],
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

describe('F5: the start is derived from the uptime', () => {
  const reversed = `${page(0, 100, 5).split('\n').toReversed().join('\n')}\n`;
  const unstamped = 'engine_global_status_uptime 100\nengine_global_status_queries 5\n';
  const uptimeAlone = (seconds: number, uptime: number): string =>
    `engine_global_status_uptime ${uptime} @${seconds}\n`;
  const twoPods = (seconds: number, first: number, second: number, queries: number): string =>
    `engine_global_status_uptime{pod="1"} ${first} @${seconds}\n` +
    `engine_global_status_uptime{pod="2"} ${second} @${seconds}\n` +
    `engine_global_status_queries ${queries} @${seconds}\n`;
  const ofType = (kind: string, seconds: number, uptime: number): string =>
    page(seconds, uptime, 5).replaceAll(/(_\w+) /g, `$1{topology_type="${kind}"} `);

  test.each<readonly [string, ...Poll[]]>([
    ['time of the uptime sample minus its value, anywhere on the page', [0, reversed, -100]],
    ['without timestamps both have the time of the scrape', [30, unstamped, -70]],
    [
      'kept once derived: whole seconds and jitter do not move it',
      '0: 100 5 from -100, 60: 159 6 from -100, 120: 222@121 7 from -100',
      '180: 280@178 8 from -100',
    ],
    [
      'a process that began at the previous sample is another one, if a third was shown since',
      '0: 1000 5 from -1000, 60: 1060 9 from -1000',
      [120, uptimeAlone(120, 10), null],
      '180: 119 12 from -1000',
    ],
    // The second process began at -1, which is within the jitter of whole seconds.
    ['not before the previous point of another stream', '0: 100 50 from -100, 60: 61 3 from 0'],
    [
      'uptime missing for a scrape: the start stays',
      '0: 100 5 from -100, 60: - 6 from -100, 120: 220 7 from -100',
    ],
    // The fall is handled at once; the evidence a poll later changes nothing.
    [
      'uptime missing for a scrape: the start stays, also through a fall',
      '0: 100 50 from -100, 60: - 3 from 0, 120: 70 9 from 0, 180: 130 12 from 0',
    ],
    // Three restarts in a row; the counter falls only at the first. The second restart may be the first one, shown
    // late, so that its difference is safe.
    [
      'a fall together with a new process does not mean that the uptime is late',
      '0: 3600 100 from -3600, 60: 51 5 from 9, 120: 50 9 from 9, 180: 51 12 from 129',
    ],
    // The fall at 60 belongs to the process shown at 300; the next restart is seen at once.
    [
      'an uptime that does not move is no evidence, until it has grown for two polls',
      '0: 100 5 from -100, 60: 100 2 from 0, 120: 100 7 from 0, 180: 140 8 from 0',
      '240: 200 9 from 0, 300: 260 10 from 0, 360: 10 11 from 350',
    ],
    // The next process began at 2. The uptime did not move for 1 s, which is less than the jitter.
    [
      'an uptime that has not moved does not prove that its process was still there',
      '0: 4000 5 from -4000, 1: 4001 5 from -4000, 2: 4001 9 from -4000',
      '100: 98 9 from -4000',
    ],
    [
      'two uptimes of one name in a component, with another label, show nothing',
      [0, twoPods(0, 100, 9000, 5), 0],
      [60, twoPods(60, 20, 9060, 6), 0],
      [120, twoPods(120, 80, 10, 2), 60],
    ],
    [
      'a second restart after one that was shown a poll late is seen again',
      '0: 100 50 from -100, 60: 100@0 3 from 0, 120: 70 9 from 0, 180: 10 11 from 170',
    ],
    // Restarted at 90; the counter on the page of 120 was taken at 60.
    [
      'an uptime that falls before its counters waits for a sample that is later than the restart',
      '0: 100 50 from -100, 120: 30 55@60 from -100, 180: 90 4 from 90, 240: 150 9 from 90',
    ],
    [
      'an uptime that was missing at first does not move an unknown start',
      '0: - 5 from 0, 60: 1000 6 from 0',
    ],
    [
      'an unknown start does not move by jitter when the uptime arrives, nor does a fall set that start',
      '0: - 5 from 0, 60: 59 6 from 0, 120: 119 2 from 60',
    ],
    // The uptime was sampled 30 s after the counter, on a server that is 10 s old.
    ['a start later than the sample is ignored', '60: 10@90 5 from 60'],
    ['an uptime from the future is no evidence', '0: 10000@3600 5 from 0, 60: 10060@3660 6 from 0'],
    [
      'an uptime older than the last one is ignored',
      '0: 100 5 from -100, 60: 5@-60 6 from -100, 120: 220 7 from -100',
    ],
    [
      'the clock of the store is set back by a little: a poll is lost, the start stays',
      '0: 100 5 from -100, 60: 160 6 from -100, 120: 220@50 7@50',
      '180: 280@110 8@110 from -100',
    ],
    [
      'labels that change at a failover keep the evidence',
      [0, ofType('single', 0, 100), -100],
      [60, ofType('primary', 60, 160), -100],
    ],
  ])('F5: %s', (_, ...polls) => {
    check(...(polls as readonly Poll[]));
  });

  test('F5b: the uptime fell: the start moves, although the counter has passed its old value', () => {
    check('0: 100 5 from -100, 60: 20 9 from 40');
  });

  test('F5c: a start later than the previous sample is a restart, although the uptime did not fall', () => {
    check('0: 100 5 from -100, 7200: 3600 9 from 3600');
  });

  test.each([3, 9, 5_000_000])(
    'F5: a process that began before the previous sample is another one: its count of %i is not growth',
    count => {
      check(`0: 100 5 from -100, 15: 30 ${count} from 15, 75: 90 ${count + 1} from 15`);
      check(`0: 100 5 from -100, 15: 3000 ${count} from 15, 75: 3060 ${count + 1} from 15`);
    },
  );

  test('F5: an uptime that falls a poll after its counters moves nothing', () => {
    // Restarted within the jitter before the sample that fell.
    check('0: 100 50 from -100, 60: 100@0 3 from 0, 120: 57 9 from 0');
    // A counter that had not fallen, and one that was not on that page.
    const line = (name: string, value: number, seconds: number): string =>
      `engine_global_status_${name} ${value} @${seconds}\n`;
    const target = new Target();
    target.page(0, page(0, 100, 50) + line('slow_queries', 0, 0) + line('questions', 9, 0));
    target.page(60, page(60, 100, 3, 0) + line('slow_queries', 2, 60));
    target.shows(
      120,
      page(120, 70, 9) + line('slow_queries', 3, 120) + line('questions', 4, 120),
      'gauge engine_global_status_uptime{} 70 @120',
      'sum engine_global_status_queries{} 9 @120 from 0',
      'sum engine_global_status_slow_queries{} 3 @120 from -100',
      'sum engine_global_status_questions{} 4 @120 from 50',
    );
  });

  test('F5: an uptime that is always a poll late still makes one restart', () => {
    // The server restarts at 90 and at 270; no counter shows the second restart.
    check(
      '0: 100 50 from -100, 60: 160 60 from -100, 120: 220 3 from 60, 180: 30 8 from 60',
      '240: 90 9 from 60, 300: 150 20 from 60, 360: 30 25 from 60, 420: 90 26 from 60',
    );
  });

  test('F5: that an uptime is late is learned although a quantile and a sum fall together with it', () => {
    const uptimeSeries = 'engine_global_status_uptime';
    const override = { type: null, unit: null, description: null, uptimeSeries };
    const target = new Target({ metrics: { overrides: [{ ...override, match: /^s$/ }] } });
    const see = (seconds: number, uptime: number, queries: number, quantile: number): unknown =>
      target.page(
        seconds,
        `${page(seconds, uptime, queries)}# TYPE s summary\ns{quantile="0.5"} ${quantile}\ns_sum ${quantile}\ns_count ${queries}\n`,
      );
    see(0, 100, 50, 9);
    see(60, 160, 60, 9);
    see(120, 220, 3, 9);
    // Restarted at 90.
    see(180, 30, 8, 2);
    const [component] = target.translation.table.components;
    expect(component?.uptimes.get(uptimeSeries)?.lag).toBe(3);
  });

  test('F5: a stamp in the far future costs no start of other series', () => {
    const wrong = `engine_global_status_open_files 1 ${at(0) * 1000}\n`;
    const late = 'engine_global_status_slow_queries 7 @180\n';
    check(
      [60, wrong + page(60, 1000, 50), -940],
      // Restarted at 110.
      [120, wrong + page(120, 10, 5), 110],
      [180, wrong + page(180, 70, 9) + late, 110],
    );
  });

  test('F5: an uptime that is a counter may have a `_created` of its own', () => {
    const created = at(-100) / 1000;
    const uptime = `# TYPE x_age counter\nx_age_total 30\nx_age_created ${created}\n`;
    const override = { type: null, unit: null, description: null, uptimeSeries: 'x_age_total' };
    const overrides = [{ ...override, match: /^y_total$/ }];
    const text = `${uptime}# TYPE y counter\ny_total 4\n# EOF\n`;
    checkWith({ metrics: { overrides } }, [10, text, -20]);
  });

  test('F5: an uptime that is punctual again counts again', () => {
    // Three restarts with a fall, and one without.
    const punctual = [240, 480, 720, 960].flatMap((seconds, i) =>
      [0, 60, 120, 180].map(
        more =>
          `${seconds + more}: ${20 + more} ${(i < 3 ? 2 : 6) + more / 60} from ${seconds - 20}`,
      ),
    );
    const late = '0: 100 50 from -100, 60: 160 3 from 0, 120: 30 8 from 0, 180: 90 9 from 0';
    check(late, punctual.join(', '));
  });

  test('F5: a flush does not mean that the uptime is late if a page is missing between it and a restart', () => {
    const polls: readonly Poll[] = [
      '0: 3600 2 from -3600',
      // A flush, a page without counters, two restarts, and another page without counters.
      '60: 3660 0 from 0',
      [120, '', null],
      '180: 111 0 from 0, 240: 50 0 from 190',
      [300, '', null],
      // The process of 190 s answers again: its counts may be older than the previous sample.
      '360: 51 0 from 309, 420: 230 2 from 420',
    ];
    check(...polls);
    const target = new Target({ temporality: 'delta' });
    const deltas = pagesOf(polls).map(([seconds, text]) => target.page(seconds, text).shown.at(-1));
    expect(deltas.join('\n')).not.toContain('queries{} 2 ');
  });

  test.each([
    ['cumulative', 'sum'],
    ['delta', 'delta'],
  ] as const)(
    'F5: a stuck uptime dates no new series until it has grown (%s)',
    (temporality, kind) => {
      const target = new Target({ temporality });
      const seen = [100, 5, 65, 65, 65, 245, 305, 365, 425].map((uptime, i) => {
        const lines = `engine_global_status_uptime ${uptime}\nengine_global_status_queries{n="${i}"} 9\n`;
        const { shown } = target.page(60 * i, lines);
        return shown.filter(point => / 9 /.test(point)).join();
      });
      const dated = (n: number, from: number): string =>
        `${kind} engine_global_status_queries{n=${n}} 9 @${60 * n} from ${from}`;
      const unknown = [3, 4, 5, 6].map(n => (temporality === 'delta' ? '' : dated(n, 60 * n)));
      expect(seen.slice(2)).toEqual([dated(2, 55), ...unknown, dated(7, 55), dated(8, 55)]);
    },
  );

  test('F5: an uptime that does not move is reported, until it moves again', () => {
    const target = new Target();
    const stuck = [0, 60, 120, 180, 240].map(seconds => {
      const uptime = seconds < 180 ? 100 : 100 + seconds;
      return outcomeOf(target.page(seconds, page(seconds, uptime, 5)))?.stuckUptimes;
    });
    expect(stuck).toEqual([0, 1, 1, 0, 0]);
    // The uptime is no longer on the page, or the page has not moved.
    expect(outcomeOf(target.page(300, page(300, null, 5)))?.stuckUptimes).toBe(0);
    expect(outcomeOf(target.page(360, page(300, 340, 5, 240)))?.stuckUptimes).toBe(0);
  });

  test('F5: a process is recognised after hours, and its start stays', () => {
    const target = new Target();
    target.has(
      0,
      named(0, 100, 5),
      'sum engine_global_status_queries{server_name=a} 5 @0 from -100',
    );
    for (let minutes = 1; minutes < 200; minutes++) target.page(minutes * 60, other(minutes * 60));
    expect(target.translation.table.components.length).toBe(2);
    target.has(
      12_000,
      named(12_000, 12_101, 9),
      'sum engine_global_status_queries{server_name=a} 9 @12000 from -100',
    );
  });

  test.each([
    ['reports no growth, if its start was another', 2, 12_100, null, 12_000],
    ['may have had a part of the count of a process that began at 61', 7, 11_939, null, 12_000],
    ['had nothing of one that began at 65', 7, 11_935, null, 65],
    ['is not dated to one that is older than the one that was left', 7, 11_930, 10, 12_000],
  ])('F5: a forgotten series that returns %s', (_, queries, uptime, uptimeBefore, want) => {
    const target = new Target();
    target.page(0, named(0, 100, 5));
    target.page(60, named(60, 160, queries));
    for (let minutes = 2; minutes < 200; minutes++) target.page(minutes * 60, other(minutes * 60));
    if (uptimeBefore !== null)
      target.page(11_940, named(11_940, uptimeBefore, 0).replace(/engine_\w+queries.*\n/, ''));
    target.has(
      12_000,
      named(12_000, uptime, 9),
      `sum engine_global_status_queries{server_name=a} 9 @12000 from ${want}`,
    );
  });

  test('F5: a forgotten series does not continue a start that its process had by mistake', () => {
    const target = new Target();
    target.page(0, page(0, 1000, 0));
    target.page(30, page(30, 3, 0));
    // One uptime has a timestamp that is too late. It looks like a restart, and the next page like the old process.
    target.page(45, page(45, 13, 0));
    for (const minutes of [1, 2, 62, 63])
      target.page(minutes * 60, `engine_global_status_uptime ${minutes * 60 - 27}`);
    target.has(4000, page(4000, 3973, 7), 'sum engine_global_status_queries{} 7 @4000 from 4000');
  });

  test('F5: after a failed scrape both temporalities see that a fall came with its uptime', () => {
    const page = (uptime: number, queries: number, commands: number): string =>
      `engine_global_status_uptime ${uptime}\nengine_global_status_queries ${queries}\n` +
      `engine_global_status_commands_total{command="x"} ${commands}\n`;
    const last = (temporality: 'cumulative' | 'delta', staleMarkers: boolean): string => {
      const target = new Target({ temporality, metrics: { staleMarkers } });
      target.page(15, page(1015, 10, 10));
      target.fail(30);
      target.page(45, page(3, 0, 1));
      // The uptime was sampled 5 s ago and has no timestamp: it looks like a restart at 47 s.
      return target.page(75, page(28, 0, 1)).shown.at(-1) ?? '';
    };
    for (const staleMarkers of [true, false]) {
      expect(last('delta', staleMarkers)).toContain(' 0 @75 from 45');
      expect(last('cumulative', staleMarkers)).toContain(' 1 @75 from 42');
    }
  });

  test.each(['-5', 'NaN', '+Inf', '1e300', '9e9'])(
    'F5: an uptime of %s is no evidence',
    nonsense => {
      check([0, page(0, 0, 5).replace(/uptime \S+/, `uptime ${nonsense}`), 0]);
    },
  );

  test('F5: the clock of the store is set ahead: the uptime grew by the elapsed time, so nothing restarted', () => {
    const target = new Target();
    for (const [seconds, server, uptime, queries] of [
      [0, 0, 100, 5],
      [60, 3660, 160, 6],
      [120, 3720, 220, 7],
    ] as const) {
      const { shown } = target.page(seconds, page(server, uptime, queries), { server });
      expect(shown.at(-1)).toMatch(` ${queries} @${server} from -100`);
    }
  });

  test('F5: honor_timestamps: false gives the uptime the time of the scrape, too', () => {
    checkWith({ metrics: { honorTimestamps: false } }, '60: 100@0 5@0 from -40');
  });

  test.each(['# TYPE x_total counter\nx_total 4', '# TYPE h histogram\nh_count 4\nh_sum 1'])(
    'F5: an override names the uptime of what the catalog does not know: %s',
    text => {
      const override = { type: null, unit: null, description: null, uptimeSeries: 'x_age' };
      const overrides = [{ ...override, match: /^(?:h|x_total)$/ }];
      checkWith({ metrics: { overrides } }, [10, `x_age 30\n${text}\n`, -20]);
    },
  );

  test.each([0, 1])(
    'F5: a series that was absent while another process was shown is not continued by one that began %i s later than its own',
    later => {
      const without = 'engine_global_status_uptime 9000 @30\n';
      const pages: Pages = [
        [0, page(0, 100, 10)],
        [15, page(15, 115, 20)],
        [30, without],
        [45, page(45, 145 - later, 500)],
        [60, page(60, 160 - later, 510)],
      ];
      checkPages(pages, [-100, -100, null, 45, 45]);
      const unstamped = pages.map(
        ([seconds, text]) => [seconds, text.replaceAll(/ @\d+\n/g, '\n')] as const,
      );
      checkPages(unstamped, [-100, -100, -100, 45, 45]);
    },
  );

  test.each([1, 2])(
    'F5: nor if the other process seemed to be its own, and the series was marked stale before its own returned (%i s old at first)',
    uptime => {
      const pages: Pages = [
        [30, page(30, uptime, 0)],
        [60, page(60, 30, 0)],
        [90, page(90, 59, 0)],
        [105, other(105)],
        [120, page(120, 92, 1)],
        [135, page(135, 107, 2)],
      ];
      const unstamped = pages.map(
        ([seconds, text]) => [seconds, text.replaceAll(/ @\d+\n/g, '\n')] as const,
      );
      const beginS = 30 - uptime;
      for (const some of [pages, unstamped])
        expect(starts(some).toSpliced(3, 1)).toEqual([beginS, beginS, beginS, 120, 120]);
    },
  );
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
