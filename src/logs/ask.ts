// Asks the service until it answers: again after no answer, 408, 429 and 5xx, with exponential waits and full
// jitter, or as long as Retry-After says, within the time that the caller has. Every call is a GET that changes
// nothing. What is wrong with the request or the key is not asked again.

import { backoffMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import type { FailureReason, ServiceFailure } from '../service/failure.ts';
import type { ServiceResult } from '../service/http.ts';

export interface AskOptions {
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Monotonic: no try begins later. */
  readonly giveUpAtMs: number;
  /** Told of each failure, also of those that were followed by another try. */
  readonly onFailure: (failure: ServiceFailure) => void;
}

const ASK_BACKOFF = { firstMs: 1000, maxMs: 60_000 } as const;
/** A longer Retry-After is not waited for. */
const RETRY_AFTER_MS_MAX = 900_000;
const STATUS_REQUEST_TIMEOUT = 408;

const RETRIED: ReadonlySet<FailureReason> = new Set([
  'dns',
  'refused',
  'connect_timeout',
  'network',
  'proxy',
  'timeout',
  'reset',
  'cut',
  'rate_limited',
  'server_error',
]);

/** The first good answer, or the last failure. `send` is called once per try. */
export async function ask<Answer>(
  send: () => Promise<ServiceResult<Answer>>,
  options: AskOptions,
): Promise<ServiceResult<Answer>> {
  const { clock, random, signal, giveUpAtMs, onFailure } = options;
  for (let failureCount = 1; ; failureCount++) {
    const result = await send();
    if (result.ok) return result;
    const { failure } = result;
    if (failure.reason !== 'aborted') onFailure(failure);
    if (!isRetried(failure) || signal.aborted) return result;
    const askedMs = Math.min(failure.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
    const waitMs = Math.max(backoffMs(ASK_BACKOFF, failureCount, random), askedMs);
    if (clock.monotonicMs() + waitMs > giveUpAtMs) return result;
    await clock.sleep(waitMs, signal);
    if (signal.aborted) return result;
  }
}

function isRetried({ reason, status }: ServiceFailure): boolean {
  return RETRIED.has(reason) || status === STATUS_REQUEST_TIMEOUT;
}
