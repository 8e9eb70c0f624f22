// Limits how many asynchronous jobs run at once: Permits to a number, Serial to one after the other.

/** Runs a bounded number of jobs at once; the others wait in order. */
export class Permits {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs the job when a permit is free. */
  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>(resolve => this.#waiting.push(resolve));
    try {
      return await job();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

/** Runs jobs one after the other, in order. */
export class Serial {
  #tail: Promise<unknown> = Promise.resolve();

  /** Starts the job when all earlier ones have ended, even by failing. */
  run<T>(job: () => T | Promise<T>): Promise<T> {
    const result = this.#tail.then(job);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
