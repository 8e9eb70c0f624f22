// The state that survives a restart: start times, times last sent, last values of counters, and the
// evidence of uptimes. In: the table after derive. Out: two blobs, and from them the next process's
// table. They are committed with their batch, so a daemon killed between any two scrapes continues
// as if nothing had happened: no start moves, no delta is lost, no point is sent twice.
//
//   starts (written when rows or starts change)      marks (written with every page; see state-columns.ts)
//   ids │ startMs │ processMs │ names of uptimes     time, flags │ lastValue │ evidence of uptimes
//   form, mode │ identities │ released │ services
//
// Both have one entry per row, in the order of `starts`. A row is identified by a 53-bit id
// (series-id.ts). Rows that share an identity (duplicates.ts) are saved with a checksum of it, so
// that the first row to appear knows until when the identity was sent. `starts` is written only if
// table.startsVersion has changed.

import { bug } from '../../errors.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { ROW_FLAG, SeriesTable, type ServiceSlot } from '../../model/series-table.ts';
import {
  NO_EVIDENCE,
  type PageClock,
  type RestoredState,
  SAVED_NUMBERS,
  type SavedStarts,
  type SavedUptime,
} from '../../model/memory.ts';
import { isCounting } from '../../model/metric.ts';
import { keepMsOf, releaseUnused } from './forget.ts';
import type { DeriveOptions, Judge } from './options.ts';
import { forgetSeries, moveSeries, rowsOf } from './compound.ts';
import { componentOf, isScraped, serviceOf, serviceOfRow } from './places.ts';
import { laterMs } from './reset.ts';
import { SeriesIds } from './series-id.ts';
import {
  doublesOf,
  integersOf,
  Marks,
  packColumns,
  readMarks,
  readServices,
  unpackColumns,
} from './state-columns.ts';

/** The kinds of blobs in the queue's state. */
export const STARTS = 'target-starts';
export const MARKS = 'target-marks';

/** Rows processed before the event loop gets a turn. */
const SLICE_ROWS = 65_536;
const RESTORED_SLICE = 4096;
/** Restored rows are forgotten if absent from this many good pages with no service awaited. */
const RESTORE_PAGES = 10;
/** Restored rows that are older and absent from the first page are forgotten at once. */
const RESTORED_MS_MAX: number = DAY_MS;
/** The numbers of each uptime in the marks. */
const UPTIME_NUMBERS = [...SAVED_NUMBERS, 'firstTimeMs', 'tornMs'] as const;
/** The form of the blobs, in a column of `starts`. Blobs of another form are not read. */
const FORM = 3;
/** The bits of the mode in which starts are made. The mode is saved after the form. */
const START_MODE = { delta: 1, derived: 2 } as const;

/** Blobs by kind, to be stored under the target's id; unchanged ones are omitted. */
export interface StateBlobs {
  readonly starts?: Buffer;
  readonly marks: Buffer;
}

/**
 * Makes the blobs from the table, including restored rows that have not appeared yet (their service
 * may be down). Yields between slices.
 */
export function* saveState(table: SeriesTable): Generator<void, StateBlobs> {
  const known = table.savedStarts;
  const isCurrent = known !== null && known.version === table.startsVersion;
  const saved = isCurrent ? known : startsToSave(table);
  const starts = isCurrent ? undefined : yield* packStarts(table, saved.rows);
  table.savedStarts = saved;
  const marks = yield* packMarks(table, saved);
  return starts === undefined ? { marks } : { starts, marks };
}

/** Makes the blobs of a state that no table has. */
export function saveRestored(restored: RestoredState): Generator<void, StateBlobs> {
  return saveState(Object.assign(new SeriesTable(), { restored }));
}

function startsToSave(table: SeriesTable): SavedStarts {
  const uptimeCount = uptimesOf(table).length;
  return { version: table.startsVersion, rows: rowsToSave(table), uptimeCount };
}

