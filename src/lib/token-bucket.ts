// A token bucket with priority classes: class 0 is always served before class 1, and so on. Takers wait in a bounded
// queue, never longer than their limit. A class can be held for a time (Retry-After), which also holds the less important
// classes, but not the more important ones.

import type { Clock } from './clock.ts';

export interface TokenBucketOptions {
  readonly clock: Clock;
  readonly ratePerSecond: number;
  /** How many tokens accumulate while none is taken. */
  readonly burst: number;
}

/** A token, or the minimum time until the next one. */
export type Grant =
  | { readonly isGranted: true }
  | { readonly isGranted: false; readonly retryAfterMs: number };

export interface TakeOptions {
  readonly priority: number;
  /** Refused at once if the wait is known to be longer, else when this time is over. */
  readonly maxWaitMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface Waiter {
  readonly priority: number;
  readonly deadlineMs: number;
  readonly settle: (grant: Grant) => void;
}

const GRANTED: Grant = { isGranted: true };
/** The most takers that wait at once; further ones are refused. */
const WAITERS_MAX = 1024;

export class TokenBucket {
  readonly #clock: Clock;
  readonly #ratePerMs: number;
  readonly #burst: number;
  /** In order of priority, then of arrival. */
  readonly #waiters: Waiter[] = [];
  /** The end of the hold (monotonic) of each class, by priority. */
  readonly #heldUntilMs = new Map<number, number>();
  #tokens: number;
  #filledAtMs: number;
  #stopAlarm: () => void = () => undefined;

  constructor(options: TokenBucketOptions) {
    this.#clock = options.clock;
    this.#ratePerMs = options.ratePerSecond / 1000;
    this.#burst = options.burst;
    this.#tokens = options.burst;
    this.#filledAtMs = options.clock.monotonicMs();
  }

  /** Resolves with a token or a refusal. Never rejects. */
  take(options: TakeOptions): Promise<Grant> {
    const { priority, maxWaitMs, signal } = options;
    const nowMs = this.#refill();
    const waitMs = this.#waitMs(priority, nowMs);
    if (signal?.aborted === true) return Promise.resolve(refusal(waitMs));
    const isFirst = !this.#waiters.some(waiter => waiter.priority <= priority);
    if (waitMs === 0 && isFirst) {
      this.#tokens--;
      return Promise.resolve(GRANTED);
    }
    if (waitMs > maxWaitMs || this.#waiters.length >= WAITERS_MAX)
      return Promise.resolve(refusal(waitMs));
    return this.#wait(options, nowMs + maxWaitMs);
  }

  /** Holds this class and the less important ones for `ms` from now. */
  hold(priority: number, ms: number): void {
    const untilMs = this.#clock.monotonicMs() + ms;
    this.#heldUntilMs.set(priority, Math.max(untilMs, this.#heldUntilMs.get(priority) ?? 0));
  }

  #wait({ priority, signal }: TakeOptions, deadlineMs: number): Promise<Grant> {
    return new Promise(resolve => {
      const settle = (grant: Grant): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        signal?.removeEventListener('abort', leave);
        resolve(grant);
      };
      const leave = (): void => settle(refusal(0));
      const waiter: Waiter = { priority, deadlineMs, settle };
      const behind = this.#waiters.findIndex(other => other.priority > priority);
      this.#waiters.splice(behind === -1 ? this.#waiters.length : behind, 0, waiter);
      signal?.addEventListener('abort', leave, { once: true });
      this.#serve();
    });
  }

  /** Grants available tokens in order, refuses takers whose time is over, and sets the alarm for the others. */
  #serve(): void {
    const nowMs = this.#refill();
    for (const waiter of this.#waiters.slice()) {
      const waitMs = this.#waitMs(waiter.priority, nowMs);
      if (waitMs === 0) {
        this.#tokens--;
        waiter.settle(GRANTED);
      } else if (waiter.deadlineMs <= nowMs) waiter.settle(refusal(waitMs));
    }
    this.#setAlarm(nowMs);
  }

  #setAlarm(nowMs: number): void {
    this.#stopAlarm();
    const wakeMs = this.#waiters.map(({ priority, deadlineMs }) =>
      Math.min(this.#waitMs(priority, nowMs), deadlineMs - nowMs),
    );
    if (wakeMs.length === 0) return;
    // Rounded up, because a timer that fires too early would find no token and spin.
    const ms = Math.ceil(Math.min(...wakeMs));
    this.#stopAlarm = this.#clock.after(ms, () => this.#serve());
  }

  /** How long a taker of this class would wait if there were no others. */
  #waitMs(priority: number, nowMs: number): number {
    let readyMs = nowMs + (this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#ratePerMs);
    for (const [heldPriority, untilMs] of this.#heldUntilMs)
      if (heldPriority <= priority) readyMs = Math.max(readyMs, untilMs);
    return readyMs - nowMs;
  }

  #refill(): number {
    const nowMs = this.#clock.monotonicMs();
    const gained = (nowMs - this.#filledAtMs) * this.#ratePerMs;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#filledAtMs = nowMs;
    return nowMs;
  }
}

function refusal(retryAfterMs: number): Grant {
  return { isGranted: false, retryAfterMs };
}
