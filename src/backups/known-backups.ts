// The known backups of one service: the last good answer, how it is read, and the state that follows from it at a given
// time. Answers are read tolerantly. But an incomplete list counts as no answer, and a schedule has vanished only if two
// lists in a row lack it. Otherwise schedules would seem to vanish.

import { type Clock, HOUR_MS } from '../lib/clock.ts';
import { nextCronRun } from '../lib/pull-schedule.ts';
import { printableLine } from '../lib/printable.ts';
import type { Backup, Schedule } from '../service/backups-api.ts';
import type { ServiceClient } from '../service/client.ts';
import {
  type ErrorResult,
  ownError,
  type Result,
  type ServiceError,
} from '../service/service-error.ts';

export interface KnownBackups {
  readonly schedules: readonly KnownSchedule[];
  /** Every type ever seen: its series continue at 0. */
  readonly types: readonly string[];
  /** The end of the newest successful backup of each type. */
  readonly finishedAtMs: Readonly<Record<string, number>>;
  /** The times to which the service can be restored; null if it tells none. */
  readonly window: { readonly startMs: number; readonly endMs: number } | null;
  /** The types that restore by themselves, as configured when it was read. */
  readonly restorable: readonly string[];
  /** When the schedules were read (wall clock). */
  readonly readAtMs: number;
}

/** The most types: they come from the service, and each has its own series. Further ones count as `other`. */
const TYPES_MAX = 16;
const OTHER_TYPE = 'other';

