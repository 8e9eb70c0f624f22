// One key at one origin, shared by all parts that use it. In: which parts succeeded with the key, and which were refused.
// Out: whether no part should send a request for the next minute. A part that is refused while another one succeeds only
// lacks a right, and holds itself alone (decision 57).

import type { Clock } from '../lib/clock.ts';
import type { ServiceError } from './service-error.ts';

/** How long a refused key holds all parts. */
const HOLD_MS = 60_000;

/** Times are monotonic, in milliseconds. Each part has a name of its own, which a reload does not change. */
export class KeyHold {
  readonly #clock: Clock;
  /** By part, until when its last success counts. */
  readonly #countsUntilMs = new Map<string, number>();
  #untilMs = -Infinity;
  /** The last refusal of the key itself; null since a request has succeeded. */
  #refusal: ServiceError | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
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

  /** Notes a success of a part, which counts for two of its intervals or until the part is refused. */
  succeeded(part: string, intervalMs: number): void {
    this.#countsUntilMs.set(part, this.#clock.monotonicMs() + 2 * intervalMs);
    this.#refusal = null;
    this.release();
  }

  /** Notes that a part was refused; holds all parts unless the success of another one counts. True if it does. */
  refused(part: string, refusal: ServiceError): boolean {
    this.#countsUntilMs.delete(part);
    if (this.isAccepted) return false;
    this.#refusal = refusal;
    this.#untilMs = this.#clock.monotonicMs() + HOLD_MS;
    return true;
  }

  /** True while the success of a part counts. */
  get isAccepted(): boolean {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#countsUntilMs.values()].some(untilMs => untilMs >= nowMs);
  }

  /** Ends the hold: the source has another key. */
  release(): void {
    this.#untilMs = -Infinity;
  }
}
