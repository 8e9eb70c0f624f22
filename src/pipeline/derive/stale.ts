// Staleness (otlp-mapping G): a series that is absent, or whose timestamps do not move, gets one
// point without a value, so that back ends stop showing its last one. In: a row without a point on
// this page. Out: OUTCOME.stale and the marker's time.

import { isCompound } from '../../model/metric.ts';
import { OUTCOME, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import type { PageJudge } from './outcome.ts';

/** Whether a head with these flags has a series that was sent and has not ended. */
export function isOpen(flags: number): boolean {
  return (flags & (ROW_FLAG.sent | ROW_FLAG.staleSent)) === ROW_FLAG.sent;
}

/**
 * Ends the series of a head without a point on this page if it is due; true if it gets a marker.
 * `isGone`: it is not on the page, or its service has failed. Series with timestamps end only after
 * stale_after: the next page may still contain them.
 */
export function endIfStale(judge: PageJudge, head: number, isGone: boolean): boolean {
  const { table, options, time } = judge;
  const flags = table.flags[head]!;
  if (!isOpen(flags)) return false;
  const isExplicit = (flags & ROW_FLAG.explicitTime) !== 0;
  const hasAged = time.monotonicMs - table.movedAtMs[head]! >= options.staleAfterMs;
  if (!hasAged && (isExplicit || !isGone)) return false;
  table.flags[head] = flags | ROW_FLAG.staleSent;
  // The row is kept for a while from now on, in case the series returns.
  table.movedAtMs[head] = time.monotonicMs;
  if (!options.staleMarkers || !isOfItsKind(table, head)) return false;
  mark(judge, head, isExplicit);
  return true;
}

/**
 * False if the metric has changed between numbers and distributions since the series was last seen:
 * the marker would have the new kind, and end a series that has just begun under this name.
 */
function isOfItsKind(table: SeriesTable, head: number): boolean {
  return isCompound(table.metrics[table.metric[head]!]!) === table.compounds.has(head);
}

/** Makes the head's point of this page a marker. */
function mark({ table, options, time }: PageJudge, head: number, isExplicit: boolean): void {
  const lastMs = table.lastTimeMs[head]!;
  const timeMs = isExplicit ? lastMs + 1 : Math.max(time.nowMs, lastMs + 1);
  const { kind } = table.metrics[table.metric[head]!]!;
  if (options.isDelta && (kind === 'sum' || kind === 'histogram')) table.setStart(head, lastMs);
  table.timeMs[head] = timeMs;
  table.setLastTime(head, timeMs);
  table.outcome[head] = OUTCOME.stale;
}
