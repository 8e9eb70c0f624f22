import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { followProcess, PROCESS_COUNTERS } from '../../src/daemon/process-counters.ts';
import { Counters, type CountersOf, renderCounters } from '../../src/lib/counters.ts';
import { programVersion } from '../../src/lib/version.ts';
import { FakeClock } from '../support/fake-clock.ts';

const STARTED_MS = Date.UTC(2026, 2, 4, 9);

interface Setup {
  readonly clock: FakeClock;
  readonly text: () => string;
  readonly process: CountersOf<typeof PROCESS_COUNTERS>;
}

function start(): Setup {
  const clock = new FakeClock(STARTED_MS);
  const counters = new Counters();
  onTestFinished(followProcess(counters, clock, STARTED_MS));
  const text = (): string => renderCounters(counters);
  return { clock, text, process: counters.of(PROCESS_COUNTERS) };
}

test('the process shows its version, start, memory and processor time', () => {
  const { text, process } = start();
  expect(text()).toContain(`prom2otlp_build_info{version="${programVersion()}"} 1\n`);
  expect(text()).toContain(`prom2otlp_process_start_time_seconds ${STARTED_MS / 1000}\n`);
  expect(process.memory.get()).toBeGreaterThan(1e6);
  const before = process.processorTime.get();
  block(20);
  expect(process.processorTime.get()).toBeGreaterThan(before);
});

test('a busy event loop shows for one to two minutes', async () => {
  const { clock, process } = start();
  const { loopDelay: delay, loopTime: active } = process;
  const activeBefore = active.get();
  // The delay is measured now and then: the first block may be over before the first measurement.
  const blocked = (): number => {
    block(500);
    return delay.get();
  };
  // An idle event loop has no delay.
  await sleep(300);
  expect(delay.get()).toBeLessThan(0.25);
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
