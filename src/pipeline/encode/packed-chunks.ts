// Collects the chunks of a packed template. In: what a Matcher finds in block after block. Out: first tokens, with how
// often each occurs, and of every chunk how far its number is from the one before; then, once all blocks are known and
// with them the codes, their bits.

import { type Codes, codesOf } from '../../lib/deflate/huffman.ts';
import { type MatchSink, UNITS, WIDTH } from '../../lib/deflate/matches.ts';
import { codedDistance, codedLength, LENGTH_MAX, LENGTH_MIN } from '../../lib/deflate/repeats.ts';
import type { PackedBlock, PackedChunks } from '../../repeating.ts';
import {
  Column,
  type End,
  type Ends,
  newEnds,
  packedEnds,
  pushEnd,
  pushNone,
} from './packed-columns.ts';
import { CHUNK_END, codeChunks, distanceOf, lengthOf, MATCHES, matchOf } from './packed-tokens.ts';

const END_OF_BLOCK = 256;
const LITERAL_CODES = 286;
const DISTANCE_CODES = 30;
const DISTANCE_CODE_BITS_MAX = 14;
/** What hardly occurs today may tomorrow: no code is longer than that of one in so many. */
const RAREST = 2048;
const SMALL_MAX = 0xffff;

/** A number that was read, whose literals are counted once the next chunk is known. */
interface Waiting {
  readonly at: number;
  readonly from: number;
}

export class ChunkCollector implements MatchSink {
  unitChunks: PackedBlock['unitChunks'][number][] = [];
  blockMixes: PackedBlock['mixes'][number][] = [];
  /** False when a chunk cannot be told in the columns of a template. */
  isGood = true;
  readonly #literalCounts = new Uint32Array(LITERAL_CODES);
  readonly #distanceCounts = new Uint32Array(DISTANCE_CODES);
  /** See PackedChunks; distances as such, until there are codes. */
  readonly #gaps = new Column();
  readonly #mixes = new Column();
  readonly #heads: Ends = newEnds();
  readonly #tails: Ends = newEnds();
  readonly #tokens = new Column();
  readonly #mixKeys = new Map<string, number>();
  #lastMix = 0;
  /** Numbers of the block by where they stand. */
  readonly #numbers = new Map<number, number>();
  #symbols: Uint16Array = new Uint16Array(0);
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #numberEnd = 0;
  #firstChunk = 0;
  #firstToken = 0;
  #waiting: Waiting | null = null;
  /** Units that stand behind the last number, within matches: which, and where each ends. */
  readonly #pending: { readonly unit: number; readonly end: number }[] = [];

  /** Chunks so far. */
  get length(): number {
    return this.#gaps.length;
  }

  /** Begins a block: its symbols, and its bytes on this page. */
  begin(symbols: Uint16Array, bytes: Uint8Array): void {
    this.#symbols = symbols;
    this.#bytes = bytes;
    this.#at = 0;
    this.#numberEnd = 0;
    this.#firstChunk = this.length;
    this.#firstToken = this.#tokens.length;
    this.unitChunks = [];
    this.blockMixes = [];
    this.#mixKeys.clear();
    this.#lastMix = 0;
    this.#numbers.clear();
  }

