// The notation of the catalog's tables: one call per series, with the common facts of a table stated once. `additive` and
// `updown` are both up-down counters; only the first may be summed over its attributes, including the server, and becomes
// a non-monotonic Sum; the other becomes a Gauge.

import type { CatalogEntry } from './catalog.ts';

/** The common facts of a table's rows; a row may override those in RowDetail. */
export interface TableDefaults {
  readonly family: CatalogEntry['family'];
  /** The prefix of every name in the table. */
  readonly prefix: string;
  readonly declared: CatalogEntry['declared'];
  readonly confidence: CatalogEntry['confidence'];
  /** The series that dates the table's counters; required if it has any. */
  readonly uptimeSeries?: string;
  readonly labels?: readonly string[];
}

/** Series that appear on a page together: if none is present, none is missing. */
export interface CatalogTable {
  readonly title: string;
  readonly entries: readonly CatalogEntry[];
}

/** One series in a table. */
export interface Row extends RowDetail {
  readonly suffix: string;
  readonly type: CatalogEntry['type'];
  readonly isAdditive: boolean;
  readonly unit: string;
  readonly description: string;
}

/** The facts in which a row may differ from its table. */
export interface RowDetail {
  readonly labels?: readonly string[];
  readonly declared?: CatalogEntry['declared'];
  readonly confidence?: CatalogEntry['confidence'];
}

type RowConstructor = (
  suffix: string,
  unit: string,
  description: string,
  detail?: RowDetail,
) => Row;

export const counter: RowConstructor = rowConstructor('counter', false);
export const additive: RowConstructor = rowConstructor('updowncounter', true);
export const updown: RowConstructor = rowConstructor('updowncounter', false);
export const gauge: RowConstructor = rowConstructor('gauge', false);
export const info: RowConstructor = rowConstructor('info', false);
export const stateset: RowConstructor = rowConstructor('stateset', false);

function rowConstructor(type: CatalogEntry['type'], isAdditive: boolean): RowConstructor {
  return (suffix, unit, description, detail = {}) => ({
    suffix,
    type,
    isAdditive,
    unit,
    description,
    ...detail,
  });
}

/** Completes the rows with the common facts of their table. */
export function table(title: string, defaults: TableDefaults, rows: readonly Row[]): CatalogTable {
  return { title, entries: rows.map(row => entryOf(defaults, row)) };
}

function entryOf(defaults: TableDefaults, row: Row): CatalogEntry {
  return {
    name: defaults.prefix + row.suffix,
    family: defaults.family,
    type: row.type,
    isAdditive: row.isAdditive,
    unit: row.unit,
    labels: row.labels ?? defaults.labels ?? [],
    description: row.description,
    uptimeSeries: row.type === 'counter' ? (defaults.uptimeSeries ?? null) : null,
    confidence: row.confidence ?? defaults.confidence,
    declared: row.declared ?? defaults.declared,
  };
}
