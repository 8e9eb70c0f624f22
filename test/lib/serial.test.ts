import { expect, test } from 'vitest';
import { Serial } from '../../src/lib/permits.ts';

test('jobs run one after the other in their order, whatever each takes', async () => {
  const serial = new Serial();
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

test('a failed job fails only its own caller', async () => {
  const serial = new Serial();
  const failed = serial.run(() => Promise.reject(new Error('no')));
  const next = serial.run(() => 7);
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe(7);
});
