// The numbers that nobody counts as they happen: of the process itself, and the ages of what waits. They are looked
// up whenever /metrics or the bridge's own telemetry is made; in between, only the turns of the event loop are looked at.

import { performance } from 'node:perf_hooks';
import { cpuUsage, memoryUsage } from 'node:process';
import type { Clock } from '../lib/clock.ts';
import type { Counters, CounterSeries } from '../lib/counters.ts';
import { LoopWatch } from '../lib/loop-watch.ts';
import { type Signal, SIGNALS } from '../model/batch.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { OpenSender } from '../pipeline/send/open-senders.ts';

export interface LiveCountersOptions {
  readonly counters: Counters;
  readonly clock: Clock;
  readonly version: string;
  readonly startedAtMs: number;
  readonly queue: Pick<Queue, 'stats' | 'trouble'>;
  readonly senders: readonly OpenSender[];
}

/** Registers them. The result ends the watch over the event loop. */
export function registerLiveCounters(options: LiveCountersOptions): { close(): void } {
  const { counters, clock, version, startedAtMs } = options;
  counters
    .gauge('prom2otlp_build_info', 'Always 1; the label has the version.', ['version'])
    .set(1, version);
  counters
    .gauge(
      'prom2otlp_process_start_time_seconds',
      'Start time of prom2otlp, in seconds since the epoch.',
    )
    .set(startedAtMs / 1000);
  followProcess(counters);
  followQueue(options);
  return watchEventLoop(counters, clock);
}

function followProcess(counters: Counters): void {
  counters
    .gauge('prom2otlp_process_resident_memory_bytes', 'Resident memory of the process.')
    .follow(() => memoryUsage.rss());
  counters
    .counter(
      'prom2otlp_process_cpu_seconds_total',
      'Processor time of the process, in user and system mode.',
    )
    .follow(() => {
      const { user, system } = cpuUsage();
      return (user + system) / 1e6;
    });
}

function followQueue({ counters, clock, queue, senders }: LiveCountersOptions): void {
  counters
    .gauge(
      'prom2otlp_queue_oldest_age_seconds',
      'Age of the oldest queued request; 0 if the queue is empty.',
      ['signal'],
    )
    .follow(() => {
      const nowMs = clock.nowMs();
      return SIGNALS.map(signal => {
        const { oldestAtMs } = queue.stats(signal);
        return series(signal, oldestAtMs === null ? 0 : (nowMs - oldestAtMs) / 1000);
      });
    });
  counters
    .gauge(
      'prom2otlp_queue_trouble_state',
      '1 while new data cannot be stored normally because the disk is full or fails; else 0.',
    )
    .follow(() => (queue.trouble() === null ? 0 : 1));
  counters
    .gauge(
      'prom2otlp_send_last_accepted_timestamp_seconds',
      'Time of the last request that the back end accepted, in seconds since the epoch; absent before the first one.',
      ['signal'],
    )
    .follow(() =>
      senders.flatMap(({ signal, sender }) => {
        const { lastAcceptedAtMs } = sender.status();
        return lastAcceptedAtMs === null ? [] : [series(signal, lastAcceptedAtMs / 1000)];
      }),
    );
}

function series(signal: Signal, value: number): CounterSeries {
  return { labelValues: [signal], value };
}

/** A delay stays visible for one to two of these, so that readers once a minute see it. */
const WINDOW_MS = 60_000;

function watchEventLoop(counters: Counters, clock: Clock): { close(): void } {
  const watch = new LoopWatch();
  let startedMs = clock.monotonicMs();
  let currentMs = 0;
  let formerMs = 0;
  counters
    .gauge(
      'prom2otlp_process_event_loop_delay_max_seconds',
      'Longest time that the event loop was blocked within the last one to two minutes.',
    )
    .follow(() => {
      const nowMs = clock.monotonicMs();
      currentMs = Math.max(currentMs, watch.take());
      const longestMs = Math.max(currentMs, formerMs);
      if (nowMs - startedMs >= WINDOW_MS) {
        formerMs = currentMs;
        currentMs = 0;
        startedMs = nowMs;
      }
      return longestMs / 1000;
    });
  counters
    .counter(
      'prom2otlp_process_event_loop_active_seconds_total',
      'Time in which the event loop was busy.',
    )
    .follow(() => performance.eventLoopUtilization().active / 1000);
  return watch;
}
