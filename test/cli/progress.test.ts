import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { withProgress } from '../../src/cli/progress.ts';
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
