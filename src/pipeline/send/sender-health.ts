// What the status page shows of one signal's way to the back end.

import type { Clock } from '../../lib/clock.ts';
import type { SendResult } from './transport.ts';

/** What a lane does: nothing, send, wait for a back end that is away or busy, wait because it refuses. */
export type LaneState = 'idle' | 'sending' | 'retrying' | 'holding';

/** All times are wall clock, in milliseconds. */
export interface SenderStatus {
  readonly state: LaneState;
  /** The last answer that was no acceptance, in words; it stays after the back end has recovered. */
  readonly lastError: string | null;
  readonly lastErrorAtMs: number | null;
  readonly lastAcceptedAtMs: number | null;
  /** When the next attempt is due, while one is waited for. */
  readonly nextAttemptAtMs: number | null;
}

export class SenderHealth {
  readonly #clock: Clock;
  #lastError: string | null = null;
  #lastErrorAtMs: number | null = null;
  #lastAcceptedAtMs: number | null = null;
  /** Monotonic. */
  #downSinceMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For how long nothing has been accepted; 0 while the last answer was an acceptance. */
  downMs(): number {
    return this.#downSinceMs === null ? 0 : this.#clock.monotonicMs() - this.#downSinceMs;
  }

  /** Notes an answer; gives for how long the back end had not accepted anything when it now does again. */
  note(result: SendResult): number | null {
    if (result.kind !== 'accepted') {
      this.#lastError = result.reason;
      this.#lastErrorAtMs = this.#clock.nowMs();
      if (result.kind !== 'split') this.#downSinceMs ??= this.#clock.monotonicMs();
      return null;
    }
    const downMs = this.#downSinceMs === null ? null : this.downMs();
    this.#downSinceMs = null;
    this.#lastAcceptedAtMs = this.#clock.nowMs();
    return downMs;
  }

  /** The state is the worst of what the lanes are in. */
  status(
    lanes: readonly { readonly state: LaneState; readonly nextAttemptAtMs: number | null }[],
  ): SenderStatus {
    const state = (['holding', 'retrying', 'sending'] as const).find(some =>
      lanes.some(lane => lane.state === some),
    );
    const timesMs = lanes.map(lane => lane.nextAttemptAtMs).filter(timeMs => timeMs !== null);
    return {
      state: state ?? 'idle',
      lastError: this.#lastError,
      lastErrorAtMs: this.#lastErrorAtMs,
      lastAcceptedAtMs: this.#lastAcceptedAtMs,
      nextAttemptAtMs: timesMs.length === 0 ? null : Math.min(...timesMs),
    };
  }
}
