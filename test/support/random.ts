// Random numbers that can be had again, and the likelihood of what fast-check makes.

import * as fc from 'fast-check';

/** Numbers from 0 up to 1 that a seed decides (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The one so many times as often as the other. */
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

/** False so many times as often as true. */
export function rarely(times: number): fc.Arbitrary<boolean> {
  return mostly(times, fc.constant(false), fc.constant(true));
}

const faultsSeed = Number(process.env['FAULTS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** The same for the same seed and name: the seed is printed, and taken from FAULTS_SEED where that is set. */
export function randomNumbers(name: string): () => number {
  let seed = faultsSeed;
  for (const byte of Buffer.from(name)) seed = Math.imul(seed, 31) + byte;
  console.log(`faults: ${name}: FAULTS_SEED=${String(faultsSeed)}`);
  return randomOf(seed);
}
