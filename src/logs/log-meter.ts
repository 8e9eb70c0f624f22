// The counters and log lines of pulling logs, and its state for `once` and the status page.

import type { Clock } from '../lib/clock.ts';
import type { Counters, CounterSeries, CountersOf } from '../lib/counters.ts';
import { type Logger, ThrottledLog } from '../lib/log.ts';
import type { ServiceError } from '../service/service-error.ts';
import type { ArchiveFault } from './archive.ts';
import { type Gap, gapTimes } from './gap.ts';
import { type Partition, partitionKey } from './item.ts';
import { MARKS } from './record.ts';

type RecordOutcome = 'queued' | 'before_start';

export interface PartitionStatus {
  readonly service: string;
  readonly source: string;
  readonly type: string;
  state: 'waiting' | 'pulling' | 'failed';
  /** All earlier records are queued or delivered; by the service's clock. Null before the first read. */
  doneUntilMs: number | null;
  recordCount: number;
  /** Time ranges that could not be read and were skipped. */
  gapCount: number;
  lastError: string | null;
}

export interface GivenUpStatus {
  readonly service: string;
  readonly type: string;
  readonly archive: string;
  readonly reason: string;
  readonly atMs: number;
}

export interface PullProgress {
  readonly name: string;
  readonly dueCount: number;
  doneCount: number;
}

interface GivenUpArchive {
  readonly archive: string;
  readonly reason: ArchiveFault;
  readonly cause: string;
}

type Services = readonly { readonly id: string }[];

const SHOWN_MAX = 20;

export const LOG_COUNTERS = {
  lag: {
    name: 'prom2otlp_logs_lag_seconds',
    help: 'Time by which the logs are behind the service.',
    labels: ['service', 'type'],
  },
  records: {
    name: 'prom2otlp_logs_records_total',
    help: 'Log records by outcome.',
    labels: ['service', 'type', 'outcome'],
  },
  marked: {
    name: 'prom2otlp_logs_marked_records_total',
    help: 'Log records that carry a mark, by mark.',
    labels: ['service', 'type', 'mark'],
  },
  archives: {
    name: 'prom2otlp_logs_archives_total',
    help: 'Listed archives by outcome.',
    labels: ['outcome'],
  },
  gaps: {
    name: 'prom2otlp_logs_gaps_total',
    help: 'Gaps in the logs: time ranges that were skipped.',
    labels: ['service', 'type', 'reason'],
  },
  errors: {
    name: 'prom2otlp_logs_errors_total',
    help: 'Failures while pulling, by reason.',
    labels: ['reason'],
  },
  refused: {
    name: 'prom2otlp_logs_refused_items_total',
    help: 'Listed items that were ignored, by reason.',
    labels: ['reason'],
  },
  bytes: {
    name: 'prom2otlp_logs_bytes_total',
    help: 'Bytes downloaded, unpacked, and cut from long lines.',
    labels: ['kind'],
  },
  again: {
    name: 'prom2otlp_logs_rewritten_entries_total',
    help: 'Files read again because their content had changed.',
  },
  pulls: {
    name: 'prom2otlp_logs_pulls_total',
    help: 'Pulls by outcome.',
    labels: ['outcome'],
  },
  pullSeconds: {
    name: 'prom2otlp_logs_pull_duration_seconds',
    help: 'Duration of the last pull.',
  },
  waiting: {
    name: 'prom2otlp_logs_queue_full_state',
    help: '1 while pulling waits for room in the queue.',
  },
} as const;

export class LogMeter {
  readonly #log: ThrottledLog;
  /** By service, then by key. */
  readonly #partitions = new Map<string, Map<string, PartitionStatus>>();
  /** Those that failed because a pull could not read their type. */
  readonly #unreached = new Set<PartitionStatus>();
  readonly counters: CountersOf<typeof LOG_COUNTERS>;
  readonly #clock: Clock;
  readonly #progress = new Map<string, PullProgress>();
  readonly #lags = new Map<string, CounterSeries>();
  /** The end of the last pull, by the service's clock; null before the first. */
  #pulledAtMs: number | null = null;
  /** The last archives that this process gave up, newest first. */
  givenUp: readonly GivenUpStatus[] = [];

