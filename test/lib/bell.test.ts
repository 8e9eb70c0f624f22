import { expect, test } from 'vitest';
import { Bell } from '../../src/lib/bell.ts';

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
