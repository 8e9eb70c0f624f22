// The counters, gauges and log lines of the queue.

import type { Clock } from '../../lib/clock.ts';
import type { CounterSeries, CountersOf } from '../../lib/counters.ts';
import { ThrottledLog } from '../../lib/throttled-log.ts';
import { SIGNALS } from '../../model/batch.ts';
import type { Eviction, EvictionReason } from './account.ts';
import type { Commit, CommitOutcome, Queue, QueueOptions, QueueStats, SetAside } from './queue.ts';
import type { Replacement } from './queue-directory.ts';
import { rowPoints } from './rows.ts';

/** Operations that are retried after the file failed. */
export type StorageOperation = 'read' | 'store' | 'settle' | 'expire' | 'files';

const REMEDIES: Readonly<Record<EvictionReason, string>> = {
  size: 'raise queue.metrics.max_bytes, or see why the back end does not accept',
  age: 'raise queue.metrics.max_age, or see why the back end does not accept',
  disk: 'free space on the disk of queue.directory',
  damaged: 'check the disk of queue.directory',
};

export const QUEUE_COUNTERS = {
  rows: {
    name: 'prom2otlp_queue_rows',
    help: 'Queued requests.',
    labels: ['signal'],
  },
  bytes: {
    name: 'prom2otlp_queue_bytes',
    help: 'Queued bytes, compressed.',
    labels: ['signal'],
  },
  points: {
    name: 'prom2otlp_queue_points',
    help: 'Queued points or log records.',
    labels: ['signal'],
  },
  maxBytes: {
    name: 'prom2otlp_queue_max_bytes',
    help: 'The limit of queue_bytes.',
    labels: ['signal'],
  },
  commits: {
    name: 'prom2otlp_queue_commits_total',
    help: 'Commits by outcome.',
    labels: ['outcome'],
  },
  refused: {
    name: 'prom2otlp_queue_refused_points_total',
    help: 'Points of commits that stored nothing.',
    labels: ['signal', 'outcome'],
  },
  evicted: {
    name: 'prom2otlp_queue_evicted_points_total',
    help: 'Points dropped before the back end accepted them.',
    labels: ['signal', 'service', 'reason'],
  },
  setAside: {
    name: 'prom2otlp_queue_set_aside_points_total',
    help: 'Points that the back end refused for good.',
    labels: ['signal', 'service'],
  },
  corruptFiles: {
    name: 'prom2otlp_queue_corrupt_files',
    help: 'Damaged files kept aside in the directory of the queue.',
  },
  writes: {
    name: 'prom2otlp_queue_writes_total',
    help: 'Transactions on the file of the queue.',
  },
  writeSeconds: {
    name: 'prom2otlp_queue_write_seconds_total',
    help: 'Time spent in transactions on the file of the queue, mostly waiting for the disk.',
  },
  storageErrors: {
    name: 'prom2otlp_queue_storage_errors_total',
    help: 'Failed operations on the files of the queue; `files`: checks that found files deleted or replaced.',
    labels: ['operation'],
  },
  oldestAge: {
    name: 'prom2otlp_queue_oldest_age_seconds',
    help: 'Age of the oldest queued request; 0 if the queue is empty.',
    labels: ['signal'],
  },
  trouble: {
    name: 'prom2otlp_queue_trouble_state',
    help: '1 while new data cannot be stored normally because the disk is full or fails; else 0.',
  },
} as const;

export class QueueMeter {
  readonly #log: ThrottledLog;
  readonly #clock: Clock;
  readonly #counters: CountersOf<typeof QUEUE_COUNTERS>;

  constructor({ counters, logger, clock }: Pick<QueueOptions, 'counters' | 'logger' | 'clock'>) {
    this.#log = new ThrottledLog(logger, clock);
    this.#clock = clock;
    this.#counters = counters.of(QUEUE_COUNTERS);
  }

