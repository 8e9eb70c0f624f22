import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Counters, renderCounters } from '../../src/lib/counters.ts';
import { PullSchedule } from '../../src/lib/pull-schedule.ts';
import {
  followPulls,
  KeyWatch,
  type PullReport,
  type PullReportOptions,
} from '../../src/service/pull-report.ts';
import { requestError, type ServiceError } from '../../src/service/service-error.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { testReport } from '../support/pull-report.ts';

const REQUEST = { method: 'GET', address: 'https://api.example.com/x' };
const refusal = requestError({ reason: 'auth' }, REQUEST, { status: 401 });
const doubtful = requestError({ reason: 'bad_request' }, REQUEST, { status: 400 });
const failure = requestError({ reason: 'server_error' }, REQUEST, { status: 500 });

/** Three parts that share a key. `answer` gives the service's answer to their probes. */
function shared(answer: () => ServiceError | null = () => refusal) {
  const clock = new FakeClock();
  const watch = new KeyWatch(clock);
  const asked: string[] = [];
  let isKeyNew = false;
  const part = (kind: PullReportOptions['kind']): PullReport => {
    const client = { host: 'api.example.com', isKeyNew: () => isKeyNew };
    const probe: PullReportOptions['probe'] = () => {
      asked.push(kind);
      const error = answer();
      return Promise.resolve(error === null ? { ok: true } : { ok: false, error });
    };
    return testReport(clock, { kind, client, probe }, watch);
  };
  return {
    clock,
    watch,
    asked,
    metrics: part('metrics'),
    logs: part('logs'),
    backups: part('backups'),
    replaceKey: () => (isKeyNew = true),
    /** Probes a refused key until the end of the scope. */
    running: (): AsyncDisposable => {
      const stop = new AbortController();
      const running = watch.run(stop.signal);
      const dispose = async (): Promise<void> => {
        stop.abort();
        await clock.advance(2000);
        await running;
      };
      return { [Symbol.asyncDispose]: dispose };
    },
  };
}

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
    report.succeeded(clock.monotonicMs());
    expect(report.status).toMatchObject({ state: 'ok', reason: '', failingSinceAtMs: null });
    expect(report.status.lastSuccessAtMs).toBe(startMs + 10_000);
  });

  test('keeps the time of the first failure if later attempts fail after a success in part', async () => {
    const clock = new FakeClock();
    const report = testReport(clock);
    const stop = new AbortController();
    const startMs = clock.nowMs();
    const attempt = (): Promise<void> => {
      report.succeeded(clock.monotonicMs(), false);
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
    const report = testReport(clock, {}, new KeyWatch(clock), former);
    expect(report.status).toEqual(former.status);
  });

  test('is a gauge from the first attempt on, one for each name', () => {
    const clock = new FakeClock();
    const counters = new Counters();
    const reports = [testReport(clock), testReport(clock), testReport(clock, { kind: 'logs' })];
    followPulls(counters, reports);
    expect(renderCounters(counters)).not.toContain('prom2otlp_pull_up{');
    reports[0]?.failed(refusal);
    reports[1]?.succeeded(clock.monotonicMs());
    const lines = renderCounters(counters).split('\n');
    const target = 'target="api.example.com (orders)"';
    expect(lines.filter(line => line.startsWith('prom2otlp_pull_'))).toEqual([
      `prom2otlp_pull_up{pull="metrics",${target},reason="auth"} 0`,
      `prom2otlp_pull_last_success_timestamp_seconds{pull="metrics",${target}} 0`,
    ]);
  });
});

