// Finds the beginning of the service's logs. For older times the service may answer with an empty list or with 400. An
// older cursor moves up to the oldest day, and the skipped time is reported as a gap.

import { atFloor, DAY_MS, dayOf, findFloor, type Span } from './cursor.ts';
import { trackGap } from './gap.ts';
import { archiveSpan } from './item.ts';
import type { Track } from './ledger.ts';
import { isOfList, isRefused } from './list.ts';
import { commit, type Pull, type PulledApi } from './pull.ts';

/** No service keeps logs for longer. */
const OLDEST_MS = 10 * 365 * DAY_MS;

/** A list that the service refused; `type` null means all types. */
interface RefusedList {
  readonly type: string | null;
  readonly fromMs: number;
}

/**
 * After a list was refused: moves these tracks up to the oldest day that the service accepts (findOldestDay). False when
 * the age of the logs does not explain the refusal.
 */
export async function jumpToOldest(
  pull: Pull,
  tracks: readonly Track[],
  { type, fromMs }: RefusedList,
  oldestMs: number | null,
): Promise<boolean> {
  const { api, ledger, signal } = pull;
  if (oldestMs === null || oldestMs <= fromMs) return false;
  // A single refusal may have another reason.
  const day = { fromMs, toMs: fromMs + DAY_MS };
  if ((await isAccepted(api, day, type, signal)) !== false) return false;
  const gaps = tracks.flatMap(track => {
    const { cursor, gap: span } = atFloor(track.cursor, oldestMs);
    ledger.move(track, cursor);
    return span === null ? [] : [trackGap(track, span, 'retention')];
  });
  await commit(pull, { gaps });
  return true;
}

/**
 * The first day of a list of all archives, for a first start at the beginning; null when it cannot be found. An archive
 * of another service or type counts too: on its day there may be others, which are on a later page.
 */
export async function findFirstDay(api: PulledApi, signal: AbortSignal): Promise<number | null> {
  const span = { fromMs: 0, toMs: api.nowMs() };
  let firstMs = dayOf(span.toMs);
  let lastMs = -Infinity;
  let isAscending = true;
  const pages = api.list(span, null, signal);
  for (;;) {
    const page = await pages.next();
    if (page.done === true) {
      if (page.value.ok) return firstMs;
      const { error } = page.value;
      // The days of other pages are known; an answer that is no list knows none.
      if (isOfList(error) && error.reason !== 'no_list') return firstMs;
      const refused = { type: api.items.types[0] ?? null, fromMs: 0 };
      return isRefused(error) ? findOldestDay(api, refused, signal) : null;
    }
    for (const item of page.value) {
      const dayMs = dayOf(archiveSpan(item, api.items.pointers).fromMs);
      // A time such as 0001-01-01 stands for none, and each day since then would be listed.
      if (Number.isNaN(dayMs) || dayMs < span.toMs - OLDEST_MS) continue;
      if (dayMs < lastMs) isAscending = false;
      firstMs = Math.min(firstMs, dayMs);
      lastMs = dayMs;
    }
    // The days rise: the rest is later. Another order may have the first day at the end.
    if (isAscending && firstMs < lastMs) return firstMs;
  }
}

/** The oldest day that the service accepts; null when it accepts none, or does not answer. */
export async function findOldestDay(
  api: PulledApi,
  { type, fromMs }: RefusedList,
  signal: AbortSignal,
): Promise<number | null> {
  const nowMs = api.nowMs();
  const todayMs = dayOf(nowMs);
  // If the service refuses today as well, the age of the logs is not the reason.
  if (!(await isAccepted(api, { fromMs: todayMs, toMs: nowMs }, type, signal))) return null;
  const refusedMs = dayOf(Math.max(fromMs, nowMs - OLDEST_MS));
  const floorMs = await findFloor(refusedMs, todayMs, DAY_MS, dayMs =>
    isAccepted(api, { fromMs: dayOf(dayMs), toMs: dayMs + DAY_MS }, type, signal),
  );
  return floorMs === null ? null : dayOf(floorMs);
}

/** Null if there was no answer. */
async function isAccepted(
  api: PulledApi,
  span: Span,
  type: string | null,
  signal: AbortSignal,
): Promise<boolean | null> {
  const answer = await api.firstPage(span, signal, type);
  return answer.ok || (answer.error.reason === 'bad_request' ? false : null);
}