function* packMarks(
  table: SeriesTable,
  { rows, uptimeCount }: SavedStarts,
): Generator<void, Buffer> {
  const { restored } = table;
  const marks = new Marks(table, rows.length + (restored?.indexById.size ?? 0));
  for (let from = 0; from < rows.length; from += SLICE_ROWS) {
    marks.take(rows, from, Math.min(from + SLICE_ROWS, rows.length));
    yield;
  }
  if (restored !== null)
    for (const place of restored.indexById.values()) marks.add(restored, place);
  // In the order of their names in `starts`.
  const uptimes = uptimesOf(table);
  if (uptimes.length !== uptimeCount)
    bug(`${uptimes.length} uptimes have marks, and ${uptimeCount} have starts`);
  const numbers = uptimes.flatMap(uptime => UPTIME_NUMBERS.map(name => uptime[name]));
  return yield* packColumns([...marks.columns(), Float64Array.from(numbers)]);
}

/** The blobs as the queue stores them: by kind, under the target's id. */
export function stateEntries(
  id: string,
  blobs: StateBlobs | null,
): { readonly kind: string; readonly key: string; readonly blob: Buffer }[] {
  if (blobs === null) return [];
  const marks = { kind: MARKS, key: id, blob: blobs.marks };
  return blobs.starts === undefined
    ? [marks]
    : [{ kind: STARTS, key: id, blob: blobs.starts }, marks];
}

/** True for rows that have had a sample, except prom2otlp's own. */
function isWorthSaving(table: SeriesTable, row: number): boolean {
  if (!isScraped(table, row)) return false;
  return !Number.isNaN(table.lastTimeMs[row]!) || !Number.isNaN(table.lastValue[row]!);
}

function* packStarts(table: SeriesTable, rows: Uint32Array): Generator<void, Buffer> {
  const { owners, restored } = table;
  const count = rows.length + (restored?.indexById.size ?? 0);
  const ids = new Float64Array(count);
  const startMs = new Float64Array(count);
  const processMs = new Float64Array(count);
  const identity = new Uint32Array(count);
  // By the table's indexes. A freed slot may have the same id as another.
  const serviceIds = table.services.map(({ id }) => id);
  const service = new Uint32Array(count);
  const seriesIds = new SeriesIds(table);
  for (let i = 0; i < rows.length; i++) {
    if (i % SLICE_ROWS === 0) yield;
    const row = rows[i]!;
    ids[i] = seriesIds.idOf(row, serviceOfRow(table, row));
    // Any part of a point may return first.
    const head = table.head[row]!;
    startMs[i] = table.startMs[head]!;
    processMs[i] = table.processMs[head]!;
    if (owners.size > 0) identity[i] = owners.get(head)?.check ?? 0;
    service[i] = serviceOfRow(table, row);
  }
  const unseenServices = new Map<string, number>();
  if (restored !== null)
    for (const [i, [id, place]] of [...restored.indexById].entries()) {
      ids[rows.length + i] = id;
      startMs[rows.length + i] = restored.startMs[place]!;
      processMs[rows.length + i] = restored.processMs[place]!;
      identity[rows.length + i] = restored.identity[place]!;
      const serviceId = restored.services[place]!;
      const index = unseenServices.get(serviceId) ?? serviceIds.push(serviceId) - 1;
      unseenServices.set(serviceId, index);
      service[rows.length + i] = index;
    }
  const names = uptimesOf(table).map(({ component, name }) => [component, name]);
  const text = Buffer.from(JSON.stringify(names));
  const releasedMs = Float64Array.of(laterMs(table.releasedMs, restored?.releasedMs ?? Number.NaN));
  const mode = table.startMode ?? restored?.startMode ?? null;
  const form = Uint32Array.from(mode === null ? [FORM] : [FORM, mode]);
  const columns = [ids, startMs, processMs, text, form, identity, releasedMs];
  return yield* packColumns([...columns, Buffer.from(JSON.stringify(serviceIds)), service]);
}

function rowsToSave(table: SeriesTable): Uint32Array {
  const rows = new Uint32Array(table.count);
  let count = 0;
  for (let row = 0; row < table.count; row++)
    // A duplicate may have the same id as the row that is sent in its place.
    if (isWorthSaving(table, row) && !table.duplicates.has(table.head[row]!)) rows[count++] = row;
  return rows.slice(0, count);
}

