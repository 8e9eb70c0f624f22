import { expect, test } from 'vitest';
import { silentLogger, ThrottledLog } from '../../src/lib/log.ts';
import { FakeClock } from '../support/fake-clock.ts';

interface Setup {
  readonly clock: FakeClock;
  readonly log: ThrottledLog;
  readonly lines: string[];
}

/** Each line as `level message fields`. */
function start(): Setup {
  const clock = new FakeClock();
  const lines: string[] = [];
  const write =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const logger = { ...silentLogger, warn: write('warn'), error: write('error') };
  return { clock, lines, log: new ThrottledLog(logger, clock) };
}

test('the first event has a line, the next one only after the interval, with the number in between', async () => {
  const { clock, log, lines } = start();
  const event = (): void => log.warn('full', { size: 7 }, 'is full');
  event();
  event();
  event();
  await clock.advance(59_999);
  event();
  expect(lines).toEqual(['warn is full {"size":7,"swallowed":0}']);
  await clock.advance(1);
  event();
  await clock.advance(60_000);
  event();
  expect(lines.slice(1)).toEqual([
    'warn is full {"size":7,"swallowed":3}',
    'warn is full {"size":7,"swallowed":0}',
  ]);
});

test('errors and lines without a throttle keep their level', () => {
  const { log, lines } = start();
  log.error('a', {}, 'fails');
  log.error('a', {}, 'fails');
  log.plain.warn({}, 'is plain');
  log.plain.warn({}, 'is plain');
  expect(lines).toEqual(['error fails {"swallowed":0}', 'warn is plain {}', 'warn is plain {}']);
});

test('a jump of the wall clock changes nothing', async () => {
  const { clock, log, lines } = start();
  const event = (): void => log.warn('full', {}, 'is full');
  event();
  clock.wallOffsetMs += 86_400_000;
  event();
  expect(lines).toHaveLength(1);
  clock.wallOffsetMs -= 2 * 86_400_000;
  await clock.advance(60_000);
  event();
  expect(lines).toHaveLength(2);
});

test('keys do not hold each other back', () => {
  const { log, lines } = start();
  for (const key of ['a', 'b', 'a']) log.warn(key, {}, key);
  expect(lines).toEqual(['warn a {"swallowed":0}', 'warn b {"swallowed":0}']);
});

test('keys beyond the limit share one, and quiet ones make room', async () => {
  const { clock, log, lines } = start();
  const keys = Array.from({ length: 1024 }, (_, i) => `k${i}`);
  for (const key of [...keys, 'c', 'd', 'd']) log.warn(key, {}, key);
  expect(lines.map(line => line.split(' ')[1])).toEqual([...keys, 'c']);
  await clock.advance(60_000);
  log.warn('e', {}, 'e');
  expect(lines.at(-1)).toBe('warn e {"swallowed":0}');
});
