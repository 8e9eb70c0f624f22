// Who may run: at most so many jobs at once, or one after the other.

/** Lets a bounded number of jobs run at once; the others wait in the order they came. */
export class Permits {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs the job once it is its turn. */
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

/** Runs asynchronous jobs one after the other in the order they were given. */
export class Serial {
  #tail: Promise<unknown> = Promise.resolve();

  /** Starts the job when all before it have ended, however they ended. */
  run<T>(job: () => T | Promise<T>): Promise<T> {
    const result = this.#tail.then(job);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
