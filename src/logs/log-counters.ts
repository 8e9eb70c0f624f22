// The puller's counters, by name. log-meter.ts bumps them.

import type { Counter, Counters } from '../lib/counters.ts';

export interface LogCounters {
  readonly lag: Counter;
  readonly window: Counter;
  readonly records: Counter;
  readonly marked: Counter;
  readonly archives: Counter;
  readonly setAside: Counter;
  readonly gaps: Counter;
  readonly errors: Counter;
  readonly refused: Counter;
  readonly bytes: Counter;
  readonly again: Counter;
  readonly pulls: Counter;
  readonly pullSeconds: Counter;
  readonly waiting: Counter;
}

/** Registers them; twice gives the first. */
export function createLogCounters(counters: Counters): LogCounters {
  return {
    lag: counters.gauge(
      'prom2otlp_logs_lag_seconds',
      'Time by which the logs are behind the service.',
      ['service', 'type'],
    ),
    window: counters.gauge('prom2otlp_logs_window_seconds', 'Length of the requested window.', [
      'type',
    ]),
    records: counters.counter('prom2otlp_logs_records_total', 'Log records by outcome.', [
      'service',
      'type',
      'outcome',
    ]),
    marked: counters.counter(
      'prom2otlp_logs_marked_records_total',
      'Log records that carry a mark, by mark.',
      ['service', 'type', 'mark'],
    ),
    archives: counters.counter('prom2otlp_logs_archives_total', 'Listed archives by outcome.', [
      'outcome',
    ]),
    setAside: counters.counter(
      'prom2otlp_logs_set_aside_archives_total',
      'Archives that were given up.',
      ['service', 'type', 'reason'],
    ),
    gaps: counters.counter(
      'prom2otlp_logs_gaps_total',
      'Gaps in the logs: time ranges that were skipped.',
      ['service', 'type', 'reason'],
    ),
    errors: counters.counter('prom2otlp_logs_errors_total', 'Failures while pulling, by reason.', [
      'reason',
    ]),
    refused: counters.counter(
      'prom2otlp_logs_refused_items_total',
      'Listed items that were ignored, by reason.',
      ['reason'],
    ),
    bytes: counters.counter(
      'prom2otlp_logs_bytes_total',
      'Bytes downloaded, unpacked, and cut from long lines.',
      ['kind'],
    ),
    again: counters.counter(
      'prom2otlp_logs_rewritten_entries_total',
      'Files read again because their content had changed.',
      [],
    ),
    pulls: counters.counter('prom2otlp_logs_pulls_total', 'Pulls by outcome.', ['outcome']),
    pullSeconds: counters.gauge(
      'prom2otlp_logs_pull_duration_seconds',
      'Duration of the last pull.',
      [],
    ),
    waiting: counters.gauge(
      'prom2otlp_logs_queue_full_state',
      '1 while pulling waits for room in the queue.',
      [],
    ),
  };
}