  /** Ends the block with its tail. */
  end(): void {
    if (this.#pending.length > 0 || this.#numbers.size > SMALL_MAX) this.isGood = false;
    this.#endChunk('nothing');
    this.#waiting = null;
  }

  literal(byte: number): void {
    this.#tokens.push(byte);
    this.#at++;
  }

  match(length: number, distance: number): void {
    this.#tokens.push(matchOf(length, distance));
    for (let i = 0; i < length; i++) {
      const symbol = this.#symbols[this.#at + i] ?? 0;
      if (symbol < UNITS || ((symbol - UNITS) & 7) !== 0) continue;
      this.#pending.push({ unit: (symbol - UNITS) >>> 3, end: this.#at + i + WIDTH });
    }
    this.#at += length;
  }

  unit(unit: number): void {
    this.unitChunks.push({ chunk: this.length - this.#firstChunk, unit });
    this.#endChunk('unit');
    for (let i = 0; i < WIDTH; i++) count(this.#literalCounts, this.#bytes[this.#at + i] ?? 0);
    this.#at += WIDTH;
    this.#numberEnd = this.#at;
  }

  number(): void {
    const from = this.#endChunk('number');
    this.#waiting = { at: this.#at, from };
    this.#numbers.set(this.#at, this.#numbers.size);
    this.#at += WIDTH;
    this.#numberEnd = this.#at;
  }

  /** The codes of everything that was collected, for so many parts. */
  codes(parts: number): { readonly literals: Codes; readonly distances: Codes } {
    const counts = this.#literalCounts;
    counts[END_OF_BLOCK] = parts;
    const rarest = Math.ceil(counts.reduce((sum, number) => sum + number, 0) / RAREST);
    const literals = counts.map(number => Math.max(number, rarest));
    return {
      literals: codesOf(literals),
      distances: codesOf(this.#distanceCounts, DISTANCE_CODE_BITS_MAX),
    };
  }

  /** All chunks with these codes; yields between slices. Null when one has too many bits. */
  *encode(literals: Codes, distances: Codes): Generator<void, PackedChunks | null> {
    const coded = yield* codeChunks(this.#tokens.used(), this.length, { literals, distances });
    if (coded === null) return null;
    return {
      ...coded,
      gaps: new Uint16Array(this.#gaps.used()),
      mixes: new Uint8Array(this.#mixes.used()),
      heads: yield* packedEnds(this.#heads, distances),
      tails: yield* packedEnds(this.#tails, distances),
    };
  }

  /** Ends the chunk before what is named; gives how many bytes of a number its tail can cover on this page. */
  #endChunk(before: 'number' | 'unit' | 'nothing'): number {
    const gap = this.#at - this.#numberEnd;
    if (gap > SMALL_MAX) this.isGood = false;
    this.#gaps.push(gap);
    this.#mixes.push(this.#takeMix());
    this.#pending.length = 0;
    const covered = before === 'number' ? this.#takeTail() : pushNone(this.#tails);
    this.#takeHead();
    for (let i = this.#firstToken; i < this.#tokens.length; i++)
      this.#countToken(this.#tokens.values[i] ?? 0);
    this.#tokens.push(CHUNK_END);
    this.#firstToken = this.#tokens.length;
    return covered;
  }

  /** A match that ends where a number begins, as its source does, may be longer on another page. */
  #takeTail(): number {
    const token = this.#tokens.length > this.#firstToken ? this.#tokens.last() : 0;
    const source = token < MATCHES ? 0 : this.#at - distanceOf(token);
    const number = token < MATCHES ? undefined : this.#numbers.get(source);
    if (number === undefined) return pushNone(this.#tails);
    this.#tokens.length--;
    pushEnd(this.#tails, { length: lengthOf(token), distance: distanceOf(token), source: number });
    const bytes = this.#bytes;
    const most = Math.min(WIDTH, LENGTH_MAX - lengthOf(token));
    let covered = 0;
    while (covered < most && bytes[source + covered] === bytes[this.#at + covered]) covered++;
    this.#countMatch(lengthOf(token) + covered, distanceOf(token));
    return covered;
  }

  /** The same of a match that begins where a number ends; between two numbers that touch it may be nothing but growth. */
  #takeHead(): void {
    const waiting = this.#waiting;
    if (waiting === null) {
      pushNone(this.#heads);
      return;
    }
    const head = this.#findHead(waiting.at);
    let covered = 0;
    if (head === null) pushNone(this.#heads);
    else {
      const { length, distance } = head;
      pushEnd(this.#heads, head);
      const most = Math.min(WIDTH - waiting.from, LENGTH_MAX - length);
      const end = waiting.at + WIDTH - 1;
      const bytes = this.#bytes;
      while (covered < most && bytes[end - covered] === bytes[end - covered - distance]) covered++;
      if (length + covered < LENGTH_MIN) covered = 0;
      else this.#countMatch(length + covered, distance);
    }
    for (let i = waiting.from; i < WIDTH - covered; i++)
      count(this.#literalCounts, this.#bytes[waiting.at + i] ?? 0);
    this.#waiting = null;
  }

  /** The chunk's head, taken out of its tokens, if there is one; `at` is the number before it. */
  #findHead(at: number): End | null {
    if (this.#at === this.#numberEnd) {
      // A number that touches the next one is likely to have the highest bytes of the one before it.
      const before = (this.#numbers.get(at) ?? 0) - 1;
      const isBehind = before >= 0 && this.#numbers.get(at - WIDTH) === before;
      return isBehind ? { length: 0, distance: WIDTH, source: before } : null;
    }
    const token = this.#tokens.values[this.#firstToken] ?? 0;
    if (this.#tokens.length === this.#firstToken || token < MATCHES) return null;
    const distance = distanceOf(token);
    const source = this.#numbers.get(at - distance);
    if (source === undefined) return null;
    this.#tokens.remove(this.#firstToken);
    return { length: lengthOf(token), distance, source };
  }

  /** Where the same units at the same distances stood before another number of the block, that is the same mix. */
  #takeMix(): number {
    const pending = this.#pending;
    if (pending.length === 0) return 0;
    const last = this.blockMixes[this.#lastMix - 1];
    const isLast =
      last?.length === pending.length &&
      pending.every((it, i) => it.unit === last[i]?.unit && this.#at - it.end === last[i].distance);
    if (isLast) return this.#lastMix;
    const mix = pending.map(({ unit, end }) => ({ unit, distance: this.#at - end }));
    const key = mix.map(({ unit, distance }) => `${unit} ${distance}`).join(',');
    let index = this.#mixKeys.get(key);
    if (index === undefined) {
      index = this.blockMixes.push(mix);
      this.#mixKeys.set(key, index);
      if (index > 0xff) this.isGood = false;
    }
    return (this.#lastMix = index);
  }

  #countToken(token: number): void {
    if (token < MATCHES) count(this.#literalCounts, token);
    else this.#countMatch(lengthOf(token), distanceOf(token));
  }

  #countMatch(length: number, distance: number): void {
    count(this.#literalCounts, codedLength(length).symbol);
    count(this.#distanceCounts, codedDistance(distance).symbol);
  }
}

function count(counts: Uint32Array, symbol: number): void {
  counts[symbol] = (counts[symbol] ?? 0) + 1;
}
