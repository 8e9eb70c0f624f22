// A pull of archives: lists every day that is not closed, downloads archives that have grown, sends records that were
// open for too long, and closes days that are complete. Archives that the service has deleted are skipped as gaps. Each
// step is committed with its records, so that the next pull continues where this one ends. A type that cannot be listed
// does not block the others, but it holds its days open for a while.

import { DAY_MS } from '../lib/clock.ts';
import { flushArchive, noteUndelivered, readArchive } from './archive-reading.ts';
import {
  actionFor,
  type ArchiveAction,
  type ArchiveState,
  afterAbsent,
  afterListed,
  afterLoss,
  afterUnlisted,
  endOf,
  isBehind,
  isClosed,
  isVanished,
  lostFromMs,
} from './archive-state.ts';
import { dayOf, firstListedDay, isDayOver, isHeld, type Span, WINDOW_TRIES_MAX } from './cursor.ts';
import { type Gap, trackGap } from './gap.ts';
import { type Descriptor, partitionKey, readDescriptor } from './item.ts';
import { type KnownArchive, oldestBehind, type Track } from './ledger.ts';
import type { ServiceError } from '../service/service-error.ts';
import { failedList, isOfWindow, isRefused, isTooMany, type ListEnd } from './list.ts';
import {
  commit,
  DONE,
  goOnUnlessStopped,
  MAY_BE_KEY,
  type Pull,
  type PullEnd,
  unreachable,
} from './pull.ts';
import { findOldestDay, jumpToOldest } from './retention.ts';

interface Listing {
  readonly fromDayMs: number;
  /** The time up to which archives were listed. */
  readonly toMs: number;
  /** The archives of configured services and types, by identity. */
  readonly found: ReadonlyMap<string, Descriptor>;
  readonly failed: readonly FailedDay[];
  /** Days that failed for every type. */
  readonly unlistedDays: ReadonlySet<number>;
  /** True if any list could be read. */
  readonly isAnswered: boolean;
}

/** A day of one type that could not be listed. */
interface FailedDay {
  /** '' means all types. */
  readonly type: string;
  readonly dayMs: number;
  readonly error: ServiceError;
  /** True if only the day is the cause: the service answers for this type on others. */
  readonly isAlone: boolean;
  /** The first day that the service keeps of this type; null if the age of the day is not the cause. */
  readonly oldestMs: number | null;
}

/** The most archives of one listing. Days beyond that wait until older ones are closed. */
const DESCRIPTORS_MAX = 100_000;
/** A pull ends after this many failed downloads in a row: the archives are not the cause. */
const UNREACHABLE_MAX = 2;
const DOWNLOADS: ReadonlySet<ArchiveAction> = new Set(['download', 'final']);

export class ArchiveLister {
  /** How often in a row a day could not be listed although others could, by type and day. */
  #failedCounts: ReadonlyMap<string, ReadonlyMap<number, number>> = new Map();

  async pull(pull: Pull): Promise<PullEnd> {
    const { api, ledger, meter } = pull;
    const toMs = api.nowMs();
    const firstDays = ledger.tracks.map(({ cursor }) => firstListedDay(cursor, toMs));
    const fromDayMs = Math.min(...firstDays);
    const listing = await listTypes(pull, { fromMs: fromDayMs, toMs }, this.#failedCounts);
    goOnUnlessStopped(api);
    meter.reached(api.items.services, type => !isFailed(listing, type));
    if (await jumpIfTooOld(pull, listing)) return await this.pull(pull);
    this.#countFailures(pull, listing);
    const listed = this.#note(pull, listing);
    await noteLostDays(pull, listing);
    const end = await this.#work(pull, listed);
    await this.#finish(pull, listing);
    const [failed] = listing.failed;
    if (end.kind !== 'done' || failed === undefined) return end;
    return unreachable(
      failed.error,
      listing.failed.map(({ type }) => type),
    );
  }

  /** A service that answers for no type says nothing about a day. */
  #countFailures({ api, ledger }: Pull, { failed, isAnswered }: Listing): void {
    if (!isAnswered) return;
    const isOfType = (one: FailedDay): boolean => !isTooMuch(one) && !isTooMany(one.error);
    const types = new Set(failed.filter(isOfType).map(({ type }) => type));
    for (const track of ledger.tracks) {
      const known = track.unlistedMs;
      const unlisted = [...types].map(type => [type, known[type] ?? api.overMs()] as const);
      if (types.size + Object.keys(known).length > 0)
        ledger.move(track, { unlistedMs: Object.fromEntries(unlisted) });
    }
    const countOf = (one: FailedDay) => [one.dayMs, this.#failedCount(one) + 1] as const;
    const byType = [...Map.groupBy(failed, ({ type }) => type)];
    this.#failedCounts = new Map(byType.map(([type, days]) => [type, new Map(days.map(countOf))]));
  }

  #failedCount({ type, dayMs }: FailedDay): number {
    return this.#failedCounts.get(type)?.get(dayMs) ?? 0;
  }

