// Closes days: when a day is over and nothing of it is expected any more, its archives are forgotten and it is not
// listed again. What was never read by then is passed over as a gap.

import type { ServiceConfig } from '../config/config.ts';
import type { ArchiveListing } from './archive-listing.ts';
import { type ArchiveState, isClosed, isVanished, lostFromMs } from './archive-state.ts';
import type { Gap } from './gap.ts';
import type { Ledger } from './ledger.ts';
import type { StoreResult } from './log-store.ts';
import type { Partition } from './partition.ts';
import type { PullContext } from './pull-context.ts';
import { DAY_MS, isDayOver, WINDOW_TRIES_MAX } from './windows.ts';

/** One archive of the ledger. */
export interface KnownArchive {
  readonly partition: Partition;
  readonly id: string;
  readonly state: ArchiveState;
}

export interface DayClosing {
  readonly listing: ArchiveListing;
  /** The moment up to which was listed. */
  readonly toMs: number;
  /** How often a day could not be listed. */
  readonly failedCounts: ReadonlyMap<number, number>;
  readonly signal: AbortSignal;
}

/** Every archive that is remembered. */
export function knownArchives(ledger: Ledger): readonly KnownArchive[] {
  return ledger
    .partitions()
    .flatMap(({ partition, archives }) =>
      [...archives].map(([id, state]) => ({ partition, id, state })),
    );
}

/** Changes the ledger, and stores each gap with it; the rest of the changes is the caller's to store. */
export async function closeDays(
  context: PullContext,
  ledger: Ledger,
  closing: DayClosing,
): Promise<StoreResult> {
  for (const service of context.options.services) {
    const result = await closeDaysOf(service, { context, ledger, ...closing });
    if (result !== 'stored') return result;
  }
  return 'stored';
}

type Closing = DayClosing & { readonly context: PullContext; readonly ledger: Ledger };

async function closeDaysOf(service: ServiceConfig, closing: Closing): Promise<StoreResult> {
  const { context, ledger, listing, toMs } = closing;
  const rules = context.options.config.window;
  const own = knownArchives(ledger).filter(({ partition }) => partition.service.id === service.id);
  for (;;) {
    const days = ledger.days(service.id);
    const dayMs = days.openDayMs;
    if (dayMs >= listing.endMs || !isDayOver(dayMs, toMs, rules)) break;
    const isFailed = listing.failedDays.has(dayMs);
    if (isFailed && (closing.failedCounts.get(dayMs) ?? 0) < WINDOW_TRIES_MAX) break;
    const ofDay = own.filter(({ state }) => state.dayMs <= dayMs);
    if (!ofDay.every(({ state }) => isFailed || isClosed(state) || isVanished(state))) break;
    const result = await closeDay(service, ofDay, { ...closing, dayMs, isFailed });
    if (result !== 'stored') return result;
  }
  const days = ledger.days(service.id);
  const listedMs = Math.min(toMs, listing.endMs);
  if (listedMs > (days.listedMs ?? 0)) ledger.setDays(service.id, { ...days, listedMs });
  return 'stored';
}

/** Forgets the day and tells its gaps, in one commit: an archive that is forgotten must not be listed again. */
async function closeDay(
  service: ServiceConfig,
  archives: readonly KnownArchive[],
  closing: Closing & { readonly dayMs: number; readonly isFailed: boolean },
): Promise<StoreResult> {
  const { context, ledger, signal, dayMs, isFailed } = closing;
  const gaps = archives.flatMap(archiveGap);
  if (isFailed) gaps.push(dayGap(service, dayMs));
  for (const { partition, id } of archives) ledger.setArchive(partition, id, null);
  ledger.setDays(service.id, { ...ledger.days(service.id), openDayMs: dayMs + DAY_MS });
  if (gaps.length === 0) return 'stored';
  const changes = ledger.allChanges();
  const result = await context.storeGaps(gaps, changes, signal);
  if (result === 'stored') ledger.stored(changes);
  return result;
}

function dayGap(service: ServiceConfig, dayMs: number): Gap {
  return {
    partition: { service, source: '', server: '', type: '' },
    span: { fromMs: dayMs, toMs: dayMs + DAY_MS },
    reason: 'window',
    archive: '',
  };
}

function archiveGap({ partition, id, state }: KnownArchive): readonly Gap[] {
  const fromMs = lostFromMs(state);
  if (fromMs === null) return [];
  const span = { fromMs, toMs: state.dayMs + DAY_MS };
  return [{ partition, span, reason: 'vanished', archive: id }];
}
