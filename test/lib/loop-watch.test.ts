import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LoopWatch } from '../../src/lib/loop-watch.ts';

test('a turn counts while it holds the loop, and waiting does not', async () => {
  const watch = new LoopWatch();
  await sleep(20);
  watch.take();
  await sleep(300);
  expect(watch.take()).toBeLessThan(250);
  block(300);
  expect(watch.take()).toBeLessThan(250);
  await sleep(20);
  expect(watch.take()).toBeGreaterThan(299);
  await sleep(20);
  expect(watch.take()).toBeLessThan(250);
  watch.close();
});

test('once closed, it stops measuring', async () => {
  const watch = new LoopWatch();
  await sleep(20);
  watch.close();
  watch.take();
  block(50);
  await sleep(20);
  expect(watch.take()).toBe(0);
});

function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}
