// Delta temporality (otlp-mapping F8): what is sent is the growth since the previous point, from that point's time.
// In: a sum or histogram whose time is good, with lastTimeMs and lastValue still of the sample before. Out: value
// and startMs as they are sent, or a baseline. Over time the deltas add up to what the page counted, but
// for what stood there when the series was first met: months of traffic would arrive as one spike.

import { FATE, type SeriesTable } from '../../model/series-table.ts';
import type { Component } from '../../model/memory.ts';
import { STREAM } from './reset.ts';

/**
 * Turns a counter's value into what it grew by. `isFirst`: nothing is known of the series before; `stream`: one of
 * STREAM. What is not a number, or below zero, is no measure of growth.
 */
export function makeDelta(
  table: SeriesTable,
  row: number,
  component: Component | undefined,
  { isFirst, stream }: { readonly isFirst: boolean; readonly stream: number },
): number {
  const value = table.value[row]!;
  if (isFirst) return value >= 0 ? judgeFirst(table, row, component) : FATE.baseline;
  const before = stream === STREAM.began ? 0 : table.lastValue[row]!;
  moveDelta(table, row);
  if (stream === STREAM.unknown || !(value >= 0 && before >= 0)) return FATE.baseline;
  table.value[row] = value - before;
  return FATE.point;
}

/** The same for a histogram, whose numbers are left as they are: what became of it, and the start of the point. */
export function judgeHistogramDelta(
  table: SeriesTable,
  head: number,
  component: Component | undefined,
  facts: {
    readonly isFirst: boolean;
    readonly stream: number;
    /** Whether it has the same parts as the observation before. */
    readonly isSameSet: boolean;
  },
): number {
  const { isFirst, stream, isSameSet } = facts;
  if (isFirst) return judgeFirst(table, head, component);
  moveDelta(table, head);
  // Of other bounds than before nothing tells what their buckets grew by.
  const isKnown = stream === STREAM.began || (stream === STREAM.goesOn && isSameSet);
  return isKnown ? FATE.point : FATE.baseline;
}

/** A delta begins where the one before ended. */
function moveDelta(table: SeriesTable, row: number): void {
  table.savedStarts = null;
  table.startMs[row] = table.lastTimeMs[row]!;
}

/** The first point goes out only if it began to count after we began to look; else it is the baseline. */
function judgeFirst(table: SeriesTable, row: number, component: Component | undefined): number {
  const startMs = table.startMs[row]!;
  const timeMs = table.timeMs[row]!;
  const firstTimeMs = component?.firstTimeMs ?? Infinity;
  // Later points tell by a start that this one was seen. An unknown start equals its time.
  if (Number.isNaN(startMs)) {
    table.savedStarts = null;
    table.startMs[row] = timeMs;
  }
  return startMs < timeMs && startMs > firstTimeMs ? FATE.point : FATE.baseline;
}
