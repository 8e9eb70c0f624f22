// Whether the back end is there. SenderHealth keeps what its answers have shown, for the status page. Presence asks
// while rows wait for their next attempt: an empty request is valid OTLP and leaves no data. One lane's question
// serves all that wait: every second at first, every ten after the first minute of an outage. An accepted one says
// that the back end answers again, and nothing about content.

import type { Clock } from '../../lib/clock.ts';
import type { SendResult } from './transport.ts';

/** A lane is retrying while the back end is away or busy, and holding while it refuses. */
export type LaneState = 'idle' | 'sending' | 'retrying' | 'holding';

/** Times are wall clock, in milliseconds. */
export interface SenderStatus {
  readonly state: LaneState;
  /** The last answer other than an acceptance, in words; it stays after the back end has recovered. */
  readonly lastError: string | null;
  readonly lastErrorAtMs: number | null;
  readonly lastAcceptedAtMs: number | null;
  /** When the next attempt is due; null when none is waiting. */
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

  /** For how many milliseconds nothing was accepted; 0 when the last answer was an acceptance. */
  downMs(): number {
    return this.#downSinceMs === null ? 0 : this.#clock.monotonicMs() - this.#downSinceMs;
  }

  /** Takes an answer. Returns the length of the outage that it ends, in milliseconds, else null. */
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

  /** The state is the worst of all lanes. */
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

/** The time between two questions, ± 30 %. A question without an answer is given up when the next one is due. */
const ASK_MS = 1000;
const ASK_LATER_MS = 10_000;
const FIRST_MS = 60_000;

export interface PresenceOptions {
  readonly clock: Clock;
  /** Numbers from 0 up to 1, for the jitter. */
  readonly random: () => number;
  /** Sends one empty request. */
  readonly ask: (abort: AbortSignal) => Promise<SendResult>;
  /** For how many milliseconds nothing was accepted. */
  readonly downMs: () => number;
}

export class Presence {
  readonly #options: PresenceOptions;
  readonly #waiting = new Set<AbortController>();
  #asking = new AbortController();

  constructor(options: PresenceOptions) {
    this.#options = options;
  }

  /** Waits for `ms`, or until the signal is aborted; true when the back end was found to be there before that. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    const told = new AbortController();
    this.#waiting.add(told);
    if (this.#waiting.size === 1) {
      this.#asking = new AbortController();
      void this.#askOnAndOn(this.#asking.signal);
    }
    await this.#options.clock.sleep(ms, AbortSignal.any([signal, told.signal]));
    this.#waiting.delete(told);
    if (this.#waiting.size === 0) this.#asking.abort();
    return told.signal.aborted;
  }

  async #askOnAndOn(stop: AbortSignal): Promise<void> {
    const { clock, ask } = this.#options;
    await clock.sleep(this.#pauseMs(), stop);
    while (!stop.aborted) {
      const over = new AbortController();
      const pause = clock.sleep(this.#pauseMs(), stop).then(() => over.abort());
      const result = await ask(over.signal);
      if (result.kind === 'accepted' || result.kind === 'split') {
        for (const told of this.#waiting) told.abort();
        return;
      }
      // It is there, and has said when it wants the next request.
      if (result.kind === 'retry' && (result.isThrottled || result.retryAfterMs !== null)) return;
      await pause;
    }
  }

  #pauseMs(): number {
    const { random, downMs } = this.#options;
    return (downMs() < FIRST_MS ? ASK_MS : ASK_LATER_MS) * (0.7 + 0.6 * random());
  }
}
