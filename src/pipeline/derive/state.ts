// What must survive the process: start times, the times last sent, the last values of what counts, and the evidence of
// uptimes. In: the table after derive. Out: two blobs, and from them the table of the next process. Committed with the
// batch that it belongs to, so that a daemon killed between any two scrapes goes on as if nothing had happened: no start
// moves, no delta is lost, no point goes twice.
//
//   starts (written when rows or starts change)      marks (written with every page; see state-marks.ts)
//   ids │ startMs │ processMs │ names of uptimes     time, flags │ lastValue │ what the uptimes say
//   form │ identities
//
// Both hold one entry per row, in the order of `starts`. A row is known again by a 53-bit id made of its key: the hash
// that finds it in the table, and bits of a CRC of the text. A row that sends the identity of others, too (twins.ts), is
// saved with a check of that identity: whichever of them comes first knows until when the identity was sent. Whoever
// changes a start, or what rows there are to save, forgets table.savedStarts: then they are written anew.

import { crc32 } from 'node:zlib';
import { NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import {
  type Compound,
  NO_PROCESS,
  type RestoredState,
  SAVED_NUMBERS,
  type SavedStarts,
  type SavedUptime,
} from '../../model/memory.ts';
import type { DeriveOptions } from './options.ts';
import { beginAnew } from './compound.ts';
import { componentOf, serviceOf } from './places.ts';
import { NO_EVIDENCE } from './reset.ts';
import { doublesOf, integersOf, packColumns, unpackColumns } from './state-columns.ts';
import { countingMetrics, Marks, readMarks } from './state-marks.ts';

/** The kinds of blobs in the queue's state. */
export const STARTS = 'target-starts';
export const MARKS = 'target-marks';

/** How many rows are gone through before the event loop gets its turn. */
const SLICE_ROWS = 65_536;
const RESTORED_SLICE = 4096;
const CRC_BITS = 2 ** 21;
/** A service that is back after so many good pages begins anew. */
const RESTORE_PAGES = 10;
/** Marks of more than this are not kept for the next page of another target. */
const HELD_BYTES_MAX = 2 ** 23;
/** Of an uptime in the marks: its own numbers, then firstTimeMs and tornMs of its component. */
const EVIDENCE_NUMBERS = SAVED_NUMBERS.length + 2;
/** What the first form took for jitter. */
const FIRST_FORM_JITTER_MS = 5000;
/** The form of the blobs: stands in `starts` as a column of its own, which the first form did not have. */
const FORM = 2;

/** Blobs by kind, to be stored under the target's id; those that have not changed are left out. */
export interface StateBlobs {
  readonly starts?: Buffer;
  readonly marks: Buffer;
}

/**
 * Makes the blobs for what the table now holds, and for what it was given by a former process and has not seen again yet
 * (a service that is down since); yields between slices. `saved` is the table's memory of the last call.
 */
export function* saveState(table: SeriesTable): Generator<void, StateBlobs> {
  const unseen = unseenOf(table);
  if (unseen.places.length > 0) table.savedStarts = null;
  const starts = table.savedStarts === null ? yield* packStarts(table, unseen) : undefined;
  const { rows, uptimes } = table.savedStarts ?? NOTHING_SAVED;
  const marks = takeSpareMarks();
  marks.begin(rows.length + unseen.places.length);
  const isCounting = countingMetrics(table.metrics);
  for (let from = 0; from < rows.length; from += SLICE_ROWS) {
    marks.take(table, rows, from, Math.min(from + SLICE_ROWS, rows.length), isCounting);
    yield;
  }
  addUnseen(marks, unseen);
  const evidence = evidenceOf(unseen, uptimes);
  const blob = yield* packColumns([...marks.columns(), evidence]);
  spareMarks = marks.heldBytes <= HELD_BYTES_MAX ? marks : null;
  // Once all is seen, or given up, the starts are other ones.
  if (unseen.places.length > 0) table.savedStarts = null;
  return starts === undefined ? { marks: blob } : { starts, marks: blob };
}

const NOTHING_SAVED: SavedStarts = { rows: new Uint32Array(0), uptimes: [] };

/** What the last call has written its marks in, unless it is still at it. */
let spareMarks: Marks | null = null;

function takeSpareMarks(): Marks {
  const marks = spareMarks ?? new Marks();
  spareMarks = null;
  return marks;
}

/** What a former process knew and no page has had since: ids, their places in `restored`, and all uptimes. */
interface Unseen {
  readonly restored: RestoredState | null;
  readonly ids: readonly number[];
  readonly places: readonly number[];
  readonly uptimes: readonly SavedUptime[];
}

function unseenOf({ restored }: SeriesTable): Unseen {
  const [ids, places] = [
    [...(restored?.indexById.keys() ?? [])],
    [...(restored?.indexById.values() ?? [])],
  ];
  // Where the table has its own they come later, and count.
  return { restored, ids, places, uptimes: restored?.uptimes ?? [] };
}

function addUnseen(marks: Marks, { restored, places }: Unseen): void {
  if (restored === null) return;
  const { lastTimeMs, flags, lastValue } = restored;
  for (const place of places) marks.add(lastTimeMs[place]!, flags[place]!, lastValue[place]!);
}

/** What the uptimes say, in the order of their names in `starts`. */
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

/** The blobs as the queue keeps them: by kind, under the target's id. */
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

/** The bridge's own series need no memory; all others do once they were observed. */
export function isWorthSaving(table: SeriesTable, row: number): boolean {
  if (table.keyLength[row] === 0 || table.role[row] === ROLE.synthetic) return false;
  return !Number.isNaN(table.lastTimeMs[row]!) || !Number.isNaN(table.lastValue[row]!);
}

function* packStarts(table: SeriesTable, unseen: Unseen): Generator<void, Buffer> {
  const rows = rowsToSave(table);
  const count = rows.length + unseen.ids.length;
  const ids = new Float64Array(count);
  const startMs = new Float64Array(count);
  const processMs = new Float64Array(count);
  const identity = new Uint32Array(count);
  for (const [i, row] of rows.entries()) {
    if (i % SLICE_ROWS === 0) yield;
    ids[i] = idOfRow(table, row);
    // Any part of a point may be the first one that comes back.
    const head = table.head[row]!;
    startMs[i] = table.startMs[head]!;
    processMs[i] = table.processMs[head]!;
    identity[i] = table.owners.get(head)?.check ?? 0;
  }
  const { restored } = unseen;
  if (restored !== null)
    for (const [i, place] of unseen.places.entries()) {
      ids[rows.length + i] = unseen.ids[i]!;
      startMs[rows.length + i] = restored.startMs[place]!;
      processMs[rows.length + i] = restored.processMs[place]!;
      identity[rows.length + i] = restored.identity[place]!;
    }
  const uptimes = uptimesOf(table);
  table.savedStarts = { rows, uptimes };
  const names = [
    ...unseen.uptimes.map(({ component, name }) => [component, name]),
    ...uptimes.map(({ path, name }) => [path, name]),
  ];
  const text = Buffer.from(JSON.stringify(names));
  const releasedMs = Float64Array.of(later(table.releasedMs, restored?.releasedMs ?? Number.NaN));
  const form = Uint32Array.of(FORM);
  return yield* packColumns([ids, startMs, processMs, text, form, identity, releasedMs]);
}

function rowsToSave(table: SeriesTable): Uint32Array {
  const rows = new Uint32Array(table.count);
  let count = 0;
  for (let row = 0; row < table.count; row++) if (isWorthSaving(table, row)) rows[count++] = row;
  return rows.slice(0, count);
}

/** What a series is known by to another process: a number of 53 bits made of its key. */
export function idOfRow(table: SeriesTable, row: number): number {
  let check = table.keyCheck[row]!;
  if (check === 0) {
    const offset = table.keyOffset[row]!;
    check = crc32(table.keys.subarray(offset, offset + table.keyLength[row]!));
    table.keyCheck[row] = check;
  }
  return table.hash[row]! * CRC_BITS + (check % CRC_BITS);
}

function uptimesOf(table: SeriesTable): SavedStarts['uptimes'] {
  return [...table.componentByKey].flatMap(([key, index]) => {
    const component = table.components[index];
    if (component === undefined) return [];
    const path = componentName(table, key, index);
    return [...component.uptimes].map(([name, evidence]) => ({ component, path, name, evidence }));
  });
}

/** Indexes of services change with the process; their ids do not. */
function componentName(table: SeriesTable, key: string, index: number): string {
  const service = table.services[table.components[index]?.service ?? 0]?.id ?? '';
  return [service, ...key.split('\u0000').slice(1)].join('\u0000');
}

/**
 * Reads what saveState() made, in this form or the first one; null when it is damaged or of another make: the daemon then
 * begins anew.
 */
export function readState(starts: Buffer, marks: Buffer): RestoredState | null {
  try {
    const [ids, startMs, processMs, names, form, identities, released] = unpackColumns(starts);
    const [times, flags, rows, values, evidence] = unpackColumns(marks);
    if (ids === undefined || startMs === undefined || processMs === undefined) return null;
    if (times === undefined || flags === undefined || rows === undefined) return null;
    if (names === undefined || values === undefined || evidence === undefined) return null;
    const idOfRows = doublesOf(ids);
    const read = readMarks(idOfRows.length, times, flags, rows, values);
    if (read === null || (form !== undefined && integersOf(form)[0] !== FORM)) return null;
    const readNumbers = form === undefined ? readFirstForm : readUptime;
    const uptimes = readUptimes(names, doublesOf(evidence), readNumbers);
    if (uptimes === null) return null;
    const identity = identities === undefined ? new Uint32Array(0) : integersOf(identities);
    const state = {
      indexById: new Map(Array.from(idOfRows, (id, index) => [id, index])),
      startMs: doublesOf(startMs),
      processMs: doublesOf(processMs),
      ...read,
      identity,
      sentUntil: sentUntil(identity, read.lastTimeMs),
      releasedMs: released === undefined ? Number.NaN : doublesOf(released)[0]!,
      uptimes,
      isFirstForm: form === undefined,
      pageCount: 0,
    };
    if (state.isFirstForm) fromFirstForm(state);
    return state;
  } catch {
    return null;
  }
}

/** Until when each identity was sent: what a row knows that has not come since may be older than what another has sent. */
function sentUntil(identity: Uint32Array, lastTimeMs: Float64Array): ReadonlyMap<number, number> {
  const until = new Map<number, number>();
  for (const [i, check] of identity.entries()) {
    const lastMs = lastTimeMs[i]!;
    if (check !== 0 && lastMs > (until.get(check) ?? 0)) until.set(check, lastMs);
  }
  return until;
}

/**
 * At most so many rows of a former state: ended ones go first, the oldest before the others. What they had counted was
 * sent: if they come back, it is no growth (F8).
 */
export function limitRestored(restored: RestoredState, rowsMax: number): RestoredState {
  const { indexById, lastTimeMs, flags } = restored;
  const excess = indexById.size - Math.max(rowsMax, 0);
  if (excess <= 0) return restored;
  const isOpen = (place: number): number => ((flags[place]! & ROW_FLAG.staleSent) === 0 ? 1 : 0);
  const ids = [...indexById].sort(
    ([, a], [, b]) => isOpen(a) - isOpen(b) || (lastTimeMs[a] || 0) - (lastTimeMs[b] || 0),
  );
  let forgottenMs = Number.NaN;
  for (const [id, place] of ids.slice(0, excess)) {
    indexById.delete(id);
    forgottenMs = later(forgottenMs, lastTimeMs[place]!);
  }
  const uptimes = restored.uptimes.map(uptime => ({
    ...uptime,
    firstTimeMs: later(uptime.firstTimeMs, forgottenMs),
    tornMs: later(uptime.tornMs, forgottenMs),
  }));
  return { ...restored, uptimes, releasedMs: later(restored.releasedMs, forgottenMs) };
}

/** The later of two times, either of which may be NaN for none. */
function later(aMs: number, bMs: number): number {
  return bMs <= aMs || Number.isNaN(bMs) ? aMs : bMs;
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

/** The first form knew the newest sample and the process. */
const readFirstForm: NumbersReader = {
  length: 4,
  read: numbers => {
    const [value = NaN, timeMs = NaN, processMs = NaN, firstTimeMs = NaN] = numbers;
    const sample = { value, timeMs, sinceMs: timeMs, provenMs: timeMs, shownMs: timeMs };
    const beginMs = timeMs - value * 1000;
    return { ...NO_EVIDENCE, ...sample, processMs, beginMs, firstTimeMs, tornMs: Number.NaN };
  },
};

/** In the first form a third column meant something else, and no flag said what the parts of a point were. */
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

/** Gives rows that are new on this page what a former process knew of them; call it once they are resolved. */
export function* restoreRows(
  table: SeriesTable,
  rows: readonly number[],
  context: { readonly options: DeriveOptions; readonly monotonicMs: number },
): Generator<void, void> {
  const { restored } = table;
  if (restored === null) return;
  if (restored.pageCount === 0) restoreReleased(table, restored);
  restoreUptimes(table, restored, context.options);
  for (const [index, row] of rows.entries()) {
    if (index % RESTORED_SLICE === RESTORED_SLICE - 1) yield;
    restoreRow(table, restored, row, context.monotonicMs);
  }
  for (const [head, compound] of table.compounds) settleParts(table, head, compound);
  for (const row of rows) settleOwner(table, restored, row);
  if (++restored.pageCount >= RESTORE_PAGES) giveUp(table, restored);
}

/** What components were that nobody knows any more, those of this page may have been. restoreUptimes() knows better of some. */
function restoreReleased(table: SeriesTable, { releasedMs }: RestoredState): void {
  table.releasedMs = later(table.releasedMs, releasedMs);
  for (const component of table.components) component.tornMs = later(component.tornMs, releasedMs);
}

/** The same for one row. */
function restoreRow(
  table: SeriesTable,
  restored: RestoredState,
  row: number,
  monotonicMs: number,
): void {
  if (table.keyLength[row] === 0) return;
  const id = idOfRow(table, row);
  const index = restored.indexById.get(id);
  if (index === undefined || table.role[row] === ROLE.synthetic) return;
  restored.indexById.delete(id);
  table.savedStarts = null;
  table.startMs[row] = restored.startMs[index]!;
  table.processMs[row] = restored.processMs[index]!;
  table.lastTimeMs[row] = restored.lastTimeMs[index]!;
  table.lastValue[row] = restored.lastValue[index]!;
  table.flags[row] = restored.flags[index]! | ROW_FLAG.restored;
  table.movedAtMs[row] = monotonicMs;
  if (restored.isFirstForm) dateFirstForm(table, row);
}

/**
 * Forgets what is known of parts that the newest observation of their point did not have: it may be older than a reset. The
 * head is the part that came first; it goes on with what the newest one knows.
 */
function settleParts(table: SeriesTable, head: number, compound: Compound): void {
  const { lastTimeMs, flags } = table;
  const parts = [...compound.rows, compound.count, compound.sum].filter(row => row !== NO_ROW);
  const hasEnded = (flags[head]! & ROW_FLAG.staleSent) !== 0;
  // The time of a head that has ended is that of its marker.
  const timed = parts.filter(row => row !== head || !hasEnded);
  const [first] = timed;
  if (first === undefined) return;
  const newest = timed.reduce((a, b) => (lastTimeMs[b]! > lastTimeMs[a]! ? b : a), first);
  for (const row of timed) {
    if (!(lastTimeMs[row]! < lastTimeMs[newest]!)) continue;
    table.lastValue[row] = Number.NaN;
    flags[row] = flags[row]! & ~ROW_FLAG.observed;
    if (row !== head) continue;
    lastTimeMs[head] = lastTimeMs[newest]!;
    table.startMs[head] = table.startMs[newest]!;
    table.processMs[head] = table.processMs[newest]!;
  }
}

/** What a row knows of an identity that another row has sent since is over: all that holds is until when it was sent. */
function settleOwner(table: SeriesTable, { sentUntil }: RestoredState, row: number): void {
  const untilMs = sentUntil.get(table.owners.get(row)?.check ?? 0);
  if (untilMs === undefined || table.lastTimeMs[row]! >= untilMs) return;
  beginAnew(table, row);
  table.lastTimeMs[row] = untilMs;
  table.lastValue[row] = Number.NaN;
}

/** The first form told the process by the start: one that is not older than the process belongs to it. */
function dateFirstForm(table: SeriesTable, row: number): void {
  const { uptimeName } = table.metrics[table.metric[row]!] ?? { uptimeName: null };
  const component = table.components[table.blocks[table.block[row]!]?.component ?? -1];
  const { processMs } = component?.uptimes.get(uptimeName ?? '') ?? NO_EVIDENCE;
  const startMs = table.startMs[row]!;
  if (startMs >= processMs - FIRST_FORM_JITTER_MS) table.processMs[row] = processMs;
}

/** Takes over what was known of processes: of components that are not on the page, too. */
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
    table.savedStarts = null;
  }
  restored.uptimes = [];
}

/** What has not come by now is forgotten. Should it come back, nothing of it is growth that was not told before. */
function giveUp(table: SeriesTable, restored: RestoredState): void {
  const { lastTimeMs, lastValue, indexById } = restored;
  let newestMs = Number.NaN;
  for (const index of indexById.values()) {
    const lastMs = lastTimeMs[index]!;
    if (!Number.isNaN(lastValue[index]) && !(lastMs <= newestMs)) newestMs = lastMs;
  }
  table.restored = null;
  if (Number.isNaN(newestMs)) return;
  // A component that comes after this has no memory of its own.
  table.releasedMs = later(table.releasedMs, newestMs);
  for (const component of table.components) {
    if (newestMs > component.firstTimeMs) component.firstTimeMs = newestMs;
    component.tornMs = later(component.tornMs, newestMs);
  }
}
