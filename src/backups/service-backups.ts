// The backups of one service: the last answer, the events sent about it, and the gauges that follow from it. Guarantees
// that a change is reported once: the events and the reported answer are committed together.

import * as z from 'zod';
import type { ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { CountersOf } from '../lib/counters.ts';
import { parseJson } from '../lib/json.ts';
import type { ThrottledLog } from '../lib/log.ts';
import { type Batch, batchOf } from '../model/batch.ts';
import {
  endedSince,
  endsOf,
  type Gauge,
  type GaugeOwner,
  type GaugePoint,
  writeGauges,
} from '../pipeline/encode/gauges.ts';
import { LogsRequest, type LogAttribute, type LogRecord } from '../pipeline/encode/logs.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { StateChange, StateKind } from '../pipeline/queue/commit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { JITLESS } from '../service/operations.ts';
import type { ServiceClient } from '../service/client.ts';
import type { ServiceError } from '../service/service-error.ts';
import { RESTORABLE_TYPES } from '../config/backup-words.ts';
import {
  type KnownBackups,
  newestRestorableMs,
  nextRestorableRunMs,
  nextRuns,
  outlooksOf,
  readBackups,
  SCHEDULE_STATES,
  type ScheduleOutlook,
  type KnownSchedule,
} from './known-backups.ts';
import { textUid } from '../logs/record.ts';

interface ServiceBackupsOptions {
  readonly service: ServiceConfig;
  readonly client: ServiceClient;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly counters: CountersOf<typeof BACKUP_COUNTERS>;
  readonly log: ThrottledLog;
  /** How often it is read. */
  readonly intervalMs: number;
  /** The types of backups that restore by themselves. */
  readonly restorable: readonly string[];
  /** The current resource of the service, the same as for its metrics. */
  readonly owner: () => Omit<GaugeOwner, 'scope'>;
}

const BACKUPS_SCOPE = 'prom2otlp/backups';

/** An answer older than this many intervals is no longer used. */
const KNOWN_INTERVALS = 3;

export class ServiceBackups {
  readonly service: ServiceConfig;
  readonly #options: ServiceBackupsOptions;
  #ends: ReturnType<typeof endsOf> = new Map();
  readonly #writer = new WireWriter(1024);
  #known: KnownBackups | null = null;
  /** The answer up to which changes were reported: `known`, once its events are committed. */
  #reported: KnownBackups | null = null;
  #isRestored = false;
  /** Whether the schedules could be read the last time; null before the first. */
  isUp: boolean | null = null;
  /** Why the schedules or the backups could not be read; null if both could. */
  error: ServiceError | null = null;

  constructor(options: ServiceBackupsOptions) {
    this.service = options.service;
    this.#options = options;
  }

  /** The last answer; null if there is none, or it is too old. */
  get known(): KnownBackups | null {
    const { clock, intervalMs } = this.#options;
    const oldestMs = clock.nowMs() - KNOWN_INTERVALS * intervalMs;
    return this.#known === null || this.#known.readAtMs < oldestMs ? null : this.#known;
  }

  /** Restores the answer of an earlier process, once. While the queue cannot be read, changes are not reported. */
  async restore(): Promise<void> {
    if (this.#isRestored) return;
    const stored = await this.#options.queue.restoreState(BACKUPS, this.service.id);
    if (stored === undefined) return;
    this.#isRestored = true;
    this.#reported = stored;
    this.#known ??= this.#reported;
  }

  /** Reads the service once. Returns the error if it could not be read, else null. */
  async read(signal: AbortSignal): Promise<ServiceError | null> {
    const { client, clock, counters, log, restorable } = this.#options;
    const { id } = this.service;
    const asked = { client, serviceId: id, restorable, before: this.#known, clock, signal };
    const read = await readBackups(asked);
    if (!read.ok) {
      if (read.error.kind !== 'aborted') this.fail(read.error);
      return read.error;
    }
    // Aborted by us: the next reading repeats everything.
    if (read.backupsError?.kind === 'aborted') return read.backupsError;
    if (this.isUp === false)
      log.plain.info({ service: id }, 'the backup schedules can be read again');
    this.isUp = true;
    this.error = read.backupsError;
    this.#known = read.known;
    counters.reads.add(1, 'ok');
    if (read.backupsError !== null)
      this.#warn(read.backupsError, 'cannot read the backups: their age follows the last answer');
    await this.#report(read.known);
    return null;
  }

  /** Forgets a refusal of the key before all services are read again. */
  readAgain(): void {
    if (this.error?.kind === 'key') this.error = null;
  }

  /** Notes that it could not be read. */
  fail(error: ServiceError): void {
    this.isUp = false;
    this.error = error;
    this.#options.counters.reads.add(1, error.kind);
    this.#warn(error, 'cannot read the backup schedules');
  }

  /** Logs one line for all services of an API that fail for the same cause: they have the same message. */
  #warn({ message: cause, hint }: ServiceError, what: string): void {
    const fields = { service: this.service.id, cause, hint };
    this.#options.log.warn(`${what} ${cause}`, fields, what);
  }

  /** Appends the current gauges. Returns the number of points: 0 before the first answer or failure. */
  write(writer: WireWriter, nowMs: number): number {
    if (this.isUp === null) return 0;
    const gauges = backupGauges(this.known, this.isUp, nowMs);
    const before = this.#ends;
    this.#ends = endsOf(gauges);
    const owner = { ...this.#options.owner(), scope: BACKUPS_SCOPE };
    return writeGauges(writer, owner, [...gauges, ...endedSince(before, this.#ends)], nowMs);
  }

  /** Commits the changes together with the new answer; if that fails, the next reading reports them. */
  async #report(known: KnownBackups): Promise<void> {
    if (!this.#isRestored) return;
    const { queue, counters, log } = this.#options;
    const { id } = this.service;
    const events = backupEvents(id, this.#reported, known);
    const batches = events.length === 0 ? [] : [this.#batchOf(events, known.readAtMs)];
    const state = [{ kind: BACKUPS.kind, key: id, blob: saveKnown(known) }];
    const outcome = await queue.commit({ batches, state, reads: [] });
    if (outcome.kind === 'full' || outcome.kind === 'failed') {
      const cause = outcome.kind === 'full' ? 'the queue has no room for logs' : outcome.message;
      const message = 'cannot queue the changes of backup schedules: the next reading reports them';
      log.warn('queue events', { cause }, message);
      return;
    }
    this.#reported = known;
    for (const { kind, record } of events) {
      counters.events.add(1, id, kind);
      log.plain.info({ service: id }, record.body);
    }
  }

  #batchOf(events: readonly BackupEvent[], madeAtMs: number): Batch {
    const request = new LogsRequest(this.#writer, this.#options.owner(), BACKUPS_SCOPE);
    for (const { record, uid } of events) request.add(record, madeAtMs, [['log.record.uid', uid]]);
    const payload = request.end();
    return batchOf(this.service.id, events.length, { signal: 'logs', payload, madeAtMs });
  }
}

export const BACKUP_COUNTERS = {
  reads: {
    name: 'prom2otlp_backup_reads_total',
    help: 'Attempts to read the backup schedules of a service by result: ok, or the kind of error.',
    labels: ['result'],
  },
  events: {
    name: 'prom2otlp_backup_events_total',
    help: 'Changes of backup schedules that were queued, by kind.',
    labels: ['service', 'kind'],
  },
} as const;

// The gauges of a service's backup schedules at a given time, computed from the last answer. docs/use/backups.md
// describes them.

/** `known` is null if there is no answer, or it is too old. */
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
  const outlooks = outlooksOf(known, nowMs);
  const shown = new Set([...known.types, ...outlooks.map(({ type }) => type)]);
  const next = nextRuns(outlooks);
  return [
    gauge('prom2otlp_backup_schedules', 'Backup schedules.', '', countPoints(outlooks, shown)),
    gauge(
      'prom2otlp_backup_restorable_scheduled',
      '1 when a backup that restores will run by an active schedule, else 0.',
      '',
      [{ attributes: [], value: nextRestorableRunMs(known, nowMs) === null ? 0 : 1 }],
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
    gauge(
      'prom2otlp_backup_restorable_age_seconds',
      'The age of the newest state that restores.',
      's',
      onePoint(newestRestorableMs(known), endMs => (nowMs - endMs) / 1000),
    ),
    gauge(
      'prom2otlp_backup_window_start_timestamp_seconds',
      'The oldest time to which the service can be restored, as Unix time.',
      's',
      onePoint(known.window?.startMs ?? null, ms => ms / 1000),
    ),
    gauge(
      'prom2otlp_backup_window_end_timestamp_seconds',
      'The newest time to which the service can be restored, as Unix time.',
      's',
      onePoint(known.window?.endMs ?? null, ms => ms / 1000),
    ),
  ];
}

/** No point if the time is unknown. */
function onePoint(timeMs: number | null, valueOf: (ms: number) => number): readonly GaugePoint[] {
  return timeMs === null ? [] : [{ attributes: [], value: valueOf(timeMs) }];
}

/** A point for each type in each state, 0 if there is none. */
function countPoints(
  outlooks: readonly ScheduleOutlook[],
  types: Iterable<string>,
): readonly GaugePoint[] {
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

// The stored form of the last good answer, in the queue's state, so that a restart neither repeats nor misses a change.

const SAVED: z.ZodType<KnownBackups> = z.object({
  schedules: z.array(
    z.object({
      id: z.string(),
      type: z.string(),
      schedule: z.string(),
      status: z.string(),
      isSuspended: z.boolean(),
      scheduledAtMs: z.number().nullable(),
      isMissing: z.literal(true).optional(),
    }),
  ),
  types: z.array(z.string()),
  finishedAtMs: z.record(z.string(), z.number()),
  // Absent from what earlier builds have stored.
  window: z.object({ startMs: z.number(), endMs: z.number() }).nullable().default(null),
  restorable: z.array(z.string()).default([...RESTORABLE_TYPES]),
  readAtMs: z.number(),
});

export function saveKnown(known: KnownBackups): Buffer {
  return Buffer.from(JSON.stringify(known));
}

/** The change that deletes the stored answer of a service. */
export function forgetBackups(id: string): StateChange {
  return { kind: BACKUPS.kind, key: id, blob: null };
}

/** The key is the service's id. */
export const BACKUPS: StateKind<KnownBackups> = {
  kind: 'backup-schedules',
  lost: 'the last answer about backup schedules is lost: the next one counts as the first',
  read: blob => SAVED.safeParse(parseJson(blob.toString()), JITLESS).data ?? null,
};

// Turns the differences between two answers about a service's backup schedules into log records. In: the earlier and the
// current schedules. Out: one record per schedule that appeared, changed or vanished.

export interface BackupEvent {
  readonly kind: 'appeared' | 'changed' | 'vanished';
  readonly record: LogRecord;
  readonly uid: string;
}

const PREFIX = 'prom2otlp.backup.schedule';
const SEVERITIES = {
  appeared: [9, 'INFO'],
  changed: [9, 'INFO'],
  vanished: [13, 'WARN'],
} as const;

/** No events for the first answer. */
export function backupEvents(
  service: string,
  before: KnownBackups | null,
  now: KnownBackups,
): readonly BackupEvent[] {
  if (before === null) return [];
  const [old, current] = [byId(before), byId(now)];
  const context = { service, atMs: now.readAtMs };
  const events: BackupEvent[] = [];
  for (const [id, schedule] of current) {
    const known = old.get(id);
    const changes = known === undefined ? [] : differences(known, schedule);
    if (known === undefined) events.push(eventOf('appeared', schedule, changes, context));
    else if (changes.length > 0) events.push(eventOf('changed', schedule, changes, context));
  }
  for (const [id, schedule] of old)
    if (!current.has(id)) events.push(eventOf('vanished', schedule, [], context));
  return events;
}

function byId({ schedules }: KnownBackups): ReadonlyMap<string, KnownSchedule> {
  return new Map(schedules.filter(({ id }) => id !== '').map(one => [one.id, one]));
}

function eventOf(
  kind: BackupEvent['kind'],
  schedule: KnownSchedule,
  changes: readonly string[],
  context: { readonly service: string; readonly atMs: number },
): BackupEvent {
  const { id, type, schedule: times, status, isSuspended } = schedule;
  const { service, atMs } = context;
  const [severityNumber, severityText] = SEVERITIES[kind];
  const what = changes.length === 0 ? '' : `: ${changes.join(', ')}`;
  const attributes: LogAttribute[] = [
    [`${PREFIX}.id`, id],
    [`${PREFIX}.type`, type],
    [`${PREFIX}.schedule`, times],
    [`${PREFIX}.status`, status],
    [`${PREFIX}.suspended`, isSuspended],
  ];
  if (changes.length > 0) attributes.push([`${PREFIX}.changes`, changes.join(', ')]);
  const record = {
    timeMs: atMs,
    timeExtraNs: 0,
    severityNumber,
    severityText,
    body: `backup schedule ${id} (${type}, ${times}) of ${service} ${kind}${what}`,
    eventName: `${PREFIX}.${kind}`,
    attributes,
  };
  return { kind, record, uid: textUid(['backup-schedule', service, id, kind, String(atMs)]) };
}

/** The changes as text, such as `schedule 0 2 * * * is now 0 3 * * *`. */
function differences(before: KnownSchedule, now: KnownSchedule): readonly string[] {
  const changes: string[] = [];
  const compare = (name: string, old: string, current: string): void => {
    if (old !== current) changes.push(`${name} ${old || 'none'} is now ${current || 'none'}`);
  };
  compare('type', before.type, now.type);
  compare('schedule', before.schedule, now.schedule);
  compare('status', before.status, now.status);
  compare('time', timeText(before.scheduledAtMs), timeText(now.scheduledAtMs));
  if (before.isSuspended !== now.isSuspended)
    changes.push(now.isSuspended ? 'suspended' : 'no longer suspended');
  return changes;
}

function timeText(timeMs: number | null): string {
  return timeMs === null ? '' : new Date(timeMs).toISOString();
}
