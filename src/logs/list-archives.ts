// A pull: lists every day that is not closed, downloads archives that have grown, sends records that were open for too
// long, and closes days that are complete. Days and archives that the service no longer keeps are skipped as gaps. Each
// step is committed with its records, so that the next pull continues where this one ends. A type that cannot be listed
// does not block the others, but it holds its days open for a while.

import { DAY_MS } from '../lib/clock.ts';
import type { ServiceError } from '../service/service-error.ts';
import { flushArchive, readArchive } from './archive-reading.ts';
import {
  actionFor,
  type ArchiveAction,
  type ArchiveState,
  afterAbsent,
  afterListed,
  endOf,
  isBehind,
  isClosed,
  isVanished,
  lostSpan,
} from './archive-state.ts';
import { firstListedDay, isHeld } from './cursor.ts';
import { type Gap, trackGap } from './gap.ts';
import { partitionKey } from './item.ts';
import { type KnownArchive, oldestBehind, type Track } from './ledger.ts';
import { type FailedDay, isFailed, type Listing, listTypes } from './listing.ts';
import {
  commit,
  DONE,
  goOnUnlessStopped,
  MAY_BE_KEY,
  type Pull,
  type PullEnd,
  unreachable,
} from './pull.ts';

/** A pull ends after this many failed downloads in a row: the archives are not the cause. */
const UNREACHABLE_MAX = 2;
const DOWNLOADS: ReadonlySet<ArchiveAction> = new Set(['download', 'final']);

export async function pullArchives(pull: Pull): Promise<PullEnd> {
  const { api, ledger, meter } = pull;
  const toMs = api.nowMs();
  const fromMs = Math.min(...ledger.tracks.map(({ cursor }) => firstListedDay(cursor, toMs)));
  const failing = new Set(ledger.tracks.flatMap(({ unlistedMs }) => Object.keys(unlistedMs)));
  const listing = await listTypes(pull, { fromMs, toMs }, failing);
  goOnUnlessStopped(api);
  meter.reached(api.items.services, type => !isFailed(listing, type));
  const listed = noteListing(pull, listing);
  const end = await readDue(pull, listed);
  await finish(pull, listing);
  const failed = listing.failed.filter(({ isGone }) => !isGone);
  if (end.kind !== 'done' || failed[0] === undefined) return end;
  return unreachable(
    failed[0].error,
    failed.map(({ type }) => type),
  );
}

/** Notes the listing in the ledger. Returns the archives that may have to be read. */
function noteListing(pull: Pull, listing: Listing): ReadonlySet<KnownArchive> {
  const { ledger, meter } = pull;
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
  noteAbsent(pull, listing, listed);
  return listed;
}

/** Notes which archives of listed days were not listed, and of which time logs may be lost by that. */
function noteAbsent({ ledger }: Pull, listing: Listing, listed: ReadonlySet<KnownArchive>): void {
  const firstDays = new Map<string, number>();
  for (const { partition, dayMs } of listing.found.values()) {
    const key = partitionKey(partition);
    firstDays.set(key, Math.min(firstDays.get(key) ?? dayMs, dayMs));
  }
  for (const archive of ledger.archives()) {
    const { partition, state } = archive;
    const { dayMs } = state;
    if (dayMs > listing.toMs || listed.has(archive)) continue;
    if (isFailed(listing, partition.type, dayMs)) continue;
    const track = ledger.track(partition.service.id);
    const fromMs = listedUntil(track, partition.type) ?? dayMs;
    // If no pull came for days, the service may have deleted later archives, too, up to the first that it lists.
    const isLong = listing.toMs - fromMs > DAY_MS;
    const firstMs = isLong ? (firstDays.get(partitionKey(partition)) ?? 0) : 0;
    const after = afterAbsent(state, { fromMs, toMs: Math.max(endOf(state), firstMs) });
    if (after !== state) ledger.setArchive(archive, after);
  }
}

/** Notes up to when each type was listed, and since when it could not be listed although others could. */
function noteTypes({ ledger }: Pull, track: Track, listing: Listing): void {
  const listedMs = { ...track.listedMs };
  const unlistedMs: Record<string, number> = {};
  for (const type of listing.types) {
    // A day that has closed leaves nothing to note; one that is gone makes its gap when it closes.
    const failed = listing.failed.filter(
      one => one.type === type && one.dayMs >= track.cursor.lowMs,
    );
    if (failed.length === 0) listedMs[type] = Math.max(listedMs[type] ?? 0, listing.overMs);
    else if (failed.some(({ isGone, isWaiting }) => !isGone && !isWaiting))
      unlistedMs[type] = track.unlistedMs[type] ?? listing.overMs;
  }
  ledger.move(track, { listedMs, unlistedMs });
}

