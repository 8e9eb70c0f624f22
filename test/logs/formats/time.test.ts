// The times of wrappers; stamps, and their instants in zones with clock changes.

import { describe, expect, test } from 'vitest';
import { LocalTime, readInstant, readStamp } from '../../../src/logs/formats/time.ts';

describe('readStamp', () => {
  test('reads each form of the date, and an hour padded with a blank', () => {
    const want = Date.UTC(2026, 2, 4, 9, 5, 33);
    expect(readStamp('2026-03-04  9:05:33 x', 0, 'YYYY-MM-DD')).toBe(want);
    expect(readStamp('2026-03-04 09:05:33', 0, 'YYYY-MM-DD')).toBe(want);
    expect(readStamp('20260304 09:05:33,', 0, 'YYYYMMDD')).toBe(want);
    expect(readStamp('# Time: 260304  9:05:33', 8, 'YYMMDD')).toBe(want);
  });

  test('returns NaN for everything else', () => {
    const check = (text: string): void => expect(readStamp(text, 0, 'YYYY-MM-DD'), text).toBeNaN();
    check('');
    check('2026-03-04');
    check('2026-03-04 9:05:33');
    check('2026-13-04 09:05:33');
    check('2026-03-00 09:05:33');
    check('2026-03-04 24:05:33');
    check('2026-03-04 09:60:33');
    check('2026-03-04T09:05:33');
    check('2026-03-04 09:05-33');
    check('2o26-03-04 09:05:33');
    check('2026 03-04 09:05:33');
    check('2026-03-04 ab:05:33');
    expect(readStamp('2026-03-04 09:05:33', 0, 'YYMMDD')).toBeNaN();
    expect(readStamp('2603041 09:05:33', 0, 'YYMMDD')).toBeNaN();
  });
});

