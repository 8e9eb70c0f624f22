// A process that ends between two scrapes leaves nothing behind but the blobs; the next one must say what the first one
// would have said.

import { describe, expect, test } from 'vitest';
import { readState, saveState, type StateBlobs } from '../../../src/pipeline/derive/state.ts';
import { Target, type TargetOptions } from '../../support/target.ts';

const COUNTER = 'engine_global_status_questions';
const UPTIME = 'engine_global_status_uptime';

/** Values by page; a counter, its uptime, a gauge, a histogram. */
interface PageValues {
  readonly counter: number;
  readonly uptime?: number;
  readonly gauge: number;
  readonly buckets: readonly [number, number];
  /** Stamp in seconds after T0; none: the page has no timestamps. */
  readonly at?: number;
}

function pageText(values: PageValues): string {
  const stamp = values.at === undefined ? '' : ` ${Date.UTC(2026, 2, 4, 9) + values.at * 1000}`;
  const [small, all] = values.buckets;
  return [
    `${COUNTER}{server_name="s"} ${values.counter}${stamp}`,
    ...(values.uptime === undefined ? [] : [`${UPTIME}{server_name="s"} ${values.uptime}${stamp}`]),
    `load{server_name="s"} ${values.gauge}${stamp}`,
    '# TYPE h histogram',
    `h_bucket{le="1"} ${small}${stamp}`,
    `h_bucket{le="+Inf"} ${all}${stamp}`,
    `h_count ${all}${stamp}`,
    `h_sum ${all}${stamp}`,
    '',
  ].join('\n');
}

function save(target: Target, before: StateBlobs | null): Required<StateBlobs> {
  const steps = saveState(target.translation.table);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  const { starts = before?.starts, marks } = step.value;
  if (starts === undefined) throw new Error('no starts were ever saved');
  return { starts, marks };
}

/** What a process shows that lives through all pages, and what processes show that live for one page each. */
function check(pages: readonly PageValues[], options: TargetOptions): void {
  const whole = new Target(options);
  let blobs: Required<StateBlobs> | null = null;
  for (const [index, values] of pages.entries()) {
    const text = pageText(values);
    const expected = whole.page(index * 60, text).shown;
    const part = new Target(options);
    if (blobs !== null) part.translation.table.restored = readState(blobs.starts, blobs.marks);
    const actual = part.page(index * 60, text).shown;
    blobs = save(part, blobs);
    expect([index, actual]).toEqual([index, expected]);
  }
}

const steady: readonly PageValues[] = [
  { counter: 100, uptime: 1000, gauge: 1, buckets: [1, 2] },
  { counter: 110, uptime: 1060, gauge: 2, buckets: [1, 3] },
  { counter: 125, uptime: 1120, gauge: 3, buckets: [2, 5] },
  { counter: 130, uptime: 1180, gauge: 3, buckets: [2, 5] },
];
const restarted = steady.map((page, i) => (i < 2 ? page : { ...page, counter: i, uptime: i * 10 }));
const flushed = steady.map((page, i) => (i < 2 ? page : { ...page, counter: i }));
const unknown = steady.map(({ counter, gauge, buckets }) => ({ counter, gauge, buckets }));
const stamped = (pages: readonly PageValues[]): readonly PageValues[] =>
  pages.map((page, i) => ({ ...page, at: i * 60 - 30 }));
const standing = stamped(steady).map((page, i) =>
  i === 2 ? ({ ...steady[1], at: 30 } as PageValues) : page,
);

describe.each(['cumulative', 'delta'] as const)('%s', temporality => {
  test('a restart of the bridge changes neither starts nor deltas', () => {
    check(steady, { temporality });
    check(stamped(steady), { temporality });
  });

  test('a restart of the server is seen across a restart of the bridge', () => {
    check(restarted, { temporality });
    check(stamped(restarted), { temporality });
  });

  test('a flush of the status is seen across a restart of the bridge', () => {
    check(flushed, { temporality });
    check(stamped(flushed), { temporality });
  });

  test('an unknown start stays what it was', () => {
    check(unknown, { temporality });
  });

  test('a sample that was sent before is not sent again', () => {
    check(standing, { temporality });
  });
});

test('starts are saved again only when they have changed', () => {
  const target = new Target();
  target.page(0, pageText(steady[0] as PageValues));
  const first = save(target, null);
  target.page(60, pageText(steady[1] as PageValues));
  const steps = saveState(target.translation.table);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  expect(step.value.starts).toBeUndefined();
  expect(first.starts.length).toBeGreaterThan(0);
});

test('damaged blobs are given up, not believed', () => {
  const target = new Target();
  target.page(0, pageText(steady[0] as PageValues));
  const { starts, marks } = save(target, null);
  expect(readState(starts.subarray(0, 10), marks)).toBeNull();
  expect(readState(starts, marks.subarray(0, 10))).toBeNull();
  expect(readState(Buffer.from('junk that is no blob'), marks)).toBeNull();
  expect(readState(marks, starts)).toBeNull();
  expect(readState(Buffer.alloc(0), Buffer.alloc(0))).toBeNull();
});
