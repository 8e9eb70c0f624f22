// How long the event loop was held at the longest. In: every turn of the loop. It wakes nobody: an immediate that is not
// waited for runs at the end of each turn that something else began, and a turn is as long as no event was waited for.

import { performance } from 'node:perf_hooks';

const { nodeTiming } = performance;

export class LoopWatch {
  #longestMs = 0;
  #lastMs = performance.now();
  /** Time that the loop has waited for events, since its start. */
  #lastIdleMs = nodeTiming.idleTime;
  #next: NodeJS.Immediate;

  constructor() {
    this.#next = setImmediate(this.#look).unref();
  }

  /** The longest turn that has ended since the last call; 0 when none has. */
  take(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }

  close(): void {
    clearImmediate(this.#next);
  }

  readonly #look = (): void => {
    const nowMs = performance.now();
    const idleMs = nodeTiming.idleTime;
    const turnMs = nowMs - this.#lastMs - (idleMs - this.#lastIdleMs);
    if (turnMs > this.#longestMs) this.#longestMs = turnMs;
    this.#lastMs = nowMs;
    this.#lastIdleMs = idleMs;
    this.#next = setImmediate(this.#look).unref();
  };
}