  /** True if the day may close without this type. A type that is refused or fails gets more time: it may come back. */
  #isGivenUp(one: FailedDay, { unlistedMs }: Track, nowMs: number): boolean {
    const isOften = this.#failedCount(one) >= WINDOW_TRIES_MAX;
    const sinceMs = unlistedMs[one.type] ?? nowMs;
    return isOften && (isTooMuch(one) || !isHeld(one.dayMs + DAY_MS, sinceMs, nowMs));
  }

  /** Notes the listing in the ledger. Returns the archives that may have to be read. */
  #note({ ledger, meter }: Pull, listing: Listing): ReadonlySet<KnownArchive> {
    const { fromDayMs, toMs } = listing;
    const listed = new Set<KnownArchive>();
    for (const descriptor of listing.found.values()) {
      const { partition, dayMs, endMs, size } = descriptor;
      const track = ledger.track(partition.service.id);
      const lateMs = endMs - dayMs - DAY_MS;
      if (lateMs > (track.lateMs ?? -1)) ledger.move(track, { lateMs });
      if (dayMs < track.cursor.lowMs || endMs <= track.cursor.floorMs) continue;
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
      // The service no longer keeps days before the first listed one: their archives count as absent.
      if (dayMs > toMs || listing.unlistedDays.has(dayMs) || listed.has(archive)) continue;
      const { listedMs } = ledger.track(partition.service.id).cursor;
      const afterList = isFailed(listing, partition.type, dayMs) ? afterUnlisted : afterAbsent;
      const after = afterList(state, listedMs ?? fromDayMs);
      if (after !== state) ledger.setArchive(archive, after);
    }
    return listed;
  }

  /**
   * Processes all archives: the oldest days first, and within a day those that have waited longest. Those that failed the
   * last time come after all others, so that they cannot use up every pull.
   */
  async #work(pull: Pull, listed: ReadonlySet<KnownArchive>): Promise<PullEnd> {
    const { api, config, downloads, ledger, meter } = pull;
    const actionOf = (state: ArchiveState): ArchiveAction =>
      actionFor(state, api.overMs(), config.window.dayCloseGraceMs);
    const archives = ledger.archives().toSorted(byTurn);
    const due = archives.filter(
      archive => listed.has(archive) && DOWNLOADS.has(actionOf(archive.state)),
    );
    const progress = meter.begin(api.name, due.length);
    const failures = new Map<KnownArchive, ServiceError>();
    let failed: ServiceError | null = null;
    let failuresInARow = 0;
    for (const archive of archives) {
      goOnUnlessStopped(api);
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
      failed = failure;
      break;
    }
    goOnUnlessStopped(api);
    // The service delivers others: these archives are the cause.
    const isOfArchives = failures.size < progress.doneCount;
    if (isOfArchives) await noteUndelivered(pull, failures);
    // A refusal says nothing about a key with which others were delivered.
    if (failed === null || (isOfArchives && MAY_BE_KEY.has(failed.reason))) return DONE;
    return unreachable(failed);
  }

  /** Closes days, stores the changes, and notes how far each partition is. */
  async #finish(pull: Pull, listing: Listing): Promise<void> {
    const { ledger, meter } = pull;
    const archives = ledger.archives();
    const behind = new Set(
      archives
        .filter(({ state }) => isBehind(state))
        .map(({ partition }) => partitionKey(partition)),
    );
    for (const track of ledger.tracks) await this.#closeDays(pull, track, listing);
    await commit(pull, {});
    for (const partition of ledger.partitions)
      if (!behind.has(partitionKey(partition)) && !isFailed(listing, partition.type))
        meter.status(partition).doneUntilMs = listing.toMs;
    for (const archive of oldestBehind(archives, pull.config.types)) {
      const status = meter.status(archive.partition);
      status.doneUntilMs = Math.max(status.doneUntilMs ?? 0, ledger.firstMs(archive));
    }
  }

  /** A closed day is not listed again, and its archives are forgotten. */
  async #closeDays(pull: Pull, track: Track, listing: Listing): Promise<void> {
    const { api, config, ledger } = pull;
    const { service } = track;
    const overMs = Math.min(listing.toMs, api.overMs());
    for (;;) {
      const dayMs = track.cursor.lowMs;
      const day = { fromMs: dayMs, toMs: dayMs + DAY_MS };
      const { floorMs } = track.cursor;
      // Before any archive was seen, the archives of a day may end up to a day later.
      const lateMs = track.lateMs ?? (day.toMs <= floorMs ? 0 : DAY_MS);
      if (!isDayOver(dayMs, lateMs, overMs, config.window)) break;
      // A type that could not be listed for a day before the start is not missing, unless all types failed.
      const isBeforeStart = day.toMs + lateMs <= floorMs && !listing.unlistedDays.has(dayMs);
      const failed = listing.failed.filter(one => one.dayMs === dayMs);
      if (!isBeforeStart && !failed.every(one => this.#isGivenUp(one, track, overMs))) break;
      const ofDay = ledger.archives(service).filter(({ state }) => state.dayMs <= dayMs);
      const isUnlisted = ({ partition, state }: KnownArchive): boolean =>
        isFailed(listing, partition.type, state.dayMs);
      const [unread, read] = [ofDay.filter(isUnlisted), ofDay.filter(one => !isUnlisted(one))];
      const { types } = config;
      const { dayCloseGraceMs: graceMs } = config.window;
      if (!read.every(({ state }) => isClosed(state, graceMs) || isVanished(state))) break;
      // An archive is not missing if its type was removed from the configuration and so is no longer listed.
      const isWanted = ({ partition }: KnownArchive): boolean =>
        types.length === 0 || types.includes(partition.type);
      const gaps = [
        ...read.filter(isWanted).flatMap(archive => archiveGap(archive, floorMs, graceMs)),
        ...(isBeforeStart ? [] : gapTypes(listing, dayMs)).map(type =>
          trackGap({ service, type }, day, 'window'),
        ),
      ];
      // Their open records will never be completed.
      for (const archive of unread) await flushArchive(pull, archive);
      for (const archive of ofDay) ledger.forgetArchive(archive);
      ledger.move(track, { cursor: { ...track.cursor, lowMs: day.toMs } });
      // A forgotten archive must not be listed again: both changes go in one commit.
      if (gaps.length > 0) await commit(pull, { gaps });
    }
    const openDays = [...listing.unlistedDays].filter(dayMs => dayMs >= track.cursor.lowMs);
    const listedMs = Math.min(overMs, ...openDays);
    if (listedMs > (track.cursor.listedMs ?? 0))
      ledger.move(track, { cursor: { ...track.cursor, listedMs } });
  }
}

