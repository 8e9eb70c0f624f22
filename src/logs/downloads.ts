// The limits of downloads, over all APIs: bytes per hour, and archives at once.

import { tmpdir } from 'node:os';
import type { LogsConfig } from '../config/config.ts';
import { type Clock, HOUR_MS } from '../lib/clock.ts';
import { Semaphore } from '../lib/semaphore.ts';

const ARCHIVES_AT_ONCE = 2;

export class Downloads {
  readonly directory: string;
  readonly permits: Semaphore = new Semaphore(ARCHIVES_AT_ONCE);
  readonly budget: ByteBudget;

  /** `directory` null: uses the temporary directory. */
  constructor(clock: Clock, directory: string | null, limits: LogsConfig['limits']) {
    this.directory = directory ?? tmpdir();
    this.budget = new ByteBudget(clock, limits.downloadPerHourBytes);
  }
}

/**
 * Refills evenly. A download may take more than is left; then the next one waits longer, which shows as lag.
 */
class ByteBudget {
  readonly #clock: Clock;
  readonly #perHour: number;
  #left: number;
  #filledAtMs: number;

  constructor(clock: Clock, perHourBytes: number) {
    this.#clock = clock;
    this.#perHour = perHourBytes;
    this.#left = perHourBytes;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** False while it is overdrawn. */
  get isOpen(): boolean {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#filledAtMs) / HOUR_MS) * this.#perHour;
    this.#left = Math.min(this.#perHour, this.#left + gained);
    this.#filledAtMs = nowMs;
    return this.#left > 0;
  }

  take(bytes: number): void {
    this.#left -= bytes;
  }
}
