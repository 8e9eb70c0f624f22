import { expect, test } from 'vitest';
import { Throttle } from '../../src/lib/throttle.ts';
import { FakeClock } from '../support/fake-clock.ts';

test('the first event goes through, the next one only after the interval, with the number in between', async () => {
  const clock = new FakeClock();
  const throttle = new Throttle({ clock, intervalMs: 1000 });
  const written: number[] = [];
  const event = (): void => throttle.run('full', swallowed => written.push(swallowed));
  event();
  event();
  event();
  await clock.advance(999);
  event();
  expect(written).toEqual([0]);
  await clock.advance(1);
  event();
  await clock.advance(1000);
  event();
  expect(written).toEqual([0, 3, 0]);
});

test('a jump of the wall clock neither opens nor closes it', async () => {
  const clock = new FakeClock();
  const throttle = new Throttle({ clock, intervalMs: 1000 });
  let count = 0;
  const event = (): void => throttle.run('full', () => count++);
  event();
  clock.wallOffsetMs += 86_400_000;
  event();
  expect(count).toBe(1);
  clock.wallOffsetMs -= 2 * 86_400_000;
  await clock.advance(1000);
  event();
  expect(count).toBe(2);
});

test('keys do not hold each other back', () => {
  const throttle = new Throttle({ clock: new FakeClock() });
  const written: string[] = [];
  for (const key of ['a', 'b', 'a']) throttle.run(key, () => written.push(key));
  expect(written).toEqual(['a', 'b']);
});

test('keys beyond the bound share one slot, and quiet ones make room', async () => {
  const clock = new FakeClock();
  const throttle = new Throttle({ clock, intervalMs: 1000, keysMax: 2 });
  const written: string[] = [];
  const run = (key: string): void =>
    throttle.run(key, swallowed => written.push(`${key}${swallowed}`));
  for (const key of ['a', 'b', 'c', 'd', 'd']) run(key);
  expect(written).toEqual(['a0', 'b0', 'c0']);
  await clock.advance(1000);
  run('e');
  expect(written.at(-1)).toBe('e0');
});
