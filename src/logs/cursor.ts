// How far logs have been pulled, and the rules of time: which stretch is asked for next, and how the low watermark
// moves. Pure: the caller says what time it is (by the service's clock) and stores what comes back. Everything
// before the low watermark has been committed or reported as a gap; it never moves back. Records are asked for in
// windows, as drawn. Archives are listed in whole days: the low watermark is the oldest day that is not closed.
//
//        floor      low - overlap        low                    to        now - settle delay     now
//   ───────┼──────────────┼───────────────┼──────────────────────┼───────────────┼────────────────┼──▶
//                         └──────────── asked for ───────────────┘

import type { LogsConfig } from '../config/config.ts';

export type WindowRules = LogsConfig['window'];

/** Milliseconds since the epoch; `toMs` is not part of it. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** How far one kind of log has been pulled. */
export interface Cursor {
  readonly lowMs: number;
  /** No list ever goes further back: the first start, or the end of the last gap. */
  readonly floorMs: number;
  /** Records: the length of the next window, between window.min and window.max. */
  readonly sizeMs: number;
  /** Records: how often the window at `lowMs` has failed at its least length. */
  readonly failureCount: number;
  /** Archives: up to when everything has been listed; null before the first whole list. */
  readonly listedMs: number | null;
}

/** Where the cursor moves, and what it skips on the way. */
export interface Step {
  readonly cursor: Cursor;
  readonly gap: Span | null;
}

export const DAY_MS = 86_400_000;

/** A window of the least length that fails this often is skipped. */
export const WINDOW_TRIES_MAX = 5;

/** Where a first start begins; `beginning` is the epoch. */
export function firstLowMs(firstStart: LogsConfig['firstStart'], nowMs: number): number {
  if (firstStart === 'beginning') return 0;
  const atMs = 'at' in firstStart ? firstStart.at.getTime() : nowMs - firstStart.backMs;
  return Math.min(Math.max(atMs, 0), nowMs);
}

export function startCursor(lowMs: number, rules: WindowRules): Cursor {
  return { lowMs, floorMs: lowMs, sizeMs: rules.maxMs, failureCount: 0, listedMs: null };
}

/** The next window to ask for, or null while nothing new can be complete. */
export function nextWindow(cursor: Cursor, nowMs: number, rules: WindowRules): Span | null {
  const toMs = Math.min(nowMs - rules.settleDelayMs, cursor.lowMs + cursor.sizeMs);
  if (toMs <= cursor.lowMs) return null;
  return { fromMs: Math.max(cursor.floorMs, cursor.lowMs - rules.overlapMs), toMs };
}

/** After everything of the window was committed; an empty window counts as much as any other. */
export function afterWindow(cursor: Cursor, window: Span, rules: WindowRules): Cursor {
  return {
    ...cursor,
    lowMs: Math.max(cursor.lowMs, window.toMs),
    sizeMs: Math.min(rules.maxMs, cursor.sizeMs * 2),
    failureCount: 0,
  };
}

/**
 * After a window that could not be finished: half of it next time. A window of the least length that has failed
 * WINDOW_TRIES_MAX times is skipped, which leaves a gap.
 */
export function afterFailure(cursor: Cursor, window: Span, rules: WindowRules): Step {
  const lengthMs = window.toMs - cursor.lowMs;
  if (lengthMs > rules.minMs) {
    const sizeMs = Math.max(rules.minMs, Math.floor(lengthMs / 2));
    return { cursor: { ...cursor, sizeMs, failureCount: 0 }, gap: null };
  }
  const failureCount = cursor.failureCount + 1;
  if (failureCount < WINDOW_TRIES_MAX) return { cursor: { ...cursor, failureCount }, gap: null };
  // The floor moves too, or the overlap would ask for the skipped window again.
  return {
    cursor: { ...cursor, lowMs: window.toMs, floorMs: window.toMs, failureCount: 0 },
    gap: { fromMs: cursor.lowMs, toMs: window.toMs },
  };
}

/** The service has nothing from before `oldestMs` any more. */
export function atFloor(cursor: Cursor, oldestMs: number): Step {
  const { lowMs, listedMs } = cursor;
  const floorMs = Math.max(cursor.floorMs, oldestMs);
  if (oldestMs <= lowMs) return { cursor: { ...cursor, floorMs }, gap: null };
  return {
    cursor: {
      ...cursor,
      lowMs: oldestMs,
      floorMs,
      failureCount: 0,
      listedMs: listedMs === null ? null : Math.max(listedMs, oldestMs),
    },
    gap: { fromMs: Math.max(cursor.floorMs, lowMs), toMs: oldestMs },
  };
}

/** The beginning of the day (UTC) that a moment lies in. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS) * DAY_MS;
}

/** From which day on archives are listed: yesterday, and every day that is not closed, but none before the floor's. */
export function firstListedDay(
  { lowMs, floorMs }: Pick<Cursor, 'lowMs' | 'floorMs'>,
  nowMs: number,
): number {
  return Math.max(dayOf(floorMs), Math.min(lowMs, dayOf(nowMs) - DAY_MS));
}

/** True when nothing is expected to grow any more that was written on this day. */
export function isDayOver(dayMs: number, nowMs: number, rules: WindowRules): boolean {
  return nowMs >= dayMs + DAY_MS + rules.dayCloseGraceMs;
}

/**
 * Looks for the oldest moment that the service answers for, by halves: between a moment it refuses and one it
 * accepts, to within `precisionMs`. The result is a moment that it accepts.
 */
export async function findFloor(
  refusedMs: number,
  acceptedMs: number,
  precisionMs: number,
  isAccepted: (fromMs: number) => Promise<boolean | null>,
): Promise<number | null> {
  let [low, high] = [refusedMs, acceptedMs];
  while (high - low > precisionMs) {
    const middleMs = Math.floor((low + high) / 2);
    const answer = await isAccepted(middleMs);
    if (answer === null) return null;
    if (answer) high = middleMs;
    else low = middleMs;
  }
  return high;
}
