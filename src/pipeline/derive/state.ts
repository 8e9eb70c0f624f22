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
// (series-id.ts). Rows that share an identity (duplicates.ts) are saved with a checksum of it:
// whichever comes first then knows until when the identity was sent. `starts` is written only if
// table.startsVersion has changed.

import { NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import {
  type Compound,
  NO_EVIDENCE,
  NO_PROCESS,
  type PageClock,
  type RestoredState,
  SAVED_NUMBERS,
  type SavedStarts,
  type SavedUptime,
} from '../../model/memory.ts';
import { isCounting } from '../../model/metric.ts';
import { keepMsOf, releaseUnused } from './forget.ts';
import type { DeriveOptions } from './options.ts';
import { forgetSeries, moveSeries } from './compound.ts';
import { componentOf, componentOfRow, serviceOf, serviceOfRow } from './places.ts';
import { laterMs } from './reset.ts';
import { SeriesIds } from './series-id.ts';
import {
  countingMetrics,
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
/** Rows that are absent from this many good pages, with all services there, are forgotten. */
const RESTORE_PAGES = 10;
/** Numbers per uptime in the marks: its own, then firstTimeMs and tornMs of its component. */
const EVIDENCE_NUMBERS = SAVED_NUMBERS.length + 2;
/** The jitter that the first form assumed. */
const FIRST_FORM_JITTER_MS = 5000;
/**
 * The form of the blobs, in a column of `starts` that the first form does not have. Up to the second
 * one, ids are those of SeriesIds.formerIdOf().
 */
const FORM = 3;
/** The bits of the mode in which starts are made, which follows the form. */
const START_MODE = { delta: 1, derived: 2 } as const;

/** Blobs by kind, to be stored under the target's id; unchanged ones are omitted. */
export interface StateBlobs {
  readonly starts?: Buffer;
  readonly marks: Buffer;
}

/**
 * Makes the blobs from the table, including restored rows that have not appeared yet, as of a
 * service that is down; yields between slices.
 */
export function* saveState(table: SeriesTable): Generator<void, StateBlobs> {
  const unseen = unseenOf(table);
  const known = table.savedStarts;
  const isCurrent = known !== null && known.version === table.startsVersion;
  const saved = isCurrent ? known : listToSave(table);
  const starts = isCurrent ? undefined : yield* packStarts(table, saved, unseen);
  table.savedStarts = saved;
  const marks = yield* packMarks(table, saved, unseen);
  return starts === undefined ? { marks } : { starts, marks };
}

/** Makes the blobs of one service alone, in the same form. */
export function* saveService(
  table: SeriesTable,
  id: string,
): Generator<void, Required<StateBlobs>> {
  const service = table.serviceById.get(id) ?? -1;
  const { version, rows, uptimes } = listToSave(table);
  const saved = {
    version,
    rows: rows.filter(row => serviceOfRow(table, row) === service),
    uptimes: uptimes.filter(({ component }) => component.service === service),
  };
  const unseen = unseenOf(table, table.restored?.awaited?.get(id) ?? new Set());
  const starts = yield* packStarts(table, saved, unseen);
  return { starts, marks: yield* packMarks(table, saved, unseen) };
}

function* packMarks(
  table: SeriesTable,
  { rows, uptimes }: SavedStarts,
  unseen: Unseen,
): Generator<void, Buffer> {
  const marks = new Marks(rows.length + unseen.places.length);
  const isCounting = countingMetrics(table.metrics);
  for (let from = 0; from < rows.length; from += SLICE_ROWS) {
    marks.take(table, rows, from, Math.min(from + SLICE_ROWS, rows.length), isCounting);
    yield;
  }
  addUnseen(marks, unseen);
  const evidence = evidenceOf(unseen, uptimes);
  return yield* packColumns([...marks.columns(), evidence]);
}

/** Restored state that no page has shown yet: ids, their indexes in `restored`, and all uptimes. */
interface Unseen {
  readonly restored: RestoredState | null;
  readonly ids: readonly number[];
  readonly places: readonly number[];
  readonly uptimes: readonly SavedUptime[];
}

function unseenOf({ restored }: SeriesTable, only?: ReadonlySet<number>): Unseen {
  const all = [...(restored?.indexById ?? [])];
  const wanted = only === undefined ? all : all.filter(([id]) => only.has(id));
  const [ids, places] = [wanted.map(([id]) => id), wanted.map(([, place]) => place)];
  if (only !== undefined) return { restored, ids, places, uptimes: [] };
  // The table's own uptimes come later in the blob and win.
  return { restored, ids, places, uptimes: restored?.uptimes ?? [] };
}

function addUnseen(marks: Marks, { restored, places }: Unseen): void {
  if (restored === null) return;
  const { lastTimeMs, flags, lastValue } = restored;
  for (const place of places) marks.add(lastTimeMs[place]!, flags[place]!, lastValue[place]!);
}

/** The evidence of uptimes, in the order of their names in `starts`. */
function evidenceOf(unseen: Unseen, uptimes: SavedStarts['uptimes']): Float64Array {
  return Float64Array.from([
    ...unseen.uptimes.flatMap(numbersOf),
    ...uptimes.flatMap(({ component: { firstTimeMs, tornMs }, evidence }) =>
      numbersOf({ ...evidence, firstTimeMs, tornMs }),
    ),
  ]);
}

function numbersOf(saved: Omit<SavedUptime, 'component' | 'name'>): readonly number[] {
  return [...SAVED_NUMBERS.map(name => saved[name]), saved.firstTimeMs, saved.tornMs];
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
export function isWorthSaving(table: SeriesTable, row: number): boolean {
  if (table.keyLength[row] === 0 || table.role[row] === ROLE.synthetic) return false;
  return !Number.isNaN(table.lastTimeMs[row]!) || !Number.isNaN(table.lastValue[row]!);
}

function listToSave(table: SeriesTable): SavedStarts {
  return {
    version: table.startsVersion,
    rows: rowsToSave(table),
    uptimes: uptimesOf(table),
  };
}

function* packStarts(
  table: SeriesTable,
  { rows, uptimes }: SavedStarts,
  unseen: Unseen,
): Generator<void, Buffer> {
  const count = rows.length + unseen.ids.length;
  const ids = new Float64Array(count);
  const startMs = new Float64Array(count);
  const processMs = new Float64Array(count);
  const identity = new Uint32Array(count);
  // By the table's indexes; a freed one may have the id of another.
  const serviceIds = table.services.map(({ id }) => id);
  const service = new Uint32Array(count);
  const { owners } = table;
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
  const unseenIds = new Map<string, number>();
  const { restored } = unseen;
  if (restored !== null)
    for (const [i, place] of unseen.places.entries()) {
      ids[rows.length + i] = unseen.ids[i]!;
      startMs[rows.length + i] = restored.startMs[place]!;
      processMs[rows.length + i] = restored.processMs[place]!;
      identity[rows.length + i] = restored.identity[place]!;
      const id = restored.services[place]!;
      if (!unseenIds.has(id)) unseenIds.set(id, serviceIds.push(id) - 1);
      service[rows.length + i] = unseenIds.get(id)!;
    }
  const names = [
    ...unseen.uptimes.map(({ component, name }) => [component, name]),
    ...uptimes.map(({ path, name }) => [path, name]),
  ];
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
    // A duplicate may have the id of the row that is sent for it.
    if (isWorthSaving(table, row) && !table.duplicates.has(table.head[row]!)) rows[count++] = row;
  return rows.slice(0, count);
}

/** The id under which a previous process saved the series of a row; undefined if it did not. */
export function restoredId(
  { restored }: SeriesTable,
  ids: SeriesIds,
  row: number,
  service: number,
): number | undefined {
  if (restored === null) return undefined;
  const id = ids.idOf(row, service);
  if (restored.indexById.has(id)) return id;
  const former = ids.formerIdOf(row);
  return restored.indexById.has(former) ? former : undefined;
}

function uptimesOf(table: SeriesTable): SavedStarts['uptimes'] {
  return [...table.componentByKey].flatMap(([key, index]) => {
    const component = table.components[index]!;
    const path = componentName(table, key, index);
    return [...component.uptimes].map(([name, evidence]) => ({ component, path, name, evidence }));
  });
}

/** By the service's id, because its index differs between processes. */
function componentName(table: SeriesTable, key: string, index: number): string {
  const service = table.services[table.components[index]!.service]!.id;
  return [service, ...key.split('\u0000').slice(1)].join('\u0000');
}

/**
 * Reads the blobs of saveState(), in this form or a former one; null if they are damaged or unknown:
 * the daemon then begins without state.
 */
export function readState(starts: Buffer, marks: Buffer): RestoredState | null {
  try {
    const columns = unpackColumns(starts);
    const [ids, startMs, processMs, names, form, identities, released] = columns;
    const [times, flags, rows, values, evidence] = unpackColumns(marks);
    if (ids === undefined || startMs === undefined || processMs === undefined) return null;
    if (times === undefined || flags === undefined || rows === undefined) return null;
    if (names === undefined || values === undefined || evidence === undefined) return null;
    const idOfRows = doublesOf(ids);
    const read = readMarks(idOfRows.length, times, flags, rows, values);
    const [formNumber = FORM + 1, startMode = null] = form === undefined ? [1] : integersOf(form);
    if (read === null || formNumber > FORM) return null;
    const readNumbers = form === undefined ? readFirstForm : readUptime;
    const uptimes = readUptimes(names, doublesOf(evidence), readNumbers);
    if (uptimes === null) return null;
    const identity = identities === undefined ? new Uint32Array(0) : integersOf(identities);
    const state = {
      indexById: new Map(Array.from(idOfRows, (id, index) => [id, index])),
      startMs: doublesOf(startMs),
      processMs: doublesOf(processMs),
      startMode,
      ...read,
      identity,
      sentUntil: sentUntil(identity, read.lastTimeMs),
      services: readServices(idOfRows.length, columns[7], columns[8]),
      releasedMs: released === undefined ? Number.NaN : doublesOf(released)[0]!,
      uptimes,
      isFirstForm: form === undefined,
      pageCount: 0,
      clock: null,
    };
    if (state.isFirstForm) fromFirstForm(state);
    return state;
  } catch {
    return null;
  }
}

/** Until when each identity was sent: a row that was not sent last knows only an older time. */
function sentUntil(identity: Uint32Array, lastTimeMs: Float64Array): ReadonlyMap<number, number> {
  const until = new Map<number, number>();
  for (const [i, check] of identity.entries()) {
    const lastMs = lastTimeMs[i]!;
    if (check !== 0 && lastMs > (until.get(check) ?? 0)) until.set(check, lastMs);
  }
  return until;
}

/** Takes the rows of a part out of a state, which is changed. */
export function takeOut({ indexById }: RestoredState, part: RestoredState): void {
  for (const id of part.indexById.keys()) indexById.delete(id);
}

/**
 * A state with the rows and uptimes of a part, where it does not have them itself. The part may
 * change.
 */
export function joinStates(state: RestoredState, part: RestoredState): RestoredState {
  const startMode = state.startMode ?? part.startMode;
  becomeMode(part, startMode);
  const offset = state.startMs.length;
  const moved = [...part.indexById].map(([id, index]): [number, number] => [id, index + offset]);
  const doubles = (name: 'startMs' | 'processMs' | 'lastTimeMs' | 'lastValue'): Float64Array =>
    Float64Array.from([...state[name], ...part[name]]);
  const identity = new Uint32Array(offset + part.identity.length);
  identity.set(state.identity);
  identity.set(part.identity, offset);
  return {
    ...state,
    indexById: new Map([...moved, ...state.indexById]),
    startMs: doubles('startMs'),
    processMs: doubles('processMs'),
    startMode,
    lastTimeMs: doubles('lastTimeMs'),
    lastValue: doubles('lastValue'),
    flags: Uint8Array.from([...state.flags, ...part.flags]),
    identity,
    sentUntil: new Map([...part.sentUntil, ...state.sentUntil]),
    services: [...state.services, ...part.services],
    // Later ones win, and a state knows more of its uptimes than an older part.
    uptimes: [...part.uptimes, ...state.uptimes],
    awaited: new Map([...(part.awaited ?? []), ...(state.awaited ?? [])]),
    pageCount: 0,
    clock: laterClock(state.clock, part.clock),
  };
}

/** No page of either may be followed by an older one. */
function laterClock(a: PageClock | null, b: PageClock | null): PageClock | null {
  if (a === null || b === null) return a ?? b;
  return b.nowMs > a.nowMs ? b : a;
}

type UptimeNumbers = Omit<SavedUptime, 'component' | 'name'>;

interface NumbersReader {
  readonly length: number;
  readonly read: (numbers: Float64Array) => UptimeNumbers;
}

const readUptime: NumbersReader = {
  length: EVIDENCE_NUMBERS,
  read: numbers => {
    const [firstTimeMs = Number.NaN, tornMs = Number.NaN] = numbers.subarray(SAVED_NUMBERS.length);
    const own = SAVED_NUMBERS.map((name, at) => [name, numbers[at]!] as const);
    return { ...NO_EVIDENCE, ...Object.fromEntries(own), firstTimeMs, tornMs };
  },
};

/** The first form had the newest sample and the process. */
const readFirstForm: NumbersReader = {
  length: 4,
  read: numbers => {
    const [value = NaN, timeMs = NaN, processMs = NaN, firstTimeMs = NaN] = numbers;
    const sample = { value, timeMs, sinceMs: timeMs, provenMs: timeMs, shownMs: timeMs };
    const beginMs = timeMs - value * 1000;
    return { ...NO_EVIDENCE, ...sample, processMs, beginMs, firstTimeMs, tornMs: Number.NaN };
  },
};

/**
 * In the first form the third column had another meaning, and no flag marked the parts of a point.
 */
function fromFirstForm({ processMs, startMs, flags, lastValue }: RestoredState): void {
  for (let i = 0; i < processMs.length; i++) {
    processMs[i] = Number.isNaN(startMs[i]) ? Number.NaN : NO_PROCESS;
    const isPart = !Number.isNaN(lastValue[i]);
    flags[i] = (flags[i]! & ~ROW_FLAG.observed) | (isPart ? ROW_FLAG.observed : 0);
  }
}

function readUptimes(
  names: Buffer,
  numbers: Float64Array,
  { length, read }: NumbersReader,
): RestoredState['uptimes'] | null {
  const known = JSON.parse(names.toString()) as readonly (readonly [string, string])[];
  if (numbers.length !== known.length * length) return null;
  return known.map(([component, name], index) => ({
    component,
    name,
    ...read(numbers.subarray(index * length, (index + 1) * length)),
  }));
}

/** Notes how this process makes starts; call this before a page is judged, good or not. */
export function setStartMode(
  table: SeriesTable,
  { isDelta, mayDerive }: { readonly isDelta: boolean; readonly mayDerive: boolean },
): void {
  const startMode = (isDelta ? START_MODE.delta : 0) | (mayDerive ? START_MODE.derived : 0);
  if (table.startMode !== startMode) table.startsVersion++;
  table.startMode = startMode;
  if (table.restored !== null) becomeMode(table.restored, startMode);
}

/**
 * In another mode, starts mean something else: a delta's is the previous point, and only some modes
 * may derive one. Then they are forgotten, and all streams begin anew, after their last points.
 */
function becomeMode(state: RestoredState, startMode: number | null): void {
  if (startMode === null || state.startMode === startMode) return;
  if (state.startMode !== null) {
    state.startMs.fill(Number.NaN);
    state.processMs.fill(Number.NaN);
  }
  state.startMode = startMode;
}

/** Applies the restored state to rows that are new on this page, once they are resolved. */
export function* restoreRows(
  table: SeriesTable,
  rows: readonly number[],
  context: {
    readonly options: DeriveOptions;
    readonly monotonicMs: number;
    /** Series of this page were refused: those that are awaited take their room. */
    readonly isFull: boolean;
  },
): Generator<void, void> {
  const { restored } = table;
  if (restored === null) return;
  restoreReleased(table, restored);
  restoreUptimes(table, restored, context.options);
  const ids = new SeriesIds(table);
  for (const [index, row] of rows.entries()) {
    if (index % RESTORED_SLICE === RESTORED_SLICE - 1) yield;
    restoreRow(table, restored, { row, ids }, context.monotonicMs);
  }
  for (const [head, compound] of table.compounds) settleParts(table, head, compound);
  for (const row of rows) settleOwner(table, restored, row);
  for (const row of rows) {
    const { id } = table.services[serviceOfRow(table, row)] ?? {};
    if (id !== undefined) restored.awaited?.delete(id);
  }
  const { options, monotonicMs, isFull } = context;
  restored.awaitedSinceMs ??= monotonicMs;
  const isPatient = !isFull && monotonicMs - restored.awaitedSinceMs < keepMsOf(options);
  if (isPatient && isServiceAwaited(table, restored)) return;
  if (++restored.pageCount >= RESTORE_PAGES) giveUp(table, restored);
}

/**
 * Whether a configured service has shown no series since the restart: the rows that are left may be
 * its own.
 */
function isServiceAwaited(
  { services }: SeriesTable,
  { indexById }: Pick<RestoredState, 'indexById'>,
): boolean {
  return (
    indexById.size > 0 &&
    services.some(slot => slot.configIndex >= 0 && !slot.hasNamed && !slot.hasBare)
  );
}

/** The rows of configured services that have none on the last page; a service with one is not down. */
export function rowsOfDown(table: SeriesTable): Map<string, ReadonlySet<number>> {
  const rows = new Map<string, Set<number>>();
  const isUp = new Set<number>();
  const ids = new SeriesIds(table);
  for (let row = 0; row < table.count; row++) {
    const service = serviceOfRow(table, row);
    const slot = table.services[service];
    if (slot === undefined || slot.configIndex < 0 || !isWorthSaving(table, row)) continue;
    if (table.seen[row] === table.page) isUp.add(service);
    const own = rows.get(slot.id) ?? new Set();
    rows.set(slot.id, own.add(ids.idOf(row, service)));
  }
  for (const service of isUp) rows.delete(table.services[service]!.id);
  const awaited = [...(table.restored?.awaited ?? [])];
  return new Map([...awaited, ...rows]);
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
  table: SeriesTable,
  restored: RestoredState,
  { row, ids }: { readonly row: number; readonly ids: SeriesIds },
  monotonicMs: number,
): void {
  if (table.keyLength[row] === 0 || table.role[row] === ROLE.synthetic) return;
  const id = restoredId(table, ids, row, serviceOfRow(table, row));
  const index = restored.indexById.get(id ?? Number.NaN);
  if (id === undefined || index === undefined) return;
  restored.indexById.delete(id);
  table.startsVersion++;
  // Its metric may have been a counter.
  if (isCounting(table.metrics[table.metric[row]!]!)) {
    table.setStart(row, restored.startMs[index]!);
    table.setProcess(row, restored.processMs[index]!);
  }
  table.setLastTime(row, restored.lastTimeMs[index]!);
  table.setLastValue(row, restored.lastValue[index]!);
  table.flags[row] = restored.flags[index]! | ROW_FLAG.restored;
  table.movedAtMs[row] = monotonicMs;
  if (restored.isFirstForm) dateFirstForm(table, row);
}

/**
 * The head, which is the part seen first, gets the newest series of all parts: each may have been the
 * head. Parts that the newest sample of their point did not have are not observed.
 */
function settleParts(table: SeriesTable, head: number, compound: Compound): void {
  const { lastTimeMs, flags } = table;
  const parts = [...compound.rows, compound.count, compound.sum].filter(row => row !== NO_ROW);
  const has = (row: number, flag: number): boolean => (flags[row]! & flag) !== 0;
  const timeOf = (row: number): number => lastTimeMs[row]! || 0;
  // The time of an ended head is its marker's.
  const open = parts.filter(row => !has(row, ROW_FLAG.staleSent));
  const newestMs = Math.max(...open.map(timeOf));
  let from = head;
  for (const row of parts) {
    if (lastTimeMs[row]! < newestMs) flags[row] = flags[row]! & ~ROW_FLAG.observed;
    const isNewer = timeOf(row) > timeOf(from);
    const isSent = has(row, ROW_FLAG.sent) && !has(from, ROW_FLAG.sent);
    if (isNewer || (isSent && timeOf(row) === timeOf(from))) from = row;
  }
  if (from !== head) moveSeries(table, from, head);
  // After a reset, what was absent is void, as in forgetAbsentParts().
  for (const row of parts)
    if (lastTimeMs[row]! < table.startMs[head]!) table.setLastValue(row, Number.NaN);
}

/**
 * If another row has sent this row's identity since, only the time until which it was sent still
 * holds.
 */
function settleOwner(table: SeriesTable, { sentUntil }: RestoredState, row: number): void {
  const untilMs = sentUntil.get(table.owners.get(row)?.check ?? 0);
  if (untilMs === undefined || table.lastTimeMs[row]! >= untilMs) return;
  forgetSeries(table, row);
  table.setLastTime(row, untilMs);
  table.setLastValue(row, Number.NaN);
}

/** The first form identified the process by the start: a start that is not older belongs to it. */
function dateFirstForm(table: SeriesTable, row: number): void {
  const { uptimeName } = table.metrics[table.metric[row]!]!;
  const { processMs } = componentOfRow(table, row)?.uptimes.get(uptimeName ?? '') ?? NO_EVIDENCE;
  const startMs = table.startMs[row]!;
  if (startMs >= processMs - FIRST_FORM_JITTER_MS) table.setProcess(row, processMs);
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
 * Forgets the rows that have not appeared by now. If they return, earlier counts are not growth.
 */
function giveUp(table: SeriesTable, restored: RestoredState): void {
  const { lastTimeMs, lastValue, indexById } = restored;
  let newestMs = Number.NaN;
  for (const index of indexById.values()) {
    if (!Number.isNaN(lastValue[index])) newestMs = laterMs(newestMs, lastTimeMs[index]!);
  }
  table.restored = null;
  // Services that no entry names, and of which only the uptimes were restored: their `up` ends.
  releaseUnused(table);
  if (Number.isNaN(newestMs)) return;
  // A component that is added later has no evidence of its own.
  table.releasedMs = laterMs(table.releasedMs, newestMs);
  for (const component of table.components) {
    if (newestMs > component.firstTimeMs) component.firstTimeMs = newestMs;
    component.tornMs = laterMs(component.tornMs, newestMs);
  }
}
