import { expect, test } from 'vitest';
import { backoffMs } from '../../src/lib/backoff.ts';

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
