// How tasks wait for an event. A ring between a check and the wait is not lost: the waiter passes the number of rings that
// it has seen.

import type { Clock } from './clock.ts';

export class Bell {
  #rings = 0;
  #waiters = new Set<() => void>();

  /** How often it has rung: the argument of `wait`. */
  get rings(): number {
    return this.#rings;
  }

  ring(): void {
    this.#rings++;
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const wake of waiters) wake();
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Resolves at the first ring after `seen`, at once if it has rung since; or when `stop` is aborted, or the time is over.
   * A caller that stops waiting must abort, or the waiters pile up. Creates no AbortController: aborting one costs more
   * than the rest of a short wait.
   */
  wait(
    seen: number,
    stop?: AbortSignal,
    time?: { readonly clock: Clock; readonly ms: number },
  ): Promise<void> {
    if (this.#rings !== seen || stop?.aborted === true) return Promise.resolve();
    return new Promise(resolve => {
      const end = (): void => {
        cancelTimer?.();
        this.#waiters.delete(end);
        stop?.removeEventListener('abort', end);
        resolve();
      };
      const cancelTimer = time?.clock.after(time.ms, end);
      this.#waiters.add(end);
      stop?.addEventListener('abort', end, { once: true });
    });
  }
}

/** Resolves when the signal is aborted, at once if it already is. Does not keep the process alive. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
