// One backup schedule as it is watched: what was read of it, and what follows from that at a moment. Told the time; it
// asks nobody.

import { nextCronRun } from '../lib/cron.ts';

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
export type ScheduleState = (typeof SCHEDULE_STATES)[number];

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
