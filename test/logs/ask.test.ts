import { expect, test } from 'vitest';
import { ask } from '../../src/logs/ask.ts';
import type { FailureReason } from '../../src/service/failure.ts';
import type { ServiceResult } from '../../src/service/http.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { askOptions } from '../support/log-api.ts';

interface Answer {
  readonly value: string;
}

const TIMING = { startedAtMs: 0, durationMs: 0 };
const GOOD: ServiceResult<Answer> = { ok: true, value: 'yes', ...TIMING };

function bad(reason: FailureReason, more: object = {}): ServiceResult<Answer> {
  return { ok: false, failure: { reason, message: '', hint: '', ...more }, ...TIMING };
}

/** The moments (monotonic) at which it was asked, and what came of it. */
async function askFor(
  results: readonly ServiceResult<Answer>[],
  { giveUpAtMs = Infinity, forMs = 10_000_000, abortAtMs = Infinity } = {},
): Promise<{ askedMs: number[]; result: string; failures: number }> {
  const clock = new FakeClock();
  const stop = new AbortController();
  const askedMs: number[] = [];
  let failures = 0;
  const options = askOptions({
    clock,
    giveUpAtMs,
    signal: stop.signal,
    random: () => 0.5,
    onFailure: () => failures++,
  });
  const asking = ask(() => {
    askedMs.push(clock.monotonicMs());
    return Promise.resolve(results[Math.min(askedMs.length, results.length) - 1] ?? GOOD);
  }, options);
  await clock.advance(0);
  await new Promise(resolve => setImmediate(resolve));
  if (abortAtMs < Infinity) {
    await clock.advance(abortAtMs);
    stop.abort();
  }
  await clock.advance(forMs);
  const result = await asking;
  return { askedMs, result: result.ok ? 'ok' : result.failure.reason, failures };
}

test('a good answer is asked for once', async () => {
  expect(await askFor([GOOD])).toEqual({ askedMs: [0], result: 'ok', failures: 0 });
});

test('no answer, 408, 429 and 5xx are asked again, at growing distances', async () => {
  const check = async (failed: ServiceResult<Answer>): Promise<void> =>
    expect((await askFor([failed, failed, failed, GOOD])).askedMs).toEqual([0, 500, 1500, 3500]);
  await check(bad('refused'));
  await check(bad('timeout'));
  await check(bad('cut'));
  await check(bad('http_status', { status: 408 }));
  await check(bad('rate_limited', { status: 429 }));
  await check(bad('server_error', { status: 503 }));
});

test('Retry-After is honoured, up to a quarter of an hour', async () => {
  const check = async (retryAfterMs: number, wantMs: number): Promise<void> => {
    const failed = bad('rate_limited', { retryAfterMs });
    expect((await askFor([failed, GOOD])).askedMs).toEqual([0, wantMs]);
  };
  await check(7000, 7000);
  await check(100, 500);
  await check(3_600_000, 900_000);
});

test('what is wrong with the request or the key is not asked again', async () => {
  const check = async (reason: FailureReason): Promise<void> =>
    expect(await askFor([bad(reason), GOOD])).toMatchObject({ askedMs: [0], result: reason });
  await check('auth');
  await check('bad_request');
  await check('not_found');
  await check('redirect');
  await check('too_large');
  await check('not_json');
});

test('it gives up when the next try would begin too late', async () => {
  const failed = bad('server_error');
  const given = await askFor([failed], { giveUpAtMs: 4000 });
  expect(given).toEqual({ askedMs: [0, 500, 1500, 3500], result: 'server_error', failures: 4 });
});

test('it ends at once when it is told to stop', async () => {
  const given = await askFor([bad('server_error')], { abortAtMs: 700, forMs: 0 });
  expect(given).toMatchObject({ askedMs: [0, 500], result: 'server_error' });
});
