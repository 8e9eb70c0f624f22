// One generated page that is laid out once and patched for every poll: values and timestamps are written into their
// places, and every written value is tallied. This must cost little, since it runs beside the measured programs.

import { addValue, newTally, type Tally } from './checksum.ts';
import type { CorpusPage } from './corpora.ts';
import { type CorpusLine, DOUBLE } from './line.ts';

export interface RenderedPage {
  /** Valid until the next page is rendered. */
  readonly bytes: Buffer;
  readonly timeMs: number;
  readonly tally: Tally;
}

const TIME_DIGITS = 13;
const HALF = 1e8;
const ZERO = 0x30;
const DOT = 0x2e;
/** The servers' age at the start: an uptime of three days has the six digits that it is laid out with. */
const STARTED_AGO_MS = 3 * 86_400_000;
const CHURN_EVERY = 10;
const CHURN_FIRST = 10_000;

export class PageSource {
  readonly sampleCount: number;
  readonly #isTimed: boolean;
  readonly #bytes: Buffer;
  /** One array per field, indexed by line: a million objects would cost more than their page. */
  readonly #firsts: Float64Array;
  readonly #steps: Float64Array;
  readonly #spans: Float64Array;
  /** How far each mantissa has moved. */
  readonly #moved: Float64Array;
  /** The divisor that turns a mantissa into the value: a power of ten, or 2^53 for a double. */
  readonly #divisors: Float64Array;
  /** Where each value ends, without its exponent. */
  readonly #ends: Uint32Array;
  readonly #lengths: Uint8Array;
  readonly #places: Uint8Array;
  readonly #timesAt: Uint32Array;
  readonly #isDouble: Uint8Array;
  readonly #uptimes: number[] = [];
  readonly #churning: { readonly at: number }[] = [];
  readonly #startedMs = Date.now() - STARTED_AGO_MS;
  #lastTime = '';
  #poll = 0;
  #churned = 0;

  constructor({ lines, isTimed }: CorpusPage) {
    this.sampleCount = lines.length;
    this.#isTimed = isTimed;
    this.#firsts = Float64Array.from(lines, ({ first }) => first);
    this.#steps = Float64Array.from(lines, ({ step }) => step);
    this.#spans = Float64Array.from(lines, ({ span }) => span);
    this.#moved = new Float64Array(lines.length);
    this.#divisors = Float64Array.from(lines, divisorOf);
    this.#ends = new Uint32Array(lines.length);
    this.#lengths = new Uint8Array(lines.length);
    this.#places = Uint8Array.from(lines, ({ places }) => places);
    this.#timesAt = new Uint32Array(lines.length);
    this.#isDouble = Uint8Array.from(lines, ({ isDouble }) => (isDouble ? 1 : 0));
    this.#bytes = this.#layOut(lines);
  }

