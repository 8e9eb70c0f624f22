// The puller's counters and log lines, and what `once` and the status page show of it. It counts what happened and
// decides nothing.

import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { Logger } from '../lib/log.ts';
import { Throttle } from '../lib/throttle.ts';
import type { SetAsideReason } from './archive-state.ts';
import { type Gap, gapTimes } from './gap.ts';
import { type Partition, partitionKey } from './item.ts';
import type { Keeping } from './downloads.ts';
import { MARKS } from './record.ts';

/** The outcome of an archive that was listed. */
type ArchiveOutcome = 'read' | 'unchanged' | 'postponed' | 'failed' | 'broken' | 'set_aside';
type RecordOutcome = 'queued' | 'before_start' | 'known';

/** One partition as the page shows it. */
export interface PartitionStatus {
  readonly service: string;
  readonly source: string;
  readonly type: string;
  state: 'waiting' | 'pulling' | 'failed';
  /** By the service's clock; everything before is in the queue or delivered. null before the first read. */
  doneUntilMs: number | null;
  recordCount: number;
  /** Stretches that could not be had and were passed over. */
  gapCount: number;
  lastError: string | null;
}

/** An archive that was given up, as the page shows it. */
export interface GivenUpStatus {
  readonly service: string;
  readonly type: string;
  readonly archive: string;
  readonly reason: string;
  /** Where it is kept; null where it is not. */
  readonly file: string | null;
  readonly atMs: number;
}

/** How many of the archives that a pull has to read it has read. */
export interface PullProgress {
  readonly name: string;
  readonly dueCount: number;
  doneCount: number;
}

interface GivenUpArchive {
  readonly archive: string;
  readonly reason: SetAsideReason;
  readonly cause: string;
  readonly kept: Keeping | null;
}

const GIVEN_UP_SHOWN_MAX = 20;

export class LogMeter {
  readonly #logger: Logger;
  readonly #throttle: Throttle;
  readonly #partitions = new Map<string, PartitionStatus>();
  readonly #counters: ReturnType<typeof createLogCounters>;
  readonly #clock: Clock;
  readonly #progress = new Map<string, PullProgress>();
  #givenUp: readonly GivenUpStatus[] = [];

  constructor(options: {
    readonly counters: Counters;
    readonly logger: Logger;
    readonly clock: Clock;
  }) {
    const { counters, logger, clock } = options;
    this.#logger = logger;
    this.#clock = clock;
    this.#throttle = new Throttle({ clock });
    this.#counters = createLogCounters(counters);
  }