  /** Continues the lags from before a reload, for each service and type that is still pulled (`isPulled`). */
  constructor(
    counters: Counters,
    logger: Logger,
    clock: Clock,
    isPulled: (service: string, type: string) => boolean = () => true,
  ) {
    this.#clock = clock;
    this.#log = new ThrottledLog(logger, clock);
    this.counters = counters.of(LOG_COUNTERS);
    for (const lag of this.counters.lag.series) {
      const [service = '', type = ''] = lag.labelValues;
      if (isPulled(service, type)) this.#lags.set(lagKey(service, type), lag);
    }
    this.counters.lag.follow(() => {
      if (this.#pulledAtMs !== null) this.#updateLags(this.#pulledAtMs);
      return [...this.#lags.values()];
    });
  }

  /** Clears the lags when a reload switches logs off: otherwise the counters, which live longer, would keep them. */
  close(): void {
    this.#lags.clear();
    this.#pulledAtMs = null;
  }

  /** All partitions seen so far, by service in the order of their appearance. */
  get partitions(): readonly PartitionStatus[] {
    return [...this.#partitions.values()].flatMap(own => [...own.values()]);
  }

  /** Begins a pull of this API with `dueCount` archives to read. The caller updates the result. */
  begin(name: string, dueCount: number): PullProgress {
    const progress = { name, dueCount, doneCount: 0 };
    this.#progress.set(name, progress);
    return progress;
  }

  get progress(): readonly PullProgress[] {
    return [...this.#progress.values()];
  }

  status(partition: Partition): PartitionStatus {
    const { service, source, type } = partition;
    const key = partitionKey(partition);
    const own = this.#partitions.get(service.id) ?? new Map<string, PartitionStatus>();
    const known = own.get(key);
    if (known !== undefined) return known;
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
    this.#partitions.set(service.id, own.set(key, fresh));
    return fresh;
  }

  records(partition: Partition, outcome: RecordOutcome, count: number): void {
    this.counters.records.add(count, partition.service.id, partition.type, outcome);
    if (outcome === 'queued') this.status(partition).recordCount += count;
  }

  marks(partition: Partition, marks: number): void {
    for (const [mark, name] of MARKS)
      if ((marks & mark) !== 0)
        this.counters.marked.add(1, partition.service.id, partition.type, name);
  }

  rewritten(partition: Partition, archive: string): void {
    this.counters.again.add(1);
    this.#log.plain.warn(
      { service: partition.service.id, source: partition.source, type: partition.type, archive },
      'a log archive does not begin as it did before: it is read again',
    );
  }

  broken(partition: Partition, archive: string, cause: string): void {
    this.status(partition).lastError = cause;
    this.#log.warn(
      `broken ${archive}`,
      { service: partition.service.id, type: partition.type, archive, cause },
      'cannot read a log archive: it is retried later',
    );
  }

  gaveUp(partition: Partition, { archive, reason, cause }: GivenUpArchive): void {
    const service = partition.service.id;
    const { type } = partition;
    this.counters.archives.add(1, 'given_up');
    this.status(partition).lastError = `${archive} was given up: ${cause}`;
    const shown = { service, type, archive, reason, atMs: this.#clock.nowMs() };
    this.givenUp = [shown, ...this.givenUp].slice(0, SHOWN_MAX);
    this.#log.plain.error(
      { service, type, archive, reason, cause },
      'a log archive is given up: its records may be missing',
    );
  }

  gap(gap: Gap): void {
    const { partition, reason } = gap;
    const { service, source, type } = partition;
    // The gap of a whole service belongs to no partition.
    if (type !== '') this.status(partition).gapCount++;
    this.counters.gaps.add(1, service.id, type, reason);
    this.#log.plain.warn(
      { service: service.id, source, type, ...gapTimes(gap), reason },
      'logs may be missing for this time',
    );
  }

  /** A failure after which the pull is retried. */
  failure(
    { target, origin }: { readonly target: string; readonly origin: string },
    { reason, message: cause }: ServiceError,
  ): void {
    this.counters.errors.add(1, reason);
    this.#log.warn(`failure ${origin} ${reason}`, { target, reason, cause }, 'cannot pull logs');
  }

  /** A pull could not read these types ([]: all) of these services: their partitions have failed. */
  unreachable(
    services: Services,
    { message: lastError }: ServiceError,
    types: readonly string[] = [],
  ): void {
    for (const status of this.#of(services)) {
      if (types.length > 0 && !types.includes(status.type)) continue;
      Object.assign(status, { state: 'failed', lastError });
      this.#unreached.add(status);
    }
  }

  /** A pull has listed these types of these services: partitions that had only that failure wait again. */
  reached(services: Services, isListed: (type: string) => boolean): void {
    if (this.#unreached.size === 0) return;
    for (const status of this.#of(services))
      if (isListed(status.type) && this.#unreached.delete(status))
        Object.assign(status, { state: 'waiting', lastError: null });
  }

  #of(services: Services): readonly PartitionStatus[] {
    return services.flatMap(({ id }) => [...(this.#partitions.get(id)?.values() ?? [])]);
  }

  /** Notes the end of a pull; `nowMs` is by the service's clock. */
  pull(name: string, outcome: string, durationMs: number, nowMs: number): void {
    this.#progress.delete(name);
    this.counters.pulls.add(1, outcome);
    this.counters.pullSeconds.set(durationMs / 1000);
    this.#pulledAtMs = nowMs;
  }

  /** A service and type has the lag of its slowest source. Not at each pull: there may be thousands of pullers. */
  #updateLags(nowMs: number): void {
    const lags = new Map<string, CounterSeries>();
    for (const { service, type, doneUntilMs } of this.partitions) {
      if (doneUntilMs === null) continue;
      const key = lagKey(service, type);
      const seconds = Math.max(0, nowMs - doneUntilMs) / 1000;
      const value = Math.max(seconds, lags.get(key)?.value ?? 0);
      lags.set(key, { labelValues: [service, type], value });
    }
    for (const [key, lag] of lags) this.#lags.set(key, lag);
  }
}

function lagKey(service: string, type: string): string {
  return `${service}\u0000${type}`;
}
