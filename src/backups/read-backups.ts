// Asks the service about the backups of one database service, and makes of the answers what is remembered. The
// answers are read tolerantly; one of which a part is missing counts as none, or schedules would seem to vanish.

import { printableLine } from '../lib/printable.ts';
import type { Backup } from '../service/backups-api.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Schedule } from '../service/backups-api.ts';
import { type ServiceError, unreadableAnswer } from '../service/service-error.ts';
import { addTypes, type KnownBackups, type KnownSchedule, typeAmong } from './known-backups.ts';

export type BackupsRead =
  | {
      readonly ok: true;
      readonly known: KnownBackups;
      /** Why the backups could not be listed, although the schedules could; null where they could, or are not told of. */
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
