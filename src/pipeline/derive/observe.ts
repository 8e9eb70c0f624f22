// One observation of a series: judges its time, moves its start, and notes what the next page will be compared
// with. In: a row whose value and timeMs decode has filled. Out: its fate; value, timeMs and startMs as they are
// sent. All of otlp-mapping F for scalars, and for the head and parts of histograms and summaries.

import type { Metric } from '../../model/metric.ts';
import { type Block, FATE, NO_ROW, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import type { Component, Compound } from '../../model/memory.ts';
import { createdMsOf } from './created.ts';
import { judgeHistogramDelta, makeDelta } from './delta.ts';
import type { DeriveOptions } from './options.ts';
import type { PageTime } from './page-time.ts';
import {
  FALL,
  fallOfCompound,
  forgetAbsentParts,
  isObserved,
  judgeStream,
  STREAM,
} from './reset.ts';
import { isSameValue, judgeTime } from './time.ts';

/** What is the same for all rows of a page, and for the rows of one block. */
export interface Observing {
  readonly table: SeriesTable;
  readonly options: DeriveOptions;
  readonly time: PageTime;
  /** Whether starts may be derived, or stand on the page alone. */
  readonly mayDerive: boolean;
}

/** The block that a row belongs to, and its component if it has one. */
export interface Place {
  readonly block: Block;
  readonly component: Component | undefined;
}

/** Observes a scalar row; its fate is point, repeated, baseline or one of the time reasons. */
export function observeScalar(
  observing: Observing,
  row: number,
  metric: Metric,
  place: Place,
): number {
  const { table } = observing;
  const value = table.value[row]!;
  const last = table.lastValue[row]!;
  let fate = judgeRowTime(observing, row, isSameValue(value, last));
  if (fate !== FATE.point) return fate;
  if (metric.kind === 'sum') fate = observeSum(observing, row, metric, place);
  // A counter that is no number for once is compared with what it was before.
  if (metric.kind !== 'sum' || !Number.isNaN(value)) table.lastValue[row] = value;
  accept(observing, row, fate, place);
  return fate;
}

function observeSum(observing: Observing, row: number, metric: Metric, place: Place): number {
  const { table, options } = observing;
  const isFirst = isFirstOf(table, row);
  const value = table.value[row]!;
  const hasFallen = value < table.lastValue[row]!;
  const stream = judgeStream(observing, row, {
    fall: hasFallen ? FALL.value : FALL.none,
    createdMs:
      table.createdRows.size === 0 ? Number.NaN : createdMsOf(table, table.createdRows.get(row)),
    component: place.component,
    uptimeName: metric.uptimeName,
    isCumulative: !options.isDelta,
  });
  return options.isDelta ? makeDelta(table, row, place.component, { isFirst, stream }) : FATE.point;
}

/** Observes a histogram or summary; `parts` are its rows on this page, which judgeCompound() has found valid. */
export function observeCompound(
  observing: Observing,
  head: number,
  compound: Compound,
  context: { readonly metric: Metric; readonly place: Place; readonly parts: readonly number[] },
): number {
  const { table, options } = observing;
  const { metric, place, parts } = context;
  table.timeMs[head] = table.timeMs[compound.count]!;
  if (Number.isNaN(table.lastTimeMs[head])) takeLastTime(table, head, parts);
  let fate = judgeRowTime(observing, head, isSameDistribution(table, parts));
  if (fate !== FATE.point) return fate;
  const isFirst = isFirstOf(table, head);
  const isDelta = options.isDelta && metric.kind === 'histogram';
  const stream = judgeStream(observing, head, {
    fall: isFirst ? FALL.none : fallOfCompound(table, compound, metric, parts),
    createdMs: createdMsOf(table, compound.created === NO_ROW ? undefined : compound.created),
    component: place.component,
    uptimeName: metric.uptimeName,
    isCumulative: !isDelta,
  });
  if (isFirst || stream !== STREAM.goesOn) forgetAbsentParts(table, compound);
  if (isDelta) {
    const isSameSet = hasSameParts(table, compound, parts);
    fate = judgeHistogramDelta(table, head, place.component, { isFirst, stream, isSameSet });
  }
  const isGrowth = isDelta && fate === FATE.point && !isFirst && stream === STREAM.goesOn;
  accept(observing, head, fate, place);
  noteParts(table, head, compound, { parts, isGrowth });
  return fate;
}

/** A part that was a series of its own in between may have been of this point before: it is not older than the part. */
function takeLastTime(table: SeriesTable, head: number, parts: readonly number[]): void {
  const { lastTimeMs } = table;
  const newestMs = parts.reduce((newest, row) => Math.max(newest, lastTimeMs[row] || 0), 0);
  if (newestMs === 0) return;
  table.savedStarts = null;
  lastTimeMs[head] = newestMs;
}

/** Whether the parts on this page are those of the newest observation. */
function hasSameParts(table: SeriesTable, compound: Compound, parts: readonly number[]): boolean {
  let count = 0;
  for (const row of compound.rows) if (isObserved(table, row)) count++;
  if (isObserved(table, compound.count)) count++;
  if (isObserved(table, compound.sum)) count++;
  return count === parts.length && parts.every(row => isObserved(table, row));
}

/** Notes the parts of an observation, and makes of their values what they grew by. */
function noteParts(
  table: SeriesTable,
  head: number,
  compound: Compound,
  { parts, isGrowth }: { readonly parts: readonly number[]; readonly isGrowth: boolean },
): void {
  const { flags } = table;
  for (const row of compound.rows) flags[row] = flags[row]! & ~ROW_FLAG.observed;
  if (compound.sum !== NO_ROW) flags[compound.sum] = flags[compound.sum]! & ~ROW_FLAG.observed;
  for (const row of parts) {
    const value = table.value[row]!;
    const last = table.lastValue[row]!;
    if (isGrowth) table.value[row] = value - last;
    // A part that has a value now, or has none any more, is another one to save.
    if (Number.isNaN(value) !== Number.isNaN(last)) table.savedStarts = null;
    table.lastValue[row] = value;
    table.lastTimeMs[row] = table.lastTimeMs[head]!;
    flags[row] = flags[row]! | ROW_FLAG.observed;
  }
}

function isSameDistribution(table: SeriesTable, parts: readonly number[]): boolean {
  for (const row of parts) if (!isSameValue(table.value[row]!, table.lastValue[row]!)) return false;
  return true;
}

/** Nothing is known of the stream that this sample belongs to. */
function isFirstOf(table: SeriesTable, row: number): boolean {
  return Number.isNaN(table.processMs[row]!);
}

/** Fills in the time of the row's sample and judges it. */
function judgeRowTime(observing: Observing, row: number, isSame: boolean): number {
  const { table, options, time } = observing;
  const stampMs = table.timeMs[row]!;
  const isExplicit = options.honorTimestamps && !Number.isNaN(stampMs);
  const timeMs = isExplicit ? stampMs : time.nowMs;
  if (!isExplicit) table.timeMs[row] = timeMs;
  const flags = table.flags[row]!;
  table.flags[row] = isExplicit ? flags | ROW_FLAG.explicitTime : flags & ~ROW_FLAG.explicitTime;
  const lastMs = table.lastTimeMs[row]!;
  if (lastMs > time.futureMs) {
    beginAnew(table, row);
    return judgeTime(timeMs, Number.NaN, false, time.futureMs);
  }
  // A marker stands 1 ms behind the sample that it ended: this may be that very sample.
  const hasMarker = options.staleMarkers && (flags & ROW_FLAG.staleSent) !== 0;
  const isEnded = hasMarker && isExplicit && timeMs === lastMs - 1;
  // What a gauge said to the process before this one is not kept: the same time is the same sample.
  const isKnown = isSame || (flags & ROW_FLAG.restored) !== 0;
  return judgeTime(timeMs, isEnded ? timeMs : lastMs, isKnown, time.futureMs);
}

/** What was sent before was dated by a clock that was wrong: it is no measure of what comes now. */
function beginAnew(table: SeriesTable, row: number): void {
  table.savedStarts = null;
  table.startMs[row] = Number.NaN;
  table.processMs[row] = Number.NaN;
  table.lastTimeMs[row] = Number.NaN;
  table.lastValue[row] = Number.NaN;
  table.flags[row] = table.flags[row]! & ROW_FLAG.explicitTime;
}

/** Notes an observation that may be followed by newer ones only, whether it made a point or a baseline. */
function accept(observing: Observing, row: number, fate: number, place: Place): void {
  const { table, time } = observing;
  // From its first observation on it is worth saving.
  if (Number.isNaN(table.lastTimeMs[row]!)) table.savedStarts = null;
  table.lastTimeMs[row] = table.timeMs[row]!;
  table.movedAtMs[row] = time.monotonicMs;
  const before = table.flags[row]!;
  const flags = before & ~(ROW_FLAG.staleSent | ROW_FLAG.restored);
  // A baseline opens no series that has been ended.
  const hasEnded = (before & ROW_FLAG.staleSent) !== 0;
  if (fate === FATE.point) table.flags[row] = flags | ROW_FLAG.sent;
  else table.flags[row] = hasEnded ? flags & ~ROW_FLAG.sent : flags;
  place.block.movedPage = table.page;
}
