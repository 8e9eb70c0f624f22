// When a process ends between two scrapes, only the blobs remain: the next process must send what the
// first one would have sent.

import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/load.ts';
import type { RestoredState } from '../../../src/model/memory.ts';
import {
  joinStates,
  readState,
  saveRestored,
  type StateBlobs,
  takeOut,
} from '../../../src/pipeline/derive/state.ts';
import { packColumns, unpackColumns } from '../../../src/pipeline/derive/state-columns.ts';
import {
  at,
  finished,
  restoredState,
  savedAfter,
  savedState,
  successorOf,
  T0,
  Target,
  type TargetOptions,
} from '../../support/target.ts';

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
  let blobs: Required<StateBlobs> | null = null;
  for (const [index, values] of pages.entries()) {
    const see = (target: Target): readonly string[] =>
      (values === null ? target.fail(index * 60) : target.page(index * 60, pageText(values))).shown;
    const expected = see(whole);
    const part = new Target(options);
    if (blobs !== null) part.translation.table.restored = readState(blobs.starts, blobs.marks);
    const actual = see(part);
    blobs = savedAfter(part, blobs);
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

describe('a service that goes and returns', () => {
  /** A counter and its uptime for each service, from a server that started 1000 s before T0 (a) or 2000 s (b). */
  const page = (seconds: number, values: Readonly<Record<string, number>>): string =>
    Object.entries(values)
      .flatMap(([id, value]) => [
        `${COUNTER}{namespace="${id}",server_name="s"} ${value}`,
        `${UPTIME}{namespace="${id}",server_name="s"} ${(id === 'a' ? 1000 : 2000) + seconds}`,
      ])
      .join('\n')
      .concat('\n');
  const counters = ({ shown }: { readonly shown: readonly string[] }): readonly string[] =>
    shown.filter(line => line.includes('questions'));
  const idsOf = ({ indexById }: RestoredState): Set<number> => new Set(indexById.keys());
  /** Takes a service out of a state. Returns the service's part as a daemon reads it later. */
  const taken = (state: RestoredState, id: string): RestoredState => {
    const part = takeOut(state, [id]).get(id) ?? expect.fail('no part');
    const { starts, marks } = finished(saveRestored(part));
    return readState(starts ?? expect.fail('no starts'), marks) ?? expect.fail('it is damaged');
  };
  const partOf = (target: Target, id: string): RestoredState => taken(restoredState(target), id);
  const continued = (
    services: readonly string[],
    state: RestoredState,
    more: TargetOptions = {},
  ): Target => {
    const target = new Target({ services, ...more });
    target.translation.table.restored = state;
    return target;
  };
  const known = (options: TargetOptions = {}): Target => {
    const target = new Target({ services: ['a', 'b'], ...options });
    target.page(0, page(0, { a: 100, b: 200 }));
    target.page(60, page(60, { a: 110, b: 220 }));
    return target;
  };

  test('is taken out alone: its rows and its uptimes', () => {
    const target = known();
    const [whole, a, b] = [restoredState(target), partOf(target, 'a'), partOf(target, 'b')];
    expect(a.indexById.size).toBeGreaterThan(0);
    expect(new Set([...a.indexById.keys(), ...b.indexById.keys()])).toEqual(idsOf(whole));
    expect(a.indexById.size + b.indexById.size).toBe(whole.indexById.size);
    expect(a.uptimes).toEqual(whole.uptimes.filter(({ component }) => component.startsWith('a')));
    expect(a.uptimes).toHaveLength(1);
    expect(partOf(target, 'unknown')).toMatchObject({ indexById: new Map(), uptimes: [] });
  });

  test('leaves the others what they had', () => {
    const target = known();
    const state = restoredState(target);
    takeOut(state, ['a']);
    expect(idsOf(state)).toEqual(idsOf(partOf(target, 'b')));
    const after = continued(['b'], state);
    expect(counters(after.page(120, page(120, { b: 230 })))).toEqual([
      `sum ${COUNTER}{server_name=s} 230 @120 from -2000`,
    ]);
    // No row of the other service is awaited: the first page has all rows of the state.
    expect(after.translation.table.restored?.indexById.size).toBe(0);
  });

  /** Lets `a` leave a process that saw both services. Returns the later state of `b`, and the part of `a`. */
  const afterLeaving = (before: Target, options: TargetOptions): [RestoredState, RestoredState] => {
    expect(before.page(120, page(120, { b: 320 })).shown.join('\n')).toContain(' stale @120');
    const state = restoredState(before);
    const a = taken(state, 'a');
    const without = continued(['b'], state, options);
    // More pages than the state of a target waits for a row.
    for (let seconds = 180; seconds < 1260; seconds += 60)
      without.page(seconds, page(seconds, { b: 200 + seconds }));
    return [restoredState(without), a];
  };

  test.each([
    ['cumulative', `sum ${COUNTER}{server_name=s} 130 @1260 from -1000`, ' from -2000'],
    ['delta', `delta ${COUNTER}{server_name=s} 20 @1260 from 120`, ' 60 @1260 from 1200'],
  ] as const)('continues with its start and its last value (%s)', (temporality, ofA, ofB) => {
    const [state, a] = afterLeaving(known({ temporality }), { temporality });
    const again = continued(['a', 'b'], joinStates(state, a), { temporality });
    const shown = counters(again.page(1260, page(1260, { a: 130, b: 1460 })));
    expect(shown).toEqual([ofA, expect.stringContaining(ofB)]);
  });

  test.each([
    ['cumulative', `sum ${COUNTER}{server_name=s} 130 @1260 from 1000`],
    ['delta', `delta ${COUNTER}{server_name=s} 130 @1260 from 120`],
  ] as const)('is seen to have restarted meanwhile (%s)', (temporality, want) => {
    const [state, a] = afterLeaving(known({ temporality }), { temporality });
    const again = continued(['a', 'b'], joinStates(state, a), { temporality });
    // The server of `a` started 260 s ago.
    const restarted = page(-740, { a: 130 }) + page(1260, { b: 1460 });
    expect(counters(again.page(1260, restarted))[0]).toBe(want);
  });

  test.each([
    ['cumulative', [' 200 @840 from -1000', ' 500 @840 from -2000', ' 3 @840 from -1000']],
    // Whether the new counter began under observation is not known: a baseline.
    ['delta', [' 80 @840 from 780', ' 280 @840 from 60']],
  ] as const)(
    'is awaited after a restart, and the others keep their starts (%s)',
    (temporality, want) => {
      const options = { services: ['a', 'b'], temporality };
      const after = successorOf(known(options), options);
      for (let seconds = 120; seconds < 840; seconds += 60)
        after.page(seconds, page(seconds, { a: 120 }));
      const slow = 'engine_global_status_slow_queries{namespace="a",server_name="s"} 3\n';
      const { shown } = after.page(840, page(840, { a: 200, b: 500 }) + slow);
      const counted = shown.filter(line => /questions|slow/.test(line));
      expect(counted).toHaveLength(want.length);
      for (const end of want) expect(counted).toContainEqual(expect.stringContaining(end));
    },
  );

  test('tears no process of the others while it is down', () => {
    const before = known();
    const gone = `${COUNTER}{namespace="a",server_name="gone"} 5\n`;
    before.page(120, page(120, { a: 120, b: 230 }) + gone);
    // The server is forgotten after an hour, which sets `releasedMs` of the table.
    for (let minute = 3; minute < 70; minute++)
      before.page(60 * minute, page(60 * minute, { a: 200, b: 300 }));
    before.page(4200, page(4200, { a: 200 }));
    expect(before.translation.table.releasedMs).toBeGreaterThan(at(0));
    const after = continued(['a', 'b'], restoredState(before));
    for (const seconds of [4260, 4320]) after.page(seconds, page(seconds, { a: 200 }));
    const slow = 'engine_global_status_slow_queries{namespace="a",server_name="s"} 3\n';
    after.has(
      4380,
      page(4380, { a: 200 }) + slow,
      'sum engine_global_status_slow_queries{server_name=s} 3 @4380 from -1000',
    );
  });

  test('is forgotten if no entry names it and no page has it after a restart', () => {
    const options = { services: ['a'], unconfigured: 'send' } as const;
    const before = new Target(options);
    before.page(0, page(0, { a: 100, b: 200 }));
    const after = successorOf(before, options);
    const upOfB = Array.from({ length: 100 }, (_, i) => {
      const { own } = after.page(60 * (i + 1), page(60 * (i + 1), { a: 101 + i }));
      return own.filter(({ metric, serviceId }) => metric === 'up' && serviceId === 'b');
    });
    expect(upOfB[0]).toMatchObject([{ value: 0 }]);
    expect(upOfB[99]).toEqual([]);
    expect(after.translation.table.serviceById.has('b')).toBe(false);
  });

  test('does not make each page write the starts again', () => {
    const after = successorOf(known(), { services: ['a', 'b'] });
    const saves = [120, 180, 240].map(seconds => {
      after.page(seconds, page(seconds, { a: seconds }));
      return savedState(after);
    });
    expect(saves.map(({ starts }) => starts !== undefined)).toEqual([true, false, false]);
    const starts = saves[0]?.starts ?? expect.fail('no starts');
    const last = saves[2]?.marks ?? expect.fail('no marks');
    const again = continued(['a', 'b'], readState(starts, last) ?? expect.fail('it is damaged'));
    expect(counters(again.page(300, page(300, { a: 300, b: 300 })))).toEqual([
      `sum ${COUNTER}{server_name=s} 300 @300 from -1000`,
      `sum ${COUNTER}{server_name=s} 300 @300 from -2000`,
    ]);
  });

  test('is awaited for an hour after a restart, not for ever', () => {
    const after = successorOf(known(), { services: ['a', 'b'] });
    const { table } = after.translation;
    const pages = (from: number, to: number): void => {
      for (let minute = from; minute < to; minute++)
        after.page(60 * minute, page(60 * minute, { a: 120 + minute }));
    };
    pages(2, 60);
    expect(table.restored?.indexById.size).toBe(2);
    pages(60, 80);
    expect(table.restored).toBeNull();
  });

  test('has its rows and uptimes beside those of the others', () => {
    const [state, a] = afterLeaving(known(), {});
    const joined = joinStates(state, a);
    for (const part of [state, a])
      for (const [id, index] of part.indexById) {
        const place = joined.indexById.get(id) ?? -1;
        for (const name of ['startMs', 'processMs', 'lastTimeMs', 'lastValue', 'flags'] as const)
          expect(joined[name][place], name).toBe(part[name][index]);
      }
    expect(joined.indexById.size).toBe(state.indexById.size + a.indexById.size);
    const ofB = state.uptimes.filter(({ component }) => component.startsWith('b'));
    expect(joined.uptimes).toEqual(expect.arrayContaining([...a.uptimes, ...ofB]));
  });

  test('is still known to the process after the next, if no page had it', () => {
    const before = known();
    const state = restoredState(before);
    const a = taken(state, 'a');
    const first = continued(['a', 'b'], joinStates(state, a));
    first.page(120, page(120, { b: 230 }));
    const second = continued(['a', 'b'], restoredState(first));
    expect(counters(second.page(180, page(180, { a: 120, b: 240 })))).toEqual([
      `sum ${COUNTER}{server_name=s} 120 @180 from -1000`,
      `sum ${COUNTER}{server_name=s} 240 @180 from -2000`,
    ]);
  });

  test('keeps what the state knows of it, which is newer than the part', () => {
    const target = known({ temporality: 'delta' });
    const old = partOf(target, 'a');
    target.page(120, page(120, { a: 150, b: 250 }));
    const state = restoredState(target);
    const joined = joinStates(state, old);
    expect(joined.uptimes.slice(-state.uptimes.length)).toEqual(state.uptimes);
    const after = continued(['a', 'b'], joined, { temporality: 'delta' });
    const [ofA] = counters(after.page(180, page(180, { a: 160, b: 260 })));
    expect(ofA).toBe(`delta ${COUNTER}{server_name=s} 10 @180 from 120`);
  });

  test('sends no sample again that another series sent under the same name', () => {
    const options: TargetOptions = {
      metrics: { rename: [{ match: /^x_[ab]$/u, name: 'x', labels: {}, attributes: {} }] },
    };
    const merged = (name: string, id: string): string => `${name}{namespace="${id}"} 1 ${T0}\n`;
    const target = new Target({ services: ['a', 'b'], ...options });
    const all = ['a', 'b'].map(id => merged('x_a', id) + merged('x_b', id)).join('');
    expect(target.page(0, all).shown).toHaveLength(2);
    const state = restoredState(target);
    const a = taken(state, 'a');
    const without = continued(['b'], state, options);
    without.shows(60, merged('x_b', 'b'));
    const joined = joinStates(restoredState(without), a);
    const first = continued(['a', 'b'], joined, options);
    first.shows(120, merged('x_b', 'a') + merged('x_a', 'b'));
    const second = continued(['a', 'b'], restoredState(first), options);
    second.shows(180, merged('x_a', 'a') + merged('x_b', 'b'));
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

  test('of deltas: nor is a part of it, if a late uptime shows a restart only now', () => {
    const before = known({ temporality: 'delta' });
    expect(counted(before, 180, 10)).toEqual(['delta 10 @180 from 120']);
    const after = successorOf(before);
    expect(counted(after, 240, 30, 5)).toEqual(['sum 30 @240 from 240']);
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

  test('are forgotten in a part that is joined to a state of the present mode', () => {
    const part = restoredState(known({ temporality: 'delta' }));
    const present = new Target();
    present.page(180, 'x 1');
    const after = new Target();
    after.translation.table.restored = joinStates(restoredState(present), part);
    expect(counted(after, 240, 1_000_240)).toEqual(['sum 1000240 @240 from 240']);
  });

  test('continue where the state does not say how they were made, as older ones do not', () => {
    for (const temporality of ['cumulative', 'delta'] as const) {
      const { starts, marks } = savedAfter(known({ temporality }), null);
      const [ids, startMs, processMs, names, form, ...rest] = unpackColumns(starts);
      const older = [ids, startMs, processMs, names, form?.subarray(0, 4), ...rest];
      const after = new Target({ temporality });
      const blob = finished(packColumns(older.map(column => column ?? expect.fail('no column'))));
      after.translation.table.restored = readState(blob, marks);
      expect(after.translation.table.restored?.startMode).toBeNull();
      const want =
        temporality === 'delta' ? 'delta 60 @180 from 120' : 'sum 1000180 @180 from -1000';
      expect(counted(after, 180, 1_000_180)).toEqual([want]);
    }
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

test('starts are saved again only after a change', () => {
  const target = new Target();
  target.page(0, pageText(steady[0] as PageValues));
  const first = savedAfter(target, null);
  target.page(60, pageText(steady[1] as PageValues));
  expect(savedState(target).starts).toBeUndefined();
  expect(first.starts.length).toBeGreaterThan(0);
});

test('damaged blobs are discarded', () => {
  const target = new Target();
  target.page(0, pageText(steady[0] as PageValues));
  const { starts, marks } = savedAfter(target, null);
  expect(readState(starts.subarray(0, 10), marks)).toBeNull();
  expect(readState(starts, marks.subarray(0, 10))).toBeNull();
  expect(readState(Buffer.from('junk that is no blob'), marks)).toBeNull();
  expect(readState(marks, starts)).toBeNull();
  expect(readState(Buffer.alloc(0), Buffer.alloc(0))).toBeNull();
});
