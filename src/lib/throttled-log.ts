// A log for repeated events. It writes one line per key and interval; the field `swallowed` of the next line counts the
// events without a line. So a failure that lasts a day is one line per minute, not a million lines. The number of keys is
// limited; further keys share one.

import type { Clock } from './clock.ts';
import type { LogFields, Logger } from './log.ts';

interface ThrottleLimits {
  readonly intervalMs: number;
  readonly keys: number;
}

interface Passage {
  atMs: number;
  swallowedCount: number;
}

const LIMITS: ThrottleLimits = { intervalMs: 60_000, keys: 1024 };
const OTHER_KEYS = '\u0000other';

export class ThrottledLog {
  /** The same log without a throttle. */
  readonly plain: Logger;
  readonly #clock: Clock;
  readonly #limits: ThrottleLimits;
  readonly #passages = new Map<string, Passage>();

  constructor(plain: Logger, clock: Clock, limits: Partial<ThrottleLimits> = {}) {
    this.plain = plain;
    this.#clock = clock;
    this.#limits = { ...LIMITS, ...limits };
  }

  warn(key: string, fields: LogFields, message: string): void {
    const swallowed = this.#pass(key);
    if (swallowed !== null) this.plain.warn({ ...fields, swallowed }, message);
  }

  error(key: string, fields: LogFields, message: string): void {
    const swallowed = this.#pass(key);
    if (swallowed !== null) this.plain.error({ ...fields, swallowed }, message);
  }

  /** Counts an event. Returns the events without a line since the last line; null for no line now. */
  #pass(key: string): number | null {
    const nowMs = this.#clock.monotonicMs();
    const passage = this.#passages.get(key) ?? this.#admit(key, nowMs);
    if (nowMs - passage.atMs < this.#limits.intervalMs) {
      passage.swallowedCount++;
      return null;
    }
    const { swallowedCount } = passage;
    passage.atMs = nowMs;
    passage.swallowedCount = 0;
    return swallowedCount;
  }

  /** Makes room for a new key by removing quiet keys; if there are none, uses the shared key. */
  #admit(key: string, nowMs: number): Passage {
    const { intervalMs, keys } = this.#limits;
    if (this.#passages.size >= keys) {
      for (const [old, passage] of this.#passages)
        if (passage.swallowedCount === 0 && nowMs - passage.atMs >= intervalMs)
          this.#passages.delete(old);
    }
    const admitted = this.#passages.size >= keys ? OTHER_KEYS : key;
    const passage = this.#passages.get(admitted) ?? { atMs: -Infinity, swallowedCount: 0 };
    this.#passages.set(admitted, passage);
    return passage;
  }
}