function byTurn(a: KnownArchive, b: KnownArchive): number {
  return (
    Number(a.hasFailed) - Number(b.hasFailed) ||
    a.state.dayMs - b.state.dayMs ||
    a.readAtMs - b.readAtMs
  );
}

/** True if a retry will not help: the list of a single day is too much for the service, which answers for others. */
function isTooMuch({ isAlone, error }: FailedDay): boolean {
  return isAlone && isOfWindow(error);
}

/** True if archives of this type could not be listed for that day, by default for any day. */
function isFailed({ failed }: Listing, type: string, dayMs?: number): boolean {
  return failed.some(
    one => (one.type === '' || one.type === type) && (dayMs === undefined || one.dayMs === dayMs),
  );
}

/** The types that could not be listed for a day; '' means all types. */
function gapTypes({ failed, unlistedDays }: Listing, dayMs: number): readonly string[] {
  if (unlistedDays.has(dayMs)) return [''];
  return failed.filter(one => one.dayMs === dayMs).map(({ type }) => type);
}

/**
 * Lists each type separately. `toMs` is the same for every page. Types in `onceTypes` get one try per request: otherwise
 * they would use up the time for retries, and all others would have to wait.
 */
async function listTypes(
  pull: Pull,
  days: Span,
  onceTypes: ReadonlyMap<string, unknown>,
): Promise<Listing> {
  const { fromMs: fromDayMs, toMs } = days;
  const { api } = pull;
  const { giveUpAtMs } = api;
  const found = new Map<string, Descriptor>();
  const failed: FailedDay[] = [];
  const { types: configured } = pull.config;
  const types = configured.length === 0 ? [''] : configured;
  for (const type of types) {
    if (onceTypes.has(type)) api.giveUpAtMs = -Infinity;
    const ofType = new Map<string, Descriptor>();
    const countMax = DESCRIPTORS_MAX - found.size;
    failed.push(...(await listDays(pull, { type, days, countMax }, ofType)));
    for (const [identity, descriptor] of ofType) found.set(identity, descriptor);
    api.giveUpAtMs = giveUpAtMs;
  }
  const ofDays = [...Map.groupBy(failed, ({ dayMs }) => dayMs)];
  const unlisted = ofDays.filter(([, ofDay]) => ofDay.length === types.length);
  const dayCount = (dayOf(toMs) - fromDayMs) / DAY_MS + 1;
  return {
    fromDayMs,
    // The list cannot be newer than the service's clock.
    toMs: Math.min(toMs, api.nowMs()),
    found,
    failed,
    unlistedDays: new Set(unlisted.map(([dayMs]) => dayMs)),
    isAnswered: unlisted.length < dayCount || failed.some(one => one.isAlone),
  };
}

