// Deals names to a number of shards, the same on every machine. When a shard is added, only those names move that it
// gets: one of n. The algorithm is the jump consistent hash of Lamping and Veach, https://arxiv.org/abs/1406.2294.

import { createHash } from 'node:crypto';

const MULTIPLIER = 2_862_933_555_777_941_757n;

/** The shard of a name: from 0 to `count` - 1. */
export function shardOf(name: string, count: number): number {
  let key = createHash('sha256').update(name).digest().readBigUInt64BE(0);
  let shard = 0;
  for (let next = 0; next < count; ) {
    shard = next;
    key = BigInt.asUintN(64, key * MULTIPLIER + 1n);
    next = Math.floor((shard + 1) * (2 ** 31 / (Number(key >> 33n) + 1)));
  }
  return shard;
}
