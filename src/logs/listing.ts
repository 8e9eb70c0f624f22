// Lists the days of a pull, each type by itself, day by day. Out: the archives of configured services and types, and the
// days that could not be listed, with what that says about them.

import { DAY_MS } from '../lib/clock.ts';
import type { ServiceError } from '../service/service-error.ts';
import { dayOf, type Span } from './cursor.ts';
import { type Descriptor, partitionKey, readDescriptor, archiveSpan } from './item.ts';
import {
  failedList,
  isOfSpan,
  isRefused,
  isTooMany,
  type ListEnd,
  ENOUGH,
  isOfList,
} from './list.ts';
import { goOnUnlessStopped, type Pull, type PulledApi } from './pull.ts';

export interface Listing {
  /** The types that were asked for; '' means all. */
  readonly types: readonly string[];
  /** The time up to which archives were listed. */
  readonly toMs: number;
  /** The same by the earlier of the two clocks: what ends by it does not come back. */
  readonly overMs: number;
  /** By identity. */
  readonly found: ReadonlyMap<string, Descriptor>;
  readonly failed: readonly FailedDay[];
  /** True if any list could be read. */
  readonly isAnswered: boolean;
}

/** A day of one type that could not be listed. */
export interface FailedDay {
  /** '' means all types. */
  readonly type: string;
  readonly dayMs: number;
  readonly error: ServiceError;
  /** True if the service refuses the day because it no longer keeps it. */
  readonly isGone: boolean;
  /** True if it was not asked for, because older days have too many archives. */
  readonly isWaiting: boolean;
}

/** The most archives of one listing. Days beyond that wait until older ones are closed. */
const DESCRIPTORS_MAX = 100_000;

/** True if archives of this type could not be listed for that day; by default, for any day that the service keeps. */
export function isFailed({ failed }: Listing, type: string, dayMs?: number): boolean {
  const isDay = (one: FailedDay): boolean =>
    dayMs === undefined ? !one.isGone : one.dayMs === dayMs;
  return failed.some(one => (one.type === '' || one.type === type) && isDay(one));
}

/**
 * `days.toMs` is the same for every page. Types in `failing` get one try per request: otherwise they would use up the time
 * for retries, and all others would have to wait.
 */
export async function listTypes(
  pull: Pull,
  days: Span,
  failing: ReadonlySet<string>,
): Promise<Listing> {
  const { api, config } = pull;
  const { giveUpAtMs } = api;
  const types = config.types.length === 0 ? [''] : config.types;
  const found = new Map<string, Descriptor>();
  const failed: FailedDay[] = [];
  let isAnswered = false;
  for (const type of types) {
    if (failing.has(type)) api.giveUpAtMs = -Infinity;
    const ofType = await listDays(pull, type, days, found);
    failed.push(...ofType.failed);
    isAnswered ||= ofType.isAnswered;
    api.giveUpAtMs = giveUpAtMs;
  }
  // The list cannot be newer than the service's clock.
  const toMs = Math.min(days.toMs, api.nowMs());
  return { types, toMs, overMs: Math.min(toMs, api.overMs()), found, failed, isAnswered };
}

/**
 * Lists the days of one type, the oldest first. A day that fails is left out if the service answers for others; after any
 * other failure, the remaining days are not asked for.
 */
async function listDays(
  pull: Pull,
  type: string,
  days: Span,
  found: Map<string, Descriptor>,
): Promise<Pick<Listing, 'failed' | 'isAnswered'>> {
  const { api } = pull;
  const lastMs = dayOf(days.toMs);
  const failed: FailedDay[] = [];
  let isAnswered = false;
  for (let dayMs = days.fromMs; dayMs <= lastMs; dayMs += DAY_MS) {
    const span = { fromMs: dayMs, toMs: Math.min(dayMs + DAY_MS, days.toMs) };
    const end = await listDay(pull, span, type, found);
    goOnUnlessStopped(api);
    if (end.ok) {
      isAnswered = true;
      continue;
    }
    const { error } = end;
    const isWaiting = isTooMany(error);
    const keptMs = isRefused(error) ? await firstKeptDay(api, type, dayMs) : null;
    const mayBeDay = isOfSpan(error) || error.kind === 'server';
    const isDay = keptMs !== null || (mayBeDay && !isWaiting && (await api.isAnswering(type)));
    isAnswered ||= isDay || isWaiting;
    const isGone = keptMs !== null && keptMs > dayMs;
    const untilMs = isGone ? keptMs - DAY_MS : isDay ? dayMs : lastMs;
    for (; dayMs < untilMs; dayMs += DAY_MS) failed.push({ type, dayMs, error, isGone, isWaiting });
    failed.push({ type, dayMs, error, isGone, isWaiting });
  }
  return { failed, isAnswered };
}

async function listDay(
  { api, meter }: Pull,
  span: Span,
  type: string,
  found: Map<string, Descriptor>,
): Promise<ListEnd> {
  const end = await api.list(span, type, items => {
    for (const item of items) {
      const read = readDescriptor(item, api.items, span);
      if (typeof read === 'string') {
        meter.counters.refused.add(1, read);
        continue;
      }
      const identity = `${partitionKey(read.partition)} ${read.id}`;
      if (found.size >= DESCRIPTORS_MAX && !found.has(identity)) {
        meter.counters.refused.add(1, 'too_many');
        return failedList(
          'too_many',
          `cannot list logs: more than ${DESCRIPTORS_MAX} archives in the open days`,
          'divide the services among shards, or read fewer logs.types',
        );
      }
      found.set(identity, read);
    }
    return null;
  });
  if (end.ok) api.noteTime(end.serverNowMs);
  return end;
}

// Finds the beginning of the service's logs. For older times the service may answer with an empty list or with 400.

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
