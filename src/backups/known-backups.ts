// The last good answer about one service's backups, and what follows from it at a moment.

import { nextCronRun } from '../lib/cron.ts';

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

/** The types that have series, `full` first, and those that are new behind those that are known. */
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