describe('LocalTime', () => {
  test.each([
    // UTC, and zones with and without clock changes.
    ['UTC', '2026-07-04 09:05:33', '2026-07-04T09:05:33.000Z'],
    ['Etc/UTC', '2026-07-04 09:05:33', '2026-07-04T09:05:33.000Z'],
    ['Europe/Berlin', '2026-07-04 09:05:33', '2026-07-04T07:05:33.000Z'],
    ['Europe/Berlin', '2026-01-04 09:05:33', '2026-01-04T08:05:33.000Z'],
    ['Asia/Kolkata', '2026-01-04 00:05:33', '2026-01-03T18:35:33.000Z'],
    ['America/St_Johns', '2026-01-04 09:05:33', '2026-01-04T12:35:33.000Z'],
    ['Pacific/Kiritimati', '2026-01-01 00:00:00', '2025-12-31T10:00:00.000Z'],
    // When clocks go back, the first of two hours.
    ['Europe/Berlin', '2026-10-25 01:59:59', '2026-10-24T23:59:59.000Z'],
    ['Europe/Berlin', '2026-10-25 02:00:00', '2026-10-25T00:00:00.000Z'],
    ['Europe/Berlin', '2026-10-25 02:59:59', '2026-10-25T00:59:59.000Z'],
    ['Europe/Berlin', '2026-10-25 03:00:00', '2026-10-25T02:00:00.000Z'],
    ['America/New_York', '2026-11-01 01:30:00', '2026-11-01T05:30:00.000Z'],
    // A skipped time has the offset from before.
    ['Europe/Berlin', '2026-03-29 01:59:59', '2026-03-29T00:59:59.000Z'],
    ['Europe/Berlin', '2026-03-29 02:30:00', '2026-03-29T01:30:00.000Z'],
    ['Europe/Berlin', '2026-03-29 03:00:00', '2026-03-29T01:00:00.000Z'],
    // A zone that changes its clocks by half an hour.
    ['Australia/Lord_Howe', '2026-04-05 01:20:00', '2026-04-04T14:20:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05 01:45:00', '2026-04-04T14:45:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05 02:00:00', '2026-04-04T15:30:00.000Z'],
    ['Australia/Lord_Howe', '2026-10-04 02:40:00', '2026-10-03T15:40:00.000Z'],
  ])('%s: %s is %s', (zone, local, want) => {
    const localMs = readStamp(local, 0, 'YYYY-MM-DD');
    expect(new Date(new LocalTime(zone).toEpochMs(localMs)).toISOString()).toBe(want);
  });

  test('takes the second if the file already had later times', () => {
    /** Converts the times of one file on this day. */
    const check = (zone: string, day: string, locals: string, want: string): void => {
      const localTime = new LocalTime(zone);
      const instants = locals.split(' ').map(local => {
        const instant = localTime.toEpochMs(readStamp(`${day} ${local}`, 0, 'YYYY-MM-DD'));
        return new Date(instant).toISOString().slice(11, 19);
      });
      expect(instants.join(' ')).toBe(want);
    };
    const berlin = check.bind(null, 'Europe/Berlin', '2026-10-25');
    berlin('02:00:01 02:59:59 02:00:01 02:30:00', '00:00:01 00:59:59 01:00:01 01:30:00');
    berlin('02:30:00 02:00:01 02:59:59 03:00:00', '00:30:00 01:00:01 01:59:59 02:00:00');
    // Almost simultaneous lines may be in the wrong order: only a step back of more than 1 s means the second hour.
    berlin('02:10:05 02:10:04 02:10:09', '00:10:05 00:10:04 00:10:09');
    berlin('02:10:30 02:10:00 02:09:59', '00:10:30 01:10:00 01:09:59');
    berlin('03:00:01 02:59:59', '02:00:01 01:59:59');
    // A time that would be out of order in both hours does not mean the second hour.
    berlin('09:00:00 02:30:00', '08:00:00 00:30:00');
    const york = check.bind(null, 'America/New_York', '2026-11-01');
    york('01:59:00 01:01:00 02:00:00', '05:59:00 06:01:00 07:00:00');
    const island = check.bind(null, 'Australia/Lord_Howe', '2026-04-05');
    island('01:45:00 01:40:00 02:00:00', '14:45:00 15:10:00 15:30:00');
  });

  test('gives the same result for every minute around a change, in any order', () => {
    const start = Date.UTC(2026, 9, 24, 22);
    const minutes = Array.from({ length: 8 * 60 }, (_, minute) => start + minute * 60_000);
    const alone = (local: number): number => new LocalTime('Europe/Berlin').toEpochMs(local);
    const forwards = minutes.map(alone);
    const backwards = minutes.toReversed().map(alone);
    expect(backwards.toReversed()).toEqual(forwards);
    const style = { dateStyle: 'short', timeStyle: 'medium' } as const;
    const shown = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin', ...style });
    const localText = (ms: number): string =>
      new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
    expect(forwards.map(instant => shown.format(instant))).toEqual(minutes.map(localText));
  });

  test('ignores invalid times, and refuses an invalid zone', () => {
    expect(new LocalTime('Europe/Berlin').toEpochMs(Number.NaN)).toBeNaN();
    expect(() => new LocalTime('Nowhere/Land')).toThrow(RangeError);
  });
});

const SECOND = Date.UTC(2026, 2, 4, 9, 5, 33);

describe('the times of wrappers', () => {
  test('are read exactly', () => {
    const check = (text: string, timeMs: number, timeExtraNs: number): void =>
      expect(readInstant(text), text).toEqual({ timeMs, timeExtraNs });
    check('2026-03-04T09:05:33Z', SECOND, 0);
    check('2026-03-04T09:05:33.1Z', SECOND + 100, 0);
    check('2026-03-04T09:05:33.120394Z', SECOND + 120, 394_000);
    check('2026-03-04T09:05:33.123456789Z', SECOND + 123, 456_789);
    check('2026-03-04T09:05:33.1234567891Z', SECOND + 123, 456_789);
    check('2026-03-04T10:05:33.5+01:00', SECOND + 500, 0);
    check('2026-03-04T08:35:33-00:30', SECOND, 0);
    check('2026-03-04 09:05:33,25z', SECOND + 250, 0);
    check('2026-03-04T09:05:34.000000001Z', SECOND + 1000, 1);
  });

  test('are null if there is no time', () => {
    const check = (text: string): void => expect(readInstant(text), text).toBeNull();
    check('');
    check('now');
    check('2026-03-04T09:05:33');
    check('2026-03-04T09:05:33.Z');
    check('2026-03-04T09:05:33.1.2Z');
    check('2026-03-04T09:05:33x5Z');
    check('2026-03-04T09:05:33Z ');
    check('2026-02-30T09:05:33Z');
    check('2026-13-01T09:05:33Z');
    check('2026-03-04T25:05:33Z');
  });
});
