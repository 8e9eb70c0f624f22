import { expect, test } from 'vitest';
import { HoldOff } from '../../../src/pipeline/collect/hold-off.ts';
import type { FailureReason, ServiceError } from '../../../src/service/service-error.ts';

function failure(reason: FailureReason, retryAfterMs?: number): ServiceError {
  const asked = retryAfterMs === undefined ? {} : { retryAfterMs };
  const facts = { reason, message: reason, hint: '', isOutcomeUnknown: false, ...asked };
  return { kind: reason === 'auth' ? 'key' : 'network', ...facts };
}

/** Due every interval; which of the first rounds ask the service, when each attempt fails like this. */
function attempts(intervalMs: number, rounds: number, fail: ServiceError): number[] {
  const holdOff = new HoldOff(intervalMs);
  const asked: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const nowMs = round * intervalMs + (round % 3);
    if (holdOff.heldFor(nowMs) !== null) continue;
    asked.push(round);
    holdOff.note(fail, nowMs, nowMs + 20);
  }
  return asked;
}

test('a refused key is tried less and less often, down to every five minutes', () => {
  expect(attempts(60_000, 24, failure('auth'))).toEqual([0, 1, 3, 7, 12, 17, 22]);
  expect(attempts(100_000, 12, failure('auth'))).toEqual([0, 1, 3, 6, 9]);
});

test('an interval longer than five minutes is not extended', () => {
  expect(attempts(600_000, 5, failure('auth'))).toEqual([0, 1, 2, 3, 4]);
});

test('other failures are retried at each due time', () => {
  for (const reason of ['timeout', 'dns', 'server_error', 'not_found'] as const)
    expect(attempts(60_000, 4, failure(reason))).toEqual([0, 1, 2, 3]);
});

test('Retry-After is honoured for any reason', () => {
  expect(attempts(60_000, 8, failure('rate_limited', 150_000))).toEqual([0, 3, 6]);
  expect(attempts(60_000, 8, failure('server_error', 150_000))).toEqual([0, 3, 6]);
  expect(attempts(60_000, 8, failure('auth', 400_000))).toEqual([0, 7]);
});

test('a success ends it', () => {
  const holdOff = new HoldOff(60_000);
  for (let attempt = 0; attempt < 4; attempt++) holdOff.note(failure('auth'), 0, 0);
  expect(holdOff.heldFor(1)?.reason).toBe('auth');
  expect(holdOff.remainingMs(0)).toBe(270_000);
  holdOff.clear();
  expect(holdOff.heldFor(1)).toBe(null);
  expect(holdOff.remainingMs(0)).toBe(0);
  holdOff.note(failure('auth'), 0, 0);
  expect(holdOff.heldFor(1)).toBe(null);
});

test('another failure in between resets the count', () => {
  const holdOff = new HoldOff(60_000);
  for (let attempt = 0; attempt < 4; attempt++) holdOff.note(failure('auth'), 0, 0);
  holdOff.note(failure('timeout'), 0, 0);
  expect(holdOff.heldFor(1)).toBe(null);
});