/** Restored uptimes that the table has not taken over yet, then its own, which win when read. */
function uptimesOf({ restored, componentByKey, components, services }: SeriesTable): SavedUptime[] {
  const own = [...componentByKey].flatMap(([key, index]) => {
    const { service, uptimes, firstTimeMs, tornMs } = components[index]!;
    // By the service's id, because its index differs between processes.
    const path = [services[service]!.id, ...key.split('\u0000').slice(1)].join('\u0000');
    const rest = { component: path, firstTimeMs, tornMs };
    return [...uptimes].map(([name, evidence]) => ({ ...evidence, ...rest, name }));
  });
  return [...(restored?.uptimes ?? []), ...own];
}

/** Reads the blobs of saveState(); null if they are damaged or of another form: the daemon then begins without state. */
export function readState(starts: Buffer, marks: Buffer): RestoredState | null {
  try {
    const [ids = NONE, startMs = NONE, processMs = NONE, names = NONE, ...more] =
      unpackColumns(starts);
    const [form = NONE, identities = NONE, released = NONE, serviceIds = NONE, services = NONE] =
      more;
    const [times = NONE, flags = NONE, rows = NONE, values = NONE, evidence = NONE] =
      unpackColumns(marks);
    const [formNumber, startMode = null] = integersOf(form);
    if (formNumber !== FORM) return null;
    const idOfRows = doublesOf(ids);
    const identity = integersOf(identities);
    const read = readMarks(idOfRows.length, times, flags, rows, values);
    return {
      indexById: new Map(Array.from(idOfRows, (id, index) => [id, index])),
      startMs: doublesOf(startMs),
      processMs: doublesOf(processMs),
      startMode,
      ...read,
      identity,
      sentUntil: sentUntil(identity, read.lastTimeMs),
      services: readServices(idOfRows.length, serviceIds, services),
      releasedMs: doublesOf(released)[0] ?? Number.NaN,
      uptimes: readUptimes(names, doublesOf(evidence)),
      pageCount: 0,
      clock: null,
    };
  } catch {
    return null;
  }
}

/** Until when each identity was sent: the newest time of the rows that share it. */
function sentUntil(identity: Uint32Array, lastTimeMs: Float64Array): ReadonlyMap<number, number> {
  const until = new Map<number, number>();
  for (const [i, check] of identity.entries()) {
    const lastMs = lastTimeMs[i]!;
    if (check !== 0 && lastMs > (until.get(check) ?? 0)) until.set(check, lastMs);
  }
  return until;
}

const NONE = Buffer.alloc(0);

/** Takes the rows of services out of a state; returns those of each, with its uptimes, as another state. */
export function takeOut(
  state: RestoredState,
  ids: readonly string[],
): ReadonlyMap<string, RestoredState> {
  // Once for all services: there may be hundreds.
  const rows = Map.groupBy(state.indexById, ([, place]) => state.services[place]!);
  const uptimes = Map.groupBy(state.uptimes, ({ component }) => serviceIn(component));
  const parts = ids.map((id): [string, RestoredState] => {
    const own = rows.get(id) ?? [];
    forget(state, own);
    return [id, { ...state, indexById: new Map(own), uptimes: uptimes.get(id) ?? [] }];
  });
  return new Map(parts);
}

/** Drops the services that other targets or shards send now; the same state if it has none. */
export function ownState(state: RestoredState, isOwn: (id: string) => boolean): RestoredState {
  const { indexById, services } = state;
  const foreign = new Set([...new Set(services)].filter(id => !isOwn(id)));
  const rows = [...indexById].filter(([, place]) => foreign.has(services[place]!));
  const uptimes = state.uptimes.filter(({ component }) => isOwn(serviceIn(component)));
  if (rows.length === 0 && uptimes.length === state.uptimes.length) return state;
  forget(state, rows);
  return { ...state, uptimes };
}

