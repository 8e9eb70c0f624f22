import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts';
import { firstListedDay, firstStartMs, isHeld, startCursor } from '../../src/logs/cursor.ts';

const NOW = Date.UTC(2026, 2, 4, 9);

const day = (date: number): number => Date.UTC(2026, 2, date);

test('the first start is a time before now, a date, or the beginning, and never ahead of now', () => {
  expect(firstStartMs({ backMs: HOUR_MS }, NOW)).toBe(NOW - HOUR_MS);
  expect(firstStartMs({ at: new Date(NOW - DAY_MS) }, NOW)).toBe(NOW - DAY_MS);
  expect(firstStartMs({ at: new Date(NOW + DAY_MS) }, NOW)).toBe(NOW);
  expect(firstStartMs('beginning', NOW)).toBe(0);
  expect(firstStartMs({ backMs: NOW + HOUR_MS }, NOW)).toBe(0);
});

test('a first start lists the day before, too, of which archives may still grow', () => {
  expect(startCursor(NOW)).toEqual({ lowMs: day(3), floorMs: NOW });
  expect(startCursor(0)).toEqual({ lowMs: 0, floorMs: 0 });
});

test('days are listed from yesterday or the oldest open day on, and yesterday never from before the floor', () => {
  const check = (lowMs: number, floorMs: number, want: number): void =>
    expect(firstListedDay({ lowMs, floorMs }, NOW)).toBe(want);
  check(day(4), day(1), day(3));
  check(day(3), day(1), day(3));
  check(day(1), day(1), day(1));
  check(day(4), NOW - HOUR_MS, day(4));
  check(day(1), day(2) + HOUR_MS, day(1));
});

test('a day that cannot be listed is held for three days after its end and after the first failure', () => {
  const check = (endMs: number, sinceMs: number, want: boolean): void =>
    expect(isHeld(endMs, sinceMs, NOW)).toBe(want);
  check(NOW - 3 * DAY_MS + 1, 0, true);
  check(NOW - 3 * DAY_MS, NOW - 3 * DAY_MS, false);
  check(NOW - 9 * DAY_MS, NOW - DAY_MS, true);
});
