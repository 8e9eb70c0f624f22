import { expect, test } from 'vitest';
import { Semaphore } from '../../src/lib/semaphore.ts';

test('no more jobs run at once than there are permits, in the order they came', async () => {
  const permits = new Semaphore(2);
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
  const serial = new Semaphore(1);
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
  const serial = new Semaphore(1);
  const failed = serial.run(() => Promise.reject(new Error('no')));
  const next = serial.run(() => 7);
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe(7);
});
