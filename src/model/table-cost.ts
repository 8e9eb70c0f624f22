// What a target costs in memory: the price of each thing that a page can bring, and the sum for a table. The limits of
// pages and series count by these numbers (config/memory-limits.ts, derive/budget.ts).

import type { SeriesTable } from './series-table.ts';

/**
 * Bytes of the process's memory. Measured with the bundle, the flags of the image, and Node 24.21, as the highest charge
 * of a control group above that of an idle process (docs/performance.md has the table). Each page had lines of one kind
 * and was read, sent and stored twice.
 */
export const COST: Readonly<Record<CostName, number>> = {
  /** A byte of a page: the page, what is kept of its layout, and what growing buffers leave behind. */
  body: 1.8,
  /** A byte of the name and labels of a series: where it is remembered, and where it is sent. */
  text: 3,
  /** A series, without its text. */
  row: 75,
  /** A metric name; what a HELP, TYPE or UNIT line says of one. */
  name: 800,
  familyLines: 200,
  /** A server of a service, and a scope of one: a part of the request with a Resource of its own. */
  component: 900,
  block: 1600,
  /** A histogram or summary. */
  compound: 1600,
  /** A service, with the series that the bridge itself makes for it. */
  service: 7000,
  /** A second sample of a series on one page; an exemplar. */
  repeat: 250,
  exemplar: 800,
  /** A series that a former process knew and no page has shown yet. */
  restored: 150,
};

type CostName =
  | 'body'
  | 'text'
  | 'row'
  | 'name'
  | 'familyLines'
  | 'component'
  | 'block'
  | 'compound'
  | 'service'
  | 'repeat'
  | 'exemplar'
  | 'restored';

/** The memory that a target's table takes, in bytes. */
export function tableBytes(table: SeriesTable): number {
  const { count, free, keysUsed, metricByKey, componentByKey, blockByKey, serviceById } = table;
  return (
    (count - free.length) * COST.row +
    keysUsed * COST.text +
    metricByKey.size * COST.name +
    componentByKey.size * COST.component +
    blockByKey.size * COST.block +
    table.compounds.size * COST.compound +
    serviceById.size * COST.service +
    table.repeats.length * COST.repeat +
    table.exemplars.size * COST.exemplar +
    (table.restored?.indexById.size ?? 0) * COST.restored
  );
}
