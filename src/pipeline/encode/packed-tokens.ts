// What the constant parts of a packed template consist of: tokens, and their bits once there are codes. A token is a number:
// a byte as a literal, a match with its length and distance, or the end of a chunk. RFC 1951, section 3.2.5.

import { BitWriter } from '../../lib/deflate/bits.ts';
import { type Codes, putCode } from '../../lib/deflate/huffman.ts';
import { distanceEntry, lengthEntries, putEntry } from '../../lib/deflate/repeats.ts';
import type { PackedChunks } from '../../repeating.ts';

/** Tokens from here on are matches; those below are literals. */
export const MATCHES = 256;
export const CHUNK_END = -1;
const DISTANCE_BITS = 15;
const TOKEN_BITS_MAX = 64;
/** Chunks have at most so many bits. */
const CHUNK_BITS_MAX = 0xffff;
/** The event loop may get its turn after one chunk in 1024. */
const SLICE_MASK = 0x3ff;

export function matchOf(length: number, distance: number): number {
  return MATCHES + ((length << DISTANCE_BITS) | (distance - 1));
}

export function lengthOf(token: number): number {
  return (token - MATCHES) >>> DISTANCE_BITS;
}

export function distanceOf(token: number): number {
  return ((token - MATCHES) & (2 ** DISTANCE_BITS - 1)) + 1;
}

/** The bits of so many chunks, each from a word of its own on; yields between slices. Null when one has too many. */
export function* codeChunks(
  tokens: Int32Array,
  chunkCount: number,
  { literals, distances }: { readonly literals: Codes; readonly distances: Codes },
): Generator<void, Pick<PackedChunks, 'words' | 'bitCounts'> | null> {
  const bits = new BitWriter();
  const lengths = lengthEntries(literals);
  const bitCounts = new Uint16Array(chunkCount);
  let chunk = 0;
  let start = 0;
  for (const token of tokens) {
    bits.reserve(TOKEN_BITS_MAX);
    if (token === CHUNK_END) {
      const bitCount = bits.bitLength - start;
      if (bitCount > CHUNK_BITS_MAX) return null;
      bitCounts[chunk++] = bitCount;
      bits.align(32);
      start = bits.bitLength;
      if ((chunk & SLICE_MASK) === SLICE_MASK) yield;
    } else if (token < MATCHES) putCode(bits, literals, token);
    else {
      putEntry(bits, lengths[lengthOf(token)] ?? 0);
      putEntry(bits, distanceEntry(distances, distanceOf(token)));
    }
  }
  return { words: bits.words(), bitCounts };
}
