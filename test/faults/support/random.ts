// Random numbers that can be had again: the seed is printed, and taken from FAULTS_SEED where that is set.

const seed = Number(process.env['FAULTS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Numbers from 0 up to 1, the same for the same seed and name (mulberry32). */
export function randomNumbers(name: string): () => number {
  let state = seed;
  for (const byte of Buffer.from(name)) state = Math.imul(state, 31) + byte;
  console.log(`faults: ${name}: FAULTS_SEED=${String(seed)}`);
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
