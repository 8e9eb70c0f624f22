import { describe, expect, test } from 'vitest';
import { AFTER_REFUSAL, backoffMs, HoldOff } from '../../src/lib/hold-off.ts';

/** The scraper's options. */
function ofScrapes(intervalMs: number): HoldOff {
  const maxMs = Math.max(300_000, intervalMs);
  return new HoldOff({ firstMs: intervalMs, maxMs, dueEveryMs: intervalMs });
}

/** The rounds that ask the service, if a round is due every interval and each attempt fails like this. */
function attempts(
  intervalMs: number,
  rounds: number,
  { isRefused = false, retryAfterMs = 0 },
): number[] {
  const holdOff = ofScrapes(intervalMs);
  const asked: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const nowMs = round * intervalMs + (round % 3);
    if (holdOff.remainingMs(nowMs) > 0) continue;
    asked.push(round);
    holdOff.note({ retryAfterMs }, isRefused, nowMs, nowMs + 20);
  }
  return asked;
}

const REFUSED = { isRefused: true };

test('a refused key is tried less and less often, down to every five minutes', () => {
  expect(attempts(60_000, 24, REFUSED)).toEqual([0, 1, 3, 7, 12, 17, 22]);
  expect(attempts(100_000, 12, REFUSED)).toEqual([0, 1, 3, 6, 9]);
});

test('an interval longer than five minutes is not extended', () => {
  expect(attempts(600_000, 5, REFUSED)).toEqual([0, 1, 2, 3, 4]);
});

test('other failures are retried at each due time', () => {
  expect(attempts(60_000, 4, {})).toEqual([0, 1, 2, 3]);
});

test('Retry-After is honoured for any reason', () => {
  expect(attempts(60_000, 8, { retryAfterMs: 150_000 })).toEqual([0, 3, 6]);
  expect(attempts(60_000, 8, { ...REFUSED, retryAfterMs: 400_000 })).toEqual([0, 7]);
});

test('a success ends it, and another failure in between resets the count', () => {
  const holdOff = ofScrapes(60_000);
  for (let attempt = 0; attempt < 4; attempt++) holdOff.note({}, true, 0, 0);
  expect(holdOff.remainingMs(0)).toBe(270_000);
  holdOff.clear();
  expect(holdOff.remainingMs(0)).toBe(0);
  holdOff.note({}, true, 0, 0);
  expect(holdOff.remainingMs(1)).toBe(0);
  for (let attempt = 0; attempt < 4; attempt++) holdOff.note({}, true, 0, 0);
  holdOff.note({}, false, 0, 0);
  expect(holdOff.remainingMs(1)).toBe(0);
  holdOff.note({}, true, 0, 0);
  expect(holdOff.remainingMs(1)).toBe(0);
});

describe('without due times', () => {
  const holdOff = new HoldOff(AFTER_REFUSAL);

  test('leaves a service alone that refuses, for longer each time, up to five minutes', () => {
    const waits = [1, 2, 3, 4, 5, 6].map(() => {
      holdOff.note({}, true, 500, 1000);
      return holdOff.remainingMs(500);
    });
    expect(waits).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
  });

  test('Retry-After is obeyed', () => {
    holdOff.note({ retryAfterMs: 900_000 }, false, 500, 1000);
    expect(holdOff.remainingMs(1000)).toBe(900_000);
  });
});

test('the bound of the wait doubles with every failure up to the maximum; jitter takes any part of it', () => {
  const check = (failureCount: number, random: number, want: number): void =>
    expect(backoffMs({ firstMs: 1000, maxMs: 60_000 }, failureCount, () => random)).toBe(want);
  check(1, 1, 1000);
  check(2, 1, 2000);
  check(6, 1, 32_000);
  check(7, 1, 60_000);
  check(5000, 1, 60_000);
  check(1, 0, 0);
  check(3, 0.25, 1000);
});
