// The sink's record of the samples that arrived: tallies by timestamp, and how often each series came. Samples that
// contenders add themselves are left out. A million series at every poll must cost the bench little, so no text is kept.

import { addTally, addValue, newTally, type Tally } from '../corpus/checksum.ts';

export interface ReceivedReport {
  /** By timestamp, in milliseconds. */
  readonly byTime: ReadonlyMap<number, Tally>;
  readonly total: Tally;
  /** How many series came how many times. */
  readonly seriesByCount: ReadonlyMap<number, number>;
}

/** Names of the metrics that contenders add about themselves and their scrapes. */
const ADDED = /^(?:up|scrape_.*|prom2otlp_.*|target_info|otel_scope_info)$/;

/** Whether a metric is on no page, so that it is left out. */
export function isAdded(name: string): boolean {
  return ADDED.test(name);
}

const LOW_FIRST = 0x811c9dc5;
const HIGH_FIRST = 0x2545f491;

/** A hash of parts, of which 53 bits count: a million series stay apart, and a Map takes it as a number. */
export class SeriesHash {
  #low = LOW_FIRST;
  #high = HIGH_FIRST;

  reset(): this {
    this.#low = LOW_FIRST;
    this.#high = HIGH_FIRST;
    return this;
  }

  copy(from: SeriesHash): this {
    this.#low = from.#low;
    this.#high = from.#high;
    return this;
  }

  /** Adds a part and its length, so that `a` and `bc` differ from `ab` and `c`. */
  add(part: Uint8Array | string): this {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    let low = this.#low ^ bytes.length;
    let high = this.#high;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      low = Math.imul(low ^ byte, 0x9e3779b1);
      low ^= low >>> 15;
      high = Math.imul(high ^ byte, 0x85ebca6b);
      high ^= high >>> 13;
    }
    this.#low = low;
    this.#high = high;
    return this;
  }

  get value(): number {
    return (this.#high & 0x1fffff) * 2 ** 32 + (this.#low >>> 0);
  }
}

export class Received {
  readonly #byTime = new Map<number, Tally>();
  readonly #counts = new Map<number, number>();
  #lastTimeMs = Number.NaN;
  #lastTally: Tally = newTally();
  #samples = 0;

  sample(timeMs: number, value: number): void {
    if (timeMs !== this.#lastTimeMs) {
      this.#lastTimeMs = timeMs;
      this.#lastTally = this.#byTime.get(timeMs) ?? newTally();
      this.#byTime.set(timeMs, this.#lastTally);
    }
    addValue(this.#lastTally, value);
    this.#samples++;
  }

  /** Counts one point of a series, given by a hash of its identity. */
  point(series: SeriesHash): void {
    this.#counts.set(series.value, (this.#counts.get(series.value) ?? 0) + 1);
  }

  get samples(): number {
    return this.#samples;
  }

  report(): ReceivedReport {
    const total = newTally();
    for (const tally of this.#byTime.values()) addTally(total, tally);
    const seriesByCount = new Map<number, number>();
    for (const count of this.#counts.values())
      seriesByCount.set(count, (seriesByCount.get(count) ?? 0) + 1);
    return { byTime: this.#byTime, total, seriesByCount };
  }
}
