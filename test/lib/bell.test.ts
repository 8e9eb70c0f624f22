import { expect, test } from 'vitest';
import { Bell } from '../../src/lib/bell.ts';

test('a ring wakes everybody who waits, once', async () => {
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

test('a ring between looking and waiting is not lost', async () => {
  const bell = new Bell();
  const seen = bell.rings;
  bell.ring();
  await bell.wait(seen);
  expect(bell.rings).toBe(seen + 1);
});
