// A pull of archives: lists every day that is not closed, downloads archives that have grown, sends records that were
// open for too long, and closes days that are complete. Archives that the service has deleted are skipped as gaps. Each
// step is committed with its records, so that the next pull continues where this one ends.

import { flushArchive, noteUndelivered, readArchive } from './archive-reading.ts';
import {
  actionFor,
  type ArchiveAction,
  type ArchiveState,
  afterAbsent,
  afterListed,
  isBehind,
  isClosed,
  isVanished,
  lostFromMs,
} from './archive-state.ts';
import { DAY_MS, dayOf, firstListedDay, isDayOver, type Span, WINDOW_TRIES_MAX } from './cursor.ts';
import { type Gap, trackGap } from './gap.ts';
import { type Descriptor, partitionKey, readDescriptor } from './item.ts';
import type { KnownArchive, Track } from './ledger.ts';
import type { ServiceError } from '../service/service-error.ts';
import { isOfWindow, isRefused, type ListEnd } from './list.ts';
import { commit, goOnUnlessStopped, type Lister, type Pull, type PullEnd } from './pull.ts';
import { jumpToOldest } from './retention.ts';

/** The service's list for a range of days. */
interface Listing {
  readonly fromDayMs: number;
  /** The time up to which archives were listed. */
  readonly toMs: number;
  /** The archives of configured services and types, by identity. */
  readonly found: ReadonlyMap<string, Descriptor>;
  /** Days that could not be listed although the service answers, with the reason. */
  readonly failedDays: ReadonlyMap<number, ServiceError>;
  /** Why it ended early, with the days from `endMs` on not listed. */
  readonly failure: ServiceError | null;
  readonly endMs: number;
}

/** The most archives of one listing; more are left to the next pull. */
const DESCRIPTORS_MAX = 100_000;
/** A pull ends after this many failed downloads in a row: the archives are not the cause. */
const UNREACHABLE_MAX = 2;
const DOWNLOADS: ReadonlySet<ArchiveAction> = new Set(['download', 'final']);

export class ArchiveLister implements Lister {
  /** How often in a row a day could not be listed. */
  readonly #failedCounts = new Map<number, number>();

  async pull(pull: Pull): Promise<PullEnd> {
    const { api, ledger, signal } = pull;
    const toMs = api.nowMs();
    const firstDays = ledger.tracks.map(({ cursor }) => firstListedDay(cursor, toMs));
    const fromDayMs = Math.min(...firstDays);
    const listing = await listDays(pull, fromDayMs, toMs);
    const { failure, failedDays } = listing;
    goOnUnlessStopped(signal);
    if (failure !== null && isRefused(failure) && listing.endMs === fromDayMs) {
      const hasJumped = await jumpToOldest(pull, ledger.tracks, fromDayMs);
      return hasJumped ? await this.pull(pull) : { kind: 'unreachable', failure };
    }
    const listed = this.#note(pull, listing);
    await noteLostDays(pull, listing);
    const end = await this.#work(pull, listed);
    await this.#finish(pull, listing);
    const [worst = failure] = failedDays.values();
    return end.kind === 'done' && worst !== null ? { kind: 'unreachable', failure: worst } : end;
  }

  /** Notes the listing in the ledger. Returns the archives that may have to be read. */
  #note({ ledger, meter }: Pull, listing: Listing): ReadonlySet<KnownArchive> {
    const { fromDayMs, endMs, failedDays } = listing;
    const listed = new Set<KnownArchive>();
    for (const descriptor of listing.found.values()) {
      const { partition, dayMs, size } = descriptor;
      if (dayMs < ledger.track(partition.service.id).cursor.lowMs) continue;
      if (!ledger.addPartition(partition)) {
        meter.counters.refused.add(1, 'too_many');
        continue;
      }
      const archive = ledger.archive(descriptor);
      listed.add(archive);
      const after = afterListed(archive.state, size);
      if (after !== archive.state) ledger.setArchive(archive, after);
    }
    for (const archive of ledger.archives()) {
      const { partition, state } = archive;
      const { dayMs } = state;
      // Days before the first listed one are those that the service no longer keeps.
      const isAsked = dayMs < endMs && !failedDays.has(dayMs);
      if (!isAsked || listed.has(archive)) continue;
      const { listedMs } = ledger.track(partition.service.id).cursor;
      const after = afterAbsent(state, listedMs ?? fromDayMs);
      if (after !== state) ledger.setArchive(archive, after);
    }
    for (const dayMs of failedDays.keys())
      this.#failedCounts.set(dayMs, (this.#failedCounts.get(dayMs) ?? 0) + 1);
    for (const dayMs of this.#failedCounts.keys())
      if (dayMs < endMs && !failedDays.has(dayMs)) this.#failedCounts.delete(dayMs);
    return listed;
  }

