// How long to wait before the next try: exponential with full jitter, so that many clients that failed
// together do not come back together.

export interface Backoff {
  /** The upper bound of the first wait; it doubles with every failure. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** A wait for after the n-th failure in a row (from 1). `random` gives numbers from 0 up to 1. */
export function backoffMs(backoff: Backoff, failureCount: number, random: () => number): number {
  return random() * Math.min(backoff.maxMs, backoff.firstMs * 2 ** (failureCount - 1));
}
