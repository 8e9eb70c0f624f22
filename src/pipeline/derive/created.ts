// The creation times of OpenMetrics counters (otlp-mapping F4): `foo_created` tells the start of `foo_total` with the
// same labels, and is no metric of its own. Those of histograms and summaries are parts of their points (compound.ts).

import type { Metric } from '../../model/metric.ts';
import { ROLE, type SeriesTable } from '../../model/series-table.ts';
import type { SeriesKey } from '../decode/series-key.ts';
import { findSeries } from './find-series.ts';

/** Links a new counter to its creation time, or the reverse, whichever of the two came last. */
export function linkCreated(table: SeriesTable, row: number, metric: Metric, key: SeriesKey): void {
  if (metric.declared !== 'counter' || metric.familyName === metric.name) return;
  if (table.role[row] === ROLE.created) {
    const counter = findSeries(table, metric.name, key.labels);
    if (counter >= 0 && table.role[counter] === ROLE.scalar) table.createdRows.set(counter, row);
  } else if (table.role[row] === ROLE.scalar) {
    const created = findSeries(table, `${metric.familyName}_created`, key.labels);
    if (created >= 0 && table.role[created] === ROLE.created) table.createdRows.set(row, created);
  }
}

/** The start that a creation row of this page tells, in ms; NaN where there is none. */
export function createdMsOf(table: SeriesTable, created: number | undefined): number {
  if (created === undefined || table.seen[created] !== table.page) return Number.NaN;
  // On a page of the other format the same name may be a metric of its own.
  if (table.role[created] !== ROLE.created) return Number.NaN;
  return Math.round(table.value[created]! * 1000);
}
