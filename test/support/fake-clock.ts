// A clock that does not move until a test moves it. Sleepers are woken in the order of their deadlines, and
// the program gets to run between two of them, so that a test reads as a timeline.

import type { Clock } from '../../src/lib/clock.ts';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

export class FakeClock implements Clock {
  /** Wall clock minus monotonic clock; a test may set it to make the wall clock jump. */
  wallOffsetMs: number;
  #monotonicMs = 0;
  readonly #sleepers = new Set<Sleeper>();

  constructor(startMs: number = Date.UTC(2026, 2, 4, 9)) {
    this.wallOffsetMs = startMs;
  }

  nowMs(): number {
    return this.wallOffsetMs + this.#monotonicMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      if (signal?.aborted === true || ms <= 0) return resolve();
      const wake = (): void => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { atMs: this.#monotonicMs + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  after(ms: number, run: () => void): () => void {
    const wake = (): void => {
      this.#sleepers.delete(sleeper);
      run();
    };
    const sleeper = { atMs: this.#monotonicMs + Math.max(ms, 0), wake };
    this.#sleepers.add(sleeper);
    return () => void this.#sleepers.delete(sleeper);
  }

  /** Milliseconds until each sleeper wakes, soonest first. */
  sleeps(): readonly number[] {
    return [...this.#sleepers].map(({ atMs }) => atMs - this.#monotonicMs).sort((a, b) => a - b);
  }

  /** Moves time forward, and wakes each sleeper that is due at its own time. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    for (;;) {
      const due = [...this.#sleepers].sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined || due.atMs > endMs) break;
      this.#monotonicMs = due.atMs;
      due.wake();
      await new Promise(resolve => setImmediate(resolve));
    }
    this.#monotonicMs = endMs;
  }
}
