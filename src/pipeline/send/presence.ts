// Asks, while rows wait for their next attempt, whether the back end is there. An empty request is valid OTLP and leaves
// no data. One asks for all who wait: every second at first, every ten after the first minute of an outage. What is
// accepted says that somebody answers again, and nothing about content.

import type { Clock } from '../../lib/clock.ts';
import type { SendResult } from './transport.ts';

/** Between two questions, ± 30 %; a question that was not answered when the next one is due is given up. */
const ASK_MS = 1000;
const ASK_LATER_MS = 10_000;
const FIRST_MS = 60_000;

export interface PresenceOptions {
  readonly clock: Clock;
  /** Numbers from 0 up to 1, for the jitter. */
  readonly random: () => number;
  /** Sends one empty request. */
  readonly ask: (abort: AbortSignal) => Promise<SendResult>;
  /** For how long nothing has been accepted. */
  readonly downMs: () => number;
}

export class Presence {
  readonly #options: PresenceOptions;
  readonly #waiting = new Set<AbortController>();
  #asking = new AbortController();

  constructor(options: PresenceOptions) {
    this.#options = options;
  }

  /** Waits for `ms`, until the signal is aborted, or until the back end is there, which gives true. */
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
      // It is there, and says when it wants to be asked again.
      if (result.kind === 'retry' && (result.isThrottled || result.retryAfterMs !== null)) return;
      await pause;
    }
  }

  #pauseMs(): number {
    const { random, downMs } = this.#options;
    return (downMs() < FIRST_MS ? ASK_MS : ASK_LATER_MS) * (0.7 + 0.6 * random());
  }
}
