// The state that survives a restart, one blob per target. In: the table after derive. Out: a blob,
// and from it the next process's table.
//
// A clean stop or reload saves the *whole* state: starts, last times and values, uptimes. The first
// page after loading it replaces it by the *starts* alone, and so does each page that changes a
// start, in the page's own transaction. A process that was killed leaves only the starts: its
// successor continues cumulative streams, knows nothing of the values, and begins deltas with a
// baseline (docs/how-it-works/mapping.md F8).
//
//   header │ id │ start │ service │      and in the whole state:  time │ value │ uptime, since │ flags
//
// The columns have one entry per row. A row is identified by a 53-bit id (SeriesIds).

import { DAY_MS } from '../../lib/clock.ts';
import { ROW_FLAG, type SeriesTable, type ServiceSlot } from '../../model/series-table.ts';
import { NO_READING, type RestoredState, type SavedInstance } from '../../model/memory.ts';
import { isCounting } from '../../model/metric.ts';
import { keepMsOf, releaseUnused } from './forget.ts';
import type { DeriveOptions, Judge } from './options.ts';
import { moveSeries, rowsOf } from './compound.ts';
import { continueSender } from './duplicates.ts';
import { instanceOf, isScraped, serviceOf, serviceOfRow } from './places.ts';
import { laterMs } from './reset.ts';
import { packColumns, FORM, type StateHeader } from './state-form.ts';
import { hashOfLabel, mix } from '../decode/sample-line.ts';
import { isText, KeyLabels, keyOfRow } from '../decode/series-key.ts';

/** Rows processed before the event loop gets a turn. */
const SLICE_ROWS = 65_536;
const RESTORED_SLICE = 4096;
/** Restored rows are forgotten if absent from this many good pages with no service awaited. */
const RESTORE_PAGES = 10;
/** Restored rows that are older and absent from the first page are forgotten at once. */
const RESTORED_MS_MAX: number = DAY_MS;
/** The bits of the mode in which starts are made. */
const START_MODE = { delta: 1, derived: 2 } as const;

/** The starts, if they have changed since they were saved, or a whole state is stored; else null. */
export function* saveStarts(table: SeriesTable): Generator<void, Buffer | null> {
  const isDelta = ((table.startMode ?? 0) & START_MODE.delta) !== 0;
  // A delta starts at the previous point: nothing to continue.
  const isCurrent = isDelta || table.savedVersion === table.startsVersion;
  if (table.savedVersion !== null && isCurrent) return null;
  table.savedVersion = table.startsVersion;
  return yield* save(table, isDelta ? 'nothing' : 'starts');
}

/** The whole state. */
export function saveWhole(table: SeriesTable): Generator<void, Buffer> {
  return save(table, 'whole');
}

function* save(table: SeriesTable, what: 'nothing' | 'starts' | 'whole'): Generator<void, Buffer> {
  const { restored } = table;
  const isWhole = what === 'whole';
  const rows = what === 'nothing' ? [] : rowsToSave(table, isWhole);
  const isKept = what === 'whole' || (what === 'starts' && restored !== null);
  const left = (isKept && restored !== null ? [...restored.indexById] : []).filter(
    ([, place]) => isWhole || !Number.isNaN(restored!.startMs[place]!),
  );
  const count = rows.length + left.length;
  const columns = new Columns(count, isWhole);
  const serviceIds = table.services.map(({ id }) => id);
  const ids = new SeriesIds(table);
  for (const [i, row] of rows.entries()) {
    if (i % SLICE_ROWS === SLICE_ROWS - 1) yield;
    const service = serviceOfRow(table, row);
    columns.take(table, row, ids.idOf(row, service), service);
  }
  const unseen = new Map<string, number>();
  for (const [id, place] of left) {
    const serviceId = restored!.services[place]!;
    const service = unseen.get(serviceId) ?? serviceIds.push(serviceId) - 1;
    unseen.set(serviceId, service);
    columns.keep(restored!, place, id, service);
  }
  const mode = table.startMode ?? restored?.startMode ?? null;
  const header: StateHeader = {
    form: FORM,
    rows: count,
    mode,
    savedMs: orNull(laterMs(table.clock.nowMs, restored?.savedMs ?? Number.NaN)),
    releasedMs: orNull(releasedMsOf(table, isWhole)),
    services: serviceIds,
    whole: isWhole ? { components: instancesOf(table), falls: columns.falls } : null,
  };
  return yield* packColumns([Buffer.from(JSON.stringify(header)), ...columns.all]);
}