  /** Makes the gauges show this queue. */
  follow(queue: Pick<Queue, 'stats' | 'trouble'>): void {
    const { rows, bytes, points, maxBytes, oldestAge, trouble } = this.#counters;
    const bySignal = (of: (stats: QueueStats) => number) => (): readonly CounterSeries[] =>
      SIGNALS.map(signal => ({ labelValues: [signal], value: of(queue.stats(signal)) }));
    rows.follow(bySignal(stats => stats.rows));
    bytes.follow(bySignal(stats => stats.bytes));
    points.follow(bySignal(stats => stats.points));
    maxBytes.follow(bySignal(stats => stats.maxBytes));
    oldestAge.follow(
      bySignal(({ oldestAtMs }) =>
        oldestAtMs === null ? 0 : (this.#clock.nowMs() - oldestAtMs) / 1000,
      ),
    );
    trouble.follow(() => (queue.trouble() === null ? 0 : 1));
  }

  commit(outcome: CommitOutcome, { batches }: Pick<Commit, 'batches'>): void {
    this.#counters.commits.add(1, outcome.kind);
    if (outcome.kind === 'full' || outcome.kind === 'failed')
      for (const batch of batches)
        this.#counters.refused.add(rowPoints(batch), batch.signal, outcome.kind);
    if (outcome.kind === 'full')
      this.#log.warn(
        'full',
        {},
        'cannot store logs: their share of the queue is full; pulling waits until the back end accepts',
      );
    if (outcome.kind === 'held')
      this.#log.error(
        'held',
        { cause: outcome.message },
        'cannot write the file of the queue; metrics are kept in memory and sent from there',
      );
    if (outcome.kind === 'failed')
      this.#log.error('failed', { cause: outcome.message }, 'cannot store a batch');
  }

  evicted({ signal, reason, parts }: Eviction): void {
    for (const { service, points } of parts)
      this.#counters.evicted.add(points, signal, service, reason);
    const services = [...new Set(parts.map(part => part.service))];
    const points = parts.reduce((sum, part) => sum + part.points, 0);
    this.#log.warn(
      `evicted ${signal} ${reason}`,
      {
        signal,
        reason,
        points,
        services: services.slice(0, 10),
        serviceCount: services.length,
        remedy: REMEDIES[reason],
      },
      'points were dropped from the queue',
    );
  }

  /** The process ends with these points only in memory. */
  lost(points: number): void {
    if (points === 0) return;
    this.#log.plain.error(
      { points },
      'points that were kept in memory are lost: the file of the queue could not be written to the end',
    );
  }

  /** One transaction on the file. */
  written(durationMs: number): void {
    this.#counters.writes.add(1);
    this.#counters.writeSeconds.add(durationMs / 1000);
  }

  /** Reading or writing failed; the operation is retried later. */
  storageError(operation: StorageOperation, cause: string): void {
    this.#counters.storageErrors.add(1, operation);
    this.#log.error(
      `storage ${operation}`,
      { operation, cause },
      'the file of the queue does not work',
    );
  }

  /** A note about the directory for the operator. */
  noted(note: string): void {
    this.#log.plain.warn({ key: 'queue.directory' }, note);
  }

  /** The queue was opened on a full disk. */
  diskFull(): void {
    this.#log.plain.warn(
      { remedy: REMEDIES.disk },
      'the disk of the queue is full: until there is space, new metrics replace the oldest or wait in memory',
    );
  }

  filesRenewed(names: string): void {
    this.#counters.storageErrors.add(1, 'files');
    this.#log.plain.error(
      { names },
      'files of the queue were deleted or replaced while in use: all queued data was written again; find out who did that',
    );
  }

  /** Deleted or replaced files cannot be written again yet; the queue retries. */
  filesGone(names: string, cause: string): void {
    this.#counters.storageErrors.add(1, 'files');
    this.#log.error(
      'files gone',
      { names, cause },
      'files of the queue were deleted or replaced, and cannot be written again: queued data is lost when this process ends',
    );
  }

  replaced({ corruptFile, damage, report }: Replacement): void {
    this.#log.plain.error(
      { corruptFile, damage, ...report },
      'the file of the queue was damaged: the readable rows were recovered, the damaged file is kept next to it',
    );
  }

  corruptFiles(count: number): void {
    this.#counters.corruptFiles.set(count);
  }

  setAside(asides: readonly SetAside[]): void {
    for (const { signal, service, points } of asides)
      this.#counters.setAside.add(points, signal, service);
  }
}