interface ListedType {
  readonly type: string;
  readonly days: Span;
  /** More archives than this are too many: what the types before it have left. */
  readonly countMax: number;
}

/**
 * Lists the days of one type in ascending order, several at once. A window of several days that cannot be finished is
 * halved. A single day is skipped if the service answers at all, and so are days that are no longer kept. After any
 * other failure, such as too many archives, the remaining days are not requested.
 */
async function listDays(
  pull: Pull,
  listed: ListedType,
  found: Map<string, Descriptor>,
): Promise<readonly FailedDay[]> {
  const { api, config } = pull;
  const { type } = listed;
  const { fromMs, toMs } = listed.days;
  const longestDays = Math.max(1, Math.floor(config.window.maxMs / DAY_MS));
  const failed: FailedDay[] = [];
  let days = longestDays;
  for (let dayMs = fromMs; dayMs <= dayOf(toMs); ) {
    const span = { fromMs: dayMs, toMs: Math.min(dayMs + days * DAY_MS, toMs) };
    let end = await listOnce(pull, span, listed, found);
    // The list changed while it was read.
    if (end.ok && !end.isStable) end = await listOnce(pull, span, listed, found);
    if (end.ok) {
      dayMs += days * DAY_MS;
      days = Math.min(longestDays, days * 2);
      continue;
    }
    const { error } = end;
    // The service may fail because of one day only.
    const mayBeDay = isOfWindow(error) || error.kind === 'server';
    // The service may refuse a range because of its length or its first days.
    if ((mayBeDay || isRefused(error)) && days > 1) {
      days = Math.floor(days / 2);
      // A list may begin with the latest day.
      for (const [identity, one] of found) if (one.dayMs >= dayMs) found.delete(identity);
      continue;
    }
    // The service may keep this type for a shorter time than others.
    const oldestMs = isRefused(error) ? await findOldestDay(api, type, dayMs) : null;
    // Too many are due to this day only if no older day takes up room.
    const isDay = isTooMany(error) ? dayMs === fromMs : mayBeDay && (await api.isAnswering(type));
    const isAlone = oldestMs !== null || isDay;
    const lastMs = isAlone ? Math.max(dayMs, (oldestMs ?? 0) - DAY_MS) : dayOf(toMs);
    for (; dayMs <= lastMs; dayMs += DAY_MS) failed.push({ type, dayMs, error, isAlone, oldestMs });
  }
  return failed;
}

