import { describe, expect, test } from 'vitest';
import { Counters, renderCounters } from '../../src/lib/counters.ts';
import { PullSchedule } from '../../src/lib/pull-schedule.ts';
import { KeyHold } from '../../src/service/key-hold.ts';
import { followPulls } from '../../src/service/pull-report.ts';
import { requestError } from '../../src/service/service-error.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { testReport } from '../support/pull-report.ts';

const REQUEST = { method: 'GET', address: 'https://api.example.com/x' };
const refusal = requestError({ reason: 'auth' }, REQUEST, { status: 401 });
const failure = requestError({ reason: 'server_error' }, REQUEST, { status: 500 });

describe('the state of a part', () => {
  test('has times from the first failure on', async () => {
    const clock = new FakeClock();
    const report = testReport(clock);
    expect(report.status).toMatchObject({ state: 'waiting', lastAttemptAtMs: null, reason: '' });
    report.failed(failure);
    const startMs = clock.nowMs();
    await clock.advance(10_000);
    report.failed(failure);
    expect(report.status).toMatchObject({
      state: 'failed',
      reason: 'server_error',
      lastAttemptAtMs: startMs + 10_000,
      lastSuccessAtMs: null,
      failingSinceAtMs: startMs,
    });
    report.failed(refusal);
    expect(report.status.failingSinceAtMs).toBe(startMs + 10_000);
    report.succeeded();
    expect(report.status).toMatchObject({ state: 'ok', reason: '', failingSinceAtMs: null });
    expect(report.status.lastSuccessAtMs).toBe(startMs + 10_000);
  });

  test('keeps the time of the first failure if later attempts fail after a success in part', async () => {
    const clock = new FakeClock();
    const report = testReport(clock);
    const stop = new AbortController();
    const startMs = clock.nowMs();
    const attempt = (): Promise<void> => {
      report.succeeded();
      report.failed(failure, { isRefused: false, startedMs: clock.monotonicMs() });
      return Promise.resolve();
    };
    const schedule = new PullSchedule({ intervalMs: 60_000 }, 'id');
    const running = report.run(schedule, attempt, stop.signal);
    await clock.advance(600_000);
    const sinceMs = report.status.failingSinceAtMs ?? 0;
    expect(sinceMs - startMs).toBeLessThan(120_000);
    expect((report.status.lastAttemptAtMs ?? 0) - startMs).toBeGreaterThan(400_000);
    stop.abort();
    await running;
  });

  test('does not change when this program gives a request up', () => {
    const report = testReport(new FakeClock());
    report.failed(requestError({ reason: 'aborted' }, REQUEST, {}));
    expect(report.status.state).toBe('waiting');
  });

  test('holds requests off after refusals, until the service answers', async () => {
    const clock = new FakeClock();
    const report = testReport(clock);
    const attempt = { isRefused: true, startedMs: clock.monotonicMs() };
    report.failed(failure, attempt);
    expect([report.held(), report.heldMs()]).toEqual([failure, 30_000]);
    await clock.advance(30_000);
    expect([report.held(), report.heldMs()]).toEqual([null, 0]);
    report.failed(failure, { isRefused: true, startedMs: clock.monotonicMs() });
    expect(report.heldMs()).toBe(60_000);
    report.failed({ reason: 'empty', message: 'the answer is empty', hint: '' });
    expect([report.held(), report.heldMs()]).toEqual([null, 0]);
  });

  test('goes on over a reload', () => {
    const clock = new FakeClock();
    const former = testReport(clock);
    former.failed(failure);
    const report = testReport(clock, {}, new KeyHold(clock));
    report.continue(former);
    expect(report.status).toEqual(former.status);
  });

  test('is a gauge from the first attempt on, one for each name', () => {
    const clock = new FakeClock();
    const counters = new Counters();
    const reports = [testReport(clock), testReport(clock), testReport(clock, { kind: 'logs' })];
    followPulls(counters, reports);
    expect(renderCounters(counters)).not.toContain('prom2otlp_pull_up{');
    reports[0]?.failed(refusal);
    reports[1]?.succeeded();
    const lines = renderCounters(counters).split('\n');
    const target = 'target="api.example.com (orders)"';
    expect(lines.filter(line => line.startsWith('prom2otlp_pull_'))).toEqual([
      `prom2otlp_pull_up{pull="metrics",${target},reason="auth"} 0`,
      `prom2otlp_pull_last_success_timestamp_seconds{pull="metrics",${target}} 0`,
    ]);
  });
});
