// Decides which new series of a page get a place: metrics.limits.series and .memory bound what the
// tables of all targets hold, .service_samples what one service shows. In: the rows that decode added
// on this page, before they are placed. Out: the refused ones, counted; their rows are freed. Series
// that have a place keep it, and so do those that include and exclude leave out: no limit counts them.

import type { PageReport, Refused, SeriesLimit } from '../../model/page.ts';
import { NO_ROW, type SeriesTable, tableBytes } from '../../model/series-table.ts';
import { keyOfRow, labelValue } from '../decode/series-key.ts';
import { forgetRows } from './forget.ts';
import { type DeriveOptions, serviceIdOf } from './options.ts';
import { isScraped, serviceOf, serviceOfRow } from './places.ts';

/** Decides about the new rows of one page. */
export class Admission {
  readonly #table: SeriesTable;
  readonly #options: DeriveOptions;
  readonly #refused: Refused;
  readonly #bytesMax: number;
  #seriesLeft: number;
  /** Admitted series on this page, by service index. */
  readonly #onPage: number[];
  /** Which limit refused a new row, for those with further samples on the page. */
  readonly #limitOf = new Map<number, SeriesLimit>();

  constructor(table: SeriesTable, options: DeriveOptions, { bytes, refused }: PageReport) {
    const { budget, limits } = options;
    this.#table = table;
    this.#options = options;
    this.#refused = refused;
    budget.measure(table);
    this.#bytesMax = budget.bytesFor(table) - bytes;
    this.#seriesLeft = limits.series - budget.series;
    this.#onPage = seriesOnPage(table);
    for (const { row } of table.repeats) this.#limitOf.set(row, 'memory');
  }

  /** The service of a new row by its namespace, added if new; -1 if there is no memory for another one. */
  serviceOf(namespace: string): number {
    const id = serviceIdOf(namespace, this.#options);
    const known = this.#table.serviceById.get(id);
    if (known !== undefined) return known;
    return this.#hasMemory() ? serviceOf(this.#table, namespace, this.#options) : -1;
  }

  /** Whether a new row of this service (-1: none) is admitted. Counts it or notes the refusal. */
  takes(row: number, service: number): boolean {
    const isCounted = isIncluded(this.#table, row);
    const limit = this.#limitFor(service, isCounted);
    if (limit !== null) {
      this.#refuse(row, limit);
      if (this.#limitOf.has(row)) this.#limitOf.set(row, limit);
      return false;
    }
    if (isCounted) {
      this.#seriesLeft--;
      this.#onPage[service] = (this.#onPage[service] ?? 0) + 1;
    }
    return true;
  }

  /** Frees the refused rows, which have no place, and counts their further samples. */
  finish(): void {
    const table = this.#table;
    const refused = table.fresh.filter(row => isUnplaced(table, row));
    if (refused.length === 0) return;
    const rest = table.repeats.filter(({ row, line }) => {
      if (!isUnplaced(table, row)) return true;
      this.#refuse(row, this.#limitOf.get(row) ?? 'memory');
      table.exemplars.delete(line);
      return false;
    });
    table.repeats.length = 0;
    for (const sample of rest) table.repeats.push(sample);
    for (const row of refused) table.exemplars.delete(table.line[row]!);
    forgetRows(table, refused);
  }

  #hasMemory(): boolean {
    return tableBytes(this.#table) <= this.#bytesMax;
  }

  /** The limit that has no room for a new row. */
  #limitFor(service: number, isCounted: boolean): SeriesLimit | null {
    if (service < 0 || !this.#hasMemory()) return 'memory';
    if (!isCounted) return null;
    if (this.#seriesLeft <= 0) return 'series';
    const { serviceSamples } = this.#options.limits;
    return (this.#onPage[service] ?? 0) >= serviceSamples ? 'service_samples' : null;
  }

  #refuse(row: number, limit: SeriesLimit): void {
    const { metrics, metric } = this.#table;
    const namespace = labelValue(keyOfRow(this.#table, row), 'namespace');
    this.#refused.add(limit, namespace, metrics[metric[row]!]!.familyName);
  }
}

function seriesOnPage(table: SeriesTable): number[] {
  const counts = table.services.map(() => 0);
  for (let row = 0; row < table.count; row++) {
    if (table.seen[row] !== table.page || !isScraped(table, row)) continue;
    const service = serviceOfRow(table, row);
    if (service >= 0 && isIncluded(table, row)) counts[service]!++;
  }
  return counts;
}

function isIncluded({ metrics, metric }: SeriesTable, row: number): boolean {
  return metrics[metric[row]!]!.isIncluded;
}

/** A row added by decode that has no place yet. */
export function isUnplaced(table: SeriesTable, row: number): boolean {
  return isScraped(table, row) && table.block[row] === NO_ROW;
}
