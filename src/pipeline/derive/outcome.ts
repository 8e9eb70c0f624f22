// Accepts one sample of a series: judges its time, updates its start, and notes what the next page
// is compared with. In: a row with value and timeMs from decode. Out: its outcome; value, timeMs and
// startMs as sent. Implements docs/how-it-works/mapping.md F for scalars, and for the heads and parts of
// histograms and summaries. The end of the file has staleness (docs/how-it-works/mapping.md G): a series that is
// absent, or whose timestamps do not move, gets one point without a value, so that back ends stop
// showing its last value.

import { isCompound } from '../../model/metric.ts';
import { OUTCOME, NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import type { Instance, Compound } from '../../model/memory.ts';
import { rowsOf } from './compound.ts';
import type { Judge } from './options.ts';
import { instanceOfRow, isScraped } from './places.ts';
import {
  forgetAbsentParts,
  isFirst,
  isObserved,
  judgeStream,
  STREAM,
  streamByCounts,
} from './reset.ts';
import { CACHED_READINGS } from './uptimes.ts';

/** Judges a scalar's sample; the outcome is point, repeated, baseline or a time reason. */
export function outcomeOfScalar(judge: Judge, row: number): number {
  const { table } = judge;
  const isSum = table.metrics[table.metric[row]!]!.kind === 'sum';
  const value = table.value[row]!;
  const last = table.lastValue[row]!;
  let outcome = judgeRowTime(judge, row, isSameSample(table, row, value));
  if (outcome !== OUTCOME.point) return outcome;
  if (isSum) outcome = outcomeOfSum(judge, row);
  if (outcome === WAITS) return OUTCOME.baseline;
  if (value !== last && !Number.isNaN(last)) noteChange(table, row);
  accept(judge, row, outcome);
  // After a NaN, or as a delta after an infinity, a counter is compared with its last number. A
  // cumulative infinity was sent: a lower value has fallen.
  const isOdd = judge.options.isDelta ? !Number.isFinite(value) : Number.isNaN(value);
  if (!isSum || !isOdd) table.lastValue[row] = value;
  else table.flags[row] = table.flags[row]! | ROW_FLAG.notNumber;
  return outcome;
}

/** No outcome of a row: the sample counts as not seen, because the next page decides about it. */
const WAITS = -1;

/** Judges a counter's sample; for deltas, replaces its value by its growth. */
function outcomeOfSum(judge: Judge, row: number): number {
  const { table, options } = judge;
  const isNew = isFirst(table, row);
  const value = table.value[row]!;
  const last = table.lastValue[row]!;
  const { createdRows } = table;
  const created = createdRows.size === 0 ? NO_ROW : (createdRows.get(row) ?? NO_ROW);
  const byCounts = value < last ? STREAM.began : STREAM.goesOn;
  const stream = judgeStream(judge, row, byCounts, created);
  if (stream === STREAM.waits) return WAITS;
  if (!options.isDelta) return OUTCOME.point;
  const before = isNew || stream === STREAM.began ? 0 : last;
  // NaN, infinities and values below zero are no measure of growth.
  const isCount = value >= 0 && value < Infinity && before >= 0;
  const outcome = judgeDelta(table, row, isNew, isCount && stream !== STREAM.unknown);
  if (outcome === OUTCOME.point) table.value[row] = value - before;
  return outcome;
}

/** Judges the sample of a histogram or summary; judgeCompound() has found `parts` valid. */
export function outcomeOfCompound(
  judge: Judge,
  head: number,
  compound: Compound,
  parts: readonly number[],
): number {
  const { table, options } = judge;
  table.timeMs[head] = table.timeMs[compound.count]!;
  if (Number.isNaN(table.lastTimeMs[head])) takeLastTime(table, head, parts);
  const isSame = isSameDistribution(table, parts);
  let outcome = judgeRowTime(judge, head, isSame);
  if (outcome === OUTCOME.repeated)
    for (const row of parts) table.lastTimeMs[row] = table.lastTimeMs[head]!;
  if (outcome !== OUTCOME.point) return outcome;
  const isNew = isFirst(table, head);
  const { kind } = table.metrics[table.metric[head]!]!;
  const isDelta = options.isDelta && kind === 'histogram';
  const byCounts = isNew ? STREAM.goesOn : streamByCounts(table, compound, kind, parts);
  const stream = judgeStream(judge, head, byCounts, compound.created);
  if (stream === STREAM.waits) return OUTCOME.baseline;
  if (!isSame && !isNew) noteChange(table, head);
  if (isNew || stream !== STREAM.goesOn) forgetAbsentParts(table, compound);
  if (isDelta) {
    // The growth of buckets is unknown if the bounds have changed.
    const goesOn = stream === STREAM.goesOn && (isNew || hasSameParts(table, compound, parts));
    outcome = judgeDelta(table, head, isNew, goesOn || stream === STREAM.began);
  }
  const isGrowth = isDelta && outcome === OUTCOME.point && !isNew && stream === STREAM.goesOn;
  accept(judge, head, outcome);
  noteParts(table, head, compound, { parts, isGrowth });
  return outcome;
}

/**
 * A part that was its own series meanwhile may have been in this point before: the point continues
 * no earlier than the part.
 */
function takeLastTime(table: SeriesTable, head: number, parts: readonly number[]): void {
  const { lastTimeMs } = table;
  const newestMs = parts.reduce((newest, row) => Math.max(newest, lastTimeMs[row] || 0), 0);
  if (newestMs > 0) table.lastTimeMs[head] = newestMs;
}

/** Whether the parts on this page are those of the newest sample. */
function hasSameParts(table: SeriesTable, compound: Compound, parts: readonly number[]): boolean {
  let count = 0;
  for (const row of compound.rows) if (isObserved(table, row)) count++;
  if (isObserved(table, compound.count)) count++;
  if (isObserved(table, compound.sum)) count++;
  return count === parts.length && parts.every(row => isObserved(table, row));
}

/**
 * Notes the parts of a sample; for deltas, replaces their values by their growth. Each part has the
 * time and the flags of its head: any one of them may be the first that the next process sees.
 */
function noteParts(
  table: SeriesTable,
  head: number,
  compound: Compound,
  { parts, isGrowth }: { readonly parts: readonly number[]; readonly isGrowth: boolean },
): void {
  const { flags } = table;
  const ofHead = flags[head]! & ~ROW_FLAG.observed;
  for (const row of compound.rows) flags[row] = flags[row]! & ~OF_SAMPLE;
  if (compound.sum !== NO_ROW) flags[compound.sum] = flags[compound.sum]! & ~OF_SAMPLE;
  flags[head] = ofHead;
  for (const row of parts) {
    const value = table.value[row]!;
    const last = table.lastValue[row]!;
    if (isGrowth) table.value[row] = value - last;
    table.lastValue[row] = value;
    table.lastTimeMs[row] = table.lastTimeMs[head]!;
    flags[row] = ofHead | ROW_FLAG.observed;
  }
}

/** The flags that a part loses when it is not in the newest sample. */
const OF_SAMPLE = ROW_FLAG.observed | ROW_FLAG.sent;

function isSameDistribution(table: SeriesTable, parts: readonly number[]): boolean {
  for (const row of parts) if (!isSameValue(table.value[row]!, table.lastValue[row]!)) return false;
  return true;
}

/** Sets the time of the row's sample and judges it. */
function judgeRowTime(judge: Judge, row: number, isSame: boolean): number {
  const { table, options, time } = judge;
  const stampMs = table.timeMs[row]!;
  const isExplicit = options.honorTimestamps && !Number.isNaN(stampMs);
  const timeMs = isExplicit ? stampMs : time.nowMs;
  if (!isExplicit) table.timeMs[row] = timeMs;
  const flags = table.flags[row]!;
  table.flags[row] = isExplicit ? flags | ROW_FLAG.explicitTime : flags & ~ROW_FLAG.explicitTime;
  const lastMs = table.lastTimeMs[row]!;
  if (lastMs > time.futureMs) {
    forgetSamples(table, row);
    return judgeTime(timeMs, Number.NaN, false, time.futureMs);
  }
  const isAgain = instanceOfRow(table, row)?.repeatedPage === table.page;
  if (isAgain && !isExplicit && timeMs > lastMs) {
    // For what follows, the sample is from now (F7).
    table.lastTimeMs[row] = timeMs;
    return OUTCOME.repeated;
  }
  // A marker's time is 1 ms after the sample that it ended: this may be that sample.
  const hasMarker = options.staleMarkers && (flags & ROW_FLAG.staleSent) !== 0;
  const isEnded = hasMarker && isExplicit && timeMs === lastMs - 1;
  const outcome = judgeTime(timeMs, isEnded ? timeMs : lastMs, isSame, time.futureMs);
  // The history also has what was sent before the gap.
  const isSent = options.isPast === true && outcome === OUTCOME.timeBackwards;
  return isSent ? OUTCOME.repeated : outcome;
}

/** Notes, for people who look at the series, that this sample changed its value. */
function noteChange(table: SeriesTable, row: number): void {
  table.changedAtS[row] = table.timeMs[row]! / 1000;
}

/** Earlier samples were dated by a wrong clock: nothing can be compared with them. */
function forgetSamples(table: SeriesTable, row: number): void {
  table.forgetStream(row);
  table.lastTimeMs[row] = Number.NaN;
  table.lastValue[row] = Number.NaN;
  table.flags[row] = table.flags[row]! & ROW_FLAG.explicitTime;
}

/** Notes an accepted sample, whether it makes a point or a baseline. */
function accept({ table, time }: Judge, row: number, outcome: number): void {
  table.lastTimeMs[row] = table.timeMs[row]!;
  table.movedAtMs[row] = time.monotonicMs;
  const before = table.flags[row]!;
  const flags = before & ~(ROW_FLAG.staleSent | ROW_FLAG.restored | ROW_FLAG.notNumber);
  // A baseline does not reopen an ended series.
  const hasEnded = (before & ROW_FLAG.staleSent) !== 0;
  if (outcome === OUTCOME.point) table.flags[row] = flags | ROW_FLAG.sent;
  else table.flags[row] = hasEnded ? flags & ~ROW_FLAG.sent : flags;
  table.blocks[table.block[row]!]!.movedPage = table.page;
}

// Time (F2, F3): whether a point may follow the points sent before. Back ends answer 400 to points
// that go back or conflict, and discard the whole request.

/**
 * Judges a sample at `timeMs` against the newest accepted one at `lastTimeMs` (NaN: none).
 * `isSame`: both have the same value and buckets. Times beyond `futureMs` are refused.
 */
function judgeTime(timeMs: number, lastTimeMs: number, isSame: boolean, futureMs: number): number {
  if (timeMs > futureMs) return OUTCOME.timeFuture;
  if (!(timeMs > 0)) return OUTCOME.timeBackwards;
  if (Number.isNaN(lastTimeMs) || timeMs > lastTimeMs) return OUTCOME.point;
  if (timeMs < lastTimeMs) return OUTCOME.timeBackwards;
  return isSame ? OUTCOME.repeated : OUTCOME.timeConflict;
}

/**
 * F7: finds the instances whose samples are those of the page before, because a cache answered.
 * With stamps, each sample shows that by itself. Without, all values have to be the same, and the
 * uptime too: an idle server's uptime moves. Call this before judging a page.
 */
export function findRepeated(judge: Judge): void {
  const { table } = judge;
  const { instances, page } = table;
  let isAny = false;
  for (const instance of instances) {
    if (!isCached(judge, instance)) continue;
    instance.repeatedPage = page;
    isAny = true;
  }
  if (!isAny) return;
  for (let row = 0; row < table.count; row++) {
    const instance = isScraped(table, row) ? instanceOfRow(table, row) : undefined;
    if (instance?.repeatedPage === page && !isAsBefore(judge, row)) instance.repeatedPage = 0;
  }
  for (const { repeatedPage, uptimes } of instances)
    if (repeatedPage === page)
      for (const uptime of uptimes.values()) uptime.stood = CACHED_READINGS;
}

/** Whether the uptimes on the page stand, without stamps. Notes those that stand with stamps. */
function isCached({ table, options }: Judge, { uptimes }: Instance): boolean {
  let standing = 0;
  let moving = 0;
  for (const uptime of uptimes.values())
    for (const row of uptime.rows) {
      if (table.seen[row] !== table.page) continue;
      const isSame = table.value[row] === uptime.value;
      const stampMs = table.timeMs[row]!;
      const isStamped = options.honorTimestamps && !Number.isNaN(stampMs);
      if (isSame && isStamped && stampMs === uptime.timeMs) uptime.stood = CACHED_READINGS;
      if (isSame && !isStamped) standing++;
      else moving++;
    }
  return standing > 0 && moving === 0;
}

/** Whether nothing shows that the row is not as on the page before. Of rows that are not sent, nothing is known. */
function isAsBefore({ table, options }: Judge, row: number): boolean {
  const { seen, page, role, flags, timeMs, value } = table;
  if (seen[row] !== page) return !isOpen(flags[row]!);
  const isSent = role[row] !== ROLE.metadata && role[row] !== ROLE.created;
  if (!isSent || !table.metrics[table.metric[row]!]!.isIncluded) return true;
  if (options.honorTimestamps && !Number.isNaN(timeMs[row])) return false;
  return (flags[row]! & ROW_FLAG.staleSent) === 0 && isSameSample(table, row, value[row]!);
}

/** Whether the row's newest sample had this value. */
function isSameSample({ flags, lastValue }: SeriesTable, row: number, value: number): boolean {
  const wasNumber = (flags[row]! & ROW_FLAG.notNumber) === 0;
  return wasNumber ? isSameValue(value, lastValue[row]!) : !Number.isFinite(value);
}

/** NaN equals NaN, and 0 equals -0. */
function isSameValue(a: number, b: number): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b));
}

