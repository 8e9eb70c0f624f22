// Decides which new series get a row: the memory of all targets together is limited
// (metrics.limits.series, .services and .memory). In: the rows that decode added on this page,
// before they are placed. Out: the refused ones, by service and family; their rows are freed once
// the page is resolved. Admitted series stay, so the same series are refused on each page until
// there is room. To make room, a service loses its own ended series, the oldest first.

import { NO_ROW, type SeriesTable, tableBytes } from '../../model/series-table.ts';
import { keyOfRow, labelValue } from '../decode/series-key.ts';
import {
  type DeriveOptions,
  isStranger,
  type SeriesBudget,
  seriesIn,
  serviceIdOf,
  strangersIn,
} from './options.ts';
import { forgetEarly, forgetRows } from './forget.ts';
import { countRows, isScraped, serviceOf, serviceOfRow } from './places.ts';
import { isOpen } from './outcome.ts';
import { SeriesIds } from './series-id.ts';

/** The refused samples of one page. */
export interface Refused {
  /** By service id, for services that have a slot. */
  readonly byService: ReadonlyMap<string, number>;
  /** Samples of services that were refused themselves. */
  readonly ofServices: number;
  /** By family name; '' for all families after the first FAMILIES_MAX. */
  readonly byFamily: ReadonlyMap<string, number>;
}

const FAMILIES_MAX = 100;

/** Decides about the new rows of one page. */
export class Admission {
  readonly #table: SeriesTable;
  readonly #options: DeriveOptions;
  readonly #budget: SeriesBudget;
  readonly #ids: SeriesIds;
  /** Series per service index; null while there is room for everything new. */
  readonly #held: number[] | null;
  readonly #evenPart: number;
  readonly #share: number;
  readonly #bytesMax: number;
  #all: number;
  #restoredLeft: number;
  #strangers: number;
  /** Refused samples by service index; -1 for refused services. */
  readonly #counts = new Map<number, number>();
  readonly #byFamily = new Map<string, number>();

  /** Forgets ended series if the new rows need their room. */
  constructor(table: SeriesTable, options: DeriveOptions) {
    const { budget } = options;
    this.#table = table;
    this.#options = options;
    this.#budget = budget;
    this.#ids = new SeriesIds(table);
    // The page has added rows.
    budget.measure(table);
    this.#evenPart = budget.evenPart;
    this.#share = budget.share;
    this.#bytesMax = budget.bytesFor(table);
    this.#restoredLeft = table.restored?.indexById.size ?? 0;
    const isFree = budget.series <= budget.limits.series && seriesIn(table) <= this.#share;
    this.#held = isFree ? null : this.#makeRoom();
    this.#all = this.#countPlaced();
    this.#strangers = strangersIn(table);
  }

