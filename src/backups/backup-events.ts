// Turns the differences between two answers about a service's backup schedules into log records. In: the earlier and the
// current schedules. Out: one record per schedule that appeared, changed or vanished.

import { textUid } from '../logs/record.ts';
import type { LogAttribute, LogRecord } from '../pipeline/encode/logs.ts';
import type { KnownBackups, KnownSchedule } from './known-backups.ts';

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
