// How much may be downloaded in an hour. It fills up evenly; a download may take more than there is, and then the
// next one waits for longer: the interval of pulling stretches, and shows as lag.

import type { Clock } from '../lib/clock.ts';

const HOUR_MS = 3_600_000;

export class ByteBudget {
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

  /** False while what was taken before is not made up for. */
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
