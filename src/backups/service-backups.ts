// The backups of one service: what was read, which events were sent about it, and the gauges that follow. Guarantees
// that a change is reported once: the events and the memory of them are committed together.

import * as z from 'zod';
import type { ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counter, Counters } from '../lib/counters.ts';
import type { Logger } from '../lib/log.ts';
import { Throttle } from '../lib/throttle.ts';
import type { Batch } from '../model/batch.ts';
import {
  type Gauge,
  type GaugeOwner,
  type GaugePoint,
  writeGauges,
} from '../pipeline/encode/gauges.ts';
import { LogsRequest } from '../pipeline/encode/logs.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { JITLESS } from '../service/operations.ts';
import type { ServiceClient } from '../service/client.ts';
import type { ServiceError } from '../service/service-error.ts';
import { type BackupEvent, backupEvents } from './backup-events.ts';
import {
  type KnownBackups,
  nextFullRunMs,
  outlookOf,
  readBackups,
  SCHEDULE_STATES,
  type ScheduleOutlook,
  typeAmong,
} from './known-backups.ts';

interface ServiceBackupsOptions {
  readonly service: ServiceConfig;
  readonly client: ServiceClient;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly meter: BackupMeter;
  /** How often it is read. */
  readonly intervalMs: number;
  /** The service as its metrics name it, now. */
  readonly owner: () => Omit<GaugeOwner, 'scope'>;
}

const BACKUPS_SCOPE = 'prom2otlp/backups';

/** An answer that is older than so many intervals is no longer gone by. */
const KNOWN_INTERVALS = 3;

export class ServiceBackups {
  readonly service: ServiceConfig;
  readonly #options: ServiceBackupsOptions;
  readonly #series = new EndedSeries();
  readonly #writer = new WireWriter(1024);
  #known: KnownBackups | null = null;
  /** What the events so far amount to: of `known` once they are committed. */
  #told: KnownBackups | null = null;
  #isUp: boolean | null = null;
  #error: ServiceError | null = null;

  constructor(options: ServiceBackupsOptions) {
    this.service = options.service;
    this.#options = options;
  }

  /** The last answer; null where there is none that is young enough. */
  get known(): KnownBackups | null {
    const { clock, intervalMs } = this.#options;
    const oldestMs = clock.nowMs() - KNOWN_INTERVALS * intervalMs;
    return this.#known === null || this.#known.readAtMs < oldestMs ? null : this.#known;
  }

  /** Whether the schedules could be read the last time; null before the first. */
  get isUp(): boolean | null {
    return this.#isUp;
  }

  /** Why not, or why the backups could not be listed; null when all is well. */
  get error(): ServiceError | null {
    return this.#error;
  }

  /** Takes over what a former process knew. */
  async restore(): Promise<void> {
    this.#known = readKnown(await this.#options.queue.readState(BACKUPS_KIND, this.service.id));
    this.#told = this.#known;
  }

