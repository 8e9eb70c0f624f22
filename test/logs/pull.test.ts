// How a pull retries its requests.

import { expect, test, vi } from 'vitest';
import type { LogsApi } from '../../src/service/logs-api.ts';
import { requestError, type RequestReason, type Result } from '../../src/service/service-error.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { testPulledApi } from '../support/log-api.ts';

const GOOD: Result<object> = { ok: true };

function bad(reason: RequestReason, more: object = {}): Result<object> {
  return { ok: false, error: requestError({ reason }, { method: 'GET', address: '' }, more) };
}

/** The times (monotonic) of the requests, the result, and the number of reported failures. */
async function askFor(
  results: readonly Result<object>[],
  { giveUpAtMs = Infinity, forMs = 10_000_000, abortAtMs = Infinity } = {},
): Promise<{ askedMs: number[]; result: string; failures: number }> {
  const clock = new FakeClock();
  const stop = new AbortController();
  const askedMs: number[] = [];
  const api = Object.assign(testPulledApi({} as LogsApi, clock), { giveUpAtMs });
  api.signal = stop.signal;
  const reported = vi.spyOn(api.report, 'failed');
  const asking = api.ask(() => {
    askedMs.push(clock.monotonicMs());
    return Promise.resolve(results[Math.min(askedMs.length, results.length) - 1] ?? GOOD);
  });
  await clock.advance(0);
  await new Promise(resolve => setImmediate(resolve));
  if (abortAtMs < Infinity) {
    await clock.advance(abortAtMs);
    stop.abort();
  }
  await clock.advance(forMs);
  const result = await asking;
  const failures = reported.mock.calls.length;
  return { askedMs, result: result.ok ? 'ok' : result.error.reason, failures };
}

test('a good answer needs one request', async () => {
  expect(await askFor([GOOD])).toEqual({ askedMs: [0], result: 'ok', failures: 0 });
});

test.each([
  bad('refused'),
  bad('timeout'),
  bad('cut'),
  bad('server_error', { status: 408 }),
  bad('rate_limited', { status: 429 }),
  bad('server_error', { status: 503 }),
])('no answer, 408, 429 and 5xx are retried, at growing intervals (%#)', async failed => {
  expect((await askFor([failed, failed, failed, GOOD])).askedMs).toEqual([0, 500, 1500, 3500]);
});

test.each([
  [7000, 7000],
  [100, 500],
  [900_000, 900_000],
])('a Retry-After of %d ms is honoured', async (retryAfterMs, wantMs) => {
  const failed = bad('rate_limited', { retryAfterMs });
  expect((await askFor([failed, GOOD])).askedMs).toEqual([0, wantMs]);
});

test('a request that was not sent because the service asked for a pause waits, also after the time to give up', async () => {
  const held = bad('rate_limited', { retryAfterMs: 30_000 });
  const given = await askFor([held, GOOD], { giveUpAtMs: 0 });
  expect(given).toMatchObject({ askedMs: [0, 30_000], result: 'ok' });
  const refused = bad('rate_limited', { retryAfterMs: 30_000, status: 429 });
  expect((await askFor([refused, GOOD], { giveUpAtMs: 0 })).askedMs).toEqual([0]);
});

test.each(['auth', 'bad_request', 'not_found', 'redirect', 'too_large', 'not_json'] as const)(
  'a wrong request or key is not retried: %s',
  async reason =>
    expect(await askFor([bad(reason), GOOD])).toMatchObject({ askedMs: [0], result: reason }),
);

test('it gives up if the next attempt would begin too late', async () => {
  const given = await askFor([bad('server_error')], { giveUpAtMs: 4000 });
  expect(given).toEqual({ askedMs: [0, 500, 1500, 3500], result: 'server_error', failures: 4 });
});

test('it ends at once on a stop', async () => {
  const given = await askFor([bad('server_error')], { abortAtMs: 700, forMs: 0 });
  expect(given).toMatchObject({ askedMs: [0, 500], result: 'server_error' });
});
