import { expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/lib/retry-after.ts';

const now = Date.UTC(2026, 10, 20, 18, 0, 0);

function check(header: string | undefined, want: number | null): void {
  expect(parseRetryAfter(header, now), String(header)).toBe(want);
}

test('seconds become milliseconds', () => {
  check('0', 0);
  check('120', 120_000);
  check('  7 ', 7000);
  check('007', 7000);
});

test('a huge number stays finite, for the caller to cap', () => {
  check('9'.repeat(30), Number.MAX_SAFE_INTEGER);
  check('9'.repeat(400), Number.MAX_SAFE_INTEGER);
});

test('a date in each of the three formats of HTTP becomes the remaining time', () => {
  check('Fri, 20 Nov 2026 18:01:30 GMT', 90_000);
  check('Friday, 20-Nov-26 18:01:30 GMT', 90_000);
  check('Fri Nov 20 18:01:30 2026', 90_000);
  check('Wed Nov  2 18:00:00 2033', Date.UTC(2033, 10, 2, 18) - now);
});

test('a two-digit year is never more than fifty years ahead', () => {
  check('Friday, 20-Nov-94 18:01:30 GMT', 0);
  check('Friday, 20-Nov-75 18:00:00 GMT', Date.UTC(2075, 10, 20, 18) - now);
});

test('a leap second is valid', () => {
  check('Thu, 31 Dec 2026 23:59:60 GMT', Date.UTC(2027, 0, 1) - now);
});

test('a past date asks for no wait', () => {
  check('Fri, 20 Nov 2026 17:59:59 GMT', 0);
  check('Thu, 01 Jan 1970 00:00:00 GMT', 0);
});

test('an unreadable value counts as none', () => {
  check(undefined, null);
  check('', null);
  check('-5', null);
  check('1.5', null);
  check('1e3', null);
  check('soon', null);
  check('2026-11-20T18:01:30Z', null);
  check('Fri, 20 Nov 2026 18:01:30 CET', null);
  check('Fri, 31 Feb 2026 18:01:30 GMT', null);
  check('Fri, 20 Foo 2026 18:01:30 GMT', null);
  check('Fri, 20 Nov 2026 25:01:30 GMT', null);
  check('Fri, 20 Nov 2026 18:01:61 GMT', null);
});
