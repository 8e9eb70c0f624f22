// The parts of our deflate put together as one writes a stream with them; zlib reads it.

import { constants, inflateRawSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { BitWriter } from '../../../src/lib/deflate/bits.ts';
import { codeLength, codesOf, putCode, putHeader } from '../../../src/lib/deflate/huffman.ts';
import { Matcher, type MatchSink, NUMBER, UNITS, WIDTH } from '../../../src/lib/deflate/matches.ts';
import {
  codedDistance,
  codedLength,
  distanceEntry,
  LENGTH_MAX,
  lengthEntries,
  putEntry,
} from '../../../src/lib/deflate/repeats.ts';

type Token =
  | readonly ['literal', number]
  | readonly ['match', number, number]
  | readonly ['unit', number]
  | readonly ['number'];

function tokensOf(symbols: Uint16Array, bytes: Uint8Array): Token[] {
  const tokens: Token[] = [];
  const sink: MatchSink = {
    literal: byte => tokens.push(['literal', byte]),
    match: (length, distance) => tokens.push(['match', length, distance]),
    unit: unit => tokens.push(['unit', unit]),
    number: () => tokens.push(['number']),
  };
  const steps = new Matcher().run(symbols, bytes, sink);
  while (steps.next().done !== true);
  return tokens;
}

/** A whole stream of one block. */
function streamOf(tokens: readonly Token[]): Buffer {
  const literals = new Uint32Array(286);
  const distances = new Uint32Array(30);
  literals[256] = 1;
  const add = (counts: Uint32Array, symbol: number): void => {
    counts[symbol] = (counts[symbol] ?? 0) + 1;
  };
  for (const [kind, value = 0, distance = 0] of tokens) {
    if (kind === 'literal') add(literals, value);
    if (kind !== 'match') continue;
    add(literals, codedLength(value).symbol);
    add(distances, codedDistance(distance).symbol);
  }
  const codes = codesOf(literals);
  const distanceCodes = codesOf(distances, 14);
  const lengths = lengthEntries(codes);
  const bits = new BitWriter();
  bits.reserve(1e6);
  putHeader(bits, codes, distanceCodes);
  for (const [kind, value = 0, distance = 0] of tokens) {
    if (kind === 'literal') putCode(bits, codes, value);
    if (kind !== 'match') continue;
    putEntry(bits, lengths[value] ?? 0);
    putEntry(bits, distanceEntry(distanceCodes, distance));
  }
  putCode(bits, codes, 256);
  bits.align();
  return Buffer.from(bits.bytesFrom(0));
}

function inflate(stream: Buffer): Buffer {
  return inflateRawSync(stream, { finishFlush: constants.Z_SYNC_FLUSH });
}

const text = fc
  .array(fc.oneof(fc.string(), fc.constantFrom('engine_up{server="a"}', '0'.repeat(300), '\0')))
  .map(parts => Buffer.from(parts.join('')));

test('zlib reads what was written of any text', () => {
  fc.assert(
    fc.property(text, bytes => {
      expect(inflate(streamOf(tokensOf(Uint16Array.from(bytes), bytes))).equals(bytes)).toBe(true);
    }),
  );
});

test('repetitions are found as far away and as long as deflate has them', () => {
  const random = Buffer.from(Array.from({ length: 400 }, (_, i) => (i * 7919 + (i >> 3)) & 0xff));
  for (const gap of [32_768 - 400, 32_768 - 399]) {
    const filler = Buffer.alloc(gap, 0x61);
    const bytes = Buffer.concat([random, filler, random]);
    const tokens = tokensOf(Uint16Array.from(bytes), bytes);
    const far = tokens.filter(([kind, , distance]) => kind === 'match' && distance === 32_768);
    expect(far.length > 0).toBe(gap === 32_768 - 400);
    const longest = Math.max(
      ...tokens.map(([kind, length = 0]) => (kind === 'match' ? length : 0)),
    );
    expect(longest).toBe(LENGTH_MAX);
    expect(inflate(streamOf(tokens)).equals(bytes)).toBe(true);
  }
});

test('a number is never part of a repetition, and a unit only as a whole', () => {
  const unit = (index: number): number[] =>
    Array.from({ length: WIDTH }, (_, i) => UNITS + index * WIDTH + i);
  const number = Array.from({ length: WIDTH }, () => NUMBER);
  const run = [...Buffer.from('name of it')];
  const point = (index: number): number[] => [...run, ...unit(index), ...number];
  const symbols = Uint16Array.from([...point(0), ...point(0), ...point(1)]);
  const tokens = tokensOf(symbols, new Uint8Array(symbols.length));
  const length = run.length;
  expect(tokens).toEqual([
    ...run.map(byte => ['literal', byte]),
    ['unit', 0],
    ['number'],
    ['match', length + WIDTH, length + 2 * WIDTH],
    ['number'],
    ['match', length, length + 2 * WIDTH],
    ['unit', 1],
    ['number'],
  ]);
});

test('codes are no longer than deflate allows, however rare a symbol is', () => {
  // Fibonacci numbers make the deepest tree.
  const counts = new Uint32Array(286);
  let [a, b] = [1, 1];
  for (let symbol = 0; symbol < 40; symbol++) {
    counts[symbol] = a;
    [a, b] = [b, a + b];
  }
  const codes = codesOf(counts);
  const lengths = Array.from({ length: 40 }, (_, symbol) => codeLength(codes, symbol));
  expect(Math.max(...lengths)).toBeLessThanOrEqual(15);
  expect(Math.min(...lengths)).toBeGreaterThan(0);
  expect(lengths.reduce((sum, length) => sum + 2 ** -length, 0)).toBeLessThanOrEqual(1);
});

test('bits are written as they are, in words, entries or literals, wherever in a word one is', () => {
  const codes = Uint32Array.from({ length: 256 }, (_, byte) => (8 << 16) | byte);
  for (let before = 0; before < 32; before++) {
    const bits = new BitWriter();
    bits.reserve(1024);
    bits.put(0, before);
    bits.putWords(Uint32Array.of(0xdead_beef, 0x1234), 0, 45);
    bits.putLiterals(codes, 0x44332211, 0x77665544 | 0, 1, 7);
    bits.align(32);
    const all = bits.words().reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
    const expected = 0xdead_beefn | (0x1234n << 32n) | (0x665544443322n << 45n);
    expect(all >> BigInt(before)).toBe(expected);
  }
});