/**
 * Limits a state to `rowsMax` rows. Drops ended rows before open ones, and older rows before newer
 * ones. The counts of dropped rows were sent: if the rows return, these are not growth (F8).
 */
export function limitRestored(state: RestoredState, rowsMax: number): RestoredState {
  const { indexById, lastTimeMs, flags, releasedMs } = state;
  const excess = indexById.size - Math.max(rowsMax, 0);
  if (excess <= 0) return state;
  const isOpen = (place: number): number => ((flags[place]! & ROW_FLAG.staleSent) === 0 ? 1 : 0);
  const rows = [...indexById].sort(
    ([, a], [, b]) => isOpen(a) - isOpen(b) || (lastTimeMs[a] || 0) - (lastTimeMs[b] || 0),
  );
  const forgottenMs = forget(state, rows.slice(0, excess));
  const uptimes = state.uptimes.map(uptime => ({
    ...uptime,
    firstTimeMs: laterMs(uptime.firstTimeMs, forgottenMs),
    tornMs: laterMs(uptime.tornMs, forgottenMs),
  }));
  return { ...state, uptimes, releasedMs: laterMs(releasedMs, forgottenMs) };
}

/** Removes rows from a state; returns their newest time. */
function forget(
  { indexById, lastTimeMs }: RestoredState,
  rows: readonly (readonly [id: number, place: number])[],
): number {
  for (const [id] of rows) indexById.delete(id);
  return rows.reduce((newestMs, [, place]) => laterMs(newestMs, lastTimeMs[place]!), Number.NaN);
}

/** The id of the service of a saved component. */
function serviceIn(component: string): string {
  return component.split('\u0000')[0]!;
}

/**
 * Returns `state` with the rows and uptimes of the parts that it does not have itself; those of an
 * earlier part win. May change the parts. All at once: each join copies the whole state.
 */
export function joinStates(
  state: RestoredState,
  ...parts: readonly RestoredState[]
): RestoredState {
  if (parts.length === 0) return state;
  let { startMode } = state;
  for (const part of parts) {
    startMode ??= part.startMode;
    becomeMode(part, startMode);
  }
  const all = [state, ...parts];
  const identity = new Uint32Array(all.reduce((sum, { startMs }) => sum + startMs.length, 0));
  let offset = 0;
  const moved = all.map(({ indexById, startMs, identity: own }) => {
    const from = offset;
    offset += startMs.length;
    identity.set(own, from);
    return [...indexById].map(([id, index]): [number, number] => [id, index + from]);
  });
  const doubles = (name: 'startMs' | 'processMs' | 'lastTimeMs' | 'lastValue'): Float64Array =>
    Float64Array.from(all.flatMap(one => [...one[name]]));
  // Later ones win, and a state knows more of its uptimes than an older part.
  const latest = all.toReversed();
  return {
    ...state,
    indexById: new Map(moved.toReversed().flat()),
    startMs: doubles('startMs'),
    processMs: doubles('processMs'),
    startMode,
    lastTimeMs: doubles('lastTimeMs'),
    lastValue: doubles('lastValue'),
    flags: Uint8Array.from(all.flatMap(({ flags }) => [...flags])),
    identity,
    sentUntil: new Map(latest.flatMap(({ sentUntil }) => [...sentUntil])),
    services: all.flatMap(({ services }) => services),
    uptimes: latest.flatMap(({ uptimes }) => uptimes),
    pageCount: 0,
    clock: all.map(({ clock }) => clock).reduce(laterClock),
  };
}

/** The later clock: the next page must not be older than the last page of either. */
function laterClock(a: PageClock | null, b: PageClock | null): PageClock | null {
  if (a === null || b === null) return a ?? b;
  return b.nowMs > a.nowMs ? b : a;
}

/** Throws if the numbers belong to other uptimes. */
function readUptimes(names: Buffer, numbers: Float64Array): SavedUptime[] {
  const known = JSON.parse(names.toString()) as readonly (readonly [string, string])[];
  const count = UPTIME_NUMBERS.length;
  if (numbers.length !== known.length * count) throw new Error('other uptimes');
  return known.map(([component, name], index) => {
    const own = UPTIME_NUMBERS.map((kind, at) => [kind, numbers[index * count + at]]);
    return { component, name, ...Object.fromEntries(own) } as SavedUptime;
  });
}

