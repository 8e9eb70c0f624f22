// When a process stops between two scrapes, only the blob remains: the next process must send what the
// first one would have sent. When it is killed, the starts remain.

import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/load.ts';
import { saveStarts, saveWhole } from '../../../src/pipeline/derive/state.ts';
import { readState, packColumns, unpackColumns } from '../../../src/pipeline/derive/state-form.ts';
import { at, finished, successorOf, Target, type TargetOptions } from '../../support/target.ts';

const COUNTER = 'engine_global_status_questions';
const UPTIME = 'engine_global_status_uptime';

/** The values of a page: a counter, its uptime, a gauge and a histogram. */
interface PageValues {
  readonly counter: number;
  readonly uptime?: number;
  readonly gauge: number;
  readonly buckets: readonly [number, number];
  /** Timestamp in seconds after T0; without one, the page has no timestamps. */
  readonly at?: number;
}

function pageText(values: PageValues): string {
  const [small, all] = values.buckets;
  const uptime = values.uptime === undefined ? '' : `${UPTIME}{server_name="s"} ${values.uptime}\n`;
  const text = `${COUNTER}{server_name="s"} ${values.counter}
${uptime}load{server_name="s"} ${values.gauge}
h_bucket{le="1"} ${small}
h_bucket{le="+Inf"} ${all}
h_count ${all}
h_sum ${all}`;
  const stamp = values.at === undefined ? '' : ` @${values.at}`;
  return `# TYPE h histogram\n${text.replaceAll('\n', `${stamp}\n`)}${stamp}\n`;
}

/**
 * Expects the same points of one process that reads all pages, and of processes that read one page
 * each. null is a failed scrape.
 */
function check(pages: readonly (PageValues | null)[], options: TargetOptions): void {
  const whole = new Target(options);
  let part = new Target(options);
  for (const [index, values] of pages.entries()) {
    const see = (target: Target): readonly string[] =>
      (values === null ? target.fail(index * 60) : target.page(index * 60, pageText(values))).shown;
    const expected = see(whole);
    if (index > 0) part = successorOf(part, options);
    const actual = see(part);
    // Only a process that has seen the series itself sends markers.
    if (values !== null) expect([index, actual]).toEqual([index, expected]);
  }
}

const FIRST: PageValues = { counter: 100, uptime: 1000, gauge: 1, buckets: [1, 2] };
const SECOND: PageValues = { counter: 110, uptime: 1060, gauge: 2, buckets: [1, 3] };
const REST: readonly PageValues[] = [
  { counter: 125, uptime: 1120, gauge: 3, buckets: [2, 5] },
  { counter: 130, uptime: 1180, gauge: 3, buckets: [2, 5] },
];
const steady = [FIRST, SECOND, ...REST];
const restarted = [
  FIRST,
  SECOND,
  ...REST.map((page, i) => ({ ...page, counter: 2 + i, uptime: 20 + i * 60 })),
];
const flushed = [FIRST, SECOND, ...REST.map((page, i) => ({ ...page, counter: 2 + i }))];
const unknown = steady.map(({ counter, gauge, buckets }) => ({ counter, gauge, buckets }));
const stamped = (pages: readonly PageValues[]): readonly PageValues[] =>
  pages.map((page, i) => ({ ...page, at: i * 60 - 30 }));
const standing = stamped(steady).with(2, { ...SECOND, at: 30 });
const TEMPORALITIES = ['cumulative', 'delta'] as const;

