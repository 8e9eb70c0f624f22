import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/clock.ts';
import {
  actionFor,
  afterAbsent,
  afterFault,
  afterFlush,
  afterListed,
  afterRead,
  afterUndelivered,
  isBehind,
  isClosed,
  isVanished,
  afterLoss,
  lostFromMs,
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

  test('is downloaded once more if it ends without a line end', () => {
    const done = { ...read(listed(FRESH, 5)), entries: { a: { ...ENTRY, hasTail: true } } };
    const quiet = listed(done, 5, 5);
    expect(action(quiet)).toBe('final');
    const final = readFinally(quiet);
    expect(action(final)).toBe('nothing');
    expect(isDone(final)).toBe(true);
  });

  test('is downloaded once more if the last answer may have been wrong: not grown, or a file without entries', () => {
    const done = read(listed(FRESH, 5));
    const plain = { ...listed(FRESH, 5), entries: { '': ENTRY } };
    const file = afterRead(plain, { fromMs: NOW, bytes: 10, isFinal: false });
    for (const state of [listed(read(listed(done, 6)), 6, 6), listed(file, 5, 5)]) {
      expect(action(state)).toBe('final');
      expect(action(readFinally(state))).toBe('nothing');
    }
  });

  test('is closed only after two checks without growth', () => {
    const done = read(listed(FRESH, 5));
    expect(isDone(done)).toBe(false);
    expect(isDone(listed(done, 5))).toBe(false);
    expect(isDone(listed(done, 5, 5))).toBe(false);
    const flushed = afterFlush(listed(done, 5, 5), {});
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
  test('is tried five times over an hour and then set aside, with six more chances before it is closed', () => {
    let state = listed(FRESH, 5);
    const triesAt: number[] = [];
    for (let minute = 0; minute < 6000; minute += 5) {
      if (action(state, minute) !== 'download') continue;
      triesAt.push(minute);
      state = afterFault(state, 'damaged', NOW + minute * MINUTE);
      expect(state.setAside).toBe(triesAt.length < 5 ? '' : 'damaged');
      expect(isDone(state)).toBe(triesAt.length === 11);
    }
    const hours = [2, 4, 8, 16, 32, 64];
    expect(triesAt).toEqual([0, 5, 15, 30, 60, ...hours.map(hour => hour * 60)]);
  });

  test('that was not delivered for long gets two tries, so that one bad delivery does not end it', () => {
    let state = listed(FRESH, 5);
    const triesAt: number[] = [];
    for (let minute = 0; minute < 150; minute += 5) {
      if (action(state, minute) !== 'download') continue;
      triesAt.push(minute);
      state = afterUndelivered(state, NOW + minute * MINUTE);
    }
    expect(triesAt).toEqual([0, 5, 15, 30, 60, 90, 120]);
    state = afterFault(state, 'cut', NOW);
    expect(state.setAside).toBe('');
    expect(afterFault(state, 'cut', NOW).setAside).toBe('cut');
  });

  test('that is refused is tried with the next pull, and then as others', () => {
    const once = afterUndelivered(listed(FRESH, 5), NOW, true);
    expect(action(once)).toBe('download');
    const twice = afterUndelivered(once, NOW, true);
    expect([action(twice), action(twice, 9)]).toEqual(['nothing', 'download']);
  });

  test('starts the count again after one good read', () => {
    let state = afterFault(listed(FRESH, 5), 'cut', NOW);
    state = listed(read(state), 6);
    expect(state.tryCount).toBe(0);
    expect(action(state)).toBe('download');
  });

  test('gets another chance after a change, once an hour', () => {
    let state = listed(FRESH, 5);
    for (let i = 0; i < 5; i++) state = afterFault(state, 'checksum', NOW);
    expect(state.setAside).toBe('checksum');
    state = listed(afterFault(state, 'checksum', NOW), 6);
    expect([action(state, 59), action(state, 60)]).toEqual(['nothing', 'download']);
    const again = afterFault(state, 'checksum', NOW + 60 * MINUTE);
    expect([again.setAside, action(again, 200)]).toEqual(['checksum', 'nothing']);
    expect(read(state).setAside).toBe('');
  });

  test('is set aside at once if a retry cannot help, and gets its chances in case the answer was wrong', () => {
    for (const reason of [
      'encrypted',
      'nested',
      'method',
      'archive_limit',
      'ratio_limit',
    ] as const) {
      let state = afterFault(listed(FRESH, 5), reason, NOW);
      expect([state.setAside, action(state, 59)]).toEqual([reason, 'nothing']);
      for (let chance = 0; chance < 6; chance++) {
        expect(action(state, 2 ** chance * 60)).toBe('download');
        state = afterUndelivered(afterFault(state, reason, NOW), NOW);
      }
      expect([action(listed(state, 6), 6000), isDone(state)]).toEqual(['nothing', true]);
    }
  });
});

describe('an archive that is not listed any more', () => {
  const DAY_END = FRESH.dayMs + 24 * 60 * MINUTE;
  const gone = (state: ArchiveState, listedMs: number): ArchiveState =>
    afterAbsent(afterAbsent(state, listedMs), listedMs + MINUTE);

  test('releases its open record, too, and is not downloaded', () => {
    const done = read(listed(FRESH, 5));
    expect(action(afterAbsent(done, NOW))).toBe('nothing');
    expect(action(gone(done, NOW))).toBe('flush');
    expect(action(gone(listed(done, 6), NOW))).toBe('flush');
    expect(action(gone(listed(FRESH, 5), NOW))).toBe('nothing');
  });

  test('has vanished after two such lists, unless it comes back', () => {
    const state = gone(listed(FRESH, 5), NOW);
    expect([isVanished(afterAbsent(FRESH, NOW)), isVanished(state)]).toEqual([false, true]);
    expect(isVanished(listed(state, 5))).toBe(false);
    const read2 = gone(read(listed(FRESH, 5)), NOW);
    expect([isVanished(read2), isVanished(afterFlush(read2, {}))]).toEqual([false, true]);
  });

  test('has vanished, too, if it was set aside and had grown since', () => {
    const done = afterFlush(read(listed(FRESH, 5)), {});
    const grown = listed(afterFault(done, 'encrypted', NOW), 6);
    expect([isVanished(grown), isVanished(gone(grown, NOW))]).toEqual([false, true]);
  });

  test('has lost its unread part, and lines that came after the last check', () => {
    const done = afterFlush(listed(read(listed(FRESH, 5)), 5, 5), {});
    const check = (state: ArchiveState, want: number | null): void =>
      expect(lostFromMs(state, GRACE)).toBe(want);
    check(gone(listed(FRESH, 5), DAY_END), FRESH.dayMs);
    check(gone(listed(done, 6), DAY_END), FRESH.dayMs);
    check(gone(done, NOW), NOW);
    check(gone(done, DAY_END), null);
    check(done, null);
    // Without a size: what came after the last read.
    const unsized = read(listed(FRESH, null));
    check(gone(unsized, DAY_END), NOW);
    const afterEnd = (DAY_END - NOW) / MINUTE + 120;
    check(gone(read(listed(FRESH, null), 10, false, afterEnd), DAY_END), null);
    const loss = { fromMs: NOW, toMs: DAY_END + DAY_MS };
    check(afterLoss(gone(unsized, NOW), loss), null);
    check(afterLoss(gone(unsized, NOW + 1), { ...loss, fromMs: NOW + 1 }), NOW);
  });
});

test('is behind until it is read in its listed size, or given up', () => {
  const [sized, unsized] = [listed(FRESH, 5), listed(FRESH, null)];
  expect([isBehind(sized), isBehind(unsized)]).toEqual([true, true]);
  expect([isBehind(read(sized)), isBehind(read(unsized))]).toEqual([false, false]);
  expect(isBehind(listed(read(sized), 6))).toBe(true);
  expect(isBehind(afterFault(sized, 'encrypted', NOW))).toBe(false);
});