/** Notes how this process makes starts; call this before a page is judged, good or not. */
export function setStartMode(table: SeriesTable, { isDelta, mayDerive }: DeriveOptions): void {
  const startMode = (isDelta ? START_MODE.delta : 0) | (mayDerive ? START_MODE.derived : 0);
  if (table.startMode !== startMode) table.startsVersion++;
  table.startMode = startMode;
  if (table.restored !== null) becomeMode(table.restored, startMode);
}

/**
 * In another mode, starts mean something else: a delta starts at the previous point, and only some
 * modes may derive a start. After a change of mode, starts are forgotten: all streams begin again,
 * after their last points.
 */
function becomeMode(state: RestoredState, startMode: number | null): void {
  if (startMode === null || state.startMode === startMode) return;
  if (state.startMode !== null) {
    state.startMs.fill(Number.NaN);
    state.processMs.fill(Number.NaN);
  }
  state.startMode = startMode;
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
  restoreReleased(table, restored);
  restoreUptimes(table, restored, options);
  const ids = new SeriesIds(table);
  for (const [index, row] of rows.entries()) {
    if (index % RESTORED_SLICE === RESTORED_SLICE - 1) yield;
    restoreRow(judge, restored, row, ids);
  }
  for (const head of new Set(rows.map(row => table.head[row]!))) settleParts(table, head);
  for (const row of rows) settleOwner(table, restored, row);
  if (restored.awaitedSinceMs === undefined) forgetOld(table, restored, time.nowMs);
  restored.awaitedSinceMs ??= time.monotonicMs;
  const isPatient = !isFull && time.monotonicMs - restored.awaitedSinceMs < keepMsOf(options);
  if (isPatient && restored.indexById.size > 0 && table.services.some(isAwaited)) return;
  if (++restored.pageCount >= RESTORE_PAGES) giveUp(table, restored);
}

/** A configured service without a series since the restart: rows that are left may be its own. */
function isAwaited({ configIndex, hasNamed, hasBare }: ServiceSlot): boolean {
  return configIndex >= 0 && !hasNamed && !hasBare;
}

/**
 * Components on this page may have been forgotten by the previous process. restoreUptimes()
 * corrects those that were not.
 */
function restoreReleased(table: SeriesTable, restored: RestoredState): void {
  const { releasedMs } = restored;
  table.releasedMs = laterMs(table.releasedMs, releasedMs);
  for (const component of table.components)
    component.tornMs = laterMs(component.tornMs, releasedMs);
  // Only once: nothing corrects the components of later pages, which begin with the table's time.
  restored.releasedMs = Number.NaN;
}

function restoreRow(
  { table, time }: Judge,
  restored: RestoredState,
  row: number,
  ids: SeriesIds,
): void {
  if (!isScraped(table, row)) return;
  const id = ids.idOf(row, serviceOfRow(table, row));
  const index = restored.indexById.get(id);
  if (index === undefined) return;
  restored.indexById.delete(id);
  table.startsVersion++;
  // A metric that does not count now may have a saved start, if it was a counter before.
  if (isCounting(table.metrics[table.metric[row]!]!)) {
    table.setStart(row, restored.startMs[index]!);
    table.setProcess(row, restored.processMs[index]!);
  }
  table.setLastTime(row, restored.lastTimeMs[index]!);
  table.setLastValue(row, restored.lastValue[index]!);
  table.flags[row] = restored.flags[index]! | ROW_FLAG.restored;
  table.movedAtMs[row] = time.monotonicMs;
}

/**
 * The head is the part seen first. It gets the newest series of all parts, as any part may have
 * been the head before. Parts that the newest sample did not have are not observed.
 */