  /**
   * Processes all archives: the oldest days first, and within a day those that have waited longest. Those that failed the
   * last time come after all others, so that they cannot use up every pull.
   */
  async #work(pull: Pull, listed: ReadonlySet<KnownArchive>): Promise<PullEnd> {
    const { api, config, downloads, ledger, meter, signal } = pull;
    const actionOf = (state: ArchiveState): ArchiveAction =>
      actionFor(state, api.nowMs(), config.window.dayCloseGraceMs);
    const archives = ledger.archives().toSorted(byTurn);
    const due = archives.filter(
      archive => listed.has(archive) && DOWNLOADS.has(actionOf(archive.state)),
    );
    const progress = meter.begin(api.name, due.length);
    const failures = new Map<KnownArchive, ServiceError>();
    let unreachable: PullEnd | null = null;
    let failuresInARow = 0;
    let postponedCount = 0;
    for (const archive of archives) {
      goOnUnlessStopped(signal);
      const action = actionOf(archive.state);
      if (action === 'flush') {
        await flushArchive(pull, archive);
        continue;
      }
      if (action === 'nothing' || !listed.has(archive)) {
        meter.counters.archives.add(1, 'unchanged');
        continue;
      }
      if (!downloads.budget.isOpen) {
        postponedCount++;
        meter.counters.archives.add(1, 'postponed');
        continue;
      }
      const failure = await readArchive(pull, archive, action === 'final');
      archive.readAtMs = api.clock.monotonicMs();
      archive.hasFailed = failure !== null;
      progress.doneCount++;
      failuresInARow = failure === null ? 0 : failuresInARow + 1;
      if (failure === null) continue;
      failures.set(archive, failure);
      if (failuresInARow < UNREACHABLE_MAX) continue;
      unreachable = { kind: 'unreachable', failure };
      break;
    }
    goOnUnlessStopped(signal);
    // The service delivers others: these archives are the cause.
    const isOfArchives = failures.size < progress.doneCount;
    if (isOfArchives) await noteUndelivered(pull, failures);
    return unreachable ?? { kind: 'done', postponedCount };
  }

  /** Closes days, stores the changes, and notes how far each partition is. */
  async #finish(pull: Pull, listing: Listing): Promise<void> {
    const { ledger, meter } = pull;
    const behind = new Set(
      ledger
        .archives()
        .filter(({ state }) => isBehind(state))
        .map(({ partition }) => partitionKey(partition)),
    );
    for (const track of ledger.tracks) await this.#closeDays(pull, track, listing);
    await commit(pull, {});
    if (listing.failure !== null || listing.failedDays.size > 0) return;
    for (const partition of ledger.partitions)
      if (!behind.has(partitionKey(partition))) meter.status(partition).doneUntilMs = listing.toMs;
  }

  /** A closed day is not listed again, and its archives are forgotten. */
  async #closeDays(pull: Pull, track: Track, listing: Listing): Promise<void> {
    const { config, ledger } = pull;
    const { endMs, failedDays, toMs } = listing;
    const { service } = track;
    for (;;) {
      const dayMs = track.cursor.lowMs;
      if (dayMs >= endMs || !isDayOver(dayMs, toMs, config.window)) break;
      const isFailed = failedDays.has(dayMs);
      if (isFailed && (this.#failedCounts.get(dayMs) ?? 0) < WINDOW_TRIES_MAX) break;
      const ofDay = ledger
        .archives()
        .filter(({ partition, state }) => partition.service === service && state.dayMs <= dayMs);
      if (!ofDay.every(({ state }) => isFailed || isClosed(state) || isVanished(state))) break;
      const gaps = ofDay.flatMap(archive => archiveGap(archive, track.cursor.floorMs));
      const day = { fromMs: dayMs, toMs: dayMs + DAY_MS };
      if (isFailed) gaps.push(trackGap(track, day, 'window'));
      for (const archive of ofDay) ledger.forgetArchive(archive);
      ledger.move(track, { ...track.cursor, lowMs: day.toMs });
      // A forgotten archive must not be listed again: both changes go in one commit.
      if (gaps.length > 0) await commit(pull, { gaps });
    }
    const openDays = [...failedDays.keys()].filter(dayMs => dayMs >= track.cursor.lowMs);
    const listedMs = Math.min(toMs, endMs, ...openDays);
    if (listedMs > (track.cursor.listedMs ?? 0)) ledger.move(track, { ...track.cursor, listedMs });
  }
}

/** The order of downloads. */
function byTurn(a: KnownArchive, b: KnownArchive): number {
  return (
    Number(a.hasFailed) - Number(b.hasFailed) ||
    a.state.dayMs - b.state.dayMs ||
    a.readAtMs - b.readAtMs
  );
}

