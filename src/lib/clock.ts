// Time enters the program here and nowhere else, so that a test can hand in its own.

/** Wall clock and monotonic time, and the timers that go with them. */
export interface Clock {
  /** Milliseconds since the Unix epoch; may jump when the machine's clock is set. */
  nowMs(): number;
  /** Milliseconds of an arbitrary origin that never jump: for durations and deadlines. */
  monotonicMs(): number;
  /** Resolves after `ms`, or at once when the signal is (or gets) aborted; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

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
      const timer = setTimeout(finish, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
      signal?.addEventListener('abort', finish, { once: true });
    }),
};
