// Finds the beginning of the service's logs. For older times the service may answer with an empty list or with 400. An
// older cursor moves up to the oldest day, and the skipped time is reported as a gap.

import { DAY_MS } from '../lib/clock.ts';
import { atFloor, dayOf, isDayOver, type Span } from './cursor.ts';
import { trackGap } from './gap.ts';
import { archiveSpan } from './item.ts';
import { isClosed, lostFromMs } from './archive-state.ts';
import type { KnownArchive, Track } from './ledger.ts';
import { ENOUGH, isOfList, isRefused } from './list.ts';
import { commit, type Pull, type PulledApi } from './pull.ts';

/** No service keeps logs for longer. */
const OLDEST_MS = 10 * 365 * DAY_MS;

/** A list that the service refused, and the oldest day that it accepts (findOldestDay). */
interface RefusedList {
  readonly type: string;
  readonly fromMs: number;
  readonly oldestMs: number | null;
}

/**
 * Moves these tracks up to the oldest day after a list was refused. Returns false when the age of the logs does not
 * explain the refusal.
 */
export async function jumpToOldest(
  pull: Pull,
  tracks: readonly Track[],
  { type, fromMs, oldestMs }: RefusedList,
): Promise<boolean> {
  const { api, ledger } = pull;
  if (oldestMs === null || oldestMs <= fromMs) return false;
  // A single refusal may have another reason.
  if ((await isAccepted(api, { fromMs, toMs: fromMs + DAY_MS }, type)) !== false) return false;
  const gaps = tracks.flatMap(track => {
    const { cursor, gap: span } = atFloor(
      track.cursor,
      oldestMs,
      firstMissedDay(pull, track, oldestMs),
    );
    ledger.move(track, { cursor });
    return span === null ? [] : [trackGap(track, span, 'retention')];
  });
  await commit(pull, { gaps });
  return true;
}

/** The first day before `oldestMs` whose logs may be missing. Only archives set aside hold the days before it open. */
function firstMissedDay({ config, ledger }: Pull, track: Track, oldestMs: number): number {
  const { service, lateMs, unlistedMs } = track;
  const { lowMs, listedMs } = track.cursor;
  const { dayCloseGraceMs: graceMs } = config.window;
  const isMissed = ({ partition, state }: KnownArchive): boolean =>
    partition.service === service &&
    state.dayMs < oldestMs &&
    state.setAside === '' &&
    (!isClosed(state, graceMs) || lostFromMs(state, graceMs) !== null);
  const isUnlisted = listedMs === null || Object.keys(unlistedMs).length > 0;
  if (isUnlisted || ledger.archives().some(isMissed)) return lowMs;
  let dayMs = lowMs;
  while (dayMs < oldestMs && isDayOver(dayMs, lateMs ?? DAY_MS, listedMs, config.window))
    dayMs += DAY_MS;
  return dayMs;
}

/**
 * The first day in a list of all archives, for `first_start: beginning`; null when it cannot be found. Archives of other
 * services and types count too: their day may have wanted archives on a later page.
 */
export async function findFirstDay(api: PulledApi): Promise<number | null> {
  const span = { fromMs: 0, toMs: api.nowMs() };
  let firstMs = dayOf(span.toMs);
  let lastMs = -Infinity;
  let isAscending = true;
  const end = await api.list(span, '', items => {
    for (const item of items) {
      const dayMs = dayOf(archiveSpan(item, api.items.pointers).fromMs);
      // A time such as 0001-01-01 means none. Otherwise each day since then would be listed.
      if (Number.isNaN(dayMs) || dayMs < span.toMs - OLDEST_MS) continue;
      if (dayMs < lastMs) isAscending = false;
      firstMs = Math.min(firstMs, dayMs);
      lastMs = dayMs;
    }
    // If the days ascend, the remaining ones are later. In another order the first day may come last.
    return isAscending && firstMs < lastMs ? ENOUGH : null;
  });
  if (end.ok) return firstMs;
  const { error } = end;
  // The days of the pages so far count, unless an answer had no list.
  if (isOfList(error) && error.reason !== 'no_list') return firstMs;
  return isRefused(error) ? findOldestDay(api, api.items.types[0] ?? '', 0) : null;
}

/**
 * The oldest day that the service accepts, by bisection from the refused time on; null when it accepts none, or does not
 * answer.
 */
export async function findOldestDay(
  api: PulledApi,
  type: string,
  refusedMs: number,
): Promise<number | null> {
  const nowMs = api.nowMs();
  const todayMs = dayOf(nowMs);
  // If the service refuses today as well, the age of the logs is not the reason.
  if (!(await isAccepted(api, { fromMs: todayMs, toMs: nowMs }, type))) return null;
  let [low, high] = [dayOf(Math.max(refusedMs, nowMs - OLDEST_MS)), todayMs];
  while (high - low > DAY_MS) {
    const fromMs = dayOf((low + high) / 2);
    const answer = await isAccepted(api, { fromMs, toMs: fromMs + DAY_MS }, type);
    if (answer === null) return null;
    if (answer) high = fromMs;
    else low = fromMs;
  }
  return high;
}

/** Null if there was no answer. */
async function isAccepted(api: PulledApi, span: Span, type: string): Promise<boolean | null> {
  const answer = await api.firstPage(span, type);
  return answer.ok || (isRefused(answer.error) ? false : null);
}
