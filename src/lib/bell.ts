// Wakes whoever waits for something to have happened. A ring between looking and waiting is not lost: the
// waiter says which ring it has seen last.

export class Bell {
  #rings = 0;
  #waiters: (() => void)[] = [];

  /** How often it has rung: what `wait` wants to know. */
  get rings(): number {
    return this.#rings;
  }

  ring(): void {
    this.#rings++;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** Resolves at the first ring after `seen`, at once when that has been already. */
  wait(seen: number): Promise<void> {
    if (this.#rings !== seen) return Promise.resolve();
    return new Promise(resolve => this.#waiters.push(resolve));
  }
}
