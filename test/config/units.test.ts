import { expect, test } from 'vitest';
import {
  DURATION,
  formatDuration,
  formatQuantity,
  parseDuration,
  parseQuantity,
  SIZE,
  suggestQuantity,
} from '../../src/config/units.ts';

test('a duration is a number with a unit, in milliseconds', () => {
  const check = (text: string, want: number): void => {
    expect(parseDuration(text)).toBe(want);
    expect(text).toMatch(RegExp(DURATION.pattern));
  };
  check('500ms', 500);
  check('10s', 10_000);
  check('5m', 300_000);
  check('72h', 259_200_000);
  check('1d', 86_400_000);
  check('0s', 0);
  check('1.5h', 5_400_000);
  check('0.0001s', 0);
});

const NO_DURATIONS = ['', '10', 's', '10 s', '10S', '10parsecs', '-10s', '+10s', '1e3s', '.5s'];

test.each([...NO_DURATIONS, '5.s', '1h30m', '10s\n', `${'9'.repeat(400)}s`, '9007199254740993d'])(
  'anything else is not a duration: %j',
  text => expect(parseDuration(text)).toBeUndefined(),
);

test('a size is a number with a unit, in bytes', () => {
  const check = (text: string, want: number): void => {
    expect(parseQuantity(text, SIZE)).toBe(want);
    expect(text).toMatch(RegExp(SIZE.pattern));
  };
  check('0B', 0);
  check('4kB', 4000);
  check('4KiB', 4096);
  check('1MB', 1_000_000);
  check('512MiB', 536_870_912);
  check('1GB', 1_000_000_000);
  check('1GiB', 1_073_741_824);
  check('1TB', 1e12);
  check('1TiB', 2 ** 40);
  check('1.5KiB', 1536);
});

test.each(['4KB', '4kb', '4Kib', '4kiB', '4b', '4k', '4'])(
  'a unit in the wrong case is refused, not guessed: %s',
  text => {
    expect(parseQuantity(text, SIZE)).toBeUndefined();
    expect(text).not.toMatch(RegExp(SIZE.pattern));
  },
);

test('the probable meaning is suggested', () => {
  const duration = (text: string, want: string | undefined): void => {
    expect(suggestQuantity(text, DURATION)).toBe(want);
  };
  duration('10 sec', '10s');
  duration('10seconds', '10s');
  duration('5 MIN', '5m');
  duration('5M', '5m');
  duration('3 days', '3d');
  duration('2hours', '2h');
  duration('10 parsecs', undefined);
  duration('soon', undefined);
  duration('', undefined);
  const size = (text: string, want: string | undefined): void => {
    expect(suggestQuantity(text, SIZE)).toBe(want);
  };
  size('512Mi', '512MiB');
  size('512 mib', '512MiB');
  size('4KB', '4kB');
  size('1g', '1GB');
  size('1 pint', undefined);
});

test('amounts are shown in their largest whole unit', () => {
  const duration = (ms: number, want: string): void => {
    expect(formatDuration(ms)).toBe(want);
    expect(parseDuration(want)).toBe(ms);
  };
  duration(0, '0ms');
  duration(1, '1ms');
  duration(1500, '1500ms');
  duration(90_000, '90s');
  duration(120_000, '2m');
  duration(259_200_000, '3d');
  const size = (bytes: number, want: string): void => {
    expect(formatQuantity(bytes, SIZE)).toBe(want);
    expect(parseQuantity(want, SIZE)).toBe(bytes);
  };
  size(0, '0B');
  size(1000, '1kB');
  size(1024, '1KiB');
  size(1025, '1025B');
  size(67_108_864, '64MiB');
});
