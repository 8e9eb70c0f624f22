// What derive may do: the configuration of a target as derive needs it, and the limits of all
// targets' tables together (metrics.limits.series and .memory).

import type { CatalogLookup } from '../../catalog/lookup.ts';
import type { PageLimits, PageRules } from '../../model/page-rules.ts';
import type { OtherShards } from '../../model/page.ts';
import {
  COST,
  NO_ROW,
  ROLE,
  type SeriesTable,
  SPARE_SHARE,
  tableBytes,
} from '../../model/series-table.ts';
import type { PageTime } from './page-time.ts';

export interface DeriveOptions extends PageRules {
  readonly lookup: CatalogLookup;
  /** True only for `delta`: with `lowmemory`, scraped data is cumulative. */
  readonly isDelta: boolean;
  /** False if only the page can give starts: in strict mode, and without start_times. */
  readonly mayDerive: boolean;
  /** Shared by all targets. */
  readonly budget: SeriesBudget;
  readonly dropLabels: ReadonlySet<string>;
  /** The services of this target: id to index into Config.services. */
  readonly configured: ReadonlyMap<string, number>;
  readonly unconfigured: 'drop' | 'send';
  /** The ids of the configured services of all targets, in one set: only a service's own target sends it. */
  readonly entries: ReadonlySet<string>;
  readonly otherShards: OtherShards;
  /** True for a service that was switched off: that it has no samples is no outage. */
  readonly isStopped?: (id: string) => boolean;
  /** True for pages of the past: they are no scrapes, so prom2otlp's own series have no points, and
   *  a series that they lack may be on today's page. */
  readonly isPast?: true;
}

/** The common inputs for all rows of a page. */
export interface Judge {
  readonly table: SeriesTable;
  readonly options: DeriveOptions;
  readonly time: PageTime;
}

/** What derive needs of a configuration. */
interface DeriveConfig {
  readonly services: readonly { readonly id: string }[];
  readonly metrics: PageRules & {
    readonly startTimes: boolean;
    readonly dropLabels: readonly string[];
  };
  readonly otlp: { readonly temporality: string };
  readonly unconfiguredServices: DeriveOptions['unconfigured'];
}

/** The ids of all configured services. */
export function entriesOf({ services }: Pick<DeriveConfig, 'services'>): ReadonlySet<string> {
  return new Set(services.map(({ id }) => id));
}

const ONE_SHARD: OtherShards = { serviceCount: 0, takes: () => false };

/** The options of one target; `configured`: its services in this process. */
export function deriveOptions(
  config: DeriveConfig,
  lookup: CatalogLookup,
  configured: ReadonlyMap<string, number>,
  otherShards: OtherShards = ONE_SHARD,
  budget: SeriesBudget = new SeriesBudget(config.metrics.limits),
  entries: ReadonlySet<string> = entriesOf(config),
): DeriveOptions {
  return {
    ...config.metrics,
    lookup,
    isDelta: config.otlp.temporality === 'delta',
    mayDerive: config.metrics.mapping === 'semantic' && config.metrics.startTimes,
    budget,
    dropLabels: new Set(config.metrics.dropLabels),
    configured,
    unconfigured: config.unconfiguredServices,
    entries,
    otherShards,
  };
}

/**
 * The service id of a namespace. A page without namespaces belongs to its target's only service; ''
 * if several services share the page, in any shard.
 */
export function serviceIdOf(namespace: string, options: DeriveOptions): string {
  if (namespace !== '') return namespace;
  const [only = ''] = options.configured.keys();
  const count = options.configured.size + options.otherShards.serviceCount;
  return count === 1 ? only : '';
}

/** The limits that all tables share. */
export class SeriesBudget {
  readonly limits: PageLimits;
  readonly #tables = new Map<SeriesTable, Measured>();
  /** What all tables hold. A sum over the tables at every page would cost the square of their number. */
  #bytes = 0;
  #series = 0;

  constructor(limits: PageLimits) {
    this.limits = limits;
  }

  /** To be called whenever a page or restored series have changed the table. */
  measure(table: SeriesTable): void {
    const before = this.#tables.get(table) ?? { bytes: 0, series: 0, orderVersion: 0 };
    const { orderVersion } = table;
    const series = before.orderVersion === orderVersion ? before.series : seriesIn(table);
    const bytes = tableBytes(table);
    this.#bytes += bytes - before.bytes;
    this.#series += series - before.series;
    this.#tables.set(table, { bytes, series, orderVersion });
  }

  /** Series of all tables as last measured. */
  get series(): number {
    return this.#series;
  }

  /** The memory left for a table and its page, in bytes. */
  bytesFor(table: SeriesTable): number {
    return this.limits.memoryBytes - this.#bytes + (this.#tables.get(table)?.bytes ?? 0);
  }

  /** The largest page of a target that decode would take, in bytes. */
  bodyBytesFor(table: SeriesTable): number {
    const leftBytes = Math.max(this.bytesFor(table) - tableBytes(table), 0);
    const pageBytes = leftBytes + this.limits.memoryBytes / SPARE_SHARE;
    return Math.min(this.limits.bodyBytes, Math.floor(pageBytes / COST.body));
  }
}

/** What a table held when it was measured. */
interface Measured {
  readonly bytes: number;
  readonly series: number;
  /** The table's: as long as it stays, so do the series. */
  readonly orderVersion: number;
}

/** Series of a table that include and exclude keep, without prom2otlp's own. */
export function seriesIn(table: SeriesTable): number {
  let count = 0;
  for (let row = 0; row < table.count; row++) if (isKept(table, row)) count++;
  return count;
}

/** Whether a row has its place, and counts as a series. */
function isKept(table: SeriesTable, row: number): boolean {
  const { keyLength, block, role, metrics, metric } = table;
  if (keyLength[row] === 0 || block[row] === NO_ROW || role[row] === ROLE.synthetic) return false;
  return metrics[metric[row]!]!.isIncluded;
}
