// Delta temporality (otlp-mapping F8): what is sent is the growth since the previous point, from that point's time.
// In: a sum or histogram whose time is good, with lastTimeMs and lastValue still of the sample before. Out: value
// and startMs as they are sent, or a baseline. Over time the deltas add up to what the page counted, but
// for what stood there when the series was first met: months of traffic would arrive as one spike.

import { FATE, type SeriesTable } from '../../model.ts';
import type { Component } from '../../table-memory.ts';

/** Turns a counter's value into what it grew by. `isFirst`: nothing is known of the series before. */
export function makeDelta(
  table: SeriesTable,
  row: number,
  component: Component | undefined,
  facts: { readonly isFirst: boolean; readonly hasFallen: boolean },
): number {
  if (facts.isFirst) return judgeFirst(table, row, component);
  const value = table.value[row] ?? Number.NaN;
  const growth = facts.hasFallen ? value : value - (table.lastValue[row] ?? Number.NaN);
  moveDelta(table, row);
  // What is not a number is no measure of growth.
  if (Number.isNaN(growth)) return FATE.baseline;
  table.value[row] = growth;
  return FATE.point;
}

/** The same for a histogram, whose numbers are left as they are: what became of it, and the start of the point. */
export function judgeHistogramDelta(
  table: SeriesTable,
  head: number,
  component: Component | undefined,
  facts: {
    readonly isFirst: boolean;
    readonly hasFallen: boolean;
    /** The rows of this observation, and those of the one before. */
    readonly parts: readonly number[];
    readonly observed: readonly number[];
  },
): number {
  const { parts, observed } = facts;
  if (facts.isFirst) return judgeFirst(table, head, component);
  moveDelta(table, head);
  // Other bounds than before: what the new buckets grew by cannot be told.
  const isKept = parts.length === observed.length && parts.every((row, i) => row === observed[i]);
  return isKept || facts.hasFallen ? FATE.point : FATE.baseline;
}

/** A delta begins where the one before ended. */
function moveDelta(table: SeriesTable, row: number): void {
  table.savedStarts = null;
  table.startMs[row] = table.lastTimeMs[row] ?? Number.NaN;
}

/** The first point goes out only if it began to count after we began to look; else it is the baseline. */
function judgeFirst(table: SeriesTable, row: number, component: Component | undefined): number {
  const startMs = table.startMs[row] ?? Number.NaN;
  const timeMs = table.timeMs[row] ?? Number.NaN;
  const firstTimeMs = component?.firstTimeMs ?? Infinity;
  // Later points tell by a start that this one was seen. An unknown start equals its time.
  if (Number.isNaN(startMs)) {
    table.savedStarts = null;
    table.startMs[row] = timeMs;
  }
  return startMs < timeMs && startMs > firstTimeMs ? FATE.point : FATE.baseline;
}
