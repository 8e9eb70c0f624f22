// When to ask again after a failure. In: failures, and which of them are refusals. Out: how long to leave the other side
// alone: as long as it asked for by Retry-After, and ever longer while it refuses, so that a wrong key is not hammered
// into a service. Metrics, logs and backups share it; below, the waits between the tries of one request.

export interface HoldOffOptions {
  /** The wait after the first refusal in a row; it doubles with each further one, up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
  /**
   * For those that ask at due times anyway: a wait of one interval needs no hold, and a longer one ends half an interval
   * early, since due times are uneven.
   */
  readonly dueEveryMs?: number;
  /** A longer Retry-After is not waited for. */
  readonly retryAfterMsMax?: number;
}

/** How logs and backups leave a service alone that refuses the key, or how they ask. */
export const AFTER_REFUSAL: HoldOffOptions = { firstMs: 30_000, maxMs: 300_000 };

export class HoldOff<Failure extends { readonly retryAfterMs?: number }> {
  readonly #options: HoldOffOptions;
  #refusedCount = 0;
  #untilMs = -Infinity;
  #last: Failure | null = null;

  constructor(options: HoldOffOptions) {
    this.#options = options;
  }

  /** The failure for which nobody should ask at this time (monotonic), or null. */
  heldFor(monotonicMs: number): Failure | null {
    return monotonicMs < this.#untilMs ? this.#last : null;
  }

  /** How long that is still so. */
  remainingMs(monotonicMs: number): number {
    return Math.max(0, this.#untilMs - monotonicMs);
  }

  /** There was an answer, or there is a reason to try at once. */
  clear(): void {
    this.#refusedCount = 0;
    this.#untilMs = -Infinity;
    this.#last = null;
  }

  /** A request failed that began at `startedMs` and ended at `endedMs` (monotonic). Anything but a refusal ends the row. */
  note(failure: Failure, isRefused: boolean, startedMs: number, endedMs: number): void {
    const { retryAfterMsMax = Infinity } = this.#options;
    this.#refusedCount = isRefused ? this.#refusedCount + 1 : 0;
    this.#last = failure;
    const askedMs = endedMs + Math.min(failure.retryAfterMs ?? 0, retryAfterMsMax);
    this.#untilMs = Math.max(askedMs, startedMs + this.#refusedMs());
  }

  #refusedMs(): number {
    if (this.#refusedCount === 0) return 0;
    const { firstMs, maxMs, dueEveryMs = 0 } = this.#options;
    const waitMs = Math.min(firstMs * 2 ** (this.#refusedCount - 1), maxMs);
    return waitMs <= dueEveryMs ? 0 : waitMs - dueEveryMs / 2;
  }
}

export interface Backoff {
  /** The upper bound of the first wait; it doubles with every failure. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * The wait after the n-th failure in a row (from 1), exponential with full jitter, so that many clients that failed
 * together do not come back together. `random` gives numbers from 0 up to 1.
 */
export function backoffMs(backoff: Backoff, failureCount: number, random: () => number): number {
  return random() * Math.min(backoff.maxMs, backoff.firstMs * 2 ** (failureCount - 1));
}
