import { describe, expect, test } from 'vitest';
import {
  hashText,
  loadSeconds,
  loadWave,
  noise,
  noiseSeconds,
  unit,
} from '../../src/simulator/load.ts';

const START = Date.UTC(2026, 2, 4);
const HASHES = [0, 1, 0xffffffff, hashText('orders-0', 1), hashText('ledger-2', 7)];

describe('the load', () => {
  test('never falls, noise included, from second to second over a day', () => {
    for (const hash of HASHES) {
      const seconds = Array.from({ length: 12_000 }, (_, i) => START + i * 7_000);
      const seen = seconds.map(timeMs => loadSeconds(hash, timeMs) + noiseSeconds(hash, timeMs));
      expect(seen.filter((now, i) => i > 0 && now <= (seen[i - 1] ?? NaN))).toEqual([]);
    }
  });

  test('grows by a second a second in the long run', () => {
    const days = 30;
    const grown = loadSeconds(5, START + days * 86_400_000) - loadSeconds(5, START);
    expect(grown / (days * 86_400)).toBeCloseTo(1, 3);
  });

  test('has a wave and a noise within -1 and 1 that do move', () => {
    const waves: number[] = [];
    const noises: number[] = [];
    for (let minute = 0; minute < 1440; minute++) {
      waves.push(loadWave(9, START + minute * 60_000));
      noises.push(noise(9, START + minute * 60_000));
    }
    for (const values of [waves, noises]) {
      expect(Math.max(...values)).toBeLessThanOrEqual(1);
      expect(Math.min(...values)).toBeGreaterThanOrEqual(-1);
      expect(Math.max(...values) - Math.min(...values)).toBeGreaterThan(1.5);
    }
  });
});

test('noise is linear between two steps', () => {
  const middle = noise(3, START + 30_000);
  expect(middle).toBeCloseTo((noise(3, START) + noise(3, START + 60_000)) / 2, 12);
});

test('hashes and draws are the same on every machine', () => {
  expect(hashText('orders-0', 1)).toBe(hashText('orders-0', 1));
  expect(hashText('orders-0', 1)).not.toBe(hashText('orders-0', 2));
  expect(hashText('orders-0', 1)).not.toBe(hashText('orders-1', 1));
  expect([hashText('', 0), unit(0, 1), unit(1, 0)]).toMatchInlineSnapshot(`
    [
      2872998923,
      0.07026689755730331,
      0.3175988623406738,
    ]
  `);
});
