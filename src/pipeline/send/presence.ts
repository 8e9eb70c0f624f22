// Finds out whether the back end is reachable. SenderHealth keeps the latest answers for the status page. Presence probes
// for all lanes while rows wait for their next attempt: every second at first, every ten seconds after the first minute
// of an outage. A probe is an empty request, which is valid OTLP and leaves no data. An accepted probe shows that the
// back end answers again; it says nothing about content.

import { Bell } from '../../lib/bell.ts';
import type { Clock } from '../../lib/clock.ts';
import type { SendResult } from './transport.ts';

/** A lane is retrying while the back end is unreachable or busy, and holding while it refuses requests. */
export type LaneState = 'idle' | 'sending' | 'retrying' | 'holding';

/** Times are wall clock, in milliseconds. */
export interface SenderStatus {
  readonly state: LaneState;
  /** The last failure as text; it remains after the back end has recovered. */
  readonly lastError: string | null;
  readonly lastErrorAtMs: number | null;
  readonly lastAcceptedAtMs: number | null;
  /** Since when nothing is accepted; null after an acceptance. */
  readonly failingSinceAtMs: number | null;
  /** Null when no attempt is scheduled. */
  readonly nextAttemptAtMs: number | null;
}

export class SenderHealth {
  readonly #clock: Clock;
  readonly #latest = {
    lastError: null as string | null,
    lastErrorAtMs: null as number | null,
    lastAcceptedAtMs: null as number | null,
    failingSinceAtMs: null as number | null,
  };
  /** Monotonic. */
  #downSinceMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The length of the current outage; 0 when there is none. */
  downMs(): number {
    return this.#downSinceMs === null ? 0 : this.#clock.monotonicMs() - this.#downSinceMs;
  }

  /** Notes a result. Returns the length of the outage that it ends, in milliseconds, else null. */
  note(result: SendResult): number | null {
    if (result.kind !== 'accepted') {
      this.#latest.lastError = result.reason;
      this.#latest.lastErrorAtMs = this.#clock.nowMs();
      this.#latest.failingSinceAtMs ??= this.#latest.lastErrorAtMs;
      if (result.kind !== 'split') this.#downSinceMs ??= this.#clock.monotonicMs();
      return null;
    }
    const downMs = this.#downSinceMs === null ? null : this.downMs();
    this.#downSinceMs = null;
    this.#latest.lastAcceptedAtMs = this.#clock.nowMs();
    this.#latest.failingSinceAtMs = null;
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
      ...this.#latest,
      nextAttemptAtMs: timesMs.length === 0 ? null : Math.min(...timesMs),
    };
  }
}

/** The time between two probes, ± 30 %. A probe without an answer is aborted when the next one is due. */
const ASK_MS = 1000;
const ASK_LATER_MS = 10_000;
const FIRST_MS = 60_000;

export interface PresenceOptions {
  readonly clock: Clock;
  /** Returns numbers from 0 up to 1, for the jitter. */
  readonly random: () => number;
  /** Sends one empty request. */
  readonly ask: (abort: AbortSignal) => Promise<SendResult>;
  readonly health: SenderHealth;
}

export class Presence {
  readonly #options: PresenceOptions;
  readonly #found = new Bell();
  /** Ends the probes; null while there are none. */
  #asking: AbortController | null = null;

  constructor(options: PresenceOptions) {
    this.#options = options;
  }

  /** Waits for `ms` or until the signal is aborted; true when a probe found the back end reachable before that. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    const { clock } = this.#options;
    const seen = this.#found.rings;
    if (this.#asking === null) {
      this.#asking = new AbortController();
      void this.#askRepeatedly(this.#asking);
    }
    await this.#found.wait(seen, signal, { clock, ms });
    if (this.#found.waiting === 0) this.#end(this.#asking);
    return this.#found.rings !== seen;
  }

  async #askRepeatedly(asking: AbortController): Promise<void> {
    const { clock, ask } = this.#options;
    const stop = asking.signal;
    await clock.sleep(this.#pauseMs(), stop);
    while (!stop.aborted) {
      const over = new AbortController();
      const pause = clock.sleep(this.#pauseMs(), stop).then(() => over.abort());
      const result = await ask(over.signal);
      const isFound = result.kind === 'accepted' || result.kind === 'split';
      // The back end is reachable, and asks for a pause.
      const isBusy =
        result.kind === 'retry' && (result.isThrottled || result.retryAfterMs !== null);
      if (isFound || isBusy) this.#end(asking);
      if (isFound) this.#found.ring();
      if (!isFound && !isBusy) await pause;
    }
  }

  #end(asking: AbortController | null): void {
    asking?.abort();
    if (this.#asking === asking) this.#asking = null;
  }

  #pauseMs(): number {
    const { random, health } = this.#options;
    return (health.downMs() < FIRST_MS ? ASK_MS : ASK_LATER_MS) * (0.7 + 0.6 * random());
  }
}