describe.each(TEMPORALITIES)('%s', temporality => {
  test.each([
    ['changes neither starts nor deltas', steady],
    ['hides no restart of the server', restarted],
    ['hides no flush of the status', flushed],
  ] as const)('a restart of prom2otlp %s', (_, pages) => {
    check(pages, { temporality });
    check(stamped(pages), { temporality });
  });

  test('an unknown start does not change', () => check(unknown, { temporality }));

  test('scrapes that fail between two restarts forget nothing', () => {
    const second = { ...SECOND, at: 30 };
    check([{ ...FIRST, at: -30 }, second, null, null, second, ...stamped(steady).slice(2)], {
      temporality,
    });
  });

  test('series absent between two restarts are remembered', () => {
    const first = pageText({ ...FIRST, at: -30 });
    let after = new Target({ temporality });
    after.page(0, first);
    for (const seconds of [60, 120, 180, 240]) {
      after = successorOf(after, { temporality });
      if (seconds < 240) after.page(seconds, 'other{server_name="s"} 1');
    }
    // The page from before the restarts: each of its points has been sent.
    after.shows(300, first);
    const { shown } = after.page(360, pageText({ ...SECOND, uptime: 1360, at: 330 }));
    expect(shown.filter(line => line.includes(COUNTER))).toHaveLength(1);
  });

  test('a sent sample is not sent again', () => check(standing, { temporality }));
});

test.each([
  ['', ['a']],
  [', also if a service is missing', ['a', 'b']],
])('processes that live for one page do not pass on every series for ever%s', (_, services) => {
  let target = new Target({ services });
  for (let hour = 0; hour < 60; hour++) {
    const labels = `namespace="a",id="${hour}",server_name="s${hour}"`;
    target.page(hour * 3600, `# TYPE c counter\nc{${labels}} 1\n`);
    target = successorOf(target, { services });
  }
  expect(target.translation.table.restored?.indexById.size).toBeLessThan(30);
});

test('a histogram that ended keeps the time of its marker and its start over a restart, though a part is older', () => {
  const histogram = (parts: readonly string[], stamp = ''): string =>
    `# TYPE h histogram\n${parts.map(part => `${part}${stamp}\n`).join('')}`;
  const all = ['h_bucket{le="1"} 1', 'h_bucket{le="+Inf"} 2', 'h_count 2', 'h_sum 2'];
  const before = new Target();
  before.page(0, histogram(all));
  // This page lacks the sum, which is then older than the other parts.
  before.page(60, histogram(all.slice(0, -1)));
  before.has(120, 'other 1', 'histogram h{} stale @120 from 0');
  const after = successorOf(before);
  after.shows(180, histogram(all, ' @90'));
  after.shows(240, histogram(all), 'histogram h{} count=2 sum=2 le1:1 inf:1 @240 from 0');
  // The row that was the head of the histogram is absent at first.
  const other = successorOf(before);
  other.shows(180, histogram(all.slice(1)), 'histogram h{} count=2 sum=2 inf:2 @180 from 0');
});

test.each(TEMPORALITIES)(
  'a histogram goes on over a restart, whichever line of it comes first then (%s)',
  temporality => {
    const histogram = (parts: readonly string[], count: number, seconds: number): string =>
      ['# TYPE h histogram', ...parts.map(part => `${part} ${count} @${seconds}`), ''].join('\n');
    const parts = ['h_bucket{le="1"}', 'h_bucket{le="+Inf"}', 'h_count'];
    const shownAfter = (orders: readonly (readonly string[])[]): unknown =>
      orders.map(order => {
        const before = new Target({ temporality });
        before.page(0, histogram(parts, 5, 0));
        before.page(60, histogram(parts, 6, 60));
        const after = successorOf(before, { temporality });
        return [
          // The sample that was sent before.
          after.page(61, histogram(order, 6, 60)).shown,
          after.fail(500).shown,
          after.page(560, histogram(order, 8, 560)).shown,
          after.page(620, histogram(order, 9, 620)).shown,
        ];
      });
    const [same, ...others] = shownAfter([parts, parts.toReversed()]) as unknown[][];
    expect(same?.[1]).toEqual([expect.stringContaining('h{} stale @60.001')]);
    for (const other of others) expect(other).toEqual(same);
    // The earlier count of a new bucket is not known.
    const [behind, before] = shownAfter([
      [...parts, 'h_bucket{le="0.5"}'],
      ['h_bucket{le="0.5"}', ...parts],
    ]) as unknown[];
    expect(before).toEqual(behind);
  },
);

