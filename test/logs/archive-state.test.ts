import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/clock.ts';
import {
  actionFor,
  afterAbsent,
  afterFault,
  afterFlush,
  afterListed,
  afterRead,
  isBehind,
  isClosed,
  isVanished,
  isGivenUp,
  lostSpan,
  newArchive,
  type ArchiveState,
} from '../../src/logs/archive-state.ts';
import type { EntryProgress } from '../../src/logs/entry-reader.ts';

const NOW = Date.UTC(2026, 2, 4, 9);
const MINUTE = 60_000;
const FRESH = newArchive({ dayMs: Date.UTC(2026, 2, 4), endMs: Date.UTC(2026, 2, 5) });

const ENTRY: EntryProgress = { bytes: 1, lines: 1, hash: '', hasTail: false, reader: 'open' };

function listed(state: ArchiveState, ...sizes: (number | null)[]): ArchiveState {
  return sizes.reduce(afterListed, state);
}

function read(state: ArchiveState, bytes = 10, isFinal = false, afterMinutes = 0): ArchiveState {
  const fromMs = NOW + afterMinutes * MINUTE;
  return afterRead({ ...state, entries: { a: ENTRY } }, { fromMs, bytes, isFinal });
}

/** The last download of an archive that had 10 bytes. */
function readFinally(state: ArchiveState): ArchiveState {
  return afterRead(state, { fromMs: NOW, bytes: 10, isFinal: true });
}

const GRACE = 6 * 60 * MINUTE;

const action = (state: ArchiveState, afterMinutes = 0): string =>
  actionFor(state, NOW + afterMinutes * MINUTE, GRACE);

const isDone = (state: ArchiveState): boolean => isClosed(state, GRACE);

describe('an archive that is listed with its size', () => {
  test('is downloaded when it is new or has grown, and not otherwise', () => {
    const first = listed(FRESH, 5);
    expect(action(first)).toBe('download');
    const done = read(first);
    expect(action(done)).toBe('nothing');
    expect(action(listed(done, 5))).toBe('nothing');
    expect(action(listed(done, 6))).toBe('download');
    // An archive that shrank is another archive.
    expect(action(listed(done, 4))).toBe('download');
  });

  test('is downloaded once more when it has stopped growing', () => {
    const quiet = listed(read(listed(FRESH, 5)), 5, 5);
    expect(action(quiet)).toBe('final');
    const final = readFinally(quiet);
    expect(action(final)).toBe('nothing');
    expect(isDone(final)).toBe(true);
  });

  test('is closed only after two checks without growth', () => {
    const done = read(listed(FRESH, 5));
    expect(isDone(done)).toBe(false);
    expect(isDone(listed(done, 5))).toBe(false);
    expect(isDone(listed(done, 5, 5))).toBe(false);
    const flushed = readFinally(listed(done, 5, 5));
    expect([isDone(flushed), isDone(listed(flushed, 6))]).toEqual([true, false]);
    expect(isDone(listed(FRESH, 5, 5, 5))).toBe(false);
  });
});

test('an archive that is listed without a size is downloaded as long as it may have grown; two downloads without growth release the open record', () => {
  let state = listed(FRESH, null);
  const bytes = [10, 12, 12, 12];
  for (const size of bytes) {
    expect(action(state)).toBe('download');
    state = listed(read(state, size), null);
  }
  expect(action(state)).toBe('final');
  state = read(state, 12, true);
  expect([action(state), isDone(state)]).toEqual(['download', false]);
  // The same content changes nothing.
  state = read(state, 12);
  expect([action(state), isDone(state)]).toEqual(['download', false]);
  const dayOver = 21 * 60;
  // Lines may have come after the last read, also if no pull came until the end of the grace period.
  for (const lastMinute of [0, dayOver - 1]) {
    state = read(state, 12, false, lastMinute);
    expect([action(state, dayOver), isDone(state)]).toEqual(['download', false]);
  }
  state = read(state, 12, false, dayOver);
  expect([action(state, dayOver), isDone(state)]).toEqual(['nothing', true]);
  // Growth starts the count again.
  state = read(state, 20, false, dayOver);
  expect([action(state, dayOver), isDone(state)]).toEqual(['download', false]);
});

test('an archive without a size that an earlier version has read is downloaded once more', () => {
  const { readFromMs: _readFromMs, ...stored } = read(listed(FRESH, null), 12, true, 21 * 60);
  const state = { ...stored, quietCount: 2 };
  expect([action(state, 3000), isDone(state)]).toEqual(['download', false]);
  const again = read(state, 12, false, 3000);
  expect([action(again, 3000), isDone(again)]).toEqual(['nothing', true]);
});

