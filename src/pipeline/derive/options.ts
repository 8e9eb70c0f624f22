// What derive may do: the configuration of a target as derive needs it, and the limits of all
// targets' tables together (metrics.limits.series, .services, .memory), shared so that no service
// takes the room that others need.

import type { CatalogLookup } from '../../catalog/lookup.ts';
import type { Config, MetricsConfig, PageLimits } from '../../config/config.ts';
import type { OtherShards } from '../../model/page.ts';
import { COST, type SeriesTable, tableBytes } from '../../model/series-table.ts';
import type { PageTime } from './page-time.ts';

export interface DeriveOptions extends Omit<MetricsConfig, 'dropLabels'> {
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
  readonly unconfigured: Config['unconfiguredServices'];
  /** The ids of the configured services of all targets, in one set: only a service's own target sends it. */
  readonly entries: ReadonlySet<string>;
  readonly otherShards: OtherShards;
}

/** The common inputs for all rows of a page. */
export interface Judge {
  readonly table: SeriesTable;
  readonly options: DeriveOptions;
  readonly time: PageTime;
}

/** The ids of all configured services. */
export function entriesOf({ services }: Pick<Config, 'services'>): ReadonlySet<string> {
  return new Set(services.map(({ id }) => id));
}

const ONE_SHARD: OtherShards = { serviceCount: 0, takes: () => false };

/** The options of one target; `configured`: its services in this process. */
export function deriveOptions(
  config: Pick<Config, 'services' | 'metrics' | 'otlp' | 'unconfiguredServices'>,
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

type BudgetLimits = Pick<PageLimits, 'memoryBytes' | 'series' | 'serviceSamples' | 'services'>;

/** A page of this size is always read, whatever the tables hold. */
const BODY_BYTES_MIN = 1024 * 1024;

/** What tables hold. */
interface Measured {
  readonly bytes: number;
  readonly series: number;
  /** The services that have a part guaranteed: see `evenPart`. */
  readonly parts: number;
}

interface Entry {
  /** The number of services configured for the table, in this or another shard. */
  readonly serviceCount: number;
  measured: Measured;
}

const NOTHING: Measured = { bytes: 0, series: 0, parts: 0 };

/** The shared limits of all tables. */
export class SeriesBudget {
  readonly limits: BudgetLimits;
  readonly #tables = new Map<SeriesTable, Entry>();
  /** What all tables hold. A sum over the tables at every page would cost the square of their number. */
  #all: Measured = NOTHING;

  constructor(limits: BudgetLimits) {
    this.limits = limits;
  }

  add(table: SeriesTable, serviceCount: number): void {
    const measured = this.#tables.get(table)?.measured ?? NOTHING;
    this.#tables.set(table, { serviceCount, measured });
    this.measure(table);
  }

  /** To be called whenever a page or restored series have changed the table. */
  measure(table: SeriesTable): void {
    const entry = this.#tables.get(table);
    if (entry === undefined) return;
    const { serviceCount, measured: before } = entry;
    const [bytes, series] = [tableBytes(table), seriesIn(table)];
    const parts = serviceCount + (strangersIn(table) > 0 ? 1 : 0);
    entry.measured = { bytes, series, parts };
    this.#all = {
      bytes: this.#all.bytes + bytes - before.bytes,
      series: this.#all.series + series - before.series,
      parts: this.#all.parts + parts - before.parts,
    };
  }

  /** Series of all tables as last measured, including restored ones that no page has shown yet. */
  get series(): number {
    return this.#all.series;
  }

  /** The memory left for a table and its page, in bytes. */
  bytesFor(table: SeriesTable): number {
    const others = this.#all.bytes - (this.#tables.get(table)?.measured.bytes ?? 0);
    return this.limits.memoryBytes - others;
  }

  /** The largest page of a target that fits the memory, in bytes. */
  bodyBytesFor(table: SeriesTable): number {
    const left = this.bytesFor(table) - tableBytes(table);
    return Math.max(Math.floor(left / COST.body), BODY_BYTES_MIN);
  }

  /** The part guaranteed to each service. All unconfigured services of a target count as one. */
  get evenPart(): number {
    return Math.floor(this.limits.series / Math.max(this.#all.parts, 1));
  }

  /**
   * The limit of one service while there is room: enough for a whole page to be replaced by new
   * series.
   */
  get share(): number {
    return Math.max(this.evenPart, 2 * this.limits.serviceSamples);
  }
}

/** True for a service that is configured neither here nor in another shard. */
export function isStranger(table: SeriesTable, service: number): boolean {
  const slot = table.services[service];
  return slot === undefined || (slot.configIndex < 0 && !slot.isElsewhere);
}

/** The number of such services in a table. */
export function strangersIn(table: SeriesTable): number {
  let count = 0;
  for (const index of table.serviceById.values()) if (isStranger(table, index)) count++;
  return count;
}

/** Series of a table without prom2otlp's own. */
export function seriesIn(table: SeriesTable): number {
  const own = table.services.reduce((sum, { ownRows }) => sum + ownRows.length, 0);
  return table.count - table.free.length - own + (table.restored?.indexById.size ?? 0);
}
