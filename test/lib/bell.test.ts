import { expect, test } from 'vitest';
import { Bell } from '../../src/lib/bell.ts';
import { FakeClock } from '../support/fake-clock.ts';

test('a ring wakes all waiters, once', async () => {
  const bell = new Bell();
  const woken: string[] = [];
  const wait = async (name: string): Promise<void> => {
    await bell.wait(bell.rings);
    woken.push(name);
  };
  const waits = [wait('a'), wait('b')];
  bell.ring();
  await Promise.all(waits);
  expect(woken).toEqual(['a', 'b']);
  void wait('c');
  await Promise.resolve();
  expect(woken).toEqual(['a', 'b']);
});

test('a ring between a check and a wait is not lost', async () => {
  const bell = new Bell();
  const seen = bell.rings;
  bell.ring();
  await bell.wait(seen);
  expect(bell.rings).toBe(seen + 1);
});

test('an aborted wait leaves nothing behind', async () => {
  const bell = new Bell();
  const over = new AbortController();
  const waits = [bell.wait(0, over.signal), bell.wait(0, over.signal), bell.wait(0)];
  expect(bell.waiting).toBe(3);
  over.abort();
  await Promise.all(waits.slice(0, 2));
  expect(bell.waiting).toBe(1);
  await bell.wait(0, over.signal);
  bell.ring();
  await Promise.all(waits);
  expect(bell.waiting).toBe(0);
});

test('a nap ends with its time, a ring or a stop, and leaves nothing behind', async () => {
  const check = async (end: (bell: Bell, clock: FakeClock, stop: AbortController) => unknown) => {
    const [bell, clock, stop] = [new Bell(), new FakeClock(), new AbortController()];
    const nap = bell.wait(0, stop.signal, { clock, ms: 1000 });
    expect([bell.waiting, clock.sleeps()]).toEqual([1, [1000]]);
    await end(bell, clock, stop);
    await nap;
    expect([bell.waiting, clock.sleeps()]).toEqual([0, []]);
  };
  await check((_bell, clock) => clock.advance(1000));
  await check(bell => bell.ring());
  await check((_bell, _clock, stop) => stop.abort());
});