describe('a broken archive', () => {
  /** Found broken in each of five tries. */
  const broken = (state: ArchiveState, afterMinutes = 0): ArchiveState =>
    [0, 5, 15, 30, 60].reduce(
      (before, minute) => afterFault(before, NOW + (afterMinutes + minute) * MINUTE),
      state,
    );

  test('is tried five times over an hour, and then given up for its size', () => {
    let state = listed(FRESH, 5);
    const triesAt: number[] = [];
    for (let minute = 0; minute < 6000; minute += 5) {
      if (action(state, minute) !== 'download') continue;
      triesAt.push(minute);
      state = afterFault(state, NOW + minute * MINUTE);
      expect(isGivenUp(state)).toBe(triesAt.length === 5);
      expect(isDone(state)).toBe(triesAt.length === 5);
    }
    expect(triesAt).toEqual([0, 5, 15, 30, 60]);
    expect(action(listed(state, 5, 5, 5), 6000)).toBe('nothing');
  });

  test('starts anew with another size', () => {
    const state = listed(broken(listed(FRESH, 5)), 6);
    expect([isGivenUp(state), state.tryCount, action(state, 60)]).toEqual([false, 0, 'download']);
    expect(isGivenUp(afterFault(state, NOW))).toBe(false);
    expect(isGivenUp(broken(state))).toBe(true);
  });

  test('that grows between its tries is given up, too', () => {
    let state = FRESH;
    for (let size = 1; size <= 5; size++) state = afterFault(listed(state, size), NOW);
    expect([isGivenUp(state), isGivenUp(listed(state, 6))]).toEqual([true, false]);
  });

  test('starts the count again after one good read', () => {
    let state = afterFault(listed(FRESH, 5), NOW);
    state = listed(read(state), 6);
    expect(state.tryCount).toBe(0);
    expect(action(state)).toBe('download');
  });

  test('without a listed size is tried once an hour as long as it may have changed', () => {
    const state = broken(listed(FRESH, null));
    expect([action(state, 119), action(state, 120)]).toEqual(['nothing', 'download']);
    expect(isDone(state)).toBe(true);
    expect(isGivenUp(read(state))).toBe(false);
  });
});

describe('an archive that is not listed any more', () => {
  const DAY_END = FRESH.dayMs + DAY_MS;
  const gone = (state: ArchiveState, fromMs: number, toMs = DAY_END): ArchiveState =>
    afterAbsent(afterAbsent(state, { fromMs, toMs }), { fromMs: fromMs + MINUTE, toMs });

  test('releases its open record, too, and is not downloaded', () => {
    const done = read(listed(FRESH, 5));
    expect(action(afterAbsent(done, { fromMs: NOW, toMs: DAY_END }))).toBe('nothing');
    expect(action(gone(done, NOW))).toBe('flush');
    expect(action(gone(listed(done, 6), NOW))).toBe('flush');
    expect(action(gone(listed(FRESH, 5), NOW))).toBe('nothing');
  });

  test('has vanished after two such lists, unless it comes back', () => {
    const state = gone(listed(FRESH, 5), NOW);
    const once = afterAbsent(FRESH, { fromMs: NOW, toMs: DAY_END });
    expect([isVanished(once), isVanished(state)]).toEqual([false, true]);
    expect(isVanished(listed(state, 5))).toBe(false);
    const read2 = gone(read(listed(FRESH, 5)), NOW);
    expect([isVanished(read2), isVanished(afterFlush(read2, {}))]).toEqual([false, true]);
  });

  test('has lost its unread part, and lines that came after the last check', () => {
    const done = afterFlush(listed(read(listed(FRESH, 5)), 5, 5), {});
    const check = (state: ArchiveState, fromMs: number | null, toMs = DAY_END): void =>
      expect(lostSpan(state, GRACE)).toEqual(fromMs === null ? null : { fromMs, toMs });
    check(gone(listed(FRESH, 5), DAY_END), FRESH.dayMs);
    check(gone(listed(done, 6), DAY_END), FRESH.dayMs);
    check(gone(done, NOW), NOW);
    check(gone(done, NOW, DAY_END + DAY_MS), NOW, DAY_END + DAY_MS);
    check(gone(done, DAY_END), null);
    check(done, null);
    // Without a size: what came after the last read.
    const unsized = read(listed(FRESH, null));
    check(gone(unsized, DAY_END), NOW);
    const afterEnd = (DAY_END - NOW) / MINUTE + 120;
    check(gone(read(listed(FRESH, null), 10, false, afterEnd), DAY_END), null);
  });
});

test('is behind until it is read in its listed size, or given up', () => {
  const [sized, unsized] = [listed(FRESH, 5), listed(FRESH, null)];
  expect([isBehind(sized), isBehind(unsized)]).toEqual([true, true]);
  expect([isBehind(read(sized)), isBehind(read(unsized))]).toEqual([false, false]);
  expect(isBehind(listed(read(sized), 6))).toBe(true);
  expect(isBehind({ ...sized, givenUp: { size: 5 } })).toBe(false);
});
