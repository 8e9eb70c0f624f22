// Identifies a series by a hash of its name and labels, and counts how often each came. A million of them at every poll
// must cost the bench little, so there is no object per series.

/** A hash to which parts can be added in any order. It has 64 bits, so that a million series stay apart. */
export class SeriesHash {
  low = 0;
  high = 0;

  reset(): this {
    this.low = 0;
    this.high = 0;
    return this;
  }

  /** Adds `view[start, end)`, eight bytes at a time; the last eight may overlap with those before. */
  add(view: DataView, start: number, end: number): this {
    let low = 0x811c9dc5 ^ (end - start);
    let high = 0x2545f491;
    let at = start;
    if (end - start >= 8)
      for (; at < end; at += 8) {
        if (at > end - 8) at = end - 8;
        low = Math.imul(low ^ view.getInt32(at, true), 0x9e3779b1);
        high = Math.imul(high ^ view.getInt32(at + 4, true), 0x85ebca6b);
        low ^= high >>> 15;
        high ^= low >>> 13;
      }
    for (; at < end; at++) {
      low = Math.imul(low ^ view.getUint8(at), 0x01000193);
      high = Math.imul(high ^ low, 0x5bd1e995);
    }
    low = Math.imul(low ^ (high >>> 15), 0x9e3779b1);
    return this.merge(low ^ (low >>> 16), high ^ (low >>> 15));
  }

  /** Adds a name with its value, as text. */
  addTexts(name: string, value: string): this {
    const length = name.length + value.length;
    // Hashes the name's length as well, so that `a` with `bc` differs from `ab` with `c`.
    let low = 0x811c9dc5 ^ name.length;
    let high = 0x2545f491;
    for (let at = 0; at < length; at++) {
      const code = at < name.length ? name.charCodeAt(at) : value.charCodeAt(at - name.length);
      low = Math.imul(low ^ code, 0x9e3779b1);
      low ^= low >>> 15;
      high = Math.imul(high ^ code, 0x85ebca6b);
      high ^= high >>> 13;
    }
    return this.merge(low, high ^ (high >>> 15));
  }

  merge(low: number, high: number): this {
    this.low = (this.low + low) | 0;
    this.high = (this.high + high) | 0;
    return this;
  }
}

const SLOTS_FIRST = 1 << 12;

/** How often each series came, by its hash: a table with open addressing that is at most half full. */
export class SeriesCounts {
  #size = 0;
  #mask = SLOTS_FIRST - 1;
  #lows = new Int32Array(SLOTS_FIRST);
  #highs = new Int32Array(SLOTS_FIRST);
  /** 0 where a slot is free. */
  #counts = new Uint32Array(SLOTS_FIRST);

  add({ low, high }: SeriesHash): void {
    const slot = this.#slotOf(low, high);
    if (this.#counts[slot] === 0) {
      this.#lows[slot] = low;
      this.#highs[slot] = high;
      this.#size++;
    }
    this.#counts[slot] = (this.#counts[slot] ?? 0) + 1;
    if (this.#size * 2 > this.#mask) this.#grow();
  }

  /** How many series came how many times. */
  byCount(): Map<number, number> {
    const series = new Map<number, number>();
    for (const count of this.#counts)
      if (count > 0) series.set(count, (series.get(count) ?? 0) + 1);
    return series;
  }

  /** The slot of a series, or the free slot where it belongs. */
  #slotOf(low: number, high: number): number {
    let slot = (Math.imul(low ^ high, 0x9e3779b1) >>> 8) & this.#mask;
    while (this.#counts[slot] !== 0 && (this.#lows[slot] !== low || this.#highs[slot] !== high))
      slot = (slot + 1) & this.#mask;
    return slot;
  }

  #grow(): void {
    const [lows, highs, counts] = [this.#lows, this.#highs, this.#counts];
    const slots = counts.length * 2;
    this.#mask = slots - 1;
    this.#lows = new Int32Array(slots);
    this.#highs = new Int32Array(slots);
    this.#counts = new Uint32Array(slots);
    for (const [old, count] of counts.entries()) {
      if (count === 0) continue;
      const [low, high] = [lows[old] ?? 0, highs[old] ?? 0];
      const slot = this.#slotOf(low, high);
      this.#lows[slot] = low;
      this.#highs[slot] = high;
      this.#counts[slot] = count;
    }
  }
}