/**
 * Lists days in ascending order, several at once. A window of several days that cannot be finished is halved; a single
 * day is skipped and noted, if the service answers at all. `toMs` is the same for every page.
 */
async function listDays(pull: Pull, fromDayMs: number, toMs: number): Promise<Listing> {
  const longestDays = Math.max(1, Math.floor(pull.config.window.maxMs / DAY_MS));
  const found = new Map<string, Descriptor>();
  const failedDays = new Map<number, ServiceError>();
  let failure: ServiceError | null = null;
  let days = longestDays;
  let dayMs = fromDayMs;
  while (dayMs <= dayOf(toMs)) {
    const span = { fromMs: dayMs, toMs: Math.min(dayMs + days * DAY_MS, toMs) };
    failure = await listWindow(pull, span, found);
    if (failure === null) {
      dayMs += days * DAY_MS;
      days = Math.min(longestDays, days * 2);
      continue;
    }
    if (!isOfWindow(failure)) break;
    if (days > 1) {
      days = Math.floor(days / 2);
      continue;
    }
    if (!(await pull.api.isAnswering(pull.signal))) break;
    failedDays.set(dayMs, failure);
    dayMs += DAY_MS;
    failure = null;
  }
  // The list cannot be newer than the service's clock.
  const reachedMs = Math.min(toMs, pull.api.nowMs());
  return { fromDayMs, toMs: reachedMs, found, failedDays, failure, endMs: dayMs };
}

/** Lists each type separately, and again if its list changed while it was read. */
async function listWindow(
  pull: Pull,
  span: Span,
  found: Map<string, Descriptor>,
): Promise<ServiceError | null> {
  const { types } = pull.config;
  for (const type of types.length === 0 ? [null] : types) {
    let end = await listOnce(pull, span, type, found);
    if (end.ok && !end.isStable) end = await listOnce(pull, span, type, found);
    if (!end.ok) return end.error;
  }
  return null;
}

async function listOnce(
  { api, meter, signal }: Pull,
  span: Span,
  type: string | null,
  found: Map<string, Descriptor>,
): Promise<ListEnd> {
  const pages = api.list(span, type, signal);
  for (;;) {
    const page = await pages.next();
    if (page.done === true) {
      if (page.value.ok) api.noteTime(page.value.serverNowMs);
      return page.value;
    }
    for (const item of page.value) {
      const read = readDescriptor(item, api.items, span);
      if (typeof read === 'string') {
        meter.counters.refused.add(1, read);
        continue;
      }
      const identity = `${partitionKey(read.partition)} ${read.id}`;
      if (found.size < DESCRIPTORS_MAX || found.has(identity)) found.set(identity, read);
      else meter.counters.refused.add(1, 'too_many');
    }
  }
}

/**
 * Reports lost days if no pull came for longer than the service keeps its logs, and it lists deleted days as empty: no
 * day between the last list and the first listed archive has one.
 */
async function noteLostDays(pull: Pull, { failure, failedDays, found, toMs }: Listing) {
  const { ledger } = pull;
  if (failure !== null || failedDays.size > 0) return;
  const gaps: Gap[] = [];
  for (const track of ledger.tracks) {
    const { service, cursor } = track;
    const { listedMs } = cursor;
    // Before the first list there may have been no logs.
    if (listedMs === null || toMs - listedMs <= DAY_MS) continue;
    let firstDayMs = Infinity;
    for (const { partition, dayMs } of found.values())
      if (partition.service.id === service.id) firstDayMs = Math.min(firstDayMs, dayMs);
    if (firstDayMs === Infinity || firstDayMs <= dayOf(listedMs) + DAY_MS) continue;
    const span = { fromMs: listedMs, toMs: firstDayMs };
    gaps.push(trackGap(track, span, 'retention'));
    ledger.move(track, { ...cursor, listedMs: firstDayMs });
    // What its archives may have lost in this time is part of the gap, but not what they lost before.
    for (const archive of ledger.archives())
      if (archive.partition.service === service && archive.state.absentFromMs === listedMs)
        ledger.setArchive(archive, { ...archive.state, absentFromMs: firstDayMs });
  }
  if (gaps.length > 0) await commit(pull, { gaps });
}

/** None below the floor: that time was reported when the floor was raised. */
function archiveGap({ partition, id, state }: KnownArchive, floorMs: number): Gap[] {
  const fromMs = lostFromMs(state);
  const span = { fromMs: fromMs ?? Infinity, toMs: state.dayMs + DAY_MS };
  if (fromMs === null || span.toMs <= floorMs) return [];
  return [{ partition, span, reason: 'vanished', archive: id }];
}
