// What is known of one service's backups: the last good answer about them, what follows from it at a moment, and how it is
// read. The answers are read tolerantly; an answer that lacks a part counts as none, or schedules would seem to vanish.

import { nextCronRun } from '../lib/cron.ts';
import { printableLine } from '../lib/printable.ts';
import type { Backup, Schedule } from '../service/backups-api.ts';
import type { ServiceClient } from '../service/client.ts';
import { type ServiceError, unreadableAnswer } from '../service/service-error.ts';

export interface KnownBackups {
  readonly schedules: readonly KnownSchedule[];
  /** Every type that was ever seen: its series go on at 0. */
  readonly types: readonly string[];
  /** By type, when the newest backup that succeeded ended. */
  readonly finishedAtMs: Readonly<Record<string, number>>;
  /** When the schedules were read (wall clock). */
  readonly readAtMs: number;
}

/** More types than this share the last one's place: they are the service's words, and each is a set of series. */
const TYPES_MAX = 16;
const OTHER_TYPE = 'other';
/** The type that the specification names. */
const FULL = 'full';

/** When the next full backup begins; null when none will. */
export function nextFullRunMs({ schedules }: KnownBackups, nowMs: number): number | null {
  const runs = schedules
    .filter(({ type }) => type === FULL)
    .map(schedule => outlookOf(schedule, nowMs).nextRunMs)
    .filter(runMs => runMs !== null);
  return runs.length === 0 ? null : Math.min(...runs);
}

/** The types that have series, `full` first, and new ones after known ones. */
export function addTypes(types: readonly string[], found: Iterable<string>): readonly string[] {
  const all = new Set([FULL, ...types]);
  for (const type of found) if (all.size < TYPES_MAX || all.has(type)) all.add(type);
  return [...all];
}

/** The type under which something counts: its own where that has series. */
export function typeAmong(types: readonly string[], type: string): string {
  return types.includes(type) ? type : OTHER_TYPE;
}

/** What is remembered of a schedule, in the service's own words. */
export interface KnownSchedule {
  readonly id: string;
  /** `full`; the service's word otherwise, `unknown` where it says none. */
  readonly type: string;
  /** A cron expression of five fields, or `once`. */
  readonly schedule: string;
  readonly status: string;
  readonly isSuspended: boolean;
  /** When it runs, of one that runs once; null where the service does not say. */
  readonly scheduledAtMs: number | null;
}

export const SCHEDULE_STATES = ['active', 'suspended', 'ended', 'failed', 'unknown'] as const;
type ScheduleState = (typeof SCHEDULE_STATES)[number];

export interface ScheduleOutlook {
  readonly state: ScheduleState;
  /** null where it will not run, or nobody can tell when. */
  readonly nextRunMs: number | null;
}

const ONCE = 'once';
const FAILURE = /fail|error/i;

/** What will become of a schedule, seen from `nowMs` (wall clock). */
export function outlookOf(known: KnownSchedule, nowMs: number): ScheduleOutlook {
  if (known.isSuspended) return { state: 'suspended', nextRunMs: null };
  const nextRunMs = nextRun(known, nowMs);
  if (FAILURE.test(known.status)) return { state: 'failed', nextRunMs: nextRunMs ?? null };
  if (nextRunMs === undefined) return { state: 'unknown', nextRunMs: null };
  return { state: nextRunMs === null ? 'ended' : 'active', nextRunMs };
}

/** null when there is none, undefined when nobody can tell. */
function nextRun(
  { schedule, scheduledAtMs }: KnownSchedule,
  nowMs: number,
): number | null | undefined {
  if (schedule.toLowerCase() === ONCE) {
    if (scheduledAtMs === null) return undefined;
    return scheduledAtMs > nowMs ? scheduledAtMs : null;
  }
  try {
    return nextCronRun(schedule, nowMs);
  } catch {
    return undefined;
  }
}

// How it is read.

export type BackupsRead =
  | {
      readonly ok: true;
      readonly known: KnownBackups;
      /** Why the backups could not be listed, unlike the schedules; null where they could, or where there is no such list. */
      readonly backupsError: ServiceError | null;
    }
  | { readonly ok: false; readonly error: ServiceError };

