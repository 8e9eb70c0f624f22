// The metrics of the process itself: version, start, memory, processor time, event loop. Nobody
// counts them as they happen: they are looked up whenever somebody reads them.

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

/** Returns a function that ends the watch over the event loop. */
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
  const watch = new LoopWatch();
  const longestMs = recentMaximum(clock, () => watch.take());
  process.loopDelay.follow(() => longestMs() / 1000);
  return () => watch.close();
}

/** A maximum stays visible for one to two of these, so that readers once a minute see it. */
const WINDOW_MS = 60_000;

/** The largest value that `take` has returned in this window and the one before. */
function recentMaximum(clock: Clock, take: () => number): () => number {
  let startedMs = clock.monotonicMs();
  let current = 0;
  let former = 0;
  return () => {
    const nowMs = clock.monotonicMs();
    current = Math.max(current, take());
    const longest = Math.max(current, former);
    if (nowMs - startedMs >= WINDOW_MS) {
      former = current;
      current = 0;
      startedMs = nowMs;
    }
    return longest;
  };
}

const { nodeTiming } = performance;

/**
 * Measures the longest turn of the event loop: the time from one turn to the next, without the time in which the loop
 * waited for events. It measures at the end of each turn, in an immediate that does not keep the loop alive.
 */
class LoopWatch {
  #longestMs = 0;
  #lastMs = performance.now();
  /** The time that the loop has waited for events since its start. */
  #lastIdleMs = nodeTiming.idleTime;
  #next: NodeJS.Immediate;

  constructor() {
    this.#next = setImmediate(this.#look).unref();
  }

  /** The longest turn that ended since the last call, in milliseconds; 0 if none did. */
  take(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }

  close(): void {
    clearImmediate(this.#next);
  }

  readonly #look = (): void => {
    const nowMs = performance.now();
    const idleMs = nodeTiming.idleTime;
    const turnMs = nowMs - this.#lastMs - (idleMs - this.#lastIdleMs);
    if (turnMs > this.#longestMs) this.#longestMs = turnMs;
    this.#lastMs = nowMs;
    this.#lastIdleMs = idleMs;
    this.#next = setImmediate(this.#look).unref();
  };
}
