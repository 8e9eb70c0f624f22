// When to send the next request after a failure. In: failures, and whether they are refusals. Out: how long to wait: at
// least the Retry-After, and longer with each refusal in a row, so that a wrong key causes few requests. Metrics, logs
// and backups share it. Below: the waits between the tries of one request.

export interface Backoff {
  /** The first wait, or its upper bound; it doubles with every failure, up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The waits after refusals in a row, and what else ends or prolongs a hold. */
export interface HoldOffOptions extends Backoff {
  /**
   * For callers with due times: a wait of one interval needs no hold, and a longer one ends half an interval early,
   * because due times are uneven.
   */
  readonly dueEveryMs?: number;
}

/** For logs and backups, when the service refuses the key or the request. */
export const AFTER_REFUSAL: HoldOffOptions = { firstMs: 30_000, maxMs: 300_000 };

export class HoldOff {
  readonly #options: HoldOffOptions;
  #refusedCount = 0;
  #untilMs = -Infinity;

  constructor(options: HoldOffOptions) {
    this.#options = options;
  }

  /** The remaining time of the hold; 0 when a request may be sent at this time (monotonic). */
  remainingMs(monotonicMs: number): number {
    return Math.max(0, this.#untilMs - monotonicMs);
  }

  /** Ends the hold, after an answer or for a new reason to try. */
  clear(): void {
    this.#refusedCount = 0;
    this.#untilMs = -Infinity;
  }

  /** Notes a failed request between two times (monotonic). Any failure but a refusal resets the count of refusals. */
  note(
    failure: { readonly retryAfterMs?: number },
    isRefused: boolean,
    startedMs: number,
    endedMs: number,
  ): void {
    this.#refusedCount = isRefused ? this.#refusedCount + 1 : 0;
    const askedMs = endedMs + (failure.retryAfterMs ?? 0);
    this.#untilMs = Math.max(askedMs, startedMs + this.#refusedMs());
  }

  #refusedMs(): number {
    if (this.#refusedCount === 0) return 0;
    const { dueEveryMs = 0 } = this.#options;
    const waitMs = backoffMs(this.#options, this.#refusedCount, () => 1);
    return waitMs <= dueEveryMs ? 0 : waitMs - dueEveryMs / 2;
  }
}

/**
 * The wait after the n-th failure in a row (from 1), exponential with full jitter, so that clients that failed together
 * do not retry together. `random` returns numbers from 0 up to 1.
 */
export function backoffMs(backoff: Backoff, failureCount: number, random: () => number): number {
  return random() * Math.min(backoff.maxMs, backoff.firstMs * 2 ** (failureCount - 1));
}