  /** All partitions that have been seen, in that order. */
  get partitions(): readonly PartitionStatus[] {
    return [...this.#partitions.values()];
  }

  /** The latest archives that were given up by this process, latest first. */
  get givenUp(): readonly GivenUpStatus[] {
    return this.#givenUp;
  }

  /** A pull of this API has `dueCount` archives to read. The caller counts the read ones in the result. */
  begin(name: string, dueCount: number): PullProgress {
    const progress = { name, dueCount, doneCount: 0 };
    this.#progress.set(name, progress);
    return progress;
  }

  /** How far the pulls are that are running. */
  get progress(): readonly PullProgress[] {
    return [...this.#progress.values()];
  }

  status(partition: Partition): PartitionStatus {
    const key = partitionKey(partition);
    const known = this.#partitions.get(key);
    if (known !== undefined) return known;
    const { service, source, type } = partition;
    const fresh: PartitionStatus = {
      service: service.id,
      source,
      type,
      state: 'waiting',
      doneUntilMs: null,
      recordCount: 0,
      gapCount: 0,
      lastError: null,
    };
    this.#partitions.set(key, fresh);
    return fresh;
  }

  /** The lag of a service and type is that of its slowest source. */
  lag(nowMs: number): void {
    const lags = new Map<string, [PartitionStatus, number]>();
    for (const status of this.#partitions.values()) {
      if (status.doneUntilMs === null) continue;
      const key = `${status.service}\u0000${status.type}`;
      const lagMs = Math.max(0, nowMs - status.doneUntilMs);
      lags.set(key, [status, Math.max(lagMs, lags.get(key)?.[1] ?? 0)]);
    }
    for (const [{ service, type }, lagMs] of lags.values())
      this.#counters.lag.set(lagMs / 1000, service, type);
  }

  window(type: string, lengthMs: number): void {
    this.#counters.window.set(lengthMs / 1000, type);
  }

  records(partition: Partition, outcome: RecordOutcome, count: number): void {
    if (count === 0) return;
    this.#counters.records.add(count, partition.service.id, partition.type, outcome);
    if (outcome === 'queued') this.status(partition).recordCount += count;
  }

  marks(partition: Partition, marks: number): void {
    for (const [mark, name] of MARKS)
      if ((marks & mark) !== 0)
        this.#counters.marked.add(1, partition.service.id, partition.type, name);
  }

  archive(outcome: ArchiveOutcome): void {
    this.#counters.archives.add(1, outcome);
  }

  bytes(kind: 'downloaded' | 'unpacked' | 'cut', count: number): void {
    this.#counters.bytes.add(count, kind);
  }

  rewritten(partition: Partition, archive: string): void {
    this.#counters.again.add(1);
    this.#logger.warn(
      { service: partition.service.id, source: partition.source, type: partition.type, archive },
      'a log archive does not begin as it did before: it is read again',
    );
  }

  broken(partition: Partition, archive: string, cause: string): void {
    this.status(partition).lastError = cause;
    this.#throttle.run(`broken ${archive}`, swallowed =>
      this.#logger.warn(
        { service: partition.service.id, type: partition.type, archive, cause, swallowed },
        'cannot read a log archive: it is retried later',
      ),
    );
  }

  setAside(partition: Partition, { archive, reason, cause, kept }: GivenUpArchive): void {
    const { service, type } = partition;
    this.#counters.setAside.add(1, service.id, type, reason);
    const file = kept !== null && 'file' in kept ? kept.file : null;
    const notKept = kept !== null && 'cause' in kept ? kept.cause : null;
    this.status(partition).lastError = `${archive} was given up: ${cause}`;
    const shown = { service: service.id, type, archive, reason, file, atMs: this.#clock.nowMs() };
    this.#givenUp = [shown, ...this.#givenUp].slice(0, GIVEN_UP_SHOWN_MAX);
    this.#logger.error(
      { service: service.id, type, archive, reason, cause, file, notKept },
      'a log archive is given up: its records may be missing',
    );
  }

  gap(gap: Gap): void {
    const { partition, reason } = gap;
    // A gap of a whole service is of no partition.
    if (partition.type !== '') this.status(partition).gapCount++;
    this.#counters.gaps.add(1, partition.service.id, partition.type, reason);
    this.#logger.warn(
      {
        service: partition.service.id,
        source: partition.source,
        type: partition.type,
        ...gapTimes(gap),
        reason,
      },
      'logs may be missing for this time',
    );
  }

  refused(reason: string): void {
    this.#counters.refused.add(1, reason);
  }

  /** A failure that is tried again. */
  failure(target: string, reason: string, cause: string): void {
    this.#counters.errors.add(1, reason);
    this.#throttle.run(`failure ${target} ${reason}`, swallowed =>
      this.#logger.warn({ target, reason, cause, swallowed }, 'cannot pull logs'),
    );
  }

  /** The pull could not reach the service: so each of its partitions has failed. */
  unreachable(
    services: readonly { readonly id: string }[],
    failure: { readonly message: string },
  ): void {
    const ids = new Set(services.map(({ id }) => id));
    for (const status of this.#partitions.values()) {
      if (!ids.has(status.service)) continue;
      status.state = 'failed';
      status.lastError = failure.message;
    }
  }

  /** A pull reached the service again: clears the errors of partitions that only had this failure. */
  reached(
    services: readonly { readonly id: string }[],
    failure: { readonly message: string },
  ): void {
    const ids = new Set(services.map(({ id }) => id));
    for (const status of this.#partitions.values()) {
      if (!ids.has(status.service) || status.lastError !== failure.message) continue;
      status.state = 'waiting';
      status.lastError = null;
    }
  }

  /** A pull of this API has ended. */
  pull(name: string, outcome: string, durationMs: number): void {
    this.#progress.delete(name);
    this.#counters.pulls.add(1, outcome);
    this.#counters.pullSeconds.set(durationMs / 1000);
  }

  queueFull(isFull: boolean): void {
    this.#counters.waiting.set(isFull ? 1 : 0);
  }
}

/** Registers the counters. */
function createLogCounters(counters: Counters) {
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
