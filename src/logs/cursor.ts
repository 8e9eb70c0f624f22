// How far the logs of a service have been pulled, in days. Pure: the caller passes the time (by the service's clock) and
// stores the result. The low watermark is the oldest day that is not closed: everything before it was committed or
// reported as a gap. It never moves back.

import type { LogsConfig } from '../config/config.ts';
import { DAY_MS } from '../lib/clock.ts';

/** Milliseconds since the epoch; `toMs` is exclusive. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Cursor {
  /** The beginning of the oldest day (UTC) that is not closed. */
  readonly lowMs: number;
  /** The first start: older lines are not wanted. */
  readonly floorMs: number;
}

/** Where a first start begins; `beginning` is the epoch. */
export function firstStartMs(firstStart: LogsConfig['firstStart'], nowMs: number): number {
  if (firstStart === 'beginning') return 0;
  const atMs = 'at' in firstStart ? firstStart.at.getTime() : nowMs - firstStart.backMs;
  return Math.min(Math.max(atMs, 0), nowMs);
}

/** Archives of the day before the start may still grow. */
export function startCursor(floorMs: number): Cursor {
  return { lowMs: Math.max(0, dayOf(floorMs) - DAY_MS), floorMs };
}

/** The beginning of the day (UTC) that contains a time. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS) * DAY_MS;
}

/** The first day to list: the oldest open one, but at the latest yesterday, or the floor's day if that is later. */
export function firstListedDay({ lowMs, floorMs }: Cursor, nowMs: number): number {
  return Math.min(lowMs, Math.max(dayOf(floorMs), dayOf(nowMs) - DAY_MS));
}

/** Longer than a weekend: a permission lost on Friday evening may be restored on Monday. */
const HELD_MS = 3 * DAY_MS;

/**
 * True while pulls still wait for a day that ends at `endMs`, although the service has failed to list it since `sinceMs`.
 * Days that are already old at the first request, as after a long downtime, get as much time as others.
 */
export function isHeld(endMs: number, sinceMs: number, nowMs: number): boolean {
  return nowMs < Math.max(endMs, sinceMs) + HELD_MS;
}
