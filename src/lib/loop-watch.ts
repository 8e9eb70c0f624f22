// Measures the longest turn of the event loop: the time from one turn to the next, without the time in which the loop
// waited for events. It measures at the end of each turn, in an immediate that does not keep the loop alive.

import { performance } from 'node:perf_hooks';

const { nodeTiming } = performance;

export class LoopWatch {
  #longestMs = 0;
  #lastMs = performance.now();
  /** The time that the loop has waited for events since its start. */
  #lastIdleMs = nodeTiming.idleTime;
  #next: NodeJS.Immediate;

  constructor() {
    this.#next = setImmediate(this.#look).unref();
  }

  /** The longest turn that ended since the last call, in milliseconds; 0 if none did. */
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
