// How deflate writes a repetition: a length and a distance, each a symbol with extra bits. An *entry* is such a pair of code
// and extra bits in one word, ready to be written: its bits, and from bit 27 on their number. RFC 1951, section 3.2.5.

import type { BitWriter } from './bits.ts';
import type { Codes } from './huffman.ts';

/** The shortest and the longest repetition. */
export const LENGTH_MIN = 3;
export const LENGTH_MAX = 258;
const ENTRY_BITS = 27;

/** Symbol, extra bits and their number of a length (from 257 on) or distance (from 0 on). */
export interface Coded {
  readonly symbol: number;
  readonly extra: number;
  readonly extraBits: number;
}

/** How a length of 3 to 258 is written. */
export function codedLength(length: number): Coded {
  if (length === LENGTH_MAX) return { symbol: 285, extra: 0, extraBits: 0 };
  const value = length - LENGTH_MIN;
  if (value < 8) return { symbol: 257 + value, extra: 0, extraBits: 0 };
  const extraBits = 29 - Math.clz32(value);
  const symbol = 257 + 4 * extraBits + (value >>> extraBits);
  return { symbol, extra: value & ((1 << extraBits) - 1), extraBits };
}

/** How a distance of 1 to 32,768 is written. */
export function codedDistance(distance: number): Coded {
  const value = distance - 1;
  if (value < 4) return { symbol: value, extra: 0, extraBits: 0 };
  const extraBits = 30 - Math.clz32(value);
  const symbol = 2 * extraBits + (value >>> extraBits);
  return { symbol, extra: value & ((1 << extraBits) - 1), extraBits };
}

/** Entries of all lengths from 3 to 258. */
export function lengthEntries(literals: Codes): Uint32Array {
  return Uint32Array.from({ length: LENGTH_MAX + 1 }, (_, length) =>
    length < LENGTH_MIN ? 0 : entryOf(literals, codedLength(length)),
  );
}

/** The entry of a distance; its code has at most 14 bits. */
export function distanceEntry(distances: Codes, distance: number): number {
  return entryOf(distances, codedDistance(distance));
}

export function putEntry(bits: BitWriter, entry: number): void {
  bits.put(entry & (2 ** ENTRY_BITS - 1), entry >>> ENTRY_BITS);
}

function entryOf(codes: Codes, { symbol, extra, extraBits }: Coded): number {
  const code = codes[symbol] ?? 0;
  const codeBits = code >>> 16;
  const bits = (code & 0xffff) | (extra << codeBits);
  return (((codeBits + extraBits) << ENTRY_BITS) | bits) >>> 0;
}