describe.each(TEMPORALITIES)('a histogram with absent parts (%s)', temporality => {
  const PARTS = ['h_bucket{le="1"}', 'h_bucket{le="5"}', 'h_count'];
  /** A page with these counts of its parts; `-` is absent. */
  const page = (counts: string, stamp: string): string => {
    const lines = counts.split(' ').map((count, i) => `${PARTS[i]} ${count}${stamp}\n`);
    return `# TYPE h histogram\n${lines.filter(line => !line.includes(' -')).join('')}other 1`;
  };
  const restarts = [[], [1], [2], [3], [1, 2], [2, 3], [1, 2, 3]];
  const cases = [
    ['that falls says nothing', '2 4 6, 2 - 6, 2 3 8', 'count=8 le1:2 le5:1 inf:5 @120 from 120'],
    [
      'at a reset is no other reset',
      '2 4 6, 2 - 6, 1 - 2, 1 3 4',
      'count=4 le1:1 le5:2 inf:1 @180 from 60',
    ],
    [
      'leaves the start, whichever has been the head',
      '2 4 6, - - -, - 4 6, 2 5 7',
      'count=7 le1:2 le5:3 inf:2 @180 from 0',
    ],
    [
      'at the newest sample has not grown since, though that ended',
      '2 4 6, 2 4 6, - - 9, - - -, - 9 15',
      'count=15 le5:9 inf:6 @240 from 0',
    ],
  ] as const;

  test.each(
    cases.flatMap(([what, pages, want]) =>
      restarts.map(before => [what, before, pages, want] as const),
    ),
  )('a part that is absent %s (restarts before %j)', (what, before, pages, want) => {
    let target = new Target({ temporality });
    let shown: readonly string[] = [];
    for (const [i, counts] of pages.split(', ').entries()) {
      if (before.includes(i)) target = successorOf(target, { temporality });
      const stamp = what.startsWith('at the newest') ? '' : ` @${60 * i}`;
      ({ shown } = target.page(60 * i, page(counts, stamp)));
    }
    const found = shown.filter(point => point.startsWith('histogram'));
    expect(found).toEqual(temporality === 'delta' ? [] : [`histogram h{} ${want}`]);
  });
});

describe.each(TEMPORALITIES)('labels over a restart (%s)', temporality => {
  type Labels = (own: readonly string[]) => string;
  /** A counter, its uptime and a histogram, whose labels are written like this. */
  const text = (labels: Labels, count: number, seconds: number): string => {
    const line = (name: string, own: readonly string[], value: number): string =>
      `${name}{${labels([...own, 'server_name="s"'])}} ${value} @${seconds}\n`;
    return [
      line(COUNTER, ['x="\\"y\\""'], count),
      line(UPTIME, [], 1000 + seconds),
      '# TYPE h histogram\n',
      line('h_bucket', ['le="1"'], count),
      line('h_count', [], count),
    ].join('');
  };
  const shown = (target: Target, page: string, seconds: number): readonly string[] =>
    target
      .page(seconds, page)
      .shown.map(point =>
        point.replace(/\{(.*)\}/, (_, own: string) => `{${own.split(',').sort().join(',')}}`),
      );
  const plain: Labels = own => ['namespace="a"', ...own].join(',');

  test.each<readonly [string, Labels]>([
    ['in another order', own => ['namespace="a"', ...own].reverse().join(' , ')],
    ['without that of the service', own => own.join(',')],
    ['with an empty one', own => [...own, 'z=""', 'namespace="a"'].join(',')],
  ])('are those of the same series %s', (_, other) => {
    const options = { temporality, services: ['a'] };
    for (const [first, second] of [
      [plain, other],
      [other, plain],
    ] as const) {
      const before = new Target(options);
      before.page(0, text(first, 5, 0));
      before.page(60, text(first, 7, 60));
      const after = successorOf(before, options);
      expect(shown(after, text(second, 7, 60), 61)).toEqual([]);
      const wanted = shown(before, text(first, 9, 120), 120);
      expect(shown(after, text(second, 9, 120), 120)).toEqual(wanted);
      expect(wanted).toHaveLength(3);
    }
  });
});

