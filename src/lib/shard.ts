// Distributes names over a number of shards, the same on every machine. Each shard has a score for each name, and the
// highest wins (rendezvous hashing, Thaler and Ravishankar 1998): a new shard moves only the names that it gets. Names
// that are distributed together are balanced: a full shard passes names on to the shard with the next score (as in
// consistent hashing with bounded loads, https://arxiv.org/abs/1608.01350).

import { hash } from 'node:crypto';

/** The most that a shard may get, relative to its even share. */
const SLACK = 1.01;

/** The shard of a single name: from 0 to `count` - 1. */
export function shardOf(name: string, count: number): number {
  return highest(digestOf(name), count, () => true);
}

/** The shards of all names, each with at most SLACK times its even share. */
export function dealShards(names: readonly string[], count: number): ReadonlyMap<string, number> {
  const digests = [...new Set(names)].map(name => [digestOf(name), name] as const);
  // Sorted, so that the order in the configuration does not matter.
  digests.sort(([a, nameA], [b, nameB]) => a - b || (nameA < nameB ? -1 : 1));
  const room = Array.from({ length: count }, () => Math.ceil((digests.length / count) * SLACK));
  const shards = new Map<string, number>();
  for (const [digest, name] of digests) {
    const shard = highest(digest, count, shard => (room[shard] ?? 0) > 0);
    room[shard] = (room[shard] ?? 0) - 1;
    shards.set(name, shard);
  }
  return shards;
}

/** 32 bits that spread names evenly and stay the same for ever. */
export function digestOf(name: string): number {
  return hash('sha256', name, 'buffer').readUInt32BE(0);
}

/** The shard with the highest score among those that may take the name. */
function highest(digest: number, count: number, may: (shard: number) => boolean): number {
  let [best, bestScore] = [0, -1];
  for (let shard = 0; shard < count; shard++) {
    const score = mix(digest ^ mix(shard + 1));
    if (score > bestScore && may(shard)) [best, bestScore] = [shard, score];
  }
  return best;
}

/** Spreads 32 bits evenly: the finalizer of MurmurHash3. */
export function mix(bits: number): number {
  let hash = bits;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
