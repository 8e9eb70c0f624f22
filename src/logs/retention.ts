// Finds the beginning of the service's logs. For older times the service may answer with an empty list or with 400.

import { DAY_MS } from '../lib/clock.ts';
import { dayOf } from './cursor.ts';
import { archiveSpan } from './item.ts';
import { ENOUGH, isOfList, isRefused } from './list.ts';
import type { PulledApi } from './pull.ts';

/** No service keeps logs for longer. */
const OLDEST_MS = 10 * 365 * DAY_MS;
/** How far back the days are asked for one by one if the service refuses to list them together. */
const SEARCHED_DAYS = 366;

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
  if (!isRefused(error)) return null;
  const [type = ''] = api.items.types;
  return await firstKeptDay(api, type, dayOf(span.toMs) - SEARCHED_DAYS * DAY_MS);
}

/**
 * The first day that the service lists, searched from today back to `refusedMs`; null when it refuses today as well, so
 * that the age of the logs is not the reason, or when it does not answer.
 */
export async function firstKeptDay(
  api: PulledApi,
  type: string,
  refusedMs: number,
): Promise<number | null> {
  const nowMs = api.nowMs();
  let keptMs: number | null = null;
  for (let fromMs = dayOf(nowMs); fromMs >= refusedMs; fromMs -= DAY_MS) {
    const answer = await api.firstPage({ fromMs, toMs: Math.min(fromMs + DAY_MS, nowMs) }, type);
    if (!answer.ok) return isRefused(answer.error) ? keptMs : null;
    keptMs = fromMs;
  }
  return keptMs;
}
