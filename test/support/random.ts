// Repeatable random numbers, and weights for the values that fast-check generates.

import * as fc from 'fast-check';

/** Random numbers in [0, 1) that depend only on the seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Makes `usual` `times` times as often as `rare`. */
export function mostly<A, B>(
  times: number,
  usual: fc.Arbitrary<A>,
  rare: fc.Arbitrary<B>,
): fc.Arbitrary<A | B> {
  return fc.oneof<fc.MaybeWeightedArbitrary<A | B>[]>(
    { weight: times, arbitrary: usual },
    { weight: 1, arbitrary: rare },
  );
}

/** False `times` times as often as true. */
export function rarely(times: number): fc.Arbitrary<boolean> {
  return mostly(times, fc.constant(false), fc.constant(true));
}

const faultsSeed = Number(process.env['FAULTS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Random numbers that depend only on the seed and the name. Prints the seed, which FAULTS_SEED can set. */
export function randomNumbers(name: string): () => number {
  let seed = faultsSeed;
  for (const byte of Buffer.from(name)) seed = Math.imul(seed, 31) + byte;
  console.log(`faults: ${name}: FAULTS_SEED=${String(faultsSeed)}`);
  return randomOf(seed);
}
