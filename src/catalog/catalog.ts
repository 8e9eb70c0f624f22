// The catalog's entry for a series, and the notation of its tables: one call per series, with the common facts of a
// table stated once. Types, units and uptime series are facts; the descriptions are ours. all.ts has all tables,
// lookup.ts finds an entry by a series' full name.

import { bug } from '../errors.ts';
import type { Family } from '../model/metric.ts';

export interface CatalogEntry {
  /** Name with the catalog's own prefix (`engine_…`), as in the specification. */
  readonly name: string;
  readonly family: OwnFamily;
  /**
   * The attributes of an up-down counter, including the server, partition a whole, so sums over them have a meaning. It
   * becomes a non-monotonic Sum. A number that may not be summed is a gauge.
   */
  readonly type: 'counter' | 'updowncounter' | 'gauge' | 'info' | 'stateset';
  /** True if the type is a guess. A guessed counter is a gauge unless the page declares it a counter. */
  readonly isGuess: boolean;
  /** UCUM; `1` is never sent. */
  readonly unit: string;
  /** Labels besides the common ones. */
  readonly labels: readonly string[];
  readonly description: string;
  /** Name of the series that dates this counter's start; null if there is none, and for other types. */
  readonly uptimeSeries: string | null;
  /** The type that the service's page declares; `unknown` if it was never observed. */
  readonly declared: 'counter' | 'gauge' | 'untyped' | 'unknown';
}

export type OwnFamily = Exclude<Family, 'other'>;

/** The prefixes of the catalog's own names: the longest one decides the family. */
export const OWN_PREFIXES: Readonly<Record<OwnFamily, string>> = {
  multimaster: 'engine_multimaster_',
  dist: 'engine_dist_',
  engine: 'engine_',
  proxy: 'proxy_',
  process: 'process_',
};

/** The uptime series that dates the counters of a family; absent if the family has no counters. */
const UPTIMES: Readonly<Partial<Record<OwnFamily, string>>> = {
  engine: 'engine_global_status_uptime',
  dist: 'engine_dist_cluster_uptime_seconds',
  proxy: 'proxy_uptime_seconds',
};

/** Series that appear on a page together: if none is present, none is missing. */
export type CatalogTable = readonly CatalogEntry[];

/** One series: its name without the table's prefix, and how it differs from the table's default. */
type Row = Pick<CatalogEntry, 'name' | 'type' | 'unit' | 'description'> & Partial<Common>;
type Common = Pick<CatalogEntry, 'declared'> &
  Partial<Pick<CatalogEntry, 'labels' | 'isGuess' | 'uptimeSeries'>>;
type RowConstructor = (
  name: string,
  unit: string,
  description: string,
  detail?: Partial<Common>,
) => Row;

export const counter: RowConstructor = rowsOf('counter');
export const updown: RowConstructor = rowsOf('updowncounter');
export const gauge: RowConstructor = rowsOf('gauge');
export const info: RowConstructor = rowsOf('info');
export const stateset: RowConstructor = rowsOf('stateset');

function rowsOf(type: CatalogEntry['type']): RowConstructor {
  return (name, unit, description, detail) => ({ name, type, unit, description, ...detail });
}

/** A table whose names have this prefix. */
export function table(prefix: string, common: Common, rows: readonly Row[]): CatalogTable {
  const families = Object.keys(OWN_PREFIXES) as OwnFamily[];
  const family =
    families.find(one => prefix.startsWith(OWN_PREFIXES[one])) ?? bug(`no family has ${prefix}`);
  return rows.map(({ name, ...row }) => ({
    name: prefix + name,
    family,
    labels: [],
    isGuess: false,
    uptimeSeries: row.type === 'counter' ? (UPTIMES[family] ?? null) : null,
    ...common,
    ...row,
  }));
}
