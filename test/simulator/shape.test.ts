import { describe, expect, test } from 'vitest';
import {
  constant,
  grows,
  growsFlushable,
  growsSeconds,
  level,
  loadSeconds,
  loadWave,
  type Moment,
  position,
  type Shape,
  uptime,
  valueAt,
} from '../../src/simulator/load.ts';

const SERVER = 12_345;
const HASH = 678;
const START = Date.UTC(2026, 2, 4);

function moment(timeMs: number, startMs = START, flushMs = startMs): Moment {
  return {
    timeMs,
    serviceStartMs: START,
    startMs,
    flushMs,
    loadSinceStart: loadSeconds(SERVER, timeMs) - loadSeconds(SERVER, startMs),
    loadSinceFlush: loadSeconds(SERVER, timeMs) - loadSeconds(SERVER, flushMs),
    wave: loadWave(SERVER, timeMs),
  };
}

function values(shape: Shape, seconds: number, step: number): number[] {
  return Array.from({ length: seconds / step }, (_, i) =>
    valueAt(shape, HASH, moment(START + i * step * 1000)),
  );
}

describe('a counter', () => {
  test('begins at zero, never falls, and grows at about its rate', () => {
    for (const shape of [grows(240), grows(0.03), growsFlushable(1.5), growsSeconds(0.4)]) {
      const seen = values(shape, 86_400, 60);
      expect(seen[0]).toBe(0);
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
    }
    expect(values(grows(100), 86_400, 60).at(-1)).toBeGreaterThan(0.6 * 100 * 86_400);
  });

  test('counts whole things, or seconds to the microsecond', () => {
    expect(values(grows(3.7), 600, 10).every(Number.isInteger)).toBe(true);
    for (const value of values(growsSeconds(0.123), 600, 10)) {
      expect(String(value)).toMatch(/^\d+(\.\d{1,6})?$/u);
    }
  });

  test('begins again with its process, and with a flush only if it can be flushed', () => {
    const later = START + 3_600_000;
    const [restarted, flushed] = [moment(later, later), moment(later, START, later)];
    expect(valueAt(grows(100), HASH, restarted)).toBe(0);
    expect(valueAt(growsFlushable(100), HASH, restarted)).toBe(0);
    expect(valueAt(growsFlushable(100), HASH, flushed)).toBe(0);
    expect(valueAt(grows(100), HASH, flushed)).toBeGreaterThan(100_000);
  });
});

test('a level stays within its spread, in its steps, and moves', () => {
  for (const [shape, low, high, digits] of [
    [level(64, 40), 24, 104, 0],
    [level(20, -6), 14, 26, 0],
    [level(0.62, 0.02, 1e-4), 0.6, 0.64, 4],
  ] as const) {
    const seen = values(shape, 86_400, 60);
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(low);
    expect(Math.max(...seen)).toBeLessThanOrEqual(high);
    expect(new Set(seen).size).toBeGreaterThan(5);
    for (const value of seen) expect(value).toBe(Number(value.toFixed(digits)));
  }
});

test('levels that stray in opposite ways add up', () => {
  const data = values(level(57_000, 4_000), 3_600, 10);
  const free = values(level(7_936, -4_000), 3_600, 10);
  for (const [i, pages] of data.entries()) expect(pages + (free[i] ?? 0)).toBe(64_936);
});

test('uptime counts whole seconds from the start of the server or the service', () => {
  const restarted = moment(START + 10_999, START + 8_000);
  expect(valueAt(uptime(), HASH, restarted)).toBe(2);
  expect(valueAt(uptime('service'), HASH, restarted)).toBe(10);
});

test('a position outlives the process, lags, and falls only where its file ends', () => {
  const later = START + 60_000;
  const check = (shape: Shape, seconds: number): number =>
    valueAt(shape, HASH, moment(later + seconds * 1000, later));
  expect(check(position(20), 5) - check(position(20), 0)).toBe(100);
  expect(check(position(20, null, 5), 5)).toBe(check(position(20), 0));
  const wrapped = [0, 1, 2, 3].map(second => check(position(100, 250), second));
  expect(wrapped.every(value => value >= 4 && value < 254)).toBe(true);
  expect(wrapped).not.toEqual([...wrapped].sort((a, b) => a - b));
});

test('a constant does not change', () => {
  expect(values(constant(16_384), 60, 10)).toEqual(Array(6).fill(16_384));
});
