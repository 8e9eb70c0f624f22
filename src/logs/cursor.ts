// How far logs have been pulled: the next window, and how the low watermark moves. Pure: the caller passes the time (by
// the service's clock) and stores the result. Everything before the low watermark was committed or reported as a gap;
// it never moves back. Records are requested in windows, as shown. Archives are listed in whole days: the low watermark
// is the oldest day that is not closed.
//
//        floor      low - overlap        low                    to        now - settle delay     now
//   ───────┼──────────────┼───────────────┼──────────────────────┼───────────────┼────────────────┼──▶
//                         └──────────── requested ───────────────┘

import type { LogsConfig } from '../config/config.ts';
import { DAY_MS } from '../lib/clock.ts';

export type WindowRules = LogsConfig['window'];

/** Milliseconds since the epoch; `toMs` is exclusive. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** How far one kind of log has been pulled. */
export interface Cursor {
  readonly lowMs: number;
  /** The earliest time that is ever requested: the first start, or the end of the last gap. */
  readonly floorMs: number;
  /** Records: the length of the next window, between window.min and window.max. */
  readonly sizeMs: number;
  /** Records: how often the window at `lowMs` has failed at the minimum length. */
  readonly failureCount: number;
  /** Archives: the time up to which everything was listed; null before the first complete list. */
  readonly listedMs: number | null;
}

/** The next cursor, and the time that it skips. */
export interface Step {
  readonly cursor: Cursor;
  readonly gap: Span | null;
}

/** A window of the minimum length that fails this often is skipped. */
export const WINDOW_TRIES_MAX = 5;

/** The low watermark of a first start; `beginning` is the epoch. */
export function firstLowMs(firstStart: LogsConfig['firstStart'], nowMs: number): number {
  if (firstStart === 'beginning') return 0;
  const atMs = 'at' in firstStart ? firstStart.at.getTime() : nowMs - firstStart.backMs;
  return Math.min(Math.max(atMs, 0), nowMs);
}

export function startCursor(lowMs: number, rules: WindowRules): Cursor {
  return { lowMs, floorMs: lowMs, sizeMs: rules.maxMs, failureCount: 0, listedMs: null };
}

/** The next window to request, or null while nothing new can be complete. */
export function nextWindow(cursor: Cursor, nowMs: number, rules: WindowRules): Span | null {
  const toMs = Math.min(nowMs - rules.settleDelayMs, cursor.lowMs + cursor.sizeMs);
  if (toMs <= cursor.lowMs) return null;
  return { fromMs: Math.max(cursor.floorMs, cursor.lowMs - rules.overlapMs), toMs };
}

/** The cursor after a window was committed, even an empty one. */
export function afterWindow(cursor: Cursor, window: Span, rules: WindowRules): Cursor {
  return {
    ...cursor,
    lowMs: Math.max(cursor.lowMs, window.toMs),
    sizeMs: Math.min(rules.maxMs, cursor.sizeMs * 2),
    failureCount: 0,
  };
}

/**
 * The step after a window that could not be finished: the next window is half as long. A window of the minimum length
 * that has failed WINDOW_TRIES_MAX times is skipped, which leaves a gap.
 */
export function afterFailure(cursor: Cursor, window: Span, rules: WindowRules): Step {
  const lengthMs = window.toMs - cursor.lowMs;
  if (lengthMs > rules.minMs) {
    const sizeMs = Math.max(rules.minMs, Math.floor(lengthMs / 2));
    return { cursor: { ...cursor, sizeMs, failureCount: 0 }, gap: null };
  }
  const failureCount = cursor.failureCount + 1;
  if (failureCount < WINDOW_TRIES_MAX) return { cursor: { ...cursor, failureCount }, gap: null };
  // The floor moves too, or the overlap would request the skipped window again.
  return {
    cursor: { ...cursor, lowMs: window.toMs, floorMs: window.toMs, failureCount: 0 },
    gap: { fromMs: cursor.lowMs, toMs: window.toMs },
  };
}

/** The step when the service keeps nothing from before `oldestMs`, and nothing from before `missedMs` is missing. */
export function atFloor(cursor: Cursor, oldestMs: number, missedMs: number = cursor.lowMs): Step {
  const { lowMs, listedMs } = cursor;
  const floorMs = Math.max(cursor.floorMs, oldestMs);
  if (oldestMs <= lowMs) return { cursor: { ...cursor, floorMs }, gap: null };
  const fromMs = Math.max(cursor.floorMs, missedMs);
  return {
    cursor: {
      ...cursor,
      lowMs: oldestMs,
      floorMs,
      failureCount: 0,
      listedMs: listedMs === null ? null : Math.max(listedMs, oldestMs),
    },
    gap: fromMs < oldestMs ? { fromMs, toMs: oldestMs } : null,
  };
}

/** The beginning of the day (UTC) that contains a time. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS) * DAY_MS;
}

/** The first day to list: the oldest open one, but at the latest yesterday, or the floor's day if that is later. */
export function firstListedDay(
  { lowMs, floorMs }: Pick<Cursor, 'lowMs' | 'floorMs'>,
  nowMs: number,
): number {
  return Math.min(lowMs, Math.max(dayOf(floorMs), dayOf(nowMs) - DAY_MS));
}

/** True when archives of this day are no longer expected to grow. They end up to `lateMs` after the day. */
export function isDayOver(
  dayMs: number,
  lateMs: number,
  nowMs: number,
  rules: WindowRules,
): boolean {
  return nowMs >= dayMs + DAY_MS + lateMs + rules.dayCloseGraceMs;
}

/** Longer than a weekend: a permission lost on Friday evening may be restored on Monday. */
const HELD_MS = 3 * DAY_MS;

/**
 * True while pulls still wait for logs that end at `endMs`, although the service has failed to deliver them since
 * `sinceMs`. Logs that are already old at the first request, as after a long downtime, get as much time as others.
 */
export function isHeld(endMs: number, sinceMs: number, nowMs: number): boolean {
  return nowMs < Math.max(endMs, sinceMs) + HELD_MS;
}
