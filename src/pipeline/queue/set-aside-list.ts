// What the back end refused for good, in memory: the last of it, within a bound of entries and of bytes.

import type { SetAside } from './queue.ts';

/** The bounds of what is kept for a look, in either store; what is pushed out stays in the counters. */
export const SET_ASIDE_ROWS_MAX = 1000;
export const SET_ASIDE_BYTES_MAX: number = 16 * 1024 * 1024;

export class SetAsideList {
  readonly #entries: SetAside[] = [];
  #bytes = 0;

  add(entry: SetAside): void {
    this.#entries.push(entry);
    this.#bytes += entry.sample.length;
    while (this.#entries.length > SET_ASIDE_ROWS_MAX || this.#bytes > SET_ASIDE_BYTES_MAX)
      this.#bytes -= this.#entries.shift()?.sample.length ?? 0;
  }

  newest(count: number): readonly SetAside[] {
    return this.#entries.slice(Math.max(0, this.#entries.length - count)).reverse();
  }
}
