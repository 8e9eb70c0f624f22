import { expect, test } from 'vitest';
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatGoFloat,
} from '../../src/lib/format.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

test('counts have thousands separators', () => {
  const check = (count: number, want: string): void => expect(formatCount(count)).toBe(want);
  check(0, '0');
  check(999, '999');
  check(1000, '1,000');
  check(1_234_567, '1,234,567');
  check(-1_234_567, '-1,234,567');
  check(12.6, '13');
});

test('sizes have the most readable unit', () => {
  const check = (bytes: number, want: string): void => expect(formatBytes(bytes)).toBe(want);
  check(0, '0 B');
  check(1023, '1023 B');
  check(1024, '1.0 KiB');
  check(1536, '1.5 KiB');
  check(200 * 1024, '200 KiB');
  // Never 1024 of a unit, unless the unit is the largest.
  check(1024 * 1024 - 1, '1.0 MiB');
  check(2 ** 30, '1.0 GiB');
  check(2 ** 60, '1024 PiB');
});

test('durations have their two largest units', () => {
  const check = (ms: number, want: string): void => expect(formatDuration(ms)).toBe(want);
  check(0, '0 ms');
  check(12.4, '12 ms');
  check(999.6, '1.0 s');
  check(1240, '1.2 s');
  check(9960, '10 s');
  check(59_400, '59 s');
  check(59_600, '1 min');
  check(2 * MINUTE + 5 * SECOND, '2 min 5 s');
  check(HOUR - 1, '1 h');
  check(3 * HOUR + 12 * MINUTE + 40 * SECOND, '3 h 13 min');
  check(DAY - 1, '1 d');
  check(4 * DAY + 2 * HOUR, '4 d 2 h');
  check(-5000, '-5.0 s');
});

test('ages are coarser, and distinguish past and future', () => {
  const check = (ms: number, want: string): void => expect(formatAge(ms)).toBe(want);
  check(0, 'now');
  check(-400, 'now');
  check(1200, '1 s ago');
  check(59_600, '1 min ago');
  check(125 * SECOND, '2 min 5 s ago');
  check(12 * MINUTE + 20 * SECOND, '12 min ago');
  check(3 * DAY, '3 d ago');
  check(-5200, 'in 5 s');
});

test.each([
  [0, '0'],
  [1, '1'],
  [999_999, '999999'],
  [1_000_000, '1e+06'],
  [3_473_204, '3.473204e+06'],
  [9.223372036854776e18, '9.223372036854776e+18'],
  [1e100, '1e+100'],
  [-2_500_000, '-2.5e+06'],
  [0.000277976, '0.000277976'],
  [0.00007, '7e-05'],
])('the number %d is written as %s, as the exporters write it', (number, want) => {
  expect(formatGoFloat(number)).toBe(want);
});
