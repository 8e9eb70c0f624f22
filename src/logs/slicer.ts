// Lets the event loop have its turn: work on logs runs in slices, so that no scrape waits for it.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';

/** How long logs are worked on in one go. */
const SLICE_MS = 5;

export class Slicer {
  readonly #clock: Clock;
  #startedAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAtMs = clock.monotonicMs();
  }

  /** True when the slice is over: then `pause` is to be awaited. */
  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#startedAtMs >= SLICE_MS;
  }

  async pause(): Promise<void> {
    await nextTurn();
    this.#startedAtMs = this.#clock.monotonicMs();
  }
}
