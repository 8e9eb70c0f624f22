import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/clock.ts';
import {
  afterFailure,
  afterWindow,
  atFloor,
  firstListedDay,
  firstLowMs,
  isDayOver,
  nextWindow,
  startCursor,
  WINDOW_TRIES_MAX,
  type Cursor,
  type WindowRules,
} from '../../src/logs/cursor.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 2, 4, 9);

const RULES: WindowRules = {
  maxMs: DAY_MS,
  minMs: 5 * MINUTE,
  settleDelayMs: 2 * MINUTE,
  overlapMs: 15 * MINUTE,
  dayCloseGraceMs: 6 * HOUR,
};

test('the first start is a time before now, a date, or the beginning, and never ahead of now', () => {
  expect(firstLowMs({ backMs: HOUR }, NOW)).toBe(NOW - HOUR);
  expect(firstLowMs({ at: new Date(NOW - DAY_MS) }, NOW)).toBe(NOW - DAY_MS);
  expect(firstLowMs({ at: new Date(NOW + DAY_MS) }, NOW)).toBe(NOW);
  expect(firstLowMs('beginning', NOW)).toBe(0);
  expect(firstLowMs({ backMs: NOW + HOUR }, NOW)).toBe(0);
});

describe('the window', () => {
  test('ends where lines may still arrive, and begins an overlap before the low watermark', () => {
    const cursor = { ...startCursor(NOW - 3 * DAY_MS, RULES), lowMs: NOW - HOUR };
    expect(nextWindow(cursor, NOW, RULES)).toEqual({
      fromMs: NOW - HOUR - 15 * MINUTE,
      toMs: NOW - 2 * MINUTE,
    });
  });

  test('is bounded, and does not reach below the floor', () => {
    const cursor = startCursor(NOW - 3 * DAY_MS, RULES);
    const span = { fromMs: NOW - 3 * DAY_MS, toMs: NOW - 2 * DAY_MS };
    expect(nextWindow(cursor, NOW, RULES)).toEqual(span);
  });

  test('is none while nothing new can be complete, for example after a clock was set back', () => {
    const check = (backMs: number): void =>
      expect(nextWindow(startCursor(NOW - backMs, RULES), NOW, RULES)).toBeNull();
    check(2 * MINUTE);
    check(MINUTE);
    check(-DAY_MS);
  });
});

describe('the low watermark', () => {
  test('moves to the end of a committed window, full or empty, and the next window grows', () => {
    const cursor = { ...startCursor(NOW - DAY_MS, RULES), sizeMs: HOUR, failureCount: 3 };
    const window = nextWindow(cursor, NOW, RULES);
    expect(window).not.toBeNull();
    expect(afterWindow(cursor, window ?? { fromMs: 0, toMs: 0 }, RULES)).toEqual({
      ...cursor,
      lowMs: NOW - DAY_MS + HOUR,
      sizeMs: 2 * HOUR,
      failureCount: 0,
    });
  });

  test('stays if a window fails; the window is halved down to the minimum and then skipped as a gap', () => {
    let cursor = startCursor(NOW - DAY_MS, RULES);
    const lengths: number[] = [];
    for (let i = 0; i < 20; i++) {
      const window = nextWindow(cursor, NOW, RULES) ?? { fromMs: 0, toMs: 0 };
      lengths.push((window.toMs - cursor.lowMs) / MINUTE);
      const step = afterFailure(cursor, window, RULES);
      if (step.gap !== null) {
        expect(step.gap).toEqual({ fromMs: NOW - DAY_MS, toMs: NOW - DAY_MS + 5 * MINUTE });
        expect(step.cursor.lowMs).toBe(NOW - DAY_MS + 5 * MINUTE);
        break;
      }
      expect(step.cursor.lowMs).toBe(NOW - DAY_MS);
      cursor = step.cursor;
    }
    const rounded = lengths.slice(0, 9).map(Math.floor);
    expect(rounded).toEqual([1438, 719, 359, 179, 89, 44, 22, 11, 5]);
    expect(lengths.filter(length => length === 5)).toHaveLength(WINDOW_TRIES_MAX);
  });

  test('jumps to the floor with a gap only if it lies below', () => {
    const cursor = startCursor(NOW - 9 * DAY_MS, RULES);
    const floorMs = NOW - 7 * DAY_MS;
    expect(atFloor(cursor, floorMs)).toEqual({
      cursor: { ...cursor, lowMs: floorMs, floorMs },
      gap: { fromMs: NOW - 9 * DAY_MS, toMs: floorMs },
    });
    expect(atFloor(cursor, NOW - 10 * DAY_MS)).toEqual({ cursor, gap: null });
    // `lowMs`, the first day to list, may be before the floor.
    const early = { ...cursor, floorMs: floorMs + HOUR };
    expect(atFloor(early, floorMs)).toEqual({ cursor: { ...early, lowMs: floorMs }, gap: null });
  });

  test('always covers every moment once: by windows or by gaps', () => {
    const outcome = constantFrom('good', 'bad', 'floor');
    assert(
      property(array(outcome, { maxLength: 200 }), outcomes => {
        const startMs = NOW - 5 * DAY_MS;
        let cursor: Cursor = startCursor(startMs, RULES);
        let coveredMs = startMs;
        for (const outcome of outcomes) {
          const window = nextWindow(cursor, NOW, RULES);
          if (window === null) break;
          expect(window.toMs - cursor.lowMs).toBeLessThanOrEqual(RULES.maxMs);
          expect(window.fromMs).toBeLessThanOrEqual(coveredMs);
          if (outcome === 'good') {
            cursor = afterWindow(cursor, window, RULES);
            coveredMs = window.toMs;
          } else {
            const step =
              outcome === 'bad'
                ? afterFailure(cursor, window, RULES)
                : atFloor(cursor, cursor.lowMs + HOUR);
            if (step.gap !== null) {
              expect(step.gap.fromMs).toBe(coveredMs);
              coveredMs = step.gap.toMs;
            }
            cursor = step.cursor;
          }
          expect(cursor.lowMs).toBe(coveredMs);
        }
      }),
    );
  });
});

describe('days', () => {
  test('are listed from yesterday or the oldest open day on, and yesterday never from before the floor', () => {
    const day = (date: number): number => Date.UTC(2026, 2, date);
    const check = (lowMs: number, floorMs: number, want: number): void =>
      expect(firstListedDay({ lowMs, floorMs }, NOW)).toBe(want);
    check(day(4), day(1), day(3));
    check(day(3), day(1), day(3));
    check(day(1), day(1), day(1));
    check(day(4), NOW - HOUR, day(4));
    check(day(1), day(2) + HOUR, day(1));
  });

  test('are over after their end and the grace period', () => {
    const dayMs = Date.UTC(2026, 2, 3);
    const check = (hour: number, minute: number, want: boolean, lateMs = 0): void =>
      expect(isDayOver(dayMs, lateMs, Date.UTC(2026, 2, 4, hour, minute), RULES)).toBe(want);
    check(0, 0, false);
    check(5, 59, false);
    check(6, 0, true);
    check(9, 0, true);
    check(27, 59, false, 22 * HOUR);
    check(28, 0, true, 22 * HOUR);
  });
});