/** The time up to which archives of this type were listed; undefined before the first time. */
function listedUntil({ listedMs }: Track, type: string): number | undefined {
  return listedMs[type] ?? listedMs[''];
}

/**
 * Reads all archives that are due: the oldest days first, and within a day those that have waited longest. Those that
 * failed the last time come after all others, with one try, so that they cannot use up every pull.
 */
async function readDue(pull: Pull, listed: ReadonlySet<KnownArchive>): Promise<PullEnd> {
  const { api, config, downloads, ledger, meter } = pull;
  const { giveUpAtMs } = api;
  const actionOf = (state: ArchiveState): ArchiveAction =>
    actionFor(state, api.overMs(), config.dayCloseGraceMs);
  const archives = ledger.archives().toSorted(byTurn);
  const due = archives.filter(
    archive => listed.has(archive) && DOWNLOADS.has(actionOf(archive.state)),
  );
  const progress = meter.begin(api.name, due.length);
  let failureCount = 0;
  let failuresInARow = 0;
  let failed: ServiceError | null = null;
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
    api.giveUpAtMs = archive.hasFailed ? -Infinity : giveUpAtMs;
    const failure = await readArchive(pull, archive, action === 'final');
    api.giveUpAtMs = giveUpAtMs;
    archive.readAtMs = api.clock.monotonicMs();
    archive.hasFailed = failure !== null;
    progress.doneCount++;
    failuresInARow = failure === null ? 0 : failuresInARow + 1;
    if (failure === null) continue;
    failureCount++;
    if (failuresInARow < UNREACHABLE_MAX) continue;
    failed = failure;
    break;
  }
  goOnUnlessStopped(api);
  // A refusal says nothing about a key with which others were delivered.
  const isOfArchives = failureCount < progress.doneCount;
  if (failed === null || (isOfArchives && MAY_BE_KEY.has(failed.reason))) return DONE;
  return unreachable(failed);
}

function byTurn(a: KnownArchive, b: KnownArchive): number {
  return (
    Number(a.hasFailed) - Number(b.hasFailed) ||
    a.state.dayMs - b.state.dayMs ||
    a.readAtMs - b.readAtMs
  );
}

/** Closes days, stores the changes, and notes how far each partition is. */
async function finish(pull: Pull, listing: Listing): Promise<void> {
  const { ledger, meter } = pull;
  const archives = ledger.archives();
  const behind = new Set(
    archives.filter(({ state }) => isBehind(state)).map(({ partition }) => partitionKey(partition)),
  );
  // A service that answers for no type says nothing about a day.
  for (const track of listing.isAnswered ? ledger.tracks : []) {
    await closeDays(pull, track, listing);
    noteTypes(pull, track, listing);
  }
  await commit(pull, {});
  for (const partition of ledger.partitions)
    if (!behind.has(partitionKey(partition)) && !isFailed(listing, partition.type))
      meter.status(partition).doneUntilMs = listing.toMs;
  for (const archive of oldestBehind(archives, pull.config.types)) {
    const status = meter.status(archive.partition);
    status.doneUntilMs = Math.max(status.doneUntilMs ?? 0, ledger.firstMs(archive));
  }
}

/** Closes days, the oldest first. A closed day is not listed again, and its archives are forgotten. */
async function closeDays(pull: Pull, track: Track, listing: Listing): Promise<void> {
  const { ledger } = pull;
  const { cursor, service } = track;
  const open = new Set(ledger.archives(service));
  const closed: KnownArchive[] = [];
  const gaps: Gap[] = [];
  let dayMs = cursor.lowMs;
  for (; ; dayMs += DAY_MS) {
    const failed = listing.failed.filter(one => one.dayMs === dayMs);
    const ofDay = [...open].filter(({ state }) => state.dayMs <= dayMs);
    const unread = ofDay.filter(one => isUnlisted(listing, one));
    const read = ofDay.filter(one => !unread.includes(one));
    if (!isComplete(pull, track, { dayMs, listing, failed, read })) break;
    for (const archive of read) gaps.push(...archiveGap(pull, track, archive));
    for (const one of failed) addDayGap(gaps, track, one, unread);
    for (const archive of ofDay) open.delete(archive);
    closed.push(...ofDay);
  }
  if (dayMs === cursor.lowMs) return;
  // Their open records will never be completed.
  for (const archive of closed) if (isUnlisted(listing, archive)) await flushArchive(pull, archive);
  for (const archive of closed) ledger.forgetArchive(archive);
  ledger.move(track, { cursor: { ...cursor, lowMs: dayMs } });
  // A forgotten archive must not be listed again: both changes go in one commit.
  if (gaps.length > 0) await commit(pull, { gaps: joined(gaps, listing.types.length) });
}

