import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createMeter, withProgress } from '../../src/cli/output.ts';
import { FakeClock } from '../support/fake-clock.ts';

function open(isTTY: boolean) {
  const clock = new FakeClock();
  const screen = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY });
  const terminal = { input: new PassThrough(), screen };
  const work = Promise.withResolvers<string>();
  const done = withProgress({ clock, terminal }, 'asking', work.promise);
  return { clock, work, done, shown: () => String(screen.read() ?? '') };
}

test('a long step shows its seconds, and then disappears', async () => {
  const { clock, work, done, shown } = open(true);
  await clock.advance(2500);
  expect(shown()).toBe('\r\u001B[Kasking: 1 s\r\u001B[Kasking: 2 s');
  work.resolve('answer');
  expect(await done).toBe('answer');
  expect(shown()).toBe('\r\u001B[K');
});

test('a quick step, or one that fails at once, shows nothing', async () => {
  const quick = open(true);
  quick.work.resolve('answer');
  expect([await quick.done, quick.shown()]).toEqual(['answer', '']);
  const failed = open(true);
  failed.work.reject(new Error('no'));
  await expect(failed.done).rejects.toThrow('no');
  expect(failed.shown()).toBe('');
});

test('nothing is shown without a terminal', async () => {
  const { clock, work, done, shown } = open(false);
  await clock.advance(5000);
  work.resolve('answer');
  expect([await done, shown()]).toEqual(['answer', '']);
});

test('a state in place of seconds never wraps', async () => {
  const clock = new FakeClock();
  const screen = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true, columns: 12 });
  const work = Promise.withResolvers<void>();
  const context = { clock, terminal: { input: new PassThrough(), screen } };
  const done = withProgress(context, () => 'much\u001B longer than that', work.promise);
  await clock.advance(1000);
  work.resolve();
  await done;
  expect(String(screen.read())).toBe('\r\u001B[Kmuch? longe\r\u001B[K');
});

test('a meter shows the rate, and the rest where the total is known', async () => {
  const clock = new FakeClock();
  const format = (amount: number): string => `${amount} points`;
  const known = createMeter(clock, format);
  const unknown = createMeter(clock, format);
  expect(known(0, 1000)).toBe('0 points of 1000 points (0 %), 0 points/s');
  await clock.advance(2000);
  expect(known(200, 1000)).toBe('200 points of 1000 points (20 %), 100 points/s, 8.0 s left');
  expect(unknown(200)).toBe('200 points, 100 points/s');
});