/** JSON has no NaN. */
function orNull(ms: number): number | null {
  return Number.isNaN(ms) ? null : ms;
}

/** The columns of a state while it is made. */
class Columns {
  readonly falls: [place: number, fromMs: number, toMs: number][] = [];
  readonly #id: Float64Array;
  readonly #startMs: Float64Array;
  readonly #service: Uint32Array;
  /** Empty without a whole state: writes to them are lost. */
  readonly #doubles: readonly Float64Array[];
  readonly #flags: Uint8Array;
  #count = 0;

  constructor(rows: number, isWhole: boolean) {
    const more = isWhole ? rows : 0;
    this.#id = new Float64Array(rows);
    this.#startMs = new Float64Array(rows);
    this.#service = new Uint32Array(rows);
    this.#doubles = DOUBLES.map(() => new Float64Array(more));
    this.#flags = new Uint8Array(more);
  }

  get all(): readonly (Float64Array | Uint32Array | Uint8Array)[] {
    return [this.#id, this.#startMs, this.#service, ...this.#doubles, this.#flags];
  }

  /** Adds a row of the table. A part has the start of its head: any part may return first. */
  take(table: SeriesTable, row: number, id: number, service: number): void {
    const head = table.head[row]!;
    const flags = table.flags[row]!;
    const values = [table.lastTimeMs[row]!, table.lastValue[row]!];
    const fall = table.falls.get(head);
    if (fall !== undefined) this.falls.push([this.#count, fall.fromMs, fall.toMs]);
    values.push(table.uptime[head]!, table.uptimeMs[head]!);
    this.#add(id, table.startMs[head]!, service, values, flags);
  }

  /** Adds a restored row that has not appeared. */
  keep(from: RestoredState, place: number, id: number, service: number): void {
    const fall = from.falls.get(place);
    if (fall !== undefined) this.falls.push([this.#count, fall.fromMs, fall.toMs]);
    const values = DOUBLES.map(name => from[name][place] ?? Number.NaN);
    this.#add(id, from.startMs[place]!, service, values, from.flags[place] ?? 0);
  }

  #add(
    id: number,
    startMs: number,
    service: number,
    values: readonly number[],
    flags: number,
  ): void {
    const at = this.#count++;
    this.#id[at] = id;
    this.#startMs[at] = startMs;
    this.#service[at] = service;
    for (const [i, column] of this.#doubles.entries()) column[at] = values[i]!;
    this.#flags[at] = flags;
  }
}

/** The columns of numbers that only the whole state has, in their order. */
const DOUBLES = ['lastTimeMs', 'lastValue', 'uptime', 'uptimeMs'] as const;

/** True for rows that have had a sample, except prom2otlp's own. */
function isWorthSaving(table: SeriesTable, row: number): boolean {
  if (!isScraped(table, row)) return false;
  return !Number.isNaN(table.lastTimeMs[row]!) || !Number.isNaN(table.lastValue[row]!);
}

function rowsToSave(table: SeriesTable, isWhole: boolean): readonly number[] {
  const counts = table.metrics.map(isCounting);
  const rows: number[] = [];
  for (let row = 0; row < table.count; row++) {
    const head = table.head[row]!;
    // A duplicate may have the same id as the row that is sent in its place.
    if (!isScraped(table, row) || table.duplicates.has(head)) continue;
    const hasStart = counts[table.metric[row]!]! && !Number.isNaN(table.startMs[head]!);
    if (hasStart || (isWhole && isWorthSaving(table, row))) rows.push(row);
  }
  return rows;
}

/** Until when forgotten series had streams. */
function releasedMsOf({ instances, releasedMs, restored }: SeriesTable, isWhole: boolean): number {
  const known = laterMs(releasedMs, restored?.releasedMs ?? Number.NaN);
  // A whole state has the instances.
  return isWhole
    ? known
    : instances.reduce((ms, { forgottenMs }) => laterMs(ms, forgottenMs), known);
}

/** Restored instances that the table has not taken over yet, then its own. */
function instancesOf(table: SeriesTable): NonNullable<StateHeader['whole']>['components'] {
  const { instanceByKey, instances, services, restored } = table;
  const own = [...instanceByKey].map(([key, index]): SavedInstance => {
    const { service, uptimes, firstTimeMs, forgottenMs } = instances[index]!;
    const [, serviceName = '', serverName = ''] = key.split('\u0000');
    // By the service's id, because its index differs between processes.
    const names = [services[service]!.id, serviceName, serverName] as const;
    const saved = [...uptimes].map(([name, uptime]) => ({ ...uptime, name }));
    return { names, firstTimeMs, forgottenMs, uptimes: saved };
  });
  return [...(restored?.instances ?? []), ...own].map(({ names, ...instance }) => ({
    names,
    firstTimeMs: orNull(instance.firstTimeMs),
    tornMs: orNull(instance.forgottenMs),
    uptimes: instance.uptimes.map(({ name, stood, missed, ...reading }) => ({
      name,
      value: orNull(reading.value),
      timeMs: orNull(reading.timeMs),
      sinceMs: orNull(reading.sinceMs),
      stood,
      missed,
    })),
  }));
}

/** Drops the services that other targets or shards send now. */
export function ownState(state: RestoredState, isOwn: (id: string) => boolean): RestoredState {
  const { indexById, services } = state;
  const foreign = new Set([...new Set(services)].filter(id => !isOwn(id)));
  for (const [id, place] of indexById) if (foreign.has(services[place]!)) indexById.delete(id);
  return { ...state, instances: state.instances.filter(({ names: [id] }) => isOwn(id)) };
}

/**
 * Limits a state to `rowsMax` rows; drops those that were sent longest ago. The counts of dropped
 * rows were sent: if they return, these are not growth.
 */
export function limitRestored(state: RestoredState, rowsMax: number): RestoredState {
  const { indexById, savedMs, lastTimeMs } = state;
  const excess = indexById.size - Math.max(rowsMax, 0);
  if (excess <= 0) return state;
  const timeOf = ([, place]: readonly [id: number, place: number]): number =>
    lastTimeMs[place] || 0;
  const rows = [...indexById].sort((a, b) => timeOf(a) - timeOf(b));
  for (const [id] of rows.slice(0, excess)) indexById.delete(id);
  const instances = state.instances.map(instance => ({
    ...instance,
    firstTimeMs: laterMs(instance.firstTimeMs, savedMs),
    forgottenMs: laterMs(instance.forgottenMs, savedMs),
  }));
  return { ...state, instances, releasedMs: laterMs(state.releasedMs, savedMs) };
}

/** Notes how this process makes starts; call this before a page is judged, good or not. */
export function setStartMode(table: SeriesTable, { isDelta, mayDerive }: DeriveOptions): void {
  const startMode = (isDelta ? START_MODE.delta : 0) | (mayDerive ? START_MODE.derived : 0);
  if (table.startMode !== startMode) table.startsVersion++;
  table.startMode = startMode;
  const { restored } = table;
  if (restored === null || restored.startMode === startMode) return;
  // In another mode, starts mean something else: all streams begin again, after their last points.
  if (!restored.isWhole) return giveUp(table, restored);
  restored.startMs.fill(Number.NaN);
  restored.uptime.fill(Number.NaN);
  restored.uptimeMs.fill(Number.NaN);
  for (let i = 0; i < restored.flags.length; i++)
    restored.flags[i] = restored.flags[i]! & ~ROW_FLAG.known;
  table.restored = { ...restored, startMode, falls: new Map() };
}

/**
 * Applies the restored state to rows that are new on this page, once they are resolved. `isFull`:
 * series of this page were refused, while awaited rows take up room.
 */
export function* restoreRows(
  judge: Judge,
  rows: readonly number[],
  isFull: boolean,
): Generator<void, void> {
  const { table, options, time } = judge;
  const { restored } = table;
  if (restored === null) return;
  if (restored.awaitedSinceMs === undefined) {
    noteReleased(table, restored.releasedMs, 'forgottenMs');
    restoreInstances(table, restored, options);
    forgetOld(table, restored, time.nowMs);
    restored.awaitedSinceMs = time.monotonicMs;
  }
  const ids = new SeriesIds(table);
  for (const [index, row] of rows.entries()) {
    if (index % RESTORED_SLICE === RESTORED_SLICE - 1) yield;
    restoreRow(judge, restored, row, ids);
  }
  for (const head of new Set(rows.map(row => table.head[row]!))) {
    settleParts(table, head);
    continueSender(table, head);
  }
  const isPatient = !isFull && time.monotonicMs - restored.awaitedSinceMs < keepMsOf(options);
  if (isPatient && restored.indexById.size > 0 && table.services.some(isAwaited)) return;
  if (options.isPast === true) return;
  if (++restored.pageCount >= RESTORE_PAGES) giveUp(table, restored);
}

/** A configured service without a series since the restart: rows that are left may be its own. */
function isAwaited({ configIndex, hasNamed, hasBare }: ServiceSlot): boolean {
  return configIndex >= 0 && !hasNamed && !hasBare;
}

function restoreRow(
  { table, time }: Judge,
  restored: RestoredState,
  row: number,
  ids: SeriesIds,
): void {
  if (!isScraped(table, row)) return;
  const id = ids.idOf(row, serviceOfRow(table, row));
  const place = restored.indexById.get(id);
  if (place === undefined) return;
  restored.indexById.delete(id);
  // A metric that does not count now may have a saved start, if it was a counter before.
  const counts = isCounting(table.metrics[table.metric[row]!]!);
  if (counts) table.setStart(row, restored.startMs[place]!);
  if (!restored.isWhole) return;
  for (const name of DOUBLES) table[name][row] = restored[name][place]!;
  const fall = restored.falls.get(place);
  if (fall !== undefined && counts) table.falls.set(row, fall);
  const kept = counts ? ~0 : ~ROW_FLAG.known;
  table.flags[row] = (restored.flags[place]! & kept) | ROW_FLAG.restored;
  table.movedAtMs[row] = time.monotonicMs;
}

/**
 * The head is the part seen first. It gets the newest series of all parts, as any part may have
 * been the head before. Parts that the newest sample did not have are not observed, and the values
 * of parts that were absent at a reset are void.
 */
function settleParts(table: SeriesTable, head: number): void {
  const compound = table.compounds.get(head);
  if (compound === undefined) return;
  const { lastTimeMs, lastValue, startMs, flags } = table;
  const parts = rowsOf(compound);
  const timeOf = (row: number): number => lastTimeMs[row]! || 0;
  const isMore = (row: number, than: number): boolean =>
    timeOf(row) > timeOf(than) ||
    (timeOf(row) === timeOf(than) && rankOf(table, row) > rankOf(table, than));
  const from = parts.reduce((best, row) => (isMore(row, best) ? row : best), head);
  for (const row of parts)
    if (timeOf(row) < timeOf(from)) flags[row] = flags[row]! & ~ROW_FLAG.observed;
  if (from !== head) moveSeries(table, from, head);
  for (const row of parts) if (timeOf(row) < startMs[head]!) lastValue[row] = Number.NaN;
}

/** Of two parts with one time, the one that was sent has the series; else the one with a start. */
function rankOf({ flags, startMs }: SeriesTable, row: number): number {
  return (flags[row]! & ROW_FLAG.sent) * 2 + (Number.isNaN(startMs[row]!) ? 0 : 1);
}

/** Restores the times and uptimes of instances, including those that are not on the page. */
function restoreInstances(
  table: SeriesTable,
  restored: RestoredState,
  options: DeriveOptions,
): void {
  for (const { names, firstTimeMs, forgottenMs, uptimes } of restored.instances) {
    const [id, serviceName, serverName] = names;
    if (!options.configured.has(id) && !table.serviceById.has(id)) continue;
    const service = serviceOf(table, id, options);
    const instance = table.instances[instanceOf(table, service, serviceName, serverName)]!;
    Object.assign(instance, { firstTimeMs, forgottenMs });
    for (const { name, ...saved } of uptimes) {
      const { rows } = instance.uptimes.get(name) ?? { rows: [] };
      instance.uptimes.set(name, { ...NO_READING, ...saved, rows });
    }
  }
  restored.instances = [];
}

/**
 * Forgets the rows that are not on the first page and were last sent long ago. Processes that live for
 * less than RESTORE_PAGES, such as `once`, would pass on every row for ever.
 */
function forgetOld(table: SeriesTable, restored: RestoredState, nowMs: number): void {
  const { indexById, lastTimeMs, services } = restored;
  const awaited = new Set(table.services.filter(isAwaited).map(({ id }) => id));
  let newestMs = Number.NaN;
  const onPage = new Set<number>();
  const ids = new SeriesIds(table);
  for (let row = 0; row < table.count; row++)
    if (isScraped(table, row)) onPage.add(ids.idOf(row, serviceOfRow(table, row)));
  for (const [id, place] of indexById) {
    const isOld = lastTimeMs[place]! < nowMs - RESTORED_MS_MAX;
    if (!isOld || onPage.has(id) || awaited.has(services[place]!)) continue;
    indexById.delete(id);
    newestMs = laterMs(newestMs, lastTimeMs[place]!);
  }
  noteReleased(table, newestMs, 'firstTimeMs', 'forgottenMs');
}

/**
 * Forgets the rows that have not appeared by now. If they return, earlier counts are not growth.
 */
function giveUp(table: SeriesTable, restored: RestoredState): void {
  const hadStart = [...restored.indexById.values()].some(
    place => !Number.isNaN(restored.startMs[place]!),
  );
  table.restored = null;
  // Ends the `up` of services without an entry of which only the uptimes were restored.
  releaseUnused(table);
  if (hadStart) noteReleased(table, restored.savedMs, 'firstTimeMs', 'forgottenMs');
}

/** Notes until when forgotten rows had streams, for all instances, and those that come later. */
function noteReleased(
  table: SeriesTable,
  newestMs: number,
  ...times: readonly ('firstTimeMs' | 'forgottenMs')[]
): void {
  table.startsVersion++;
  table.releasedMs = laterMs(table.releasedMs, newestMs);
  for (const instance of table.instances)
    for (const name of times) instance[name] = laterMs(instance[name], newestMs);
}

// Identifies a series in other processes of prom2otlp by 53 bits of its name, labels and service.
// The bits do not depend on the order or spelling of the labels, or on whether the service comes
// from the label `namespace`. In: a row with its key. Out: the hash of the table's index, and bits
// of a second sum over name and labels, which is made once for each row.

const NAMESPACE = Buffer.from('namespace');
/** Not the constants of FNV: the second sum must tell apart series that the first one does not. */
const SEED = 0x2545f491;
const PRIME = 0x9e3779b1;
const SUM_BITS = 2 ** 21;
/** Flags above the second sum in labelSum: the sum is made; the key has no namespace. */
const IS_MADE = 2 ** 22;
const IS_BARE = 2 ** 23;

/** Makes the ids of rows. */
export class SeriesIds {
  readonly #table: SeriesTable;
  readonly #labels = new KeyLabels();
  /** By service id, what its namespace adds to a hash of the index. */
  readonly #namespaces = new Map<string, number>();

  constructor(table: SeriesTable) {
    this.#table = table;
  }

  /** The id of a row of this service. */
  idOf(row: number, service: number): number {
    const { hash, labelSum, services } = this.#table;
    const id = services[service]?.id ?? '';
    const sum = (labelSum[row] ||= this.#sumOf(row, id));
    const namespace = (sum & IS_BARE) === 0 ? 0 : this.#hashOf(id);
    return ((hash[row]! + namespace) >>> 0) * SUM_BITS + (sum & (SUM_BITS - 1));
  }

  #hashOf(id: string): number {
    const known = this.#namespaces.get(id) ?? hashOfLabel('namespace', id);
    this.#namespaces.set(id, known);
    return known;
  }

  #sumOf(row: number, serviceId: string): number {
    const { keys, keyOffset, keyLength } = this.#table;
    const start = keyOffset[row]!;
    const labels = this.#labels;
    let isBare = true;
    let sum = 0;
    if (labels.read(keys, start, start + keyLength[row]!)) {
      sum = sumOfBytes(SEED, keys, start, labels.nameEnd);
      for (let i = 0; i < labels.count; i++) {
        const [from, to] = [labels.valueStart[i]!, labels.valueEnd[i]!];
        if (from === to) continue;
        if (isText(keys, labels.labelStart[i]!, labels.labelEnd[i]!, NAMESPACE)) isBare = false;
        const label = sumOfBytes(SEED, keys, labels.labelStart[i]!, labels.labelEnd[i]!);
        sum += sumOfBytes(label, keys, from, to);
      }
    } else {
      const key = keyOfRow(this.#table, row);
      sum = sumOfText(SEED, key.name);
      for (const [label, value] of key.labels) sum += sumOfLabel(label, value);
      isBare = key.labels.every(([label]) => label !== 'namespace');
    }
    if (isBare) sum += sumOfLabel('namespace', serviceId);
    return (sum & (SUM_BITS - 1)) | IS_MADE | (isBare ? IS_BARE : 0);
  }
}

function sumOfLabel(label: string, value: string): number {
  return sumOfText(sumOfText(SEED, label), value);
}

function sumOfText(seed: number, text: string): number {
  const bytes = Buffer.from(text);
  return sumOfBytes(seed, bytes, 0, bytes.length);
}

function sumOfBytes(seed: number, bytes: Uint8Array, start: number, end: number): number {
  let sum = seed;
  for (let at = start; at < end; at++) sum = Math.imul(sum ^ bytes[at]!, PRIME);
  return mix(sum);
}