// Delta temporality (F8): a point is the growth since the previous point, and starts at that
// point's time. The deltas add up to the growth of the counter, without its value when the series
// was first seen: months of traffic would appear as one spike. lastTimeMs and lastValue are still
// the previous sample's.

/**
 * Judges a delta and sets its start. `isFirst`: the series is unknown; `isKnown`: its growth is
 * known, or the count of its first sample.
 */
function judgeDelta(table: SeriesTable, row: number, isFirst: boolean, isKnown: boolean): number {
  if (!isFirst) table.setStart(row, table.lastTimeMs[row]!);
  const mayBeSent = isKnown && (!isFirst || hasBegunHere(table, row));
  return mayBeSent ? OUTCOME.point : OUTCOME.baseline;
}

/** Whether the count of a first point began after we began to scrape. */
function hasBegunHere(table: SeriesTable, row: number): boolean {
  const startMs = table.startMs[row]!;
  const timeMs = table.timeMs[row]!;
  const firstTimeMs = instanceOfRow(table, row)?.firstTimeMs ?? Infinity;
  // An unknown start is the time of the sample.
  if (Number.isNaN(startMs)) table.setStart(row, timeMs);
  return startMs < timeMs && startMs > firstTimeMs;
}

/** Whether a head with these flags has a series that was sent and has not ended. */
export function isOpen(flags: number): boolean {
  return (flags & (ROW_FLAG.sent | ROW_FLAG.staleSent)) === ROW_FLAG.sent;
}

