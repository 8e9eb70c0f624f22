// What the sink knows of the samples that arrived: tallies by timestamp, how often each series came, and the values of the
// few series that are followed one by one. Samples that contenders add on their own account are left out.

import { addTally, addValue, newTally, type Tally } from '../corpus/checksum.ts';

export interface ReceivedReport {
  /** By timestamp, in milliseconds. */
  readonly byTime: ReadonlyMap<number, Tally>;
  readonly total: Tally;
  /** How many series came how many times. */
  readonly seriesByCount: ReadonlyMap<number, number>;
  /** `time name` to values. */
  readonly followed: ReadonlyMap<string, number>;
}

/** Names of what a contender says of itself and of its scrapes. */
const ADDED = /^(?:up|scrape_.*|prom2otlp_.*|target_info|otel_scope_info)$/;
export const FOLLOWED_METRIC = 'engine_global_status_questions';

export class Received {
  readonly #byTime = new Map<number, Tally>();
  readonly #counts = new Map<number, number>();
  readonly #followed = new Map<string, number>();
  readonly #added = new Map<string, boolean>();
  #lastTimeMs = Number.NaN;
  #lastTally: Tally = newTally();
  #samples = 0;

  /** Whether a metric is none of the pages'. */
  isAdded(name: string): boolean {
    let isAdded = this.#added.get(name);
    if (isAdded === undefined) this.#added.set(name, (isAdded = ADDED.test(name)));
    return isAdded;
  }

  sample(timeMs: number, value: number): void {
    if (timeMs !== this.#lastTimeMs) {
      this.#lastTimeMs = timeMs;
      this.#lastTally = this.#byTime.get(timeMs) ?? newTally();
      this.#byTime.set(timeMs, this.#lastTally);
    }
    addValue(this.#lastTally, value);
    this.#samples++;
  }

  /** One point of a series, by a hash of its identity. */
  point(series: number): void {
    this.#counts.set(series, (this.#counts.get(series) ?? 0) + 1);
  }

  follow(timeMs: number, name: string, value: number): void {
    this.#followed.set(`${timeMs} ${name}`, value);
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
    return { byTime: this.#byTime, total, seriesByCount, followed: this.#followed };
  }
}

/** A hash of bytes that several can be added to in any order; 53 bits in all, so that a million series stay apart. */
export class SeriesHash {
  low = 0;
  high = 0;

  reset(): this {
    this.low = 0;
    this.high = 0;
    return this;
  }

  /** Adds `view[start, end)`. */
  add(view: DataView, start: number, end: number): this {
    let low = 0x811c9dc5;
    let high = 0x2545f491;
    let at = start;
    for (; at + 4 <= end; at += 4) {
      const word = view.getInt32(at, true);
      low = Math.imul(low ^ word, 0x9e3779b1);
      low ^= low >>> 15;
      high = Math.imul(high ^ word, 0x85ebca6b);
      high ^= high >>> 13;
    }
    for (; at < end; at++) {
      low = Math.imul(low ^ view.getUint8(at), 0x01000193);
      high = Math.imul(high ^ view.getUint8(at), 0x5bd1e995);
    }
    return this.merge(low, high ^ (high >>> 15));
  }

  merge(low: number, high: number): this {
    this.low = (this.low + low) | 0;
    this.high = (this.high + high) | 0;
    return this;
  }

  get value(): number {
    return (this.high & 0x1fffff) * 2 ** 32 + (this.low >>> 0);
  }
}
