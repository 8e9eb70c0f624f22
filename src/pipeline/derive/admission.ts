// Which new series get a row for good: the memory of all targets together is bounded (metrics.limits.series, .services and
// .memory). In: the rows that decode has added on this page, before they get their places. Out: those that are refused,
// by service and family; they are gone when the page has been resolved. What was admitted stays, so the same series are
// refused on every page until there is room. A service that wants room gives up its own ended series first, the oldest
// before the others.

import { tableBytes } from '../../config/memory-limits.ts';
import { NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import { labelValue } from '../decode/series-key.ts';
import { isStranger, seriesIn, type SeriesBudget, strangersIn } from './budget.ts';
import { keyOfRow } from './find-series.ts';
import { forgetEarly, forgetRows } from './forget.ts';
import { soleService, type DeriveOptions } from './options.ts';
import { serviceOf } from './places.ts';
import { idOfRow } from './state.ts';

/** What was refused on one page. */
export interface Refused {
  /** Samples by the id of the service, of those that have one here. */
  readonly byService: ReadonlyMap<string, number>;
  /** Samples of services for which there was no room themselves. */
  readonly ofServices: number;
  /** Samples by family, as the page names it; '' stands for families beyond the first FAMILIES_MAX. */
  readonly byFamily: ReadonlyMap<string, number>;
}

const FAMILIES_MAX = 100;

/** Decides for the new rows of one page. */
export class Admission {
  readonly #table: SeriesTable;
  readonly #options: DeriveOptions;
  readonly #budget: SeriesBudget;
  /** By index of the service; null while everything that is new has room. */
  readonly #held: number[] | null;
  readonly #evenPart: number;
  readonly #share: number;
  readonly #bytesMax: number;
  #all: number;
  #restoredLeft: number;
  #strangers: number;
  readonly #rows: number[] = [];
  /** Of refused rows the index of their service. */
  readonly #owners = new Map<number, number>();
  readonly #counts = new Map<number, number>();
  readonly #byFamily = new Map<string, number>();

  /** Makes room for the new rows where that takes the forgetting of ended ones. */
  constructor(table: SeriesTable, options: DeriveOptions) {
    const { budget } = options;
    this.#table = table;
    this.#options = options;
    this.#budget = budget;
    this.#evenPart = budget.evenPart;
    this.#share = budget.share;
    this.#bytesMax = budget.bytesFor(table);
    this.#restoredLeft = table.restored?.indexById.size ?? 0;
    const isFree = budget.series <= budget.limits.series && seriesIn(table) <= this.#share;
    this.#held = isFree ? null : this.#makeRoom();
    const fresh = table.fresh.filter(row => isUnplaced(table, row)).length;
    this.#all = budget.series - fresh;
    this.#strangers = strangersIn(table);
  }

  /** The service of a new row by its namespace, made if it is new; -1 where there is no room for another one. */
  serviceOf(namespace: string): number {
    const table = this.#table;
    const id = namespace === '' ? (soleService(this.#options) ?? '') : namespace;
    if (table.serviceById.has(id)) return serviceOf(table, namespace, this.#options);
    const isStranger = !this.#options.configured.has(id);
    if (isStranger && this.#strangers >= this.#budget.limits.services) return -1;
    if (isStranger) this.#strangers++;
    return serviceOf(table, namespace, this.#options);
  }

  /** True when a new row of this service (-1: of none) gets its place; it is counted then, and noted otherwise. */
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
    const isKnown = this.#table.restored?.indexById.has(idOfRow(this.#table, row)) === true;
    if (!isKnown && count >= this.#roomOf(service, count)) return false;
    held[service] = count + 1;
    // A former process admitted it: until now it has been counted among what that knew.
    if (isKnown) this.#restoredLeft--;
    else this.#all++;
    return true;
  }

  /** How many series a service that holds `count` may hold now. */
  #roomOf(service: number, count: number): number {
    const left = this.#budget.limits.series - this.#all;
    const most = Math.min(this.#share, count + Math.max(left, 0));
    if (isStranger(this.#table, service)) return most;
    // Its even part is kept for a service that is configured, whatever the others hold. What a former process knew of
    // this target may be its own.
    return Math.max(most, this.#evenPart - this.#restoredLeft);
  }

  #refuse(row: number, service: number): void {
    const { metrics, metric, repeats } = this.#table;
    this.#rows.push(row);
    addTo(this.#counts, service, 1);
    const name = metrics[metric[row]!]?.familyName ?? '';
    const hasOwn = this.#byFamily.has(name) || this.#byFamily.size < FAMILIES_MAX;
    const family = hasOwn ? name : '';
    addTo(this.#byFamily, family, 1);
    if (repeats.length > 0) this.#owners.set(row, service);
  }

  /** Frees the rows that were refused; null when none was. */
  finish(): Refused | null {
    const table = this.#table;
    if (this.#rows.length === 0) return null;
    const rest = table.repeats.filter(({ row }) => {
      const service = this.#owners.get(row);
      if (service !== undefined) addTo(this.#counts, service, 1);
      return service === undefined;
    });
    table.repeats.splice(0, table.repeats.length, ...rest);
    for (const row of this.#rows) table.exemplars.delete(row);
    const ofServices = this.#counts.get(-1) ?? 0;
    this.#counts.delete(-1);
    const ids = [...this.#counts].map(([index, count]): [string, number] => [
      table.services[index]?.id ?? '',
      count,
    ]);
    forgetRows(table, this.#rows);
    return { byService: new Map(ids), ofServices, byFamily: this.#byFamily };
  }

  /** Forgets as many ended series of each service as its new ones lack room; gives what each holds then. */
  #makeRoom(): number[] {
    const table = this.#table;
    const wanted = new Map<number, number>();
    for (const row of table.fresh) {
      if (!isUnplaced(table, row)) continue;
      const namespace = labelValue(keyOfRow(table, row), 'namespace');
      const id = namespace === '' ? (soleService(this.#options) ?? '') : namespace;
      const service = table.serviceById.get(id);
      if (service !== undefined) addTo(wanted, service, 1);
    }
    const held = heldByService(table);
    this.#all = this.#budget.series - table.fresh.filter(row => isUnplaced(table, row)).length;
    const lacking = new Map<number, number>();
    for (const [service, count] of wanted) {
      const lack = (held[service] ?? 0) + count - this.#roomOf(service, held[service] ?? 0);
      if (lack > 0) lacking.set(service, lack);
    }
    const gone = oldestEnded(table, lacking);
    for (const row of gone) {
      const service = serviceOfPlaced(table, row);
      held[service] = (held[service] ?? 0) - 1;
    }
    forgetEarly(table, gone);
    return held;
  }
}

/** Rows that only a page can bring back, and whose end has been told: what is forgotten where memory is short. */
export function endedRows(table: SeriesTable): number[] {
  const ended: number[] = [];
  for (let row = 0; row < table.count; row++) if (isEnded(table, row)) ended.push(row);
  return ended;
}

function oldestEnded(table: SeriesTable, lacking: ReadonlyMap<number, number>): readonly number[] {
  if (lacking.size === 0) return [];
  const { movedAtMs } = table;
  const ended = endedRows(table).filter(row => lacking.has(serviceOfPlaced(table, row)));
  ended.sort((a, b) => movedAtMs[a]! - movedAtMs[b]!);
  const left = new Map(lacking);
  return ended.filter(row => {
    const service = serviceOfPlaced(table, row);
    const count = left.get(service) ?? 0;
    left.set(service, count - 1);
    return count > 0;
  });
}

function addTo<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/** A row that is on no page now, with nothing that a back end would go on showing. */
function isEnded(table: SeriesTable, row: number): boolean {
  const { keyLength, role, block, seen, page, flags } = table;
  if (keyLength[row] === 0 || role[row] === ROLE.synthetic || block[row] === NO_ROW) return false;
  const head = table.head[row]!;
  if (seen[row] === page || seen[head] === page) return false;
  return (flags[head]! & (ROW_FLAG.sent | ROW_FLAG.staleSent)) !== ROW_FLAG.sent;
}

/** A row that decode has added and that has no place yet. */
export function isUnplaced(table: SeriesTable, row: number): boolean {
  const isOurs = table.role[row] !== ROLE.synthetic && table.keyLength[row] !== 0;
  return isOurs && table.block[row] === NO_ROW;
}

function heldByService(table: SeriesTable): number[] {
  const held: number[] = [];
  for (let row = 0; row < table.count; row++) {
    if (table.keyLength[row] === 0 || table.role[row] === ROLE.synthetic) continue;
    const service = serviceOfPlaced(table, row);
    held[service] = (held[service] ?? 0) + 1;
  }
  return held;
}

/** -1 for a row that has no place. */
function serviceOfPlaced(table: SeriesTable, row: number): number {
  return table.blocks[table.block[row]!]?.service ?? -1;
}
