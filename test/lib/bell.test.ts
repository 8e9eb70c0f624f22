import { expect, test } from 'vitest';
import { Bell, Permits } from '../../src/lib/bell.ts';
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

test('no more jobs run at once than there are permits, in the order they came', async () => {
  const permits = new Permits(2);
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const jobs = [0, 1, 2, 3].map(number =>
    permits.run(async () => {
      started.push(number);
      await new Promise<void>(resolve => (ends[number] = resolve));
      return number;
    }),
  );
  await Promise.resolve();
  expect(started).toEqual([0, 1]);
  ends[1]?.();
  await jobs[1];
  await Promise.resolve();
  expect(started).toEqual([0, 1, 2]);
  ends[0]?.();
  await jobs[0];
  await Promise.resolve();
  ends[2]?.();
  ends[3]?.();
  expect(await Promise.all(jobs)).toEqual([0, 1, 2, 3]);
});

test('with one permit jobs run one after the other in their order, whatever each takes', async () => {
  const serial = new Permits(1);
  const events: string[] = [];
  const job = (name: string, turns: number) => async (): Promise<string> => {
    events.push(`${name} starts`);
    for (let i = 0; i < turns; i++) await Promise.resolve();
    events.push(`${name} ends`);
    return name;
  };
  const results = [serial.run(job('a', 20)), serial.run(job('b', 1)), serial.run(job('c', 5))];
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c']);
  expect(events).toEqual(['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends']);
});

test('a failed job fails only its own caller, and gives its permit back', async () => {
  const serial = new Permits(1);
  const failed = serial.run(() => Promise.reject(new Error('no')));
  const next = serial.run(() => 7);
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe(7);
});