function isUnlisted(listing: Listing, { partition, state }: KnownArchive): boolean {
  return isFailed(listing, partition.type, state.dayMs);
}

interface Day {
  readonly dayMs: number;
  readonly listing: Listing;
  /** What of it could not be listed. */
  readonly failed: readonly FailedDay[];
  /** Its open archives of types that could be listed. */
  readonly read: readonly KnownArchive[];
}

/** True if nothing more is expected of a day. A type that could not be listed gets more time: it may come back. */
function isComplete(
  { config }: Pull,
  { cursor: { floorMs }, lateMs, unlistedMs }: Track,
  { dayMs, listing, failed, read }: Day,
): boolean {
  const { overMs, types } = listing;
  const { dayCloseGraceMs: graceMs } = config;
  // Before any archive was seen, the archives of a day may end up to a day later.
  const endMs = dayMs + DAY_MS + (lateMs ?? (dayMs + DAY_MS <= floorMs ? 0 : DAY_MS));
  if (overMs < endMs + graceMs) return false;
  // A type that could not be listed for a day before the start is not missing, unless all types failed.
  const isBeforeStart = endMs <= floorMs && failed.length < types.length;
  const isHeldOpen = ({ type, isGone, isWaiting }: FailedDay): boolean =>
    !isGone && (isWaiting || isHeld(dayMs + DAY_MS, unlistedMs[type] ?? overMs, overMs));
  if (!isBeforeStart && failed.some(isHeldOpen)) return false;
  return read.every(({ state }) => isClosed(state, graceMs) || isVanished(state));
}

/** Adds the gap of a day that could not be listed for a type. The gaps of days in a row become one. */
function addDayGap(
  gaps: Gap[],
  track: Track,
  { type, dayMs, isGone }: FailedDay,
  unread: readonly KnownArchive[],
): void {
  const ofType = unread.filter(({ partition }) => type === '' || partition.type === type);
  // What was listed before the failures was read, unless an archive is behind.
  const isBehindHere = ofType.some(({ state }) => isBehind(state));
  const readMs = isBehindHere ? 0 : (listedUntil(track, type) ?? 0);
  const fromMs = Math.max(dayMs, track.cursor.floorMs, readMs);
  const toMs = dayMs + DAY_MS;
  if (fromMs >= toMs) return;
  const reason = isGone ? 'retention' : 'unlisted';
  const { service } = track;
  const gap = trackGap({ service, type }, { fromMs, toMs }, reason);
  const place = gaps.findIndex(
    one => one.partition.type === type && one.reason === reason && one.span.toMs === fromMs,
  );
  const before = gaps[place];
  if (before === undefined) gaps.push(gap);
  else gaps[place] = { ...gap, span: { fromMs: before.span.fromMs, toMs } };
}

/** Gaps of the same time for all types become one. */
function joined(gaps: readonly Gap[], typeCount: number): readonly Gap[] {
  const groups = Map.groupBy(gaps, ({ archive, reason, span: { fromMs, toMs } }) =>
    [archive, reason, fromMs, toMs].join(' '),
  );
  return [...groups.values()].flatMap(group => {
    const [first] = group;
    if (first === undefined || first.archive !== '' || group.length < typeCount) return group;
    return [trackGap({ ...first.partition, type: '' }, first.span, first.reason)];
  });
}

/** The gap of an archive that has vanished. None below the floor: older lines are not wanted. */
function archiveGap(
  { config }: Pull,
  { cursor: { floorMs } }: Track,
  { partition, id, state }: KnownArchive,
): readonly Gap[] {
  const { types, dayCloseGraceMs } = config;
  // An archive is not missing if its type was removed from the configuration and so is no longer listed.
  if (types.length > 0 && !types.includes(partition.type)) return [];
  const span = lostSpan(state, dayCloseGraceMs);
  if (span === null || endOf(state) <= floorMs) return [];
  const reason = span.toMs > endOf(state) ? 'retention' : 'vanished';
  return [{ partition, span, reason, archive: id }];
}
