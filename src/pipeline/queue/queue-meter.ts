// The queue's own counters and log lines. It counts what happened; it decides nothing.

import type { Counter } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import { Throttle } from '../../lib/throttle.ts';
import type { Signal } from '../../model/batch.ts';
import type { Eviction, EvictionReason } from './account.ts';
import type { Sums } from './queue-file.ts';
import type { Commit, CommitOutcome, QueueOptions, QueueStats, SetAside } from './queue.ts';
import type { Replacement } from './queue-directory.ts';
import { rowPoints } from './rows.ts';

/** Operations that are tried again when the file fails. */
export type StorageOperation = 'read' | 'store' | 'settle' | 'expire' | 'files';

const REMEDIES: Readonly<Record<EvictionReason, string>> = {
  size: 'raise queue.metrics.max_bytes, or see why the back end does not accept',
  age: 'raise queue.metrics.max_age, or see why the back end does not accept',
  disk: 'free space on the disk of queue.directory',
  damaged: 'check the disk of queue.directory',
};

export class QueueMeter {
  readonly #logger: Logger;
  readonly #throttle: Throttle;
  readonly #rows: Counter;
  readonly #bytes: Counter;
  readonly #points: Counter;
  readonly #maxBytes: Counter;
  readonly #commits: Counter;
  readonly #refused: Counter;
  readonly #evicted: Counter;
  readonly #setAside: Counter;
  readonly #corruptFiles: Counter;
  readonly #storageErrors: Counter;
  readonly #writes: Counter;
  readonly #writeSeconds: Counter;