export interface ReadBackupsOptions {
  readonly client: Pick<ServiceClient, 'schedules' | 'backups'>;
  readonly serviceId: string;
  readonly before: KnownBackups | null;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

const UNKNOWN_TYPE = 'unknown';
/** Beginnings of the words by which services say that a backup is good. */
const SUCCESS = /^(?:succe|complet|finish|done|ok)/i;
const STATUS_OK = 200;
/** Of one service; a list that is longer is taken for a mistake. */
const SCHEDULES_MAX = 1000;
const TYPE_LENGTH_MAX = 40;
const TEXT_LENGTH_MAX = 200;

export async function readBackups(options: ReadBackupsOptions): Promise<BackupsRead> {
  const { client, serviceId, before, nowMs, signal } = options;
  const query = { service_id: serviceId, signal };
  const listed = await client.schedules.list(query);
  if (!listed.ok) return listed;
  const what = `read the backup schedules of ${serviceId}`;
  if (!listed.isComplete) return unreadableAnswer(what, 'is not the whole list', STATUS_OK);
  if (listed.schedules.length > SCHEDULES_MAX)
    return unreadableAnswer(what, `has more than ${SCHEDULES_MAX} of them`, STATUS_OK);
  const schedules = listed.schedules.map(knownSchedule);
  const backups = await client.backups.list(query);
  const isTold = backups.ok || backups.error.kind === 'not_found';
  const finished = backups.ok ? newestFinished(backups.backups) : {};
  const found = [...schedules.map(({ type }) => type), ...Object.keys(finished)];
  const types = addTypes(before?.types ?? [], found);
  const known = {
    schedules,
    types,
    finishedAtMs: isTold ? amongTypes(finished, types) : (before?.finishedAtMs ?? {}),
    readAtMs: nowMs(),
  };
  return { ok: true, known, backupsError: backups.ok || isTold ? null : backups.error };
}

function knownSchedule(schedule: Schedule): KnownSchedule {
  const { id, suspended = false, scheduled_at: at } = schedule;
  const type = typeWord(schedule.type ?? UNKNOWN_TYPE);
  const times = shortText(schedule.schedule ?? '');
  const isOnce = times.toLowerCase() === 'once';
  return {
    id: shortText(id === undefined ? `${type} ${times}` : String(id)),
    type,
    schedule: times,
    status: shortText(schedule.status ?? ''),
    isSuspended: suspended,
    // Of a repeating one the service may move it on with every run, which is no change.
    scheduledAtMs: isOnce ? timeOf(at) : null,
  };
}

/** By type, the latest end of a backup that succeeded, or of which the service does not say how it went. */
function newestFinished(backups: readonly Backup[]): Record<string, number> {
  const newest: Record<string, number> = {};
  for (const { type = UNKNOWN_TYPE, status, end_time: end } of backups) {
    const endMs = timeOf(end);
    if (endMs === null || (status !== undefined && !SUCCESS.test(status))) continue;
    const word = typeWord(type);
    newest[word] = Math.max(endMs, newest[word] ?? -Infinity);
  }
  return newest;
}

function amongTypes(
  finished: Readonly<Record<string, number>>,
  types: readonly string[],
): Record<string, number> {
  const newest: Record<string, number> = {};
  for (const [type, endMs] of Object.entries(finished)) {
    const word = typeAmong(types, type);
    newest[word] = Math.max(endMs, newest[word] ?? -Infinity);
  }
  return newest;
}

/** An attribute of metrics: the service's word in lower case. */
function typeWord(type: string): string {
  return shortText(type).toLowerCase().slice(0, TYPE_LENGTH_MAX) || UNKNOWN_TYPE;
}

/** The service's words go into events, the log and the store: in one line, of bounded length. */
function shortText(text: string): string {
  return printableLine(text).trim().slice(0, TEXT_LENGTH_MAX);
}

function timeOf(text: string | undefined): number | null {
  const timeMs = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(timeMs) ? null : timeMs;
}