describe('a key that is refused', () => {
  test('makes wait whoever it was refused to, and nobody else', () => {
    const { metrics, logs } = shared();
    metrics.failed(refusal);
    expect(metrics.held()).toBe(refusal);
    expect(logs.held()).toBe(null);
    logs.failed(doubtful);
    expect(logs.status.reason).toBe('auth');
    expect(logs.held()).toBe(doubtful);
  });

  test('is not refused as such after an answer to somebody else', () => {
    const { clock, watch, metrics, logs } = shared();
    logs.failed(refusal);
    expect(watch.isRefused).toBe(true);
    metrics.succeeded(clock.monotonicMs());
    expect(watch.isRefused).toBe(false);
    expect(logs.looks.rings).toBe(1);
    // The key is still refused to the logs, but only to them.
    logs.failed(refusal);
    expect([watch.isRefused, logs.held(), metrics.held()]).toEqual([false, null, null]);
    metrics.failed(refusal);
    expect([watch.isRefused, logs.held(), metrics.held()]).toEqual([true, refusal, refusal]);
  });

  test('is asked for by one for all, in turns, and all look again when it is accepted', async () => {
    let answer: ServiceError | null = refusal;
    const { clock, watch, asked, metrics, logs, backups, running } = shared(() => answer);
    await using _ = running();
    metrics.failed(refusal);
    logs.failed(refusal);
    await nextTurn();
    await clock.advance(17_000);
    expect(asked).toEqual(['metrics', 'logs', 'metrics', 'logs']);
    // A refused probe counts as an attempt.
    expect([metrics, logs].map(report => report.status.lastAttemptAtMs)).toEqual([
      clock.nowMs() - 5000,
      clock.nowMs() - 1000,
    ]);
    await clock.advance(1_200_000);
    expect(asked).toHaveLength(304);
    answer = null;
    await clock.advance(4000);
    expect([metrics, logs, backups].map(report => report.looks.rings)).toEqual([1, 1, 0]);
    expect([watch.isRefused, metrics.held(), logs.held()]).toEqual([false, null, null]);
  });

  test('is still refused when a request that began before the refusal succeeds', async () => {
    const { clock, watch, asked, metrics, logs, backups, running } = shared();
    await using _ = running();
    const startedMs = clock.monotonicMs();
    await clock.advance(1000);
    logs.failed(refusal);
    for (const report of [backups, logs]) report.succeeded(startedMs);
    metrics.answered(startedMs);
    expect([watch.isRefused, logs.held(), logs.status.state]).toEqual([true, refusal, 'failed']);
    logs.failed(refusal, { isRefused: true, startedMs });
    await nextTurn();
    await clock.advance(6000);
    expect([asked, watch.isRefused]).toEqual([['backups'], true]);
    metrics.answered(clock.monotonicMs());
    expect([watch.isRefused, logs.held(), logs.looks.rings]).toEqual([false, null, 1]);
  });

  test('is tried at once when its source has another one', async () => {
    const { clock, asked, metrics, replaceKey, running } = shared(() => null);
    await using _ = running();
    metrics.failed(refusal);
    await nextTurn();
    await clock.advance(1000);
    replaceKey();
    await clock.advance(1500);
    expect([asked, metrics.looks.rings]).toEqual([['metrics'], 1]);
  });

  test('an attempt that began before the key worked again is repeated at once', async () => {
    const { clock, metrics, logs } = shared();
    const stop = new AbortController();
    const answers: (ServiceError | null)[] = [];
    const ends: (() => void)[] = [];
    const schedule = new PullSchedule({ intervalMs: 3_600_000 }, 'id');
    const attempt = async (held: ServiceError | null): Promise<void> => {
      answers.push(held);
      await new Promise<void>(resolve => ends.push(resolve));
    };
    const running = logs.run(schedule, attempt, stop.signal);
    await clock.advance(60_000);
    metrics.failed(refusal, { isRefused: true, startedMs: clock.monotonicMs() });
    await clock.advance(1000);
    metrics.succeeded(clock.monotonicMs());
    for (const error of [refusal, doubtful]) {
      logs.failed(error, { isRefused: true, startedMs: clock.monotonicMs() });
      expect(logs.heldMs()).toBe(0);
    }
    ends[0]?.();
    await nextTurn();
    expect(answers).toEqual([null, null]);
    logs.failed(refusal, { isRefused: true, startedMs: clock.monotonicMs() });
    expect(logs.held()).toBe(refusal);
    stop.abort();
    ends[1]?.();
    await running;
  });

  test('a service that fails says nothing of the key', async () => {
    const { clock, watch, asked, metrics, running } = shared(() => failure);
    await using _ = running();
    metrics.failed(refusal);
    await nextTurn();
    await clock.advance(9000);
    expect(asked).toHaveLength(2);
    expect(watch.isRefused).toBe(true);
  });
});
