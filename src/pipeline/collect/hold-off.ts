// How long a target is left in peace after a failure: after a refused key ever longer, so that a wrong key is
// not hammered into the service, and as long as the service asks for by Retry-After. Any other failure is
// tried again when it is due, since metrics that are not read are lost.

import type { ServiceError } from '../../service/service-error.ts';

const HOLD_MS_MAX = 300_000;

export class HoldOff {
  readonly #intervalMs: number;
  #refusedCount = 0;
  #untilMs = -Infinity;
  #last: ServiceError | null = null;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** The failure that the target is held for at this time (monotonic), or null when it may be scraped. */
  heldFor(monotonicMs: number): ServiceError | null {
    return monotonicMs < this.#untilMs ? this.#last : null;
  }

  /** How long it is still held. */
  remainingMs(monotonicMs: number): number {
    return Math.max(0, this.#untilMs - monotonicMs);
  }

  /** A scrape that began at `startedMs` brought an answer, or there is a reason to try at once. */
  clear(): void {
    this.#refusedCount = 0;
    this.#untilMs = -Infinity;
    this.#last = null;
  }

  /** A scrape failed. Both times are monotonic. */
  note(failure: ServiceError, startedMs: number, endedMs: number): void {
    this.#refusedCount = failure.reason === 'auth' ? this.#refusedCount + 1 : 0;
    this.#last = failure;
    const askedMs = endedMs + (failure.retryAfterMs ?? 0);
    this.#untilMs = Math.max(askedMs, startedMs + this.#refusedMs());
  }

  /** One interval less than the time to the next attempt; half of one is left for due times to be uneven. */
  #refusedMs(): number {
    if (this.#refusedCount < 2) return 0;
    const longestMs = Math.max(HOLD_MS_MAX, this.#intervalMs);
    const nextMs = Math.min(this.#intervalMs * 2 ** (this.#refusedCount - 1), longestMs);
    return nextMs - this.#intervalMs / 2;
  }
}
