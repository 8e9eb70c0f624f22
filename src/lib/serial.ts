// Runs asynchronous jobs one after the other in the order they were given.

export class Serial {
  #tail: Promise<unknown> = Promise.resolve();

  /** Starts the job when all before it have ended, however they ended. */
  run<T>(job: () => T | Promise<T>): Promise<T> {
    const result = this.#tail.then(job);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
