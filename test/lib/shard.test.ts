import { expect, test } from 'vitest';
import { shardOf } from '../../src/lib/shard.ts';

const NAMES = Array.from({ length: 3000 }, (_, i) => `dbpgf${String(10_000_000 + i)}`);

function deal(count: number): readonly number[] {
  return NAMES.map(name => shardOf(name, count));
}

test('a name has the same shard on every machine and in every version', () => {
  // Written down: another outcome would move every service of every user.
  const check = (name: string, ...want: number[]): void => {
    expect([2, 3, 10, 1000].map(count => shardOf(name, count))).toEqual(want);
  };
  check('dbpgf12345678', 1, 1, 1, 779);
  check('dbpgf10000002', 1, 1, 4, 436);
  check('billing', 0, 0, 8, 84);
  check('', 1, 2, 5, 22);
});

test('one shard takes all', () => {
  expect(new Set(deal(1))).toEqual(new Set([0]));
});

test('every shard takes about the same', () => {
  for (const count of [2, 3, 7, 50]) {
    const sizes = Array.from({ length: count }, () => 0);
    for (const shard of deal(count)) sizes[shard] = (sizes[shard] ?? 0) + 1;
    const mean = NAMES.length / count;
    expect(Math.min(...sizes)).toBeGreaterThan(mean * 0.5);
    expect(Math.max(...sizes)).toBeLessThan(mean * 1.5);
  }
});

test('a further shard takes its share, and nothing else moves', () => {
  for (const count of [1, 3, 9]) {
    const [before, after] = [deal(count), deal(count + 1)];
    const moved = after.filter((shard, i) => shard !== before[i]);
    expect(new Set(moved)).toEqual(new Set([count]));
    const share = NAMES.length / (count + 1);
    expect(moved.length).toBeGreaterThan(share * 0.7);
    expect(moved.length).toBeLessThan(share * 1.3);
  }
});
