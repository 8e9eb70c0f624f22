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
    lag: counters.gauge('prom2otlp_logs_lag_seconds', 'How far behind the service the logs are.', [
      'service',
      'type',
    ]),
    window: counters.gauge(
      'prom2otlp_logs_window_seconds',
      'Length of the window that is asked for.',
      ['type'],
    ),
    records: counters.counter(
      'prom2otlp_logs_records_total',
      'Log records by what became of them.',
      ['service', 'type', 'outcome'],
    ),
    marked: counters.counter(
      'prom2otlp_logs_marked_records_total',
      'Log records that are unusual in some way.',
      ['service', 'type', 'mark'],
    ),
    archives: counters.counter(
      'prom2otlp_logs_archives_total',
      'Listed archives by what was done.',
      ['outcome'],
    ),
    setAside: counters.counter(
      'prom2otlp_logs_set_aside_archives_total',
      'Archives that were given up.',
      ['service', 'type', 'reason'],
    ),
    gaps: counters.counter(
      'prom2otlp_logs_gaps_total',
      'Stretches of logs that were passed over.',
      ['service', 'type', 'reason'],
    ),
    errors: counters.counter(
      'prom2otlp_logs_errors_total',
      'Failures while pulling, by their reason.',
      ['reason'],
    ),
    refused: counters.counter(
      'prom2otlp_logs_refused_items_total',
      'Listed items that are none of ours.',
      ['reason'],
    ),
    bytes: counters.counter(
      'prom2otlp_logs_bytes_total',
      'Bytes downloaded, unpacked, and cut from long lines.',
      ['kind'],
    ),
    again: counters.counter(
      'prom2otlp_logs_rewritten_entries_total',
      'Files that were read again as others.',
      [],
    ),
    pulls: counters.counter('prom2otlp_logs_pulls_total', 'Pulls by how they ended.', ['outcome']),
    pullSeconds: counters.gauge(
      'prom2otlp_logs_pull_duration_seconds',
      'How long the last pull took.',
      [],
    ),
    waiting: counters.gauge(
      'prom2otlp_logs_queue_full_state',
      '1 while pulling waits for room in the queue.',
      [],
    ),
  };
}
