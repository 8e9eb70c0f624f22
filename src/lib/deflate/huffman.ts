// Huffman codes of deflate: from how often each symbol occurs to its code, and the codes of a block as its header tells
// them. RFC 1951, sections 3.2.2 and 3.2.7.

import type { BitWriter } from './bits.ts';

const CODE_BITS_MAX = 15;
/** Lengths of codes are themselves coded, with codes of at most so many bits. */
const META_BITS_MAX = 7;
const META_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const REPEAT = 16;
const ZEROS = 17;
const MANY_ZEROS = 18;

/** By symbol: the code, its first bit lowest, and from bit 16 on its length; 0 for symbols that do not occur. */
export type Codes = Uint32Array;

/** The codes of symbols that occur so often. One that occurs alone has a code of one bit. */
export function codesOf(counts: Uint32Array, bitsMax: number = CODE_BITS_MAX): Codes {
  let lengths = lengthsOf(counts);
  // Rarely: codes that are too long become shorter where rare symbols count for more.
  for (let counted = counts; Math.max(...lengths) > bitsMax; lengths = lengthsOf(counted))
    counted = counted.map(count => (count === 0 ? 0 : (count >>> 2) + 1));
  return numbered(lengths);
}

/** The bits that a code takes. */
export function codeLength(codes: Codes, symbol: number): number {
  return (codes[symbol] ?? 0) >>> 16;
}

export function putCode(bits: BitWriter, codes: Codes, symbol: number): void {
  const entry = codes[symbol] ?? 0;
  bits.put(entry & 0xffff, entry >>> 16);
}

/** The header of a block with codes of its own; `isLast` of the stream. */
export function putHeader(bits: BitWriter, literals: Codes, distances: Codes): void {
  const literalCount = Math.max(257, usedCount(literals));
  const distanceCount = Math.max(1, usedCount(distances));
  const lengths = [
    ...literals.subarray(0, literalCount),
    ...distances.subarray(0, distanceCount),
  ].map(entry => entry >>> 16);
  const runs = runsOf(lengths);
  const counts = new Uint32Array(19);
  for (const { symbol } of runs) counts[symbol] = (counts[symbol] ?? 0) + 1;
  const meta = codesOf(counts, META_BITS_MAX);
  let metaCount = META_ORDER.length;
  while (metaCount > 4 && meta[META_ORDER[metaCount - 1] ?? 0] === 0) metaCount--;
  // Not the last block, with codes of its own.
  bits.put(0, 1);
  bits.put(2, 2);
  bits.put(literalCount - 257, 5);
  bits.put(distanceCount - 1, 5);
  bits.put(metaCount - 4, 4);
  for (const symbol of META_ORDER.slice(0, metaCount)) bits.put(codeLength(meta, symbol), 3);
  for (const { symbol, extra, extraBits } of runs) {
    putCode(bits, meta, symbol);
    bits.put(extra, extraBits);
  }
}

/** How many bits a header takes at most. */
export const HEADER_BITS_MAX: number = 3 + 14 + 19 * 3 + (286 + 30) * (META_BITS_MAX + 7);

/** A length that stands for itself, or a run of equal ones. */
interface Run {
  readonly symbol: number;
  readonly extra: number;
  readonly extraBits: number;
}

function runsOf(lengths: readonly number[]): Run[] {
  const runs: Run[] = [];
  for (let at = 0; at < lengths.length; ) {
    const length = lengths[at] ?? 0;
    let count = 1;
    while (lengths[at + count] === length) count++;
    if (length === 0 && count >= 3) {
      count = Math.min(count, 138);
      runs.push(
        count < 11
          ? { symbol: ZEROS, extra: count - 3, extraBits: 3 }
          : { symbol: MANY_ZEROS, extra: count - 11, extraBits: 7 },
      );
    } else if (count >= 4) {
      count = Math.min(count, 7);
      runs.push({ symbol: length, extra: 0, extraBits: 0 });
      runs.push({ symbol: REPEAT, extra: count - 4, extraBits: 2 });
    } else {
      count = 1;
      runs.push({ symbol: length, extra: 0, extraBits: 0 });
    }
    at += count;
  }
  return runs;
}

function usedCount(codes: Codes): number {
  let count = codes.length;
  while (count > 0 && codes[count - 1] === 0) count--;
  return count;
}

/** Lengths of the codes of an optimal tree: the two rarest nodes are joined until one is left. */
function lengthsOf(counts: Uint32Array): Uint8Array {
  const lengths = new Uint8Array(counts.length);
  const used = Array.from(counts.keys()).filter(symbol => (counts[symbol] ?? 0) > 0);
  if (used.length === 1) lengths[used[0] ?? 0] = 1;
  if (used.length < 2) return lengths;
  const leaves = used.sort((a, b) => (counts[a] ?? 0) - (counts[b] ?? 0) || a - b);
  interface Node {
    readonly count: number;
    readonly symbols: readonly number[];
  }
  const waiting: Node[] = leaves.map(symbol => ({ count: counts[symbol] ?? 0, symbols: [symbol] }));
  const joined: Node[] = [];
  const takeRarest = (): Node => {
    const [leaf, node] = [waiting[0], joined[0]];
    const isLeaf = node === undefined || (leaf !== undefined && leaf.count <= node.count);
    return (isLeaf ? waiting.shift() : joined.shift()) ?? { count: 0, symbols: [] };
  };
  while (waiting.length + joined.length > 1) {
    const [a, b] = [takeRarest(), takeRarest()];
    const symbols = [...a.symbols, ...b.symbols];
    for (const symbol of symbols) lengths[symbol] = (lengths[symbol] ?? 0) + 1;
    joined.push({ count: a.count + b.count, symbols });
  }
  return lengths;
}

/** Codes are numbered by length, then by symbol. */
function numbered(lengths: Uint8Array): Codes {
  const codes = new Uint32Array(lengths.length);
  let code = 0;
  for (let bits = 1; bits <= CODE_BITS_MAX; bits++) {
    for (const [symbol, length] of lengths.entries())
      if (length === bits) codes[symbol] = (bits << 16) | reversed(code++, bits);
    code <<= 1;
  }
  return codes;
}

/** A code's first bit is its highest one: it is written first. */
function reversed(code: number, bits: number): number {
  let result = 0;
  for (let bit = 0; bit < bits; bit++) result |= ((code >>> bit) & 1) << (bits - 1 - bit);
  return result;
}
