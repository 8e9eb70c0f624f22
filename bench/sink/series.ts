// Identifies a series by a hash of its name and labels, and counts how often each came. A million of them at every poll
// must cost the bench little, so no text is kept.

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

export class SeriesCounts {
  readonly #counts = new Map<number, number>();

  add({ value }: SeriesHash): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
  }

  /** How many series came how many times. */
  byCount(): Map<number, number> {
    const series = new Map<number, number>();
    for (const count of this.#counts.values()) series.set(count, (series.get(count) ?? 0) + 1);
    return series;
  }
}
