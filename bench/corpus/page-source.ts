// One generated page that is laid out once and patched for every poll: values and timestamps are written into their
// places, and what was written is tallied on the way. It must cost little, since it runs beside what is measured.

import { addValue, newTally, type Tally } from './checksum.ts';
import type { CorpusPage } from './corpora.ts';
import type { CorpusLine } from './line.ts';

export interface RenderedPage {
  /** Valid until the next page. */
  readonly bytes: Buffer;
  readonly timeMs: number;
  readonly tally: Tally;
  /** Values of the series that are followed one by one. */
  readonly followed: readonly (readonly [name: string, value: number])[];
}

const TIME_DIGITS = 13;
const HALF = 1e8;
const ZERO = 0x30;
const DOT = 0x2e;
/** For uptimes: long enough ago that they have six digits, as they are laid out. */
const STARTED_AGO_MS = 3 * 86_400_000;
const CHURN_EVERY = 10;
const CHURN_FIRST = 10_000;

export class PageSource {
  readonly #lines: readonly CorpusLine[];
  readonly #isTimed: boolean;
  readonly #bytes: Buffer;
  /** Where each value ends, without its exponent. */
  readonly #ends: Uint32Array;
  readonly #lengths: Uint8Array;
  readonly #timesAt: Uint32Array;
  readonly #churning: readonly { readonly at: number }[];
  readonly #startedMs = Date.now() - STARTED_AGO_MS;
  #poll = 0;
  #churned = 0;

  constructor({ lines, isTimed }: CorpusPage) {
    this.#lines = lines;
    this.#isTimed = isTimed;
    this.#ends = new Uint32Array(lines.length);
    this.#lengths = new Uint8Array(lines.length);
    this.#timesAt = new Uint32Array(lines.length);
    const churning: { at: number }[] = [];
    const texts: string[] = [];
    let length = 0;
    for (const [index, line] of lines.entries()) {
      const { before, first, places, exponent, churnAt } = line;
      const digits = String(first).length + (places > 0 ? 1 : 0);
      const ending = exponent === null ? '' : `e+${String(exponent).padStart(2, '0')}`;
      if (churnAt >= 0) churning.push({ at: length + Buffer.byteLength(before.slice(0, churnAt)) });
      this.#ends[index] = length + Buffer.byteLength(before) + digits;
      this.#lengths[index] = digits;
      this.#timesAt[index] = (this.#ends[index] ?? 0) + ending.length + 1;
      const time = isTimed ? ` ${'0'.repeat(TIME_DIGITS)}` : '';
      const text = `${before}${'0'.repeat(digits)}${ending}${time}\n`;
      length += Buffer.byteLength(text);
      texts.push(text);
    }
    this.#churning = churning;
    this.#bytes = Buffer.from(texts.join(''));
  }

  get sampleCount(): number {
    return this.#lines.length;
  }

  /** The page as of now; its time is later than that of the page before. */
  render(timeMs: number): RenderedPage {
    const tally = newTally();
    const followed: [string, number][] = [];
    const uptime = Math.floor((timeMs - this.#startedMs) / 1000);
    if (this.#poll > 0) this.#churn();
    for (const [index, line] of this.#lines.entries()) {
      const { places, exponent, followedAs } = line;
      const mantissa = line.isUptime ? uptime : line.first + ((this.#poll * line.step) % line.span);
      this.#writeMantissa(index, mantissa, places);
      const power = (exponent ?? 0) - places;
      const value = power < 0 ? mantissa / 10 ** -power : mantissa * 10 ** power;
      addValue(tally, value);
      if (followedAs !== null) followed.push([followedAs, value]);
    }
    if (this.#isTimed) this.#writeTimes(timeMs);
    this.#poll++;
    return { bytes: this.#bytes, timeMs, tally, followed };
  }

  #writeMantissa(index: number, mantissa: number, places: number): void {
    const bytes = this.#bytes;
    const end = this.#ends[index] ?? 0;
    const start = end - (this.#lengths[index] ?? 0);
    // Whole numbers of 32 bits divide much faster.
    let high = Math.floor(mantissa / HALF) | 0;
    let low = (mantissa - high * HALF) | 0;
    let at = end - 1;
    for (let digit = 0; at >= start; at--, digit++) {
      if (places > 0 && at === end - 1 - places) {
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

  #writeTimes(timeMs: number): void {
    const text = Buffer.from(String(timeMs));
    for (const at of this.#timesAt) this.#bytes.set(text, at);
  }

  /** One in so many of the passing series gives way to another one. */
  #churn(): void {
    for (let i = this.#poll % CHURN_EVERY; i < this.#churning.length; i += CHURN_EVERY) {
      const number = CHURN_FIRST + (this.#churned++ % (100_000 - CHURN_FIRST));
      this.#bytes.write(String(number), this.#churning[i]?.at ?? 0, 'latin1');
    }
  }
}
