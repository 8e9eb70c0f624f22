// One key at one origin, shared by all parts that use it. In: which requests with the key succeeded, and which were
// refused. Out: whether no part should send a request for the next minute. A part whose refusal comes soon after a success
// of any part only lacks a right, and holds itself alone (decision 57).

import type { Clock } from '../lib/clock.ts';
import type { ServiceError } from './service-error.ts';

/** How long a refused key holds all parts. */
const HOLD_MS = 60_000;

/** Times are monotonic, in milliseconds. */
export class KeyHold {
  readonly #clock: Clock;
  #intervalMs = 0;
  #succeededMs = -Infinity;
  #untilMs = -Infinity;
  /** The last refusal of the key itself; null since a request has succeeded. */
  #refusal: ServiceError | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes a part that sends requests at this interval. The longest one counts. */
  add(intervalMs: number): void {
    this.#intervalMs = Math.max(this.#intervalMs, intervalMs);
  }

  /** True since the key itself was refused, until a request succeeds. */
  get isRefused(): boolean {
    return this.#refusal !== null;
  }

  /** Because of this refusal no part should send a request now; null if they may. */
  get refusal(): ServiceError | null {
    return this.remainingMs > 0 ? this.#refusal : null;
  }

  get remainingMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.monotonicMs());
  }

  succeeded(): void {
    this.#succeededMs = this.#clock.monotonicMs();
    this.#refusal = null;
    this.release();
  }

  /** Holds all parts, unless one of their requests has succeeded within two intervals. True if it does. */
  refused(refusal: ServiceError): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#succeededMs <= 2 * this.#intervalMs) return false;
    this.#refusal = refusal;
    this.#untilMs = nowMs + HOLD_MS;
    return true;
  }

  /** Ends the hold: the source has another key. */
  release(): void {
    this.#untilMs = -Infinity;
  }
}
