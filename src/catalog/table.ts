// The notation of the catalog's tables: one call per series, with the common facts of a table stated once. `additive` and
// `updown` are both up-down counters; only the first may be summed over its attributes, including the server, and becomes
// a non-monotonic Sum; the other becomes a Gauge.

import type { CatalogEntry } from './catalog.ts';

/** The common facts of a table's rows; a row may have others. */
export interface TableDefaults extends Pick<CatalogEntry, 'family' | 'declared' | 'confidence'> {
  /** The prefix of every name in the table. */
  readonly prefix: string;
  /** The series that dates the table's counters; required if it has any. */
  readonly uptimeSeries?: string;
  readonly labels?: readonly string[];
}

/** Series that appear on a page together: if none is present, none is missing. */
export interface CatalogTable {
  readonly title: string;
  readonly entries: readonly CatalogEntry[];
}

/** One series, which takes the common facts from its table. */
type Row = (table: TableDefaults) => CatalogEntry;

type RowConstructor = (
  suffix: string,
  unit: string,
  description: string,
  /** Where the series differs from its table. */
  detail?: Partial<Pick<CatalogEntry, 'labels' | 'declared' | 'confidence'>>,
) => Row;

export const counter: RowConstructor = rowConstructor('counter', false);
export const additive: RowConstructor = rowConstructor('updowncounter', true);
export const updown: RowConstructor = rowConstructor('updowncounter', false);
export const gauge: RowConstructor = rowConstructor('gauge', false);
export const info: RowConstructor = rowConstructor('info', false);
export const stateset: RowConstructor = rowConstructor('stateset', false);

function rowConstructor(type: CatalogEntry['type'], isAdditive: boolean): RowConstructor {
  return (suffix, unit, description, detail) =>
    ({ prefix, uptimeSeries = null, labels = [], ...common }) => ({
      name: prefix + suffix,
      type,
      isAdditive,
      unit,
      description,
      uptimeSeries: type === 'counter' ? uptimeSeries : null,
      labels,
      ...common,
      ...detail,
    });
}

export function table(title: string, defaults: TableDefaults, rows: readonly Row[]): CatalogTable {
  return { title, entries: rows.map(row => row(defaults)) };
}
