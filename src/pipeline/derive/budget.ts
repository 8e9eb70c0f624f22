// What the tables of all targets may hold together (metrics.limits.series, .services, .memory), and how it is shared: no
// service can take what the others need. In: the tables, to be looked at only. Out: numbers, counted when somebody asks;
// nothing is kept that could differ from the tables.

import type { PageLimits } from '../../config/config.ts';
import { COST, tableBytes } from '../../config/memory-limits.ts';
import type { SeriesTable } from '../../model/series-table.ts';

type BudgetLimits = Pick<PageLimits, 'memoryBytes' | 'series' | 'serviceSamples' | 'services'>;

/** A page of this size is read whatever the tables hold. */
const BODY_BYTES_MIN = 1024 * 1024;

/** What the tables of all targets may hold together. */
export class SeriesBudget {
  readonly limits: BudgetLimits;
  /** With the number of services that are configured for each, in other shards too. */
  readonly #tables = new Map<SeriesTable, number>();

  constructor(limits: BudgetLimits) {
    this.limits = limits;
  }

  add(table: SeriesTable, serviceCount: number): void {
    this.#tables.set(table, serviceCount);
  }

  /** Series of all tables, those included that a former process knew and no page has shown yet. */
  get series(): number {
    return sumOf(this.#tables.keys(), seriesIn);
  }

  /** What is left of the memory for one table and its page, in bytes. */
  bytesFor(table: SeriesTable): number {
    const others = [...this.#tables.keys()].filter(other => other !== table);
    return this.limits.memoryBytes - sumOf(others, tableBytes);
  }

  /** The largest page of a target for which there is memory, in bytes. */
  bodyBytesFor(table: SeriesTable): number {
    const left = this.bytesFor(table) - tableBytes(table);
    return Math.max(Math.floor(left / COST.body), BODY_BYTES_MIN);
  }

  /** The even part of each service; all that no entry names, of one target, count as one here. */
  get evenPart(): number {
    let parts = 0;
    for (const [table, serviceCount] of this.#tables)
      parts += serviceCount + (strangersIn(table) > 0 ? 1 : 0);
    return Math.floor(this.limits.series / Math.max(parts, 1));
  }

  /** What one service may hold while there is room: a whole page, and another one of which all series are new. */
  get share(): number {
    return Math.max(this.evenPart, 2 * this.limits.serviceSamples);
  }
}

/** True for a service that no entry names, here or in another shard. */
export function isStranger(table: SeriesTable, service: number): boolean {
  const slot = table.services[service];
  return slot === undefined || (slot.configIndex < 0 && !slot.isElsewhere);
}

/** How many of them a table knows. */
export function strangersIn(table: SeriesTable): number {
  let count = 0;
  for (const index of table.serviceById.values()) if (isStranger(table, index)) count++;
  return count;
}

/** Without those that the bridge makes itself. */
export function seriesIn(table: SeriesTable): number {
  const own = sumOf(table.services, slot => slot.ownRows.length);
  return table.count - table.free.length - own + (table.restored?.indexById.size ?? 0);
}

function sumOf<T>(items: Iterable<T>, count: (item: T) => number): number {
  let sum = 0;
  for (const item of items) sum += count(item);
  return sum;
}
