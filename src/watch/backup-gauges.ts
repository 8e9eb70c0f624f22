// What the backup schedules of a service amount to at a moment, as gauges. Worked out anew each time: of what was read
// last, only the time goes on. docs/backups.md says what each of them means.

import type { Gauge, GaugePoint } from '../pipeline/encode/gauges.ts';
import { type KnownBackups, nextFullRunMs, typeAmong } from './known-backups.ts';
import { outlookOf, SCHEDULE_STATES, type ScheduleOutlook } from './known-schedule.ts';

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