  /** Asks the service once. The error where it could not be read, else null. */
  async read(signal: AbortSignal): Promise<ServiceError | null> {
    const { client, clock, meter } = this.#options;
    const { id } = this.service;
    const read = await readBackups({
      client,
      serviceId: id,
      before: this.#known,
      nowMs: () => clock.nowMs(),
      signal,
    });
    if (!read.ok) {
      if (read.error.kind !== 'aborted') this.fail(read.error);
      return read.error;
    }
    // Given up by us half way: whoever comes next reads it all.
    if (read.backupsError?.kind === 'aborted') return read.backupsError;
    if (this.#isUp === false) meter.recovered(id);
    this.#isUp = true;
    this.#error = read.backupsError;
    this.#known = read.known;
    meter.read();
    if (read.backupsError !== null) meter.backupsFailed(id, read.backupsError);
    await this.#tell(read.known);
    return null;
  }

  /** It could not be read, for this reason. */
  fail(error: ServiceError): void {
    this.#isUp = false;
    this.#error = error;
    this.#options.meter.failed(this.service.id, error);
  }

  /** Appends the gauges of now; returns how many points that makes: none before the first answer. */
  write(writer: WireWriter, nowMs: number): number {
    if (this.#isUp === null) return 0;
    const gauges: readonly Gauge[] = backupGauges(this.known, this.#isUp, nowMs);
    const owner = { ...this.#options.owner(), scope: BACKUPS_SCOPE };
    return writeGauges(writer, owner, this.#series.complete(gauges), nowMs);
  }

  /** Commits what has changed together with the memory of it; the next reading tells it again if that fails. */
  async #tell(known: KnownBackups): Promise<void> {
    const { queue, meter } = this.#options;
    const { id } = this.service;
    const events = backupEvents(id, this.#told, known);
    const batches = events.length === 0 ? [] : [this.#batchOf(events, known.readAtMs)];
    const state = [{ kind: BACKUPS_KIND, key: id, blob: saveKnown(known) }];
    const outcome = await queue.commit({ batches, state, reads: [] });
    if (outcome.kind === 'full' || outcome.kind === 'failed') {
      meter.notQueued(
        'events',
        outcome.kind === 'full' ? 'the share of logs is full' : outcome.message,
      );
      return;
    }
    this.#told = known;
    meter.events(id, events);
  }

  #batchOf(events: readonly BackupEvent[], madeAtMs: number): Batch {
    const { identity, info } = this.#options.owner();
    const request = new LogsRequest(this.#writer, identity, info, BACKUPS_SCOPE);
    for (const { record, uid } of events) request.add(record, madeAtMs, [['log.record.uid', uid]]);
    const payload = request.end();
    const part = {
      service: this.service.id,
      points: events.length,
      offset: 0,
      length: payload.length,
    };
    return { signal: 'logs', payload, parts: [part], madeAtMs };
  }
}

// The counters and log lines of watching backups. It counts what happened and decides nothing.

export class BackupMeter {
  readonly #logger: Logger;
  readonly #throttle: Throttle;
  readonly #reads: Counter;
  readonly #events: Counter;

  constructor(options: {
    readonly counters: Counters;
    readonly logger: Logger;
    readonly clock: Clock;
  }) {
    const { counters, logger, clock } = options;
    this.#logger = logger;
    this.#throttle = new Throttle({ clock });
    this.#reads = counters.counter(
      'prom2otlp_backup_reads_total',
      'Attempts to read the backup schedules of a service by result: ok, or the kind of error.',
      ['result'],
    );
    this.#events = counters.counter(
      'prom2otlp_backup_events_total',
      'Changes of backup schedules that were queued, by kind.',
      ['service', 'kind'],
    );
  }

  read(): void {
    this.#reads.add(1, 'ok');
  }

  /** `hasFailed` before says that it is nothing new. */
  failed(service: string, error: ServiceError): void {
    this.#reads.add(1, error.kind);
    this.#warn(service, error, 'cannot read the backup schedules');
  }

  recovered(service: string): void {
    this.#logger.info({ service }, 'the backup schedules can be read again');
  }

  backupsFailed(service: string, error: ServiceError): void {
    this.#warn(service, error, 'cannot read the list of backups: their age follows the last list');
  }

  events(service: string, events: readonly BackupEvent[]): void {
    for (const { kind, record } of events) {
      this.#events.add(1, service, kind);
      this.#logger.info({ service }, record.body);
    }
  }

  notQueued(what: 'events' | 'metrics', cause: string): void {
    const told =
      what === 'events'
        ? 'cannot queue the changes of backup schedules: the next reading reports them'
        : 'cannot queue the metrics of backups: the next ones replace them';
    this.#throttle.run(`queue ${what}`, swallowed => this.#logger.warn({ cause, swallowed }, told));
  }

  #warn(service: string, { message, hint }: ServiceError, told: string): void {
    this.#throttle.run(`${told} ${service}`, swallowed =>
      this.#logger.warn({ service, cause: message, hint, swallowed }, told),
    );
  }
}

// Remembers which series of a service were sent with a value, so that one that has none any more is marked as ended,
// once: a back end would show its last value for minutes otherwise.

/** A series that was sent, with the attributes that end it. */
interface Sent {
  readonly gauge: Gauge;
  readonly attributes: GaugePoint['attributes'];
}

export class EndedSeries {
  #sent: ReadonlyMap<string, Sent> = new Map();

  /** The gauges, and a marker for each series of the last call that is not among them. */
  complete(gauges: readonly Gauge[]): readonly Gauge[] {
    const before = this.#sent;
    const sent = new Map(gauges.flatMap(seriesOf));
    this.#sent = sent;
    const ended = [...before].filter(([key]) => !sent.has(key)).map(([, series]) => series);
    const markers = ended.map(({ gauge, attributes }) => ({
      ...gauge,
      points: [{ attributes, value: null }],
    }));
    return [...gauges, ...markers];
  }
}

function seriesOf(gauge: Gauge): (readonly [key: string, sent: Sent])[] {
  return gauge.points.map(({ attributes }) => [
    JSON.stringify([gauge.name, attributes]),
    { gauge, attributes },
  ]);
}

// What the backup schedules of a service amount to at a moment, as gauges. Worked out anew each time: of what was read
// last, only the time goes on. docs/backups.md says what each of them means.

interface Outlook extends ScheduleOutlook {
  readonly type: string;
}

/** `known` is null where there is no answer, or only one that is too old to go by. */
export function backupGauges(
  known: KnownBackups | null,
  isUp: boolean,
  nowMs: number,
): readonly Gauge[] {
  const up = gauge('prom2otlp_backup_up', '1 when the schedules could be read last, else 0.', '', [
    { attributes: [], value: isUp ? 1 : 0 },
  ]);
  return known === null ? [up] : [up, ...scheduleGauges(known, nowMs)];
}

function scheduleGauges(known: KnownBackups, nowMs: number): readonly Gauge[] {
  const { types } = known;
  const outlooks = known.schedules.map(schedule => ({
    ...outlookOf(schedule, nowMs),
    type: typeAmong(types, schedule.type),
  }));
  const shown = new Set([...types, ...outlooks.map(({ type }) => type)]);
  const isFullScheduled = nextFullRunMs(known, nowMs) !== null;
  const next = nextRuns(outlooks);
  return [
    gauge('prom2otlp_backup_schedules', 'Backup schedules.', '', countPoints(outlooks, shown)),
    gauge(
      'prom2otlp_backup_full_scheduled',
      '1 when a full backup will run by an active schedule, else 0.',
      '',
      [{ attributes: [], value: isFullScheduled ? 1 : 0 }],
    ),
    gauge(
      'prom2otlp_backup_next_run_timestamp_seconds',
      'When the next backup begins, as Unix time.',
      's',
      pointsByType(next, runMs => runMs / 1000),
    ),
    gauge(
      'prom2otlp_backup_next_run_seconds',
      'How long until the next backup begins.',
      's',
      pointsByType(next, runMs => (runMs - nowMs) / 1000),
    ),
    gauge(
      'prom2otlp_backup_last_finished_age_seconds',
      'How long ago the newest backup that succeeded ended.',
      's',
      pointsByType(Object.entries(known.finishedAtMs), endMs => (nowMs - endMs) / 1000),
    ),
  ];
}

/** Each type in each state, at 0 where there is none. */
function countPoints(outlooks: readonly Outlook[], types: Iterable<string>): readonly GaugePoint[] {
  return [...types].flatMap(type =>
    SCHEDULE_STATES.map(state => ({
      attributes: [
        ['type', type],
        ['state', state],
      ] as const,
      value: outlooks.filter(one => one.type === type && one.state === state).length,
    })),
  );
}

/** The soonest of each type. */
function nextRuns(outlooks: readonly Outlook[]): ReadonlyMap<string, number> {
  const next = new Map<string, number>();
  for (const { type, nextRunMs } of outlooks)
    if (nextRunMs !== null) next.set(type, Math.min(nextRunMs, next.get(type) ?? Infinity));
  return next;
}

function pointsByType(
  times: Iterable<readonly [type: string, ms: number]>,
  valueOf: (ms: number) => number,
): readonly GaugePoint[] {
  return [...times].map(([type, ms]) => ({ attributes: [['type', type]], value: valueOf(ms) }));
}

function gauge(
  name: string,
  description: string,
  unit: string,
  points: readonly GaugePoint[],
): Gauge {
  return { name, description, unit, points };
}

// The memory of the last good answer, kept beside the queue so that a restart neither reports a change twice nor misses one.

/** The kind of blob in the queue's state; the key is the service's id. */
const BACKUPS_KIND = 'backup-schedules';

const SAVED: z.ZodType<KnownBackups> = z.object({
  schedules: z.array(
    z.object({
      id: z.string(),
      type: z.string(),
      schedule: z.string(),
      status: z.string(),
      isSuspended: z.boolean(),
      scheduledAtMs: z.number().nullable(),
    }),
  ),
  types: z.array(z.string()),
  finishedAtMs: z.record(z.string(), z.number()),
  readAtMs: z.number(),
});

export function saveKnown(known: KnownBackups): Buffer {
  return Buffer.from(JSON.stringify(known));
}

/** null for a blob that another version wrote: the next answer counts as the first. */
export function readKnown(blob: Buffer | null): KnownBackups | null {
  if (blob === null) return null;
  try {
    const read = SAVED.safeParse(JSON.parse(blob.toString()), JITLESS);
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}
