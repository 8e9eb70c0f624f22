// Lets a repeating event through once per interval and tells how many were held back in between, so that a
// failure that lasts a day is a line a minute in the log and not a million. Keys are bounded: what comes
// after the bound shares one key.

import type { Clock } from './clock.ts';

export interface ThrottleOptions {
  readonly clock: Clock;
  /** One event of a key goes through per this many milliseconds. */
  readonly intervalMs?: number;
  readonly keysMax?: number;
}

interface Passage {
  atMs: number;
  swallowedCount: number;
}

const INTERVAL_MS = 60_000;
const KEYS_MAX = 1024;
const OTHER_KEYS = '\u0000other';

export class Throttle {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #keysMax: number;
  readonly #passages = new Map<string, Passage>();

  constructor(options: ThrottleOptions) {
    this.#clock = options.clock;
    this.#intervalMs = options.intervalMs ?? INTERVAL_MS;
    this.#keysMax = options.keysMax ?? KEYS_MAX;
  }

  /**
   * Calls `write` at once when the key's interval is over, else counts the event and calls nothing.
   * `write` gets the number of events of this key that were swallowed since it was last called.
   */
  run(key: string, write: (swallowedCount: number) => void): void {
    const nowMs = this.#clock.monotonicMs();
    const passage = this.#passages.get(key) ?? this.#passages.get(this.#admit(key, nowMs));
    if (passage === undefined || nowMs - passage.atMs < this.#intervalMs) {
      if (passage !== undefined) passage.swallowedCount++;
      return;
    }
    const { swallowedCount } = passage;
    passage.atMs = nowMs;
    passage.swallowedCount = 0;
    write(swallowedCount);
  }

  /** Makes a place for a new key, at the cost of keys whose interval is over; else the shared one is used. */
  #admit(key: string, nowMs: number): string {
    if (this.#passages.size >= this.#keysMax) {
      for (const [old, passage] of this.#passages)
        if (passage.swallowedCount === 0 && nowMs - passage.atMs >= this.#intervalMs)
          this.#passages.delete(old);
    }
    const admitted = this.#passages.size >= this.#keysMax ? OTHER_KEYS : key;
    if (!this.#passages.has(admitted))
      this.#passages.set(admitted, { atMs: -Infinity, swallowedCount: 0 });
    return admitted;
  }
}