  #layOut(lines: readonly CorpusLine[]): Buffer {
    const texts: string[] = [];
    let length = 0;
    for (const [index, line] of lines.entries()) {
      const { before, first, places, exponent, churnAt } = line;
      const digits = line.isDouble ? DOUBLE.length : String(first).length + (places > 0 ? 1 : 0);
      const ending = exponent === null ? '' : `e+${String(exponent).padStart(2, '0')}`;
      if (line.isUptime) this.#uptimes.push(index);
      if (churnAt >= 0)
        this.#churning.push({ at: length + Buffer.byteLength(before.slice(0, churnAt)) });
      this.#ends[index] = length + Buffer.byteLength(before) + digits;
      this.#lengths[index] = digits;
      this.#timesAt[index] = (this.#ends[index] ?? 0) + ending.length + 1;
      const time = this.#isTimed ? ` ${'0'.repeat(TIME_DIGITS)}` : '';
      const text = `${before}${'0'.repeat(digits)}${ending}${time}\n`;
      length += Buffer.byteLength(text);
      texts.push(text);
    }
    return Buffer.from(texts.join(''));
  }

  /** The page as of now; its time is later than that of the page before. */
  render(timeMs: number): RenderedPage {
    const tally = newTally();
    const uptime = Math.floor((timeMs - this.#startedMs) / 1000);
    for (const index of this.#uptimes) this.#firsts[index] = uptime;
    if (this.#poll > 0) this.#move();
    for (let index = 0; index < this.sampleCount; index++) {
      const mantissa = (this.#firsts[index] ?? 0) + (this.#moved[index] ?? 0);
      const value = mantissa / (this.#divisors[index] ?? 1);
      if (this.#isDouble[index] === 1) this.#writeDouble(index, value);
      else this.#writeMantissa(index, mantissa);
      addValue(tally, value);
    }
    if (this.#isTimed) this.#writeTimes(timeMs);
    this.#poll++;
    return { bytes: this.#bytes, timeMs, tally };
  }

  #move(): void {
    this.#churn();
    for (let index = 0; index < this.sampleCount; index++) {
      const moved = (this.#moved[index] ?? 0) + (this.#steps[index] ?? 0);
      const span = this.#spans[index] ?? 0;
      this.#moved[index] = moved < span ? moved : moved % span;
    }
  }

  #writeDouble(index: number, value: number): void {
    const text = value.toPrecision(DOUBLE.digits);
    this.#bytes.write(text, (this.#ends[index] ?? 0) - DOUBLE.length, 'latin1');
  }

  #writeMantissa(index: number, mantissa: number): void {
    const bytes = this.#bytes;
    const end = this.#ends[index] ?? 0;
    const start = end - (this.#lengths[index] ?? 0);
    const places = this.#places[index] ?? 0;
    const dotAt = places > 0 ? end - 1 - places : -1;
    // Integers of 32 bits divide much faster, so the mantissa is split into two of them.
    let high = mantissa < HALF ? 0 : Math.floor(mantissa / HALF) | 0;
    let low = (mantissa - high * HALF) | 0;
    let at = end - 1;
    for (let digit = 0; at >= start; at--, digit++) {
      if (at === dotAt) {
        bytes[at] = DOT;
        digit--;
        continue;
      }
      if (digit === 8) {
        low = high;
        high = 0;
      }
      const rest = (low / 10) | 0;
      bytes[at] = ZERO + (low - rest * 10);
      low = rest;
    }
    if (low + high > 0)
      throw new Error(`a value of the corpus has outgrown its place: ${mantissa}`);
  }

  /** Writes only the digits that have changed since the poll before. */
  #writeTimes(timeMs: number): void {
    const time = String(timeMs);
    let same = 0;
    while (same < TIME_DIGITS && time[same] === this.#lastTime[same]) same++;
    const digits = Buffer.from(time).subarray(same);
    const bytes = this.#bytes;
    for (let index = 0; index < this.sampleCount; index++) {
      const at = (this.#timesAt[index] ?? 0) + same;
      for (let digit = 0; digit < digits.length; digit++) bytes[at + digit] = digits[digit] ?? 0;
    }
    this.#lastTime = time;
  }

  /** Replaces every tenth (CHURN_EVERY) of the short-lived series with a new one. */
  #churn(): void {
    for (let i = this.#poll % CHURN_EVERY; i < this.#churning.length; i += CHURN_EVERY) {
      const number = CHURN_FIRST + (this.#churned++ % (100_000 - CHURN_FIRST));
      this.#bytes.write(String(number), this.#churning[i]?.at ?? 0, 'latin1');
    }
  }
}

/** Mantissas and divisors are exact in a double, so that a value is rounded only once: by its division. */
function divisorOf({ places, exponent, isDouble }: CorpusLine): number {
  if (isDouble) return DOUBLE.divisor;
  const power = places - (exponent ?? 0);
  if (power < 0) throw new Error(`a value of the corpus has too few places: ${places}`);
  return 10 ** power;
}
