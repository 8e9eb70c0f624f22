import { expect, test } from 'vitest';
import { isTimeZone, isUtc } from '../../src/lib/time-zone.ts';

test('UTC has two names, in any case', () => {
  expect(['UTC', 'utc', 'Etc/UTC'].map(isUtc)).toEqual([true, true, true]);
  expect(['', 'GMT+1', 'Europe/Berlin'].map(isUtc)).toEqual([false, false, false]);
});

test('a zone is one that Intl knows', () => {
  expect(['UTC', 'Europe/Berlin', 'America/New_York'].map(isTimeZone)).toEqual([true, true, true]);
  expect(['', 'Europe/Bärlin', 'Mars'].map(isTimeZone)).toEqual([false, false, false]);
});
