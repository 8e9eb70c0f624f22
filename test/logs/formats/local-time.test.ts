// Stamps, and the instants they mean in zones that set their clocks.

import { describe, expect, test } from 'vitest';
import { createLocalTime, readStamp } from '../../../src/logs/formats/local-time.ts';

describe('readStamp', () => {
  test('reads each form of the date, and an hour padded with a blank', () => {
    const want = Date.UTC(2026, 2, 4, 9, 5, 33);
    expect(readStamp('2026-03-04  9:05:33 x', 0, 'YYYY-MM-DD')).toBe(want);
    expect(readStamp('2026-03-04 09:05:33', 0, 'YYYY-MM-DD')).toBe(want);
    expect(readStamp('20260304 09:05:33,', 0, 'YYYYMMDD')).toBe(want);
    expect(readStamp('# Time: 260304  9:05:33', 8, 'YYMMDD')).toBe(want);
  });

  test('gives NaN for all else', () => {
    for (const text of [
      '',
      '2026-03-04',
      '2026-03-04 9:05:33',
      '2026-13-04 09:05:33',
      '2026-03-00 09:05:33',
      '2026-03-04 24:05:33',
      '2026-03-04 09:60:33',
      '2026-03-04T09:05:33',
      '2026-03-04 09:05-33',
      '2o26-03-04 09:05:33',
      '2026 03-04 09:05:33',
      '2026-03-04 ab:05:33',
    ]) {
      expect(readStamp(text, 0, 'YYYY-MM-DD'), text).toBeNaN();
    }
    expect(readStamp('2026-03-04 09:05:33', 0, 'YYMMDD')).toBeNaN();
    expect(readStamp('2603041 09:05:33', 0, 'YYMMDD')).toBeNaN();
  });
});

describe('createLocalTime', () => {
  function check(zone: string, local: string, want: string): void {
    const localMs = readStamp(local, 0, 'YYYY-MM-DD');
    const instant = createLocalTime(zone).toEpochMs(localMs);
    expect(new Date(instant).toISOString()).toBe(want);
  }

  test('knows UTC, and zones with and without clocks that are set', () => {
    check('UTC', '2026-07-04 09:05:33', '2026-07-04T09:05:33.000Z');
    check('Etc/UTC', '2026-07-04 09:05:33', '2026-07-04T09:05:33.000Z');
    check('Europe/Berlin', '2026-07-04 09:05:33', '2026-07-04T07:05:33.000Z');
    check('Europe/Berlin', '2026-01-04 09:05:33', '2026-01-04T08:05:33.000Z');
    check('Asia/Kolkata', '2026-01-04 00:05:33', '2026-01-03T18:35:33.000Z');
    check('America/St_Johns', '2026-01-04 09:05:33', '2026-01-04T12:35:33.000Z');
    check('Pacific/Kiritimati', '2026-01-01 00:00:00', '2025-12-31T10:00:00.000Z');
  });

  test('takes the first of two where clocks are set back', () => {
    check('Europe/Berlin', '2026-10-25 01:59:59', '2026-10-24T23:59:59.000Z');
    check('Europe/Berlin', '2026-10-25 02:00:00', '2026-10-25T00:00:00.000Z');
    check('Europe/Berlin', '2026-10-25 02:59:59', '2026-10-25T00:59:59.000Z');
    check('Europe/Berlin', '2026-10-25 03:00:00', '2026-10-25T02:00:00.000Z');
    check('America/New_York', '2026-11-01 01:30:00', '2026-11-01T05:30:00.000Z');
  });

  test('reads a time that never came with the offset from before', () => {
    check('Europe/Berlin', '2026-03-29 01:59:59', '2026-03-29T00:59:59.000Z');
    check('Europe/Berlin', '2026-03-29 02:30:00', '2026-03-29T01:30:00.000Z');
    check('Europe/Berlin', '2026-03-29 03:00:00', '2026-03-29T01:00:00.000Z');
  });

  test('knows a zone that sets its clocks by half an hour', () => {
    check('Australia/Lord_Howe', '2026-04-05 01:20:00', '2026-04-04T14:20:00.000Z');
    check('Australia/Lord_Howe', '2026-04-05 01:45:00', '2026-04-04T14:45:00.000Z');
    check('Australia/Lord_Howe', '2026-04-05 02:00:00', '2026-04-04T15:30:00.000Z');
    check('Australia/Lord_Howe', '2026-10-04 02:40:00', '2026-10-03T15:40:00.000Z');
  });

  test('gives the same for every minute around a change, asked in any order', () => {
    const start = Date.UTC(2026, 9, 24, 22);
    const minutes = Array.from({ length: 8 * 60 }, (_, minute) => start + minute * 60_000);
    const one = createLocalTime('Europe/Berlin');
    const forwards = minutes.map(local => one.toEpochMs(local));
    const other = createLocalTime('Europe/Berlin');
    const backwards = minutes.toReversed().map(local => other.toEpochMs(local));
    expect(backwards.toReversed()).toEqual(forwards);
    const shown = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'Europe/Berlin',
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    const localText = (ms: number): string =>
      new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
    expect(forwards.map(instant => shown.format(instant))).toEqual(minutes.map(localText));
  });

  test('leaves what is no time, and refuses a zone that is none', () => {
    expect(createLocalTime('Europe/Berlin').toEpochMs(Number.NaN)).toBeNaN();
    expect(() => createLocalTime('Nowhere/Land')).toThrow(RangeError);
  });
});
