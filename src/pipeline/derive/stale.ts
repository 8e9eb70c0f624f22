// Staleness (otlp-mapping G): a series that is gone, or whose timestamps stand still, gets one point without a
// value, so that back ends stop showing its last one. In: a row that gave no point on this page. Out: FATE.stale on
// the rows that get their marker now, with its time.

import { FATE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import type { Observing } from './observe.ts';

/**
 * Ends the series of a head that has no point on this page, if it is time; true when it gets a marker. `isGone`: it is
 * not on the page, or its service has failed. What has timestamps of its own ends only after stale_after: the next
 * page may still bring them.
 */
export function endIfStale(observing: Observing, head: number, isGone: boolean): boolean {
  const { table, options, time } = observing;
  const flags = table.flags[head]!;
  const isOpen = (flags & (ROW_FLAG.sent | ROW_FLAG.staleSent)) === ROW_FLAG.sent;
  if (!isOpen) return false;
  const isExplicit = (flags & ROW_FLAG.explicitTime) !== 0;
  const hasAged = time.monotonicMs - table.movedAtMs[head]! >= options.staleAfterMs;
  if (!hasAged && (isExplicit || !isGone)) return false;
  table.flags[head] = flags | ROW_FLAG.staleSent;
  // From here on it is kept for a while, in case that it comes back.
  table.movedAtMs[head] = time.monotonicMs;
  if (!options.staleMarkers || !isOfItsKind(table, head)) return false;
  mark(observing, head, isExplicit);
  return true;
}

/**
 * False when the metric has turned from numbers to distributions, or back, since the series was on a page: its marker
 * would be one of the new kind, and end what has just begun under the same name.
 */
function isOfItsKind(table: SeriesTable, head: number): boolean {
  const kind = table.metrics[table.metric[head]!]?.kind;
  const isDistribution = kind === 'histogram' || kind === 'summary';
  return isDistribution === table.compounds.has(head);
}

/** Makes the head's point of this page a marker. */
function mark({ table, options, time }: Observing, head: number, isExplicit: boolean): void {
  const lastMs = table.lastTimeMs[head]!;
  const timeMs = isExplicit ? lastMs + 1 : Math.max(time.nowMs, lastMs + 1);
  const kind = table.metrics[table.metric[head]!]?.kind;
  if (options.isDelta && (kind === 'sum' || kind === 'histogram')) {
    table.savedStarts = null;
    table.startMs[head] = lastMs;
  }
  table.timeMs[head] = timeMs;
  table.lastTimeMs[head] = timeMs;
  table.fate[head] = FATE.stale;
}
