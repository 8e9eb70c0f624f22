// The metrics of the process itself: version, start, memory, processor time, event loop. Most are
// looked up when they are read; only the longest turn of the event loop is measured all the time.

import { performance } from 'node:perf_hooks';
import { cpuUsage, memoryUsage } from 'node:process';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { programVersion } from '../lib/version.ts';

export const PROCESS_COUNTERS = {
  build: {
    name: 'prom2otlp_build_info',
    help: 'Always 1; the label has the version.',
    labels: ['version'],
  },
  startTime: {
    name: 'prom2otlp_process_start_time_seconds',
    help: 'Start time of prom2otlp, in seconds since the epoch.',
  },
  memory: {
    name: 'prom2otlp_process_resident_memory_bytes',
    help: 'Resident memory of the process.',
  },
  processorTime: {
    name: 'prom2otlp_process_cpu_seconds_total',
    help: 'Processor time of the process, in user and system mode.',
  },
  loopDelay: {
    name: 'prom2otlp_process_event_loop_delay_max_seconds',
    help: 'Longest time that the event loop was blocked within the last one to two minutes.',
  },
  loopTime: {
    name: 'prom2otlp_process_event_loop_active_seconds_total',
    help: 'Time in which the event loop was busy.',
  },
} as const;

/** Returns a function that stops the measurement of the event loop. */
export function followProcess(counters: Counters, clock: Clock, startedAtMs: number): () => void {
  const process = counters.of(PROCESS_COUNTERS);
  process.build.set(1, programVersion());
  process.startTime.set(startedAtMs / 1000);
  process.memory.follow(() => memoryUsage.rss());
  process.processorTime.follow(() => {
    const { user, system } = cpuUsage();
    return (user + system) / 1e6;
  });
  process.loopTime.follow(() => performance.eventLoopUtilization().active / 1000);
  const watch = new LoopWatch(clock);
  process.loopDelay.follow(() => watch.longestMs() / 1000);
  return () => watch.close();
}

/** A maximum stays visible for one to two windows, so that readers once a minute see it. */
const WINDOW_MS = 60_000;

const { nodeTiming } = performance;

/**
 * Measures the longest turn of the event loop: the time from one turn to the next, without the time in which the loop
 * waited for events. It measures at the end of each turn, in an immediate that does not keep the loop alive.
 */
class LoopWatch {
  readonly #clock: Clock;
  #windowMs: number;
  /** The longest turn of this window, and of the one before. */
  #current = 0;
  #former = 0;
  #lastMs = performance.now();
  /** The time that the loop has waited for events since its start. */
  #lastIdleMs = nodeTiming.idleTime;
  #next: NodeJS.Immediate;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#windowMs = clock.monotonicMs();
    this.#next = setImmediate(this.#look).unref();
  }

  /** The longest turn of the last one to two windows. */
  longestMs(): number {
    const nowMs = this.#clock.monotonicMs();
    const longestMs = Math.max(this.#current, this.#former);
    if (nowMs - this.#windowMs >= WINDOW_MS) {
      [this.#former, this.#current] = [this.#current, 0];
      this.#windowMs = nowMs;
    }
    return longestMs;
  }

  close(): void {
    clearImmediate(this.#next);
  }

  readonly #look = (): void => {
    const nowMs = performance.now();
    const idleMs = nodeTiming.idleTime;
    const turnMs = nowMs - this.#lastMs - (idleMs - this.#lastIdleMs);
    this.#current = Math.max(this.#current, turnMs);
    this.#lastMs = nowMs;
    this.#lastIdleMs = idleMs;
    this.#next = setImmediate(this.#look).unref();
  };
}
