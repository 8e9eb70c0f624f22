import { expect, test } from 'vitest';
import { WrapperTime } from '../../src/logs/wrapper-time.ts';

const SECOND = Date.UTC(2026, 2, 4, 9, 5, 33);

test('times are read exactly, one after the other', () => {
  const time = new WrapperTime();
  const check = (text: string, ms: number, extraNs: number): void => {
    time.read(text);
    expect([time.ms, time.extraNs], text).toEqual([ms, extraNs]);
  };
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

test('what is no time is none, also right behind one of the same second', () => {
  const time = new WrapperTime();
  const check = (text: string): void => {
    time.read('2026-03-04T09:05:33Z');
    time.read(text);
    expect([time.ms, time.extraNs], text).toEqual([Number.NaN, 0]);
  };
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