/**
 * Ends the series of a head without a point on this page if it is due; true if it gets a marker.
 * `isGone`: it is not on the page, or its service has failed. Series with timestamps end only after
 * stale_after: the next page may still contain them.
 */
export function endIfStale(judge: Judge, head: number, isGone: boolean): boolean {
  const { table, options, time } = judge;
  const flags = table.flags[head]!;
  if (!isOpen(flags)) return false;
  const isExplicit = (flags & ROW_FLAG.explicitTime) !== 0;
  const hasAged = time.monotonicMs - table.movedAtMs[head]! >= options.staleAfterMs;
  if (!hasAged && (isExplicit || !isGone)) return false;
  table.flags[head] = flags | ROW_FLAG.staleSent;
  // The row is kept for a while from now on, in case the series returns.
  table.movedAtMs[head] = time.monotonicMs;
  const isMarked = options.staleMarkers && isOfItsKind(table, head);
  if (isMarked) mark(judge, head, isExplicit);
  const compound = table.compounds.get(head);
  for (const row of compound === undefined ? [] : rowsOf(compound)) {
    if (row === head || !isObserved(table, row)) continue;
    table.flags[row] = table.flags[head] | ROW_FLAG.observed;
    table.lastTimeMs[row] = table.lastTimeMs[head]!;
  }
  return isMarked;
}

/**
 * False if the metric has changed between numbers and distributions since the series was last seen:
 * the marker would have the new kind, and end a series that has just begun under this name.
 */
function isOfItsKind(table: SeriesTable, head: number): boolean {
  return isCompound(table.metrics[table.metric[head]!]!) === table.compounds.has(head);
}

/** Makes the head's point of this page a marker. */
function mark({ table, options, time }: Judge, head: number, isExplicit: boolean): void {
  const lastMs = table.lastTimeMs[head]!;
  const timeMs = isExplicit ? lastMs + 1 : Math.max(time.nowMs, lastMs + 1);
  const { kind } = table.metrics[table.metric[head]!]!;
  if (options.isDelta && (kind === 'sum' || kind === 'histogram')) table.setStart(head, lastMs);
  table.timeMs[head] = timeMs;
  table.lastTimeMs[head] = timeMs;
  table.outcome[head] = OUTCOME.stale;
}
