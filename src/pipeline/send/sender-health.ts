// What the status page shows of one signal's way to the back end.

import type { Clock } from '../../lib/clock.ts';
import type { Job } from './job.ts';
import type { SendResult } from './transport.ts';

/** All times are wall clock, in milliseconds. */
export interface SenderStatus {
  readonly state: 'idle' | 'sending' | 'retrying' | 'holding';
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

  /** Notes an answer; gives for how long the back end had not accepted anything when it now does again. */
  note(result: SendResult): number | null {
    if (result.kind !== 'accepted') {
      this.#lastError = result.reason;
      this.#lastErrorAtMs = this.#clock.nowMs();
      if (result.kind !== 'split') this.#downSinceMs ??= this.#clock.monotonicMs();
      return null;
    }
    const downSinceMs = this.#downSinceMs;
    this.#downSinceMs = null;
    this.#lastAcceptedAtMs = this.#clock.nowMs();
    return downSinceMs === null ? null : this.#clock.monotonicMs() - downSinceMs;
  }

  /** The state is the worst of what the jobs are in. */
  status(jobs: readonly Pick<Job, 'state' | 'nextAttemptAtMs'>[]): SenderStatus {
    const state = (['holding', 'retrying', 'sending'] as const).find(some =>
      jobs.some(job => job.state === some),
    );
    const timesMs = jobs.map(job => job.nextAttemptAtMs).filter(timeMs => timeMs !== null);
    return {
      state: state ?? 'idle',
      lastError: this.#lastError,
      lastErrorAtMs: this.#lastErrorAtMs,
      lastAcceptedAtMs: this.#lastAcceptedAtMs,
      nextAttemptAtMs: timesMs.length === 0 ? null : Math.min(...timesMs),
    };
  }
}