/**
 * If the service refused the first day of every type because of its age, moves the tracks up to the first day of the
 * type that is kept longest, and returns true.
 */
async function jumpIfTooOld(pull: Pull, listing: Listing): Promise<boolean> {
  const { failed, fromDayMs, unlistedDays } = listing;
  const ofFirstDay = failed.filter(({ dayMs }) => dayMs === fromDayMs);
  // A type that can be listed, now or later, must lose no days because of another one.
  if (!unlistedDays.has(fromDayMs) || !ofFirstDay.every(({ error }) => isRefused(error)))
    return false;
  const ageOf = ({ oldestMs }: FailedDay): number => oldestMs ?? Infinity;
  const [first] = ofFirstDay.toSorted((a, b) => ageOf(a) - ageOf(b));
  if (first === undefined) return false;
  const refused = { ...first, fromMs: fromDayMs };
  return await jumpToOldest(pull, pull.ledger.tracks, refused);
}

async function listOnce(
  { api, meter }: Pull,
  span: Span,
  { type, countMax }: ListedType,
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
      if (found.size >= countMax && !found.has(identity)) {
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

/**
 * Reports days as lost if the service deleted them while no pull came, and lists them as empty: the days between the
 * last list and the first listed archive, of a service or of a type that it keeps for a shorter time.
 */
async function noteLostDays(pull: Pull, listing: Listing): Promise<void> {
  const { ledger } = pull;
  const firstDays = firstDaysOf(listing);
  const gaps: Gap[] = [];
  for (const track of ledger.tracks) {
    const { service, cursor } = track;
    const { listedMs } = cursor;
    // Before the first list there may have been no logs.
    if (listedMs === null || listing.toMs - listedMs <= DAY_MS) continue;
    const gone = ledger.archives(service).filter(({ state }) => state.absentFromMs === listedMs);
    // A type of which no archive has gone may be new, or had nothing to log.
    const types = new Set(gone.map(({ partition }) => partition.type));
    let [fromMs, keptMs] = [listedMs, dayOf(listedMs) + DAY_MS];
    for (const type of ['', ...types]) {
      const toMs = firstDays.get(service.id)?.get(type) ?? -Infinity;
      if (toMs <= keptMs) continue;
      gaps.push(trackGap({ service, type }, { fromMs, toMs }, 'retention'));
      // Possible losses of known archives in this time are part of the gap. Earlier losses are not.
      for (const archive of gone)
        if (type === '' || archive.partition.type === type)
          ledger.setArchive(archive, afterLoss(archive.state, { fromMs: listedMs, toMs }));
      if (type !== '') continue;
      ledger.move(track, { cursor: { ...cursor, listedMs: toMs } });
      [fromMs, keptMs] = [toMs, toMs];
    }
  }
  if (gaps.length > 0) await commit(pull, { gaps });
}

/**
 * The first day with archives, by service and type; '' stands for all types together. A day that could not be listed may
 * have archives.
 */
function firstDaysOf(listing: Listing): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const firstDays = new Map<string, Map<string, number>>();
  for (const { partition, dayMs } of listing.found.values()) {
    const { id } = partition.service;
    const ofService = firstDays.get(id) ?? new Map<string, number>();
    for (const type of ['', partition.type]) {
      const knownMs = ofService.get(type) ?? firstFailedDay(listing, type);
      ofService.set(type, Math.min(knownMs, dayMs));
    }
    firstDays.set(id, ofService);
  }
  return firstDays;
}

/** The first day that could not be listed for this type; for '', the first one that failed for every type. */
function firstFailedDay({ failed, unlistedDays }: Listing, type: string): number {
  if (type === '') return Math.min(...unlistedDays);
  const ofType = failed.filter(one => one.type === '' || one.type === type);
  return Math.min(...ofType.map(({ dayMs }) => dayMs));
}

/** None below the floor: that time was reported when the floor was raised. */
function archiveGap(
  { partition, id, state }: KnownArchive,
  floorMs: number,
  graceMs: number,
): Gap[] {
  const fromMs = lostFromMs(state, graceMs);
  const toMs = endOf(state);
  if (fromMs === null || toMs <= floorMs) return [];
  return [{ partition, span: { fromMs, toMs }, reason: 'vanished', archive: id }];
}
