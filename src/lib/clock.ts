// The only source of time in the program, so that a test can replace it.

export interface Clock {
  /** Wall clock: milliseconds since the Unix epoch; jumps when the machine's clock is set. */
  nowMs(): number;
  /** Milliseconds since an arbitrary origin; never jumps: for durations and deadlines. */
  monotonicMs(): number;
  /** Resolves after `ms`, or when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `run` after `ms`. Returns a function that cancels it. Cheaper than `sleep` with a signal, because an abort costs
   * an event and an exception with a stack.
   */
  after(ms: number, run: () => void): () => void;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS: number = 60 * MINUTE_MS;
export const DAY_MS: number = 24 * HOUR_MS;

const TIMER_MS_MAX = 0x7fffffff;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted === true) return resolve();
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const timer = startTimer(ms, finish);
      signal?.addEventListener('abort', finish, { once: true });
    }),
  after: (ms, run) => {
    const timer = startTimer(ms, run);
    return () => clearTimeout(timer);
  },
};

function startTimer(ms: number, run: () => void): NodeJS.Timeout {
  return setTimeout(run, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
}
