// The samples that arrived at the sink, by series. Samples that contenders add themselves are left out. A million series
// at every poll must cost the bench little, so no text is kept.

import {
  addSample,
  addSeries,
  newSeries,
  type SeriesSet,
  type SeriesTally,
} from '../corpus/series-set.ts';

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
  samples = 0;
  readonly #isTimed: boolean;
  readonly #series = new Map<number, SeriesTally>();

  /** `isTimed`: whether the pages have timestamps; else the contenders' times do not count. */
  constructor(isTimed: boolean) {
    this.#isTimed = isTimed;
  }

  /** `part` is the place of the sample within a point of several: each place is a series of its own, as on the page. */
  sample(hash: SeriesHash, timeMs: number, value: number, part = 0): void {
    const key = hash.value + part;
    let series = this.#series.get(key);
    if (series === undefined) this.#series.set(key, (series = newSeries()));
    addSample(series, value, this.#isTimed ? timeMs : 0);
    this.samples++;
  }

  series(): SeriesSet {
    const set: SeriesSet = new Map();
    for (const series of this.#series.values()) addSeries(set, series);
    return set;
  }
}
