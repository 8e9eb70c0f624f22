// Finds repetitions in a run of symbols (LZ77 with deflate's limits). Symbols are bytes, or stand for bytes that are not
// known yet: those of a *unit* of eight, which repeats wherever the same unit stands again, and those of a number, which
// never repeats. So what is found holds for every text that differs in units and numbers only. RFC 1951, section 4.

import { LENGTH_MAX } from './repeats.ts';

/** A symbol of a number: no byte of it is like any other. */
export const NUMBER = 0xffff;
/** Symbols from here on are bytes of units: unit * 8 + index. */
export const UNITS = 256;
export const UNITS_MAX: number = (NUMBER - UNITS) >>> 3;
/** Bytes of a unit and of a number. */
export const WIDTH = 8;

const LENGTH_MIN = 4;
/** After a match of this length only a few more candidates are looked at. */
const LENGTH_GOOD = 96;
const CANDIDATES_MORE = 4;
/** A match may be so much shorter than the best so far and still save more. */
const LENGTH_SLACK = 2;
const DISTANCE_MAX = 32_768;
const WINDOW_MASK = DISTANCE_MAX - 1;
const CANDIDATES_MAX = 24;
const HASH_BITS = 15;
/** How many symbols are gone through before the event loop gets its turn. */
const SLICE_SYMBOLS = 4096;

/** What the symbols are made of, in order. */
export interface MatchSink {
  literal(byte: number): void;
  /** 4 to 258 symbols that stand 1 to 32,768 symbols before. */
  match(length: number, distance: number): void;
  /** A unit that nothing before repeats; eight bytes. */
  unit(unit: number): void;
  /** Eight bytes. */
  number(): void;
}

/** Memory that is used for one run after the other. */
export class Matcher {
  readonly #heads = new Int32Array(1 << HASH_BITS);
  readonly #before = new Int32Array(DISTANCE_MAX);
  #symbols: Uint16Array = new Uint16Array(0);
  #bytes: Uint8Array = new Uint8Array(0);
  #count = 0;
  #length = 0;
  #distance = 0;

  /**
   * Goes through a run of symbols; yields between slices. `bytes` is one text that they stand for: where several
   * repetitions would do, it tells which is the better one.
   */
  *run(symbols: Uint16Array, bytes: Uint8Array, sink: MatchSink): Generator<void, void> {
    const count = bytes.length;
    this.#heads.fill(-1);
    this.#symbols = symbols;
    this.#bytes = bytes;
    this.#count = count;
    let sliceEnd = SLICE_SYMBOLS;
    for (let at = 0; at < count; ) {
      at = this.#step(at, sink);
      if (at < sliceEnd) continue;
      sliceEnd = at + SLICE_SYMBOLS;
      yield;
    }
  }

  /** What stands at `at`; gives where it ends. */
  #step(at: number, sink: MatchSink): number {
    const symbol = this.#symbols[at] ?? 0;
    if (symbol === NUMBER) {
      sink.number();
      return at + WIDTH;
    }
    this.#find(at);
    const length = this.#length;
    const distance = this.#distance;
    const isBetterLater = length > 0 && length < LENGTH_GOOD && symbol < UNITS;
    if (isBetterLater) {
      this.#note(at);
      this.#find(at + 1);
      if (this.#length > length + 1) {
        sink.literal(symbol);
        return at + 1;
      }
    }
    if (length > 0) {
      sink.match(length, distance);
      for (let i = isBetterLater ? 1 : 0; i < length; i++) this.#note(at + i);
      return at + length;
    }
    const width = symbol < UNITS ? 1 : WIDTH;
    if (width === 1) sink.literal(symbol);
    else sink.unit((symbol - UNITS) >>> 3);
    for (let i = 0; i < width; i++) this.#note(at + i);
    return at + width;
  }

  /** The best repetition at `at` into #length and #distance; length 0 when there is none. */
  #find(at: number): void {
    const symbols = this.#symbols;
    this.#length = 0;
    if (at + LENGTH_MIN > this.#count) return;
    const limit = Math.min(LENGTH_MAX, this.#count - at);
    let best = 0;
    let needed = LENGTH_MIN;
    let candidate = this.#heads[this.#hash(at)] ?? -1;
    for (let left = CANDIDATES_MAX; left > 0 && candidate >= 0; left--) {
      const distance = at - candidate;
      if (distance > DISTANCE_MAX) break;
      if (symbols[candidate + needed - 1] === symbols[at + needed - 1]) {
        const length = this.#wholeUnits(at, this.#sameUntil(candidate, at, limit));
        const gain = length < LENGTH_MIN ? 0 : this.#gain(at, length, distance);
        if (gain > best) {
          best = gain;
          this.#length = length;
          this.#distance = distance;
          needed = Math.max(LENGTH_MIN, length - LENGTH_SLACK);
          if (length >= LENGTH_GOOD) left = Math.min(left, CANDIDATES_MORE);
        }
      }
      const next = this.#before[candidate & WINDOW_MASK] ?? -1;
      // The ring has been written over.
      if (next >= candidate) break;
      candidate = next;
    }
  }

  /** About how many bits a repetition saves, with what it may grow by where numbers are alike today. */
  #gain(at: number, length: number, distance: number): number {
    const symbols = this.#symbols;
    const bytes = this.#bytes;
    const end = at + length;
    let alike = 0;
    if (symbols[end] === NUMBER && symbols[end - distance] === NUMBER)
      while (alike < WIDTH && bytes[end + alike] === bytes[end - distance + alike]) alike++;
    return 8 * length + 6 * alike - (31 - Math.clz32(distance));
  }

  /** How many symbols from `at` on are those from `candidate` on. */
  #sameUntil(candidate: number, at: number, limit: number): number {
    const symbols = this.#symbols;
    let length = 0;
    while (length < limit) {
      const symbol = symbols[at + length];
      if (symbol === NUMBER || symbol !== symbols[candidate + length]) break;
      length++;
    }
    return length;
  }

  /** Less what would end inside a unit: its rest could not be told. */
  #wholeUnits(at: number, length: number): number {
    if (at + length >= this.#count) return length;
    const next = this.#symbols[at + length] ?? 0;
    const isInside = next >= UNITS && next !== NUMBER;
    return isInside ? length - ((next - UNITS) & 7) : length;
  }

  /** From now on `at` may be found. */
  #note(at: number): void {
    if (at + LENGTH_MIN > this.#count) return;
    const hash = this.#hash(at);
    this.#before[at & WINDOW_MASK] = this.#heads[hash] ?? -1;
    this.#heads[hash] = at;
  }

  #hash(at: number): number {
    const symbols = this.#symbols;
    const first = (symbols[at] ?? 0) | ((symbols[at + 1] ?? 0) << 16);
    const second = (symbols[at + 2] ?? 0) | ((symbols[at + 3] ?? 0) << 16);
    return Math.imul(Math.imul(first, 0x9e3779b1) ^ second, 0x85ebca6b) >>> (32 - HASH_BITS);
  }
}
