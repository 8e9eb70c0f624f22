import { afterEach, expect, test } from 'vitest';
import { Counters, renderCounters, type Counter } from '../../src/lib/counters.ts';
import type { QueueStats } from '../../src/pipeline/queue/queue.ts';
import { registerLiveCounters, type LiveCountersOptions } from '../../src/status/live-counters.ts';
import { FakeClock } from '../support/fake-clock.ts';

const STARTED_MS = Date.UTC(2026, 2, 4, 9);
const open: { close(): void }[] = [];
afterEach(() => {
  for (const live of open.splice(0)) live.close();
});

interface Setup {
  readonly clock: FakeClock;
  readonly counters: Counters;
  readonly get: (name: string) => Counter;
}

function start(options: Partial<LiveCountersOptions> = {}): Setup {
  const clock = new FakeClock(STARTED_MS);
  const counters = new Counters();
  const stats = (): QueueStats => ({
    rows: 0,
    bytes: 0,
    points: 0,
    maxBytes: 1,
    oldestAtMs: null,
    newestAtMs: null,
  });
  const queue = { stats, trouble: () => null };
  const fixed = { version: '1.2.3', startedAtMs: STARTED_MS, queue, senders: [] };
  open.push(registerLiveCounters({ counters, clock, ...fixed, ...options }));
  const get = (name: string): Counter =>
    counters.list().find(counter => counter.name === name) ?? expect.fail(name);
  return { clock, counters, get };
}

test('the process shows its version, start, memory and processor time', () => {
  const { counters, get } = start();
  const text = renderCounters(counters);
  expect(text).toContain('prom2otlp_build_info{version="1.2.3"} 1\n');
  expect(text).toContain(`prom2otlp_process_start_time_seconds ${STARTED_MS / 1000}\n`);
  expect(get('prom2otlp_process_resident_memory_bytes').get()).toBeGreaterThan(1e6);
  const cpu = get('prom2otlp_process_cpu_seconds_total');
  const before = cpu.get();
  block(20);
  expect(cpu.get()).toBeGreaterThan(before);
});

test('ages grow without events', async () => {
  const { clock, get } = start({
    queue: {
      trouble: () => 'its disk is full',
      stats: signal => ({
        rows: 1,
        bytes: 1,
        points: 1,
        maxBytes: 1,
        oldestAtMs: signal === 'metrics' ? STARTED_MS - 90_000 : null,
        newestAtMs: null,
      }),
    },
  });
  const age = get('prom2otlp_queue_oldest_age_seconds');
  expect([age.get('metrics'), age.get('logs')]).toEqual([90, 0]);
  await clock.advance(10_000);
  expect([age.get('metrics'), age.get('logs')]).toEqual([100, 0]);
  expect(get('prom2otlp_queue_trouble_state').get()).toBe(1);
});

test('a signal that was never accepted has no time', () => {
  const { counters, get } = start();
  const name = 'prom2otlp_send_last_accepted_timestamp_seconds';
  expect(get(name).series.size).toBe(0);
  expect(renderCounters(counters)).toContain(`# TYPE ${name} gauge\n# `);
});

test('a busy event loop shows for one to two minutes', async () => {
  const { clock, get } = start();
  const delay = get('prom2otlp_process_event_loop_delay_max_seconds');
  const active = get('prom2otlp_process_event_loop_active_seconds_total');
  const activeBefore = active.get();
  // It looks now and then: the first block may have been over before its first look.
  const blocked = (): number => {
    block(500);
    return delay.get();
  };
  await expect.poll(blocked, { timeout: 5000 }).toBeGreaterThan(0.25);
  expect(delay.get()).toBeLessThan(2);
  expect(active.get() - activeBefore).toBeGreaterThan(0.4);
  await clock.advance(60_000);
  expect(delay.get()).toBeGreaterThan(0.25);
  await clock.advance(59_000);
  expect(delay.get()).toBeGreaterThan(0.25);
  await clock.advance(1000);
  delay.get();
  expect(delay.get()).toBeLessThan(0.25);
});

function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}