describe('starts that a process made in another way', () => {
  /** A page that declares its counter, so that strict mode has one. */
  const page = (seconds: number, questions: number, uptime = 1000 + seconds): string =>
    `# TYPE ${COUNTER} counter\n${COUNTER} ${questions} @${seconds}\n${UPTIME} ${uptime} @${seconds}\n`;
  /** The counter on a page, without its name. */
  const counted = (target: Target, ...polled: Parameters<typeof page>): readonly string[] =>
    target
      .page(polled[0], page(...polled))
      .shown.filter(line => line.includes(COUNTER))
      .map(line => line.replace(`${COUNTER}{} `, ''));
  const known = (options: TargetOptions): Target => {
    const target = new Target(options);
    for (const seconds of [0, 60, 120]) target.page(seconds, page(seconds, 1_000_000 + seconds));
    return target;
  };

  test('of deltas: the whole count is not claimed for the time since the last one', () => {
    const after = successorOf(known({ temporality: 'delta' }));
    expect(counted(after, 180, 1_000_180)).toEqual(['sum 1000180 @180 from 180']);
    expect(counted(after, 240, 1_000_240)).toEqual(['sum 1000240 @240 from 180']);
  });

  test('of cumulative counters: deltas begin with a baseline', () => {
    const after = successorOf(known({}), { temporality: 'delta' });
    expect(counted(after, 180, 1_000_180)).toEqual([]);
    expect(counted(after, 240, 1_000_200)).toEqual(['delta 20 @240 from 180']);
  });

  test.each([{ startTimes: false }, { mapping: 'strict' }] as const)(
    'from an uptime: they end with %j, and a restart of the server goes back to none',
    metrics => {
      const after = successorOf(known({}), { metrics });
      expect(counted(after, 180, 1_000_180)).toEqual(['sum 1000180 @180']);
      expect(counted(after, 240, 5, 30)).toEqual(['sum 5 @240']);
      // Back to the default settings.
      const again = successorOf(after);
      expect(counted(again, 300, 8, 90)).toEqual(['sum 8 @300 from 300']);
    },
  );

  test('do not count either for a service that is down meanwhile', () => {
    const both = (seconds: number, ids: readonly string[]): string =>
      ids
        .map(id =>
          page(seconds, 1_000_000).replaceAll(/(questions|uptime) /g, `$1{namespace="${id}"} `),
        )
        .join('')
        .replaceAll(/# TYPE.*\n/g, '');
    const services = ['a', 'b'];
    const delta = new Target({ services, temporality: 'delta' });
    for (const seconds of [0, 60]) delta.page(seconds, both(seconds, services));
    const first = successorOf(delta, { services });
    first.page(120, both(120, ['a']));
    const second = successorOf(first, { services });
    expect(second.page(180, both(180, services)).shown).toEqual(
      expect.arrayContaining([
        `sum ${COUNTER}{} 1000000 @180 from 120`,
        `sum ${COUNTER}{} 1000000 @180 from 180`,
      ]),
    );
  });
  test.each([
    { mapping: 'strict' as const },
    {
      overrides: [
        { match: /questions/, type: 'gauge', unit: null, description: null, uptimeSeries: null },
      ] as const,
    },
  ])('do not keep the pages of a gauge from being patched: %j', metrics => {
    const untyped = (seconds: number): string => page(seconds, seconds).replace(/# TYPE.*\n/, '');
    const before = new Target();
    before.page(0, untyped(0));
    const after = successorOf(before, { metrics });
    for (const seconds of [60, 120]) after.page(seconds, untyped(seconds));
    expect(after.translation.table.template).not.toBeNull();
  });
});

test('a histogram with very many buckets goes on after a restart', () => {
  const { limits } = defaultConfig().metrics;
  const options = { metrics: { limits: { ...limits, serviceSamples: 200_000 } } };
  const buckets = Array.from({ length: 150_000 }, (_, i) => `h_bucket{le="${i}"} 1\n`).join('');
  const page = `# TYPE h histogram\n${buckets}h_count 1\n`;
  const before = new Target(options);
  before.page(0, page);
  expect(successorOf(before, options).page(60, page).shown[0]).toMatch(/ @60 from 0$/);
});

describe('F8: a process that was killed leaves the starts alone', () => {
  const page = (seconds: number, count: number, uptime = 1000 + seconds): string =>
    `${COUNTER} ${count} @${seconds}\n${UPTIME} ${uptime} @${seconds}\n`;
  const known = (options: TargetOptions = {}): Target => {
    const target = new Target(options);
    for (const seconds of [0, 60, 120]) target.page(seconds, page(seconds, 500 + seconds));
    return target;
  };

  test('a start that moved is saved with the page that moved it', () => {
    const target = known();
    expect(finished(saveStarts(target.translation.table))).not.toBeNull();
    expect(finished(saveStarts(target.translation.table))).toBeNull();
    target.page(180, page(180, 3, 20));
    const blob = finished(saveStarts(target.translation.table));
    const state = readState(blob ?? expect.fail('nothing was saved'));
    expect([...(state?.startMs ?? [])]).toEqual([at(160)]);
    expect(state?.isWhole).toBe(false);
  });

  test('the first page after a stop replaces the whole state', () => {
    const after = successorOf(known());
    after.fail(180);
    const blob = finished(saveStarts(after.translation.table));
    const state = readState(blob ?? expect.fail('nothing was saved'));
    expect([...(state?.startMs ?? [])]).toEqual([at(-1000)]);
    expect(state).toMatchObject({ isWhole: false, instances: [] });
  });
});

describe('a blob that does not fit its form is no state', () => {
  const target = new Target();
  target.page(0, pageText(FIRST));
  const blob = finished(saveWhole(target.translation.table));
  const columns = unpackColumns(blob);
  const column = (at: number): Buffer => columns[at] ?? expect.fail('no column');
  const repacked = (at: number, bytes: Buffer): Buffer =>
    finished(packColumns(columns.with(at, bytes)));
  const header = JSON.parse(String(columns[0])) as Record<string, unknown>;
  const headed = (change: Record<string, unknown>): Buffer =>
    repacked(0, Buffer.from(JSON.stringify({ ...header, ...change })));

  test('the blob itself fits', () => expect(readState(headed({}))).not.toBeNull());

  test.each<readonly [string, () => Buffer]>([
    ['cut off', () => blob.subarray(0, 20)],
    ['empty', () => Buffer.alloc(0)],
    ['junk', () => Buffer.from('junk that is no blob')],
    ['another form', () => headed({ form: 3 })],
    ['no services', () => headed({ services: undefined })],
    ['another key', () => headed({ more: 1 })],
    ['fewer services', () => headed({ services: [] })],
    ['another number of rows', () => headed({ rows: 1 })],
    ['a fall of no row', () => headed({ whole: { components: [], falls: [[99, 0, 1]] } })],
    ['a column too short', () => repacked(4, column(4).subarray(8))],
    ['a time beyond all dates', () => repacked(2, Buffer.from(column(2)).fill(0x7e))],
    ['flags that there are not', () => repacked(8, Buffer.from(column(8)).fill(0xff))],
  ])('%s', (_, damaged) => expect(readState(damaged())).toBeNull());

  test('with any bit turned, nothing throws', () => {
    for (let bit = 0; bit < 8 * blob.length; bit += 7) {
      const turned = Buffer.from(blob);
      turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const state = readState(turned);
      if (state === null) continue;
      const next = new Target();
      next.translation.table.restored = state;
      next.page(60, pageText(SECOND));
    }
  });
});