  constructor({ counters, logger, clock }: Pick<QueueOptions, 'counters' | 'logger' | 'clock'>) {
    this.#logger = logger;
    this.#throttle = new Throttle({ clock });
    this.#rows = counters.gauge('prom2otlp_queue_rows', 'Queued requests.', ['signal']);
    this.#bytes = counters.gauge('prom2otlp_queue_bytes', 'Queued bytes, compressed.', ['signal']);
    this.#points = counters.gauge('prom2otlp_queue_points', 'Queued points or log records.', [
      'signal',
    ]);
    this.#maxBytes = counters.gauge('prom2otlp_queue_max_bytes', 'The limit of queue_bytes.', [
      'signal',
    ]);
    this.#commits = counters.counter('prom2otlp_queue_commits_total', 'Commits by outcome.', [
      'outcome',
    ]);
    this.#refused = counters.counter(
      'prom2otlp_queue_refused_points_total',
      'Points of commits that stored nothing.',
      ['signal', 'outcome'],
    );
    this.#evicted = counters.counter(
      'prom2otlp_queue_evicted_points_total',
      'Points dropped before the back end accepted them.',
      ['signal', 'service', 'reason'],
    );
    this.#setAside = counters.counter(
      'prom2otlp_queue_set_aside_points_total',
      'Points that the back end refused for good.',
      ['signal', 'service'],
    );
    this.#corruptFiles = counters.gauge(
      'prom2otlp_queue_corrupt_files',
      'Damaged files kept aside in the directory of the queue.',
    );
    this.#writes = counters.counter(
      'prom2otlp_queue_writes_total',
      'Transactions on the file of the queue.',
    );
    this.#writeSeconds = counters.counter(
      'prom2otlp_queue_write_seconds_total',
      'Time spent in transactions on the file of the queue, mostly waiting for the disk.',
    );
    this.#storageErrors = counters.counter(
      'prom2otlp_queue_storage_errors_total',
      'Failed operations on the files of the queue; `files`: checks that found files deleted or replaced.',
      ['operation'],
    );
  }

  /** What waits of a signal, and its limit. */
  space(
    signal: Signal,
    { rows, bytes, points, maxBytes }: Sums & Pick<QueueStats, 'maxBytes'>,
  ): void {
    this.#rows.set(rows, signal);
    this.#bytes.set(bytes, signal);
    this.#points.set(points, signal);
    this.#maxBytes.set(maxBytes, signal);
  }

  commit(outcome: CommitOutcome, { batches }: Pick<Commit, 'batches'>): void {
    this.#commits.add(1, outcome.kind);
    if (outcome.kind === 'full' || outcome.kind === 'failed')
      for (const batch of batches) this.#refused.add(rowPoints(batch), batch.signal, outcome.kind);
    if (outcome.kind === 'full')
      this.#throttle.run('full', swallowedCount =>
        this.#logger.warn(
          { swallowedCount },
          'cannot store logs: their share of the queue is full; pulling waits until the back end accepts',
        ),
      );
    if (outcome.kind === 'held')
      this.#throttle.run('held', swallowedCount =>
        this.#logger.error(
          { cause: outcome.message, swallowedCount },
          'cannot write the file of the queue; metrics are kept in memory and sent from there',
        ),
      );
    if (outcome.kind === 'failed')
      this.#throttle.run('failed', swallowedCount =>
        this.#logger.error({ cause: outcome.message, swallowedCount }, 'cannot store a batch'),
      );
  }

  evicted({ signal, reason, parts }: Eviction): void {
    for (const { service, points } of parts) this.#evicted.add(points, signal, service, reason);
    const services = [...new Set(parts.map(part => part.service))];
    const points = parts.reduce((sum, part) => sum + part.points, 0);
    this.#throttle.run(`evicted ${signal} ${reason}`, swallowedCount =>
      this.#logger.warn(
        {
          signal,
          reason,
          points,
          services: services.slice(0, 10),
          serviceCount: services.length,
          remedy: REMEDIES[reason],
          swallowedCount,
        },
        'points were dropped from the queue',
      ),
    );
  }

  /** Points that were only in memory at the end of the process. */
  lost(points: number): void {
    if (points === 0) return;
    this.#logger.error(
      { points },
      'points that were kept in memory are lost: the file of the queue could not be written to the end',
    );
  }

  /** One transaction on the file. */
  written(durationMs: number): void {
    this.#writes.add(1);
    this.#writeSeconds.add(durationMs / 1000);
  }

  /** Reading or writing failed; the operation is tried again later. */
  storageError(operation: StorageOperation, cause: string): void {
    this.#storageErrors.add(1, operation);
    this.#throttle.run(`storage ${operation}`, swallowedCount =>
      this.#logger.error(
        { operation, cause, swallowedCount },
        'the file of the queue does not work',
      ),
    );
  }

  /** A note about the directory for the operator. */
  noted(note: string): void {
    this.#logger.warn({ key: 'queue.directory' }, note);
  }

  /** The start found no room except the reserve for acknowledgements. */
  diskFull(): void {
    this.#logger.warn(
      { remedy: REMEDIES.disk },
      'the disk of the queue is full: new metrics take the place of the oldest, or wait in memory, until there is space',
    );
  }

  /** Files that were deleted or replaced while they were open were written anew. */
  filesRenewed(names: string): void {
    this.#storageErrors.add(1, 'files');
    this.#logger.error(
      { names },
      'files of the queue were deleted or replaced while they were in use: all that waits was written anew; see who did that',
    );
  }

  /** Such files cannot be written anew; it is tried again. */
  filesGone(names: string, cause: string): void {
    this.#storageErrors.add(1, 'files');
    this.#throttle.run('files gone', swallowedCount =>
      this.#logger.error(
        { names, cause, swallowedCount },
        'files of the queue were deleted or replaced, and cannot be written anew: what waits ends with this process',
      ),
    );
  }

  /** A damaged file was replaced by a salvaged one. */
  replaced({ corruptFile, damage, report }: Replacement): void {
    this.#logger.error(
      { corruptFile, damage, ...report },
      'the file of the queue was damaged: the readable rows were recovered, the damaged file is kept next to it',
    );
  }

  corruptFiles(count: number): void {
    this.#corruptFiles.set(count);
  }

  setAside(asides: readonly SetAside[]): void {
    for (const { signal, service, points } of asides) this.#setAside.add(points, signal, service);
  }
}
