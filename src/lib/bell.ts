// Wakes whoever waits for something to have happened. A ring between looking and waiting is not lost: the
// waiter says which ring it has seen last.

export class Bell {
  #rings = 0;
  #waiters = new Set<() => void>();

  /** How often it has rung: what `wait` wants to know. */
  get rings(): number {
    return this.#rings;
  }

  ring(): void {
    this.#rings++;
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const wake of waiters) wake();
  }

  /** How many wait now. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Resolves at the first ring after `seen`, at once when that has been already, and when the signal is aborted:
   * whoever waits for something else as well and gives up has to say so, or the waits pile up.
   */
  wait(seen: number, signal?: AbortSignal): Promise<void> {
    if (this.#rings !== seen || signal?.aborted === true) return Promise.resolve();
    return new Promise(resolve => {
      const wake = (): void => {
        this.#waiters.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiters.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }
}

/** Resolves when the signal is aborted; at once when it already is. It does not keep the process alive. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