  /**
   * The service of a new row by its namespace, added if new; -1 if there is no room for another
   * service.
   */
  serviceOf(namespace: string): number {
    const table = this.#table;
    const id = serviceIdOf(namespace, this.#options);
    if (!table.serviceById.has(id) && !this.#options.configured.has(id)) {
      if (this.#strangers >= this.#budget.limits.services) return -1;
      this.#strangers++;
    }
    return serviceOf(table, namespace, this.#options);
  }

  /** Whether a new row of this service (-1: none) is admitted. Counts it or notes the refusal. */
  takes(row: number, service: number): boolean {
    const isAdmitted =
      service >= 0 && tableBytes(this.#table) <= this.#bytesMax && this.#hasRoom(row, service);
    if (isAdmitted) return true;
    this.#refuse(row, service);
    return false;
  }

  #hasRoom(row: number, service: number): boolean {
    const held = this.#held;
    if (held === null) return true;
    const count = held[service] ?? 0;
    const known = this.#table.restored?.indexById;
    const isKnown = known?.has(this.#ids.idOf(row, service)) === true;
    if (!isKnown && count >= this.#roomOf(service, count)) return false;
    held[service] = count + 1;
    // The previous process admitted it: so far it counted among the restored rows.
    if (isKnown) this.#restoredLeft--;
    else this.#all++;
    return true;
  }

  /** Series of all tables without the new ones of this page. */
  #countPlaced(): number {
    const table = this.#table;
    // Making room may have forgotten rows.
    this.#budget.measure(table);
    return this.#budget.series - table.fresh.filter(row => isUnplaced(table, row)).length;
  }

  /** How many series a service with `count` series may have now. */
  #roomOf(service: number, count: number): number {
    const left = this.#budget.limits.series - this.#all;
    const most = Math.min(this.#share, count + Math.max(left, 0));
    if (isStranger(this.#table, service)) return most;
    // A configured service always gets its even part, whatever the others hold. Restored rows of
    // this target may already be its own.
    return Math.max(most, this.#evenPart - this.#restoredLeft);
  }

  #refuse(row: number, service: number): void {
    const { metrics, metric } = this.#table;
    countOne(this.#counts, service);
    const name = metrics[metric[row]!]!.familyName;
    const hasOwn = this.#byFamily.has(name) || this.#byFamily.size < FAMILIES_MAX;
    countOne(this.#byFamily, hasOwn ? name : '');
  }

  /** Frees the refused rows, which have no place; returns their counts, null if there are none. */
  finish(): Refused | null {
    const table = this.#table;
    if (this.#counts.size === 0) return null;
    const refused = table.fresh.filter(row => isUnplaced(table, row));
    const rest = table.repeats.filter(({ row, line }) => {
      if (!isUnplaced(table, row)) return true;
      countOne(this.#counts, this.#knownService(row));
      table.exemplars.delete(line);
      return false;
    });
    table.repeats.length = 0;
    for (const sample of rest) table.repeats.push(sample);
    for (const row of refused) table.exemplars.delete(table.line[row]!);
    const ofServices = this.#counts.get(-1) ?? 0;
    this.#counts.delete(-1);
    const ids = [...this.#counts].map(([index, count]): [string, number] => [
      table.services[index]!.id,
      count,
    ]);
    forgetRows(table, refused);
    return { byService: new Map(ids), ofServices, byFamily: this.#byFamily };
  }

  /** The service of a row that has no place; -1 if it has no slot. */
  #knownService(row: number): number {
    const namespace = labelValue(keyOfRow(this.#table, row), 'namespace');
    return this.#table.serviceById.get(serviceIdOf(namespace, this.#options)) ?? -1;
  }

  /**
   * Forgets ended series of each service that lacks room; returns the remaining number per service.
   */
  #makeRoom(): number[] {
    const table = this.#table;
    const wanted = new Map<number, number>();
    for (const row of table.fresh) {
      const service = isUnplaced(table, row) ? this.#knownService(row) : -1;
      if (service >= 0) countOne(wanted, service);
    }
    const held = countRows(table, 'all');
    this.#all = this.#countPlaced();
    const lacking = new Map<number, number>();
    for (const [service, count] of wanted) {
      const lack = (held[service] ?? 0) + count - this.#roomOf(service, held[service] ?? 0);
      if (lack > 0) lacking.set(service, lack);
    }
    const gone = oldestEnded(table, lacking);
    for (const row of gone) held[serviceOfRow(table, row)]!--;
    forgetEarly(table, gone);
    return held;
  }
}

/**
 * Rows that are not on the page and have nothing left to send: they may be forgotten if memory is
 * short.
 */
export function endedRows(table: SeriesTable): number[] {
  const ended: number[] = [];
  for (let row = 0; row < table.count; row++) if (isEnded(table, row)) ended.push(row);
  return ended;
}

function oldestEnded(table: SeriesTable, lacking: ReadonlyMap<number, number>): readonly number[] {
  if (lacking.size === 0) return [];
  const { movedAtMs } = table;
  const ended = endedRows(table).filter(row => lacking.has(serviceOfRow(table, row)));
  ended.sort((a, b) => movedAtMs[a]! - movedAtMs[b]!);
  const left = new Map(lacking);
  return ended.filter(row => {
    const service = serviceOfRow(table, row);
    const count = left.get(service) ?? 0;
    left.set(service, count - 1);
    return count > 0;
  });
}

function countOne<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** A row that is not on this page and whose series is not open at a back end. */
function isEnded(table: SeriesTable, row: number): boolean {
  const { block, seen, page, flags } = table;
  if (!isScraped(table, row) || block[row] === NO_ROW) return false;
  const head = table.head[row]!;
  if (seen[row] === page || seen[head] === page) return false;
  return !isOpen(flags[head]!);
}

/** A row added by decode that has no place yet. */
export function isUnplaced(table: SeriesTable, row: number): boolean {
  return isScraped(table, row) && table.block[row] === NO_ROW;
}
