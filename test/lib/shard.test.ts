import { describe, expect, test } from 'vitest';
import { dealShards, shardOf } from '../../src/lib/shard.ts';

const NAMES = Array.from({ length: 1000 }, (_, i) => `dbpgf${String(10_000_000 + i)}`);

test('a name has the same shard on every machine and in every version', () => {
  // Fixed values: another result would move every service of every user.
  const check = (name: string, ...want: number[]): void => {
    expect([2, 3, 10, 1000].map(count => shardOf(name, count))).toEqual(want);
  };
  check('dbpgf12345678', 0, 2, 3, 222);
  check('dbpgf10000002', 1, 1, 1, 31);
  check('billing', 1, 2, 2, 965);
  check('', 0, 2, 7, 948);
});

test('a further shard takes only its share of single names, and nothing else moves', () => {
  for (const count of [1, 3, 9]) {
    const moved = NAMES.map(name => shardOf(name, count + 1)).filter(
      (shard, i) => shard !== shardOf(NAMES[i] ?? '', count),
    );
    expect(new Set(moved)).toEqual(new Set([count]));
    const share = NAMES.length / (count + 1);
    expect(moved.length).toBeGreaterThan(share * 0.7);
    expect(moved.length).toBeLessThan(share * 1.3);
  }
});

describe('names that are distributed together', () => {
  const moved = (before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number =>
    [...before].filter(([name, shard]) => after.get(name) !== shard).length;

  test('are all distributed, in any order', () => {
    const dealt = dealShards(NAMES, 7);
    expect(new Set(dealt.keys())).toEqual(new Set(NAMES));
    const turned = dealShards(NAMES.toReversed(), 7);
    expect(moved(dealt, turned)).toBe(0);
    expect(new Set(dealShards(NAMES, 1).values())).toEqual(new Set([0]));
    expect(dealShards([], 3).size).toBe(0);
  });

  test('are split within a tenth of even', () => {
    for (let count = 1; count <= 8; count++) {
      const sizes = Array.from({ length: count }, () => 0);
      for (const shard of dealShards(NAMES, count).values()) sizes[shard] = (sizes[shard] ?? 0) + 1;
      const even = NAMES.length / count;
      expect(Math.min(...sizes)).toBeGreaterThan(even * 0.9);
      expect(Math.max(...sizes)).toBeLessThan(even * 1.1);
    }
  });

  test('move little with another shard, and hardly with another name', () => {
    expect(moved(dealShards(NAMES, 4), dealShards(NAMES, 5))).toBeLessThanOrEqual(250);
    const another = dealShards([...NAMES, 'dbpgf99999999'], 5);
    expect(moved(dealShards(NAMES, 5), another)).toBeLessThan(20);
  });
});
