// Where the service's logs begin. It need not say so: what lies below may be answered with an empty list or with
// 400. A cursor from below is brought up to where logs begin, and the stretch is reported as a gap.

import { ask } from './ask.ts';
import type { ArchiveListing } from './archive-listing.ts';
import { readDescriptor } from './descriptor.ts';
import type { Ledger } from './ledger.ts';
import { itemsOf } from './list.ts';
import type { StoreResult } from './log-store.ts';
import type { PullContext, PullRun } from './pull-context.ts';
import { DAY_MS, dayOf, findFloor, type Span } from './windows.ts';

/** Nobody keeps logs for longer than this. */
const OLDEST_MS = 10 * 365 * DAY_MS;

type Probe = 'accepted' | 'refused' | 'unknown';

/** The oldest day that the service answers for, to within a day; null when it answers for none, or not at all. */
export async function findOldestDay(
  context: PullContext,
  fromMs: number,
  run: PullRun,
): Promise<number | null> {
  const nowMs = context.serverNowMs();
  const todayMs = dayOf(nowMs);
  // If not even today is accepted, it is not about how old the logs are.
  if ((await probe(context, { fromMs: todayMs, toMs: nowMs }, run)) !== 'accepted') return null;
  const refusedMs = dayOf(Math.max(fromMs, nowMs - OLDEST_MS));
  const floorMs = await findFloor(refusedMs, todayMs, DAY_MS, async dayMs => {
    const answer = await probe(context, { fromMs: dayOf(dayMs), toMs: dayMs + DAY_MS }, run);
    return answer === 'unknown' ? null : answer === 'accepted';
  });
  return floorMs === null ? null : dayOf(floorMs);
}

/** The first day of all that is listed, where a first start asks for everything there is. */
export async function findFirstDay(context: PullContext, run: PullRun): Promise<number | null> {
  const { api } = context.options;
  const nowMs = context.serverNowMs();
  const span = { fromMs: 0, toMs: nowMs };
  const query = { ...span, type: null };
  const answer = await ask(() => api.list(query, 0, { signal: run.signal }), context.ask(run));
  if (!answer.ok)
    return answer.failure.reason === 'bad_request' ? findOldestDay(context, 0, run) : null;
  const items = itemsOf(api, answer.json) ?? [];
  const days = items.flatMap(item => {
    const found = readDescriptor(item, context.items, span);
    return typeof found === 'string' ? [] : [found.dayMs];
  });
  return Math.min(dayOf(nowMs), ...days);
}

async function probe(context: PullContext, span: Span, run: PullRun): Promise<Probe> {
  const { api, config } = context.options;
  const query = { ...span, type: config.types[0] ?? null };
  const answer = await ask(() => api.list(query, 0, { signal: run.signal }), context.ask(run));
  if (answer.ok) return 'accepted';
  return answer.failure.reason === 'bad_request' ? 'refused' : 'unknown';
}

/** Brings every service that stands below up to this day; gaps and days are stored together. */
export async function raiseFloor(
  context: PullContext,
  ledger: Ledger,
  floorMs: number,
  signal: AbortSignal,
): Promise<StoreResult> {
  for (const service of context.options.services) {
    const days = ledger.days(service.id);
    if (days.openDayMs >= floorMs) continue;
    const fromMs = Math.max(days.floorMs, days.openDayMs);
    ledger.setDays(service.id, {
      floorMs: Math.max(days.floorMs, floorMs),
      openDayMs: floorMs,
      listedMs: days.listedMs === null ? null : Math.max(days.listedMs, floorMs),
    });
    const partition = { service, source: '', server: '', type: '' };
    const span = { fromMs, toMs: floorMs };
    const gap = { partition, span, reason: 'retention', archive: '' } as const;
    const changes = ledger.allChanges();
    const result = await context.storeGaps([gap], changes, signal);
    if (result !== 'stored') return result;
    ledger.stored(changes);
  }
  return 'stored';
}

/**
 * Finds out that a service was away for longer than its logs are kept, where days that are gone are listed as
 * empty: none of the days since the last list has an archive, up to the oldest that is listed.
 */
export async function noteLostDays(
  context: PullContext,
  ledger: Ledger,
  listing: ArchiveListing,
  ...[toMs, signal]: [number, AbortSignal]
): Promise<StoreResult> {
  if (listing.failure !== null || listing.failedDays.size > 0) return 'stored';
  for (const service of context.options.services) {
    const { listedMs } = ledger.days(service.id);
    const days = listing.descriptors
      .filter(({ partition }) => partition.service.id === service.id)
      .map(({ dayMs }) => dayMs);
    const firstDayMs = Math.min(...days);
    // What was never listed is not known to have been there.
    if (listedMs === null || toMs - listedMs <= DAY_MS) continue;
    if (days.length === 0 || firstDayMs <= dayOf(listedMs) + DAY_MS) continue;
    const partition = { service, source: '', server: '', type: '' };
    const span = { fromMs: listedMs, toMs: firstDayMs };
    const gap = { partition, span, reason: 'retention', archive: '' } as const;
    ledger.setDays(service.id, { ...ledger.days(service.id), listedMs: firstDayMs });
    const changes = ledger.allChanges();
    const result = await context.storeGaps([gap], changes, signal);
    if (result !== 'stored') return result;
    ledger.stored(changes);
  }
  return 'stored';
}