function settleParts(table: SeriesTable, head: number): void {
  const { lastTimeMs, flags } = table;
  const compound = table.compounds.get(head);
  if (compound === undefined) return;
  const parts = rowsOf(compound);
  const timeOf = (row: number): number => lastTimeMs[row]! || 0;
  const isSent = (row: number): boolean => (flags[row]! & ROW_FLAG.sent) !== 0;
  let from = head;
  for (const row of parts) {
    const isMore = timeOf(row) === timeOf(from) && isSent(row) && !isSent(from);
    if (timeOf(row) > timeOf(from) || isMore) from = row;
  }
  for (const row of parts)
    if (lastTimeMs[row]! < timeOf(from)) flags[row] = flags[row]! & ~ROW_FLAG.observed;
  if (from !== head) moveSeries(table, from, head);
  // The values of parts that were absent at a reset are void, as in forgetAbsentParts().
  for (const row of parts)
    if (lastTimeMs[row]! < table.startMs[head]!) table.setLastValue(row, Number.NaN);
}

/**
 * If another row has sent this row's identity since, keeps only the time until which the identity
 * was sent.
 */
function settleOwner(table: SeriesTable, { sentUntil }: RestoredState, row: number): void {
  const untilMs = sentUntil.get(table.owners.get(row)?.check ?? 0);
  if (untilMs === undefined || table.lastTimeMs[row]! >= untilMs) return;
  forgetSeries(table, row);
  table.setLastTime(row, untilMs);
  table.setLastValue(row, Number.NaN);
}

/** Restores the evidence of uptimes, including components that are not on the page. */
function restoreUptimes(table: SeriesTable, restored: RestoredState, options: DeriveOptions): void {
  for (const { component: path, name, firstTimeMs, tornMs, ...saved } of restored.uptimes) {
    const [id = '', serviceName = '', serverName = ''] = path.split('\u0000');
    const isSent = options.configured.has(id) || id === '' || options.unconfigured === 'send';
    if (!isSent) continue;
    const service = serviceOf(table, id, options);
    const component = table.components[componentOf(table, service, serviceName, serverName)];
    if (component === undefined) continue;
    const { rows } = component.uptimes.get(name) ?? { rows: [] };
    component.uptimes.set(name, { ...NO_EVIDENCE, ...saved, rows });
    Object.assign(component, { firstTimeMs, tornMs });
  }
  if (restored.uptimes.length > 0) table.startsVersion++;
  restored.uptimes = [];
}

/**
 * Forgets the rows that are not on the first page and were last sent long ago. Processes that live for
 * less than RESTORE_PAGES, such as `once`, would pass on every row for ever.
 */
function forgetOld(table: SeriesTable, restored: RestoredState, nowMs: number): void {
  const { indexById, lastTimeMs, services } = restored;
  const awaited = new Set(table.services.filter(isAwaited).map(({ id }) => id));
  const old: number[] = [];
  for (const [id, place] of indexById) {
    if (!(lastTimeMs[place]! < nowMs - RESTORED_MS_MAX) || awaited.has(services[place]!)) continue;
    indexById.delete(id);
    old.push(place);
  }
  if (old.length > 0) noteReleased(table, restored, old);
}

/**
 * Forgets the rows that have not appeared by now. If they return, earlier counts are not growth.
 */
function giveUp(table: SeriesTable, restored: RestoredState): void {
  table.restored = null;
  // Ends the `up` of services without an entry of which only the uptimes were restored.
  releaseUnused(table);
  noteReleased(table, restored, restored.indexById.values());
}

/** Notes until when forgotten rows had counts. */
function noteReleased(
  table: SeriesTable,
  { lastTimeMs, lastValue }: RestoredState,
  places: Iterable<number>,
): void {
  let newestMs = Number.NaN;
  for (const place of places)
    if (!Number.isNaN(lastValue[place])) newestMs = laterMs(newestMs, lastTimeMs[place]!);
  table.startsVersion++;
  if (Number.isNaN(newestMs)) return;
  // A component that is added later has no evidence of its own.
  table.releasedMs = laterMs(table.releasedMs, newestMs);
  for (const component of table.components) {
    if (newestMs > component.firstTimeMs) component.firstTimeMs = newestMs;
    component.tornMs = laterMs(component.tornMs, newestMs);
  }
}