/** When the next backup that restores begins; null if none is scheduled. */
export function nextRestorableRunMs(known: KnownBackups, nowMs: number): number | null {
  const next = nextRuns(outlooksOf(known, nowMs));
  const times = known.restorable.flatMap(type => next.get(type) ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

/** The newest state that restores: the end of a backup of such a type, or of the window; null if unknown. */
export function newestRestorableMs(known: KnownBackups): number | null {
  const { restorable, finishedAtMs, window } = known;
  const ends = restorable.flatMap(type => finishedAtMs[type] ?? []);
  if (window !== null) ends.push(window.endMs);
  return ends.length === 0 ? null : Math.max(...ends);
}

/** The next run of each type that has one. */
export function nextRuns(outlooks: readonly ScheduleOutlook[]): ReadonlyMap<string, number> {
  const next = new Map<string, number>();
  for (const { type, nextRunMs } of outlooks)
    if (nextRunMs !== null) next.set(type, Math.min(nextRunMs, next.get(type) ?? Infinity));
  return next;
}

/** The types that have series: the first that restores, then known types, then new ones. One that restores always has. */
export function addTypes(
  types: readonly string[],
  found: Iterable<string>,
  restorable: readonly string[],
): readonly string[] {
  const all = new Set([...restorable.slice(0, 1), ...types]);
  for (const type of found) if (all.size < TYPES_MAX || restorable.includes(type)) all.add(type);
  return [...all];
}

/** The type to count under: its own if that has series, else `other`. */
export function typeAmong(types: readonly string[], type: string): string {
  return types.includes(type) ? type : OTHER_TYPE;
}

/** The remembered fields of a schedule, in the service's words. */
export interface KnownSchedule {
  /** '' if it has none: then nothing tells it from others, and it makes no events. */
  readonly id: string;
  /** `full`, or another word of the service; `unknown` if it has none. */
  readonly type: string;
  /** A cron expression of five fields, or `once`. */
  readonly schedule: string;
  readonly status: string;
  readonly isSuspended: boolean;
  /** The time of a schedule that runs once; null for others, or if unknown. */
  readonly scheduledAtMs: number | null;
  /** The last list lacked it, for the first time: a single list may be cut or empty by mistake. */
  readonly isMissing?: true | undefined;
}

export const SCHEDULE_STATES = ['active', 'suspended', 'ended', 'failed', 'unknown'] as const;
type ScheduleState = (typeof SCHEDULE_STATES)[number];

export interface ScheduleOutlook {
  /** The type to count under. */
  readonly type: string;
  readonly state: ScheduleState;
  /** Null if it will not run, or the time is unknown. */
  readonly nextRunMs: number | null;
}

const ONCE = 'once';
const FAILURE = /fail|error/i;

/** The schedules as they are at `nowMs` (wall clock). */
export function outlooksOf(
  { schedules, types }: KnownBackups,
  nowMs: number,
): readonly ScheduleOutlook[] {
  return schedules.map(schedule => ({
    type: typeAmong(types, schedule.type),
    ...outlookOf(schedule, nowMs),
  }));
}

/** The state and the next run of a schedule. */
export function outlookOf(known: KnownSchedule, nowMs: number): Omit<ScheduleOutlook, 'type'> {
  if (known.isSuspended) return { state: 'suspended', nextRunMs: null };
  const nextRunMs = nextRun(known, nowMs);
  if (FAILURE.test(known.status)) return { state: 'failed', nextRunMs: nextRunMs ?? null };
  if (nextRunMs === undefined) return { state: 'unknown', nextRunMs: null };
  return { state: nextRunMs === null ? 'ended' : 'active', nextRunMs };
}

function isOnce(schedule: string): boolean {
  return schedule.toLowerCase() === ONCE;
}

/** Null if there is none, undefined if it is unknown. */
function nextRun(
  { schedule, scheduledAtMs }: KnownSchedule,
  nowMs: number,
): number | null | undefined {
  if (isOnce(schedule)) {
    if (scheduledAtMs === null) return undefined;
    return scheduledAtMs > nowMs ? scheduledAtMs : null;
  }
  try {
    return nextCronRun(schedule, nowMs);
  } catch {
    return undefined;
  }
}

// Reading.

export type BackupsRead = Result<{
  readonly known: KnownBackups;
  /** Why the backups or the window could not be read; null if they could, or if the service has no such thing. */
  readonly backupsError: ServiceError | null;
}>;

export interface ReadBackupsOptions {
  readonly client: Pick<ServiceClient, 'schedules' | 'backups' | 'restores'>;
  readonly serviceId: string;
  /** The types that restore by themselves. */
  readonly restorable: readonly string[];
  readonly before: KnownBackups | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const UNKNOWN_TYPE = 'unknown';
/** The beginnings of status words for a successful backup. */
const SUCCESS = /^(?:succe|complet|finish|done|ok)/i;
const NOT_WHOLE = 'is not the whole list';
/** The most schedules of one service; a longer list is taken for a mistake. */
const SCHEDULES_MAX = 1000;
const TYPE_LENGTH_MAX = 40;
const TEXT_LENGTH_MAX = 200;
/** The clocks of the service and of this machine may differ by this much. */
const AHEAD_MS_MAX = HOUR_MS;

export async function readBackups(options: ReadBackupsOptions): Promise<BackupsRead> {
  const { client, serviceId, before, clock, signal } = options;
  const restorable = options.restorable.map(typeWord);
  const query = { service_id: serviceId, signal };
  const listed = await client.schedules.list(query);
  if (!listed.ok) return listed;
  const what = `read the backup schedules of ${serviceId}`;
  if (!listed.isComplete) return unusable(what, NOT_WHOLE);
  if (listed.schedules.length > SCHEDULES_MAX)
    return unusable(what, `has more than ${SCHEDULES_MAX} of them`);
  const there = listed.schedules.map(knownSchedule);
  const ids = new Set(there.map(({ id }) => id));
  const missing = (before?.schedules ?? [])
    .filter(({ id, isMissing }) => id !== '' && isMissing !== true && !ids.has(id))
    .map(one => ({ ...one, isMissing: true as const }));
  const schedules = [...there, ...missing];
  const backups = await client.backups.list(query);
  const backupsError = backupsErrorOf(backups, serviceId);
  const finished = backups.ok ? finishedOf(backups.backups) : [];
  const found = [...schedules.map(({ type }) => type), ...finished.map(([type]) => type)];
  const types = addTypes(before?.types ?? [], found, restorable);
  // A list may lack the newest backup: it failed, it is not whole, or the backup was deleted after its time. Nothing is
  // known where the service has no such list.
  const hasNone = !backups.ok && backupsError === null;
  const newest: Record<string, number> = hasNone ? {} : { ...before?.finishedAtMs };
  const limitMs = clock.nowMs() + AHEAD_MS_MAX;
  for (const [type, endMs] of finished) {
    // A time that is ahead is wrong, and would hide that later backups are missing.
    if (endMs > limitMs) continue;
    const counted = typeAmong(types, type);
    newest[counted] = Math.max(endMs, newest[counted] ?? endMs);
  }
  const looked = await readWindow(options, limitMs);
  const { window } = looked;
  const readAtMs = clock.nowMs();
  const known = { schedules, types, finishedAtMs: newest, window, restorable, readAtMs };
  return { ok: true, known, backupsError: backupsError ?? looked.error };
}

/** The window; the last one if it cannot be read. A refusal means that the service, or this key, has no look-up. */
async function readWindow(
  { client, serviceId, before, signal }: ReadBackupsOptions,
  limitMs: number,
): Promise<Pick<KnownBackups, 'window'> & { readonly error: ServiceError | null }> {
  const looked = await client.restores.window(serviceId, { signal });
  if (!looked.ok) {
    const { status = 0, kind } = looked.error;
    const isAbsent = status >= 400 && status < 500 && kind !== 'rate' && status !== 401;
    if (isAbsent) return { window: null, error: null };
    return { window: before?.window ?? null, error: looked.error };
  }
  const startMs = timeOf(looked.window?.start_time);
  const endMs = timeOf(looked.window?.end_time);
  const isUsable = startMs !== null && endMs !== null && startMs <= endMs && endMs <= limitMs;
  return { window: isUsable ? { startMs, endMs } : null, error: null };
}

function backupsErrorOf(
  listed: Result<{ readonly isComplete: boolean }>,
  serviceId: string,
): ServiceError | null {
  if (!listed.ok) return listed.error.kind === 'not_found' ? null : listed.error;
  if (listed.isComplete) return null;
  return unusable(`read the backups of ${serviceId}`, NOT_WHOLE).error;
}

function unusable(what: string, cause: string): ErrorResult {
  const hint = 'the next reading asks again; check the service if this lasts';
  return { ok: false, error: ownError('unreadable', `cannot ${what}: the answer ${cause}`, hint) };
}

function knownSchedule(schedule: Schedule): KnownSchedule {
  const { id, suspended = false, scheduled_at: at } = schedule;
  const type = typeWord(schedule.type ?? UNKNOWN_TYPE);
  const times = shortText(schedule.schedule ?? '');
  return {
    id: shortText(String(id ?? '')),
    type,
    schedule: times,
    status: shortText(schedule.status ?? ''),
    isSuspended: suspended,
    // For a repeating schedule the service may change it with every run, which is not a change of the schedule.
    scheduledAtMs: isOnce(times) ? timeOf(at) : null,
  };
}

/** The types and ends of the backups that were successful or have no status. */
function finishedOf(backups: readonly Backup[]): (readonly [type: string, endMs: number])[] {
  return backups.flatMap(({ type = UNKNOWN_TYPE, status, end_time: end }) => {
    const endMs = timeOf(end);
    // As in "completed with errors".
    const isFailed = status !== undefined && (!SUCCESS.test(status) || FAILURE.test(status));
    if (endMs === null || isFailed) return [];
    return [[typeWord(type), endMs] as const];
  });
}

/** The value of a metric attribute: the service's word in lower case. */
function typeWord(type: string): string {
  return shortText(type).toLowerCase().slice(0, TYPE_LENGTH_MAX) || UNKNOWN_TYPE;
}

/** One line of bounded length, because the text goes into events, the log and the store. */
function shortText(text: string): string {
  return printableLine(text).trim().slice(0, TEXT_LENGTH_MAX);
}

function timeOf(text: string | undefined): number | null {
  const timeMs = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(timeMs) ? null : timeMs;
}
