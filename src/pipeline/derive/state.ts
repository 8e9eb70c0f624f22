// What must survive the process: start times, the times last sent, the last values of what counts, and the evidence of
// uptimes. In: the table after derive. Out: two blobs, and from them the table of the next process. Committed with the
// batch that it belongs to, so that a daemon killed between any two scrapes goes on as if nothing had happened: no start
// moves, no delta is lost, no point goes twice.
//
//   starts (written when rows or starts change)      marks (written with every page; see state-marks.ts)
//   ids │ startMs │ streamAtMs │ names of uptimes    time, flags │ lastValue │ what the uptimes say
//
// Both hold one entry per row, in the order of `starts`. A row is known again by a 53-bit id made of its key: the hash
// that finds it in the table, and bits of a CRC of the text. Whoever changes a start, or what rows there are to save,
// forgets table.savedStarts: then they are written anew.

import { crc32 } from 'node:zlib';
import { ROLE, ROW_FLAG, type SeriesTable } from '../../model.ts';
import type { RestoredState, SavedStarts, SavedUptime } from '../../table-memory.ts';
import { doublesOf, packColumns, unpackColumns } from './state-columns.ts';
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
/** Numbers of one uptime in the marks. */
const EVIDENCE_NUMBERS = 4;

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
  return {
    restored,
    ids,
    places,
    uptimes: ids.length === 0 ? [] : [...(restored?.uptimes.values() ?? [])],
  };
}

function addUnseen(marks: Marks, { restored, places }: Unseen): void {
  for (const place of places)
    marks.add(
      restored?.lastTimeMs[place] ?? Number.NaN,
      restored?.flags[place] ?? 0,
      restored?.lastValue[place] ?? Number.NaN,
    );
}

/** What the uptimes say, in the order of their names in `starts`. */
function evidenceOf(unseen: Unseen, uptimes: SavedStarts['uptimes']): Float64Array {
  return Float64Array.from([
    ...unseen.uptimes.flatMap(numbersOf),
    ...uptimes.flatMap(({ component: { firstTimeMs }, evidence: { value, timeMs, startMs } }) =>
      numbersOf({ value, timeMs, startMs, firstTimeMs }),
    ),
  ]);
}

function numbersOf(
  saved: Pick<SavedUptime, 'value' | 'timeMs' | 'startMs' | 'firstTimeMs'>,
): readonly number[] {
  return [saved.value, saved.timeMs, saved.startMs, saved.firstTimeMs];
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
function isWorthSaving(table: SeriesTable, row: number): boolean {
  if (table.keyLength[row] === 0 || table.role[row] === ROLE.synthetic) return false;
  return (
    !Number.isNaN(table.lastTimeMs[row] ?? Number.NaN) ||
    !Number.isNaN(table.lastValue[row] ?? Number.NaN)
  );
}

function* packStarts(table: SeriesTable, unseen: Unseen): Generator<void, Buffer> {
  const rows = rowsToSave(table);
  const count = rows.length + unseen.ids.length;
  const ids = new Float64Array(count);
  const startMs = new Float64Array(count);
  const streamAtMs = new Float64Array(count);
  for (const [i, row] of rows.entries()) {
    if (i % SLICE_ROWS === 0) yield;
    ids[i] = idOf(table, row);
    startMs[i] = table.startMs[row] ?? Number.NaN;
    streamAtMs[i] = table.streamAtMs[row] ?? Number.NaN;
  }
  for (const [i, place] of unseen.places.entries()) {
    ids[rows.length + i] = unseen.ids[i] ?? Number.NaN;
    startMs[rows.length + i] = unseen.restored?.startMs[place] ?? Number.NaN;
    streamAtMs[rows.length + i] = unseen.restored?.streamAtMs[place] ?? Number.NaN;
  }
  const uptimes = uptimesOf(table);
  table.savedStarts = { rows, uptimes };
  const names = [
    ...unseen.uptimes.map(({ component, name }) => [component, name]),
    ...uptimes.map(({ path, name }) => [path, name]),
  ];
  return yield* packColumns([ids, startMs, streamAtMs, Buffer.from(JSON.stringify(names))]);
}

function rowsToSave(table: SeriesTable): Uint32Array {
  const rows = new Uint32Array(table.count);
  let count = 0;
  for (let row = 0; row < table.count; row++) if (isWorthSaving(table, row)) rows[count++] = row;
  return rows.slice(0, count);
}

function idOf(table: SeriesTable, row: number): number {
  let check = table.keyCheck[row] ?? 0;
  if (check === 0) {
    const offset = table.keyOffset[row] ?? 0;
    check = crc32(table.keys.subarray(offset, offset + (table.keyLength[row] ?? 0)));
    table.keyCheck[row] = check;
  }
  return (table.hash[row] ?? 0) * CRC_BITS + (check % CRC_BITS);
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

/** Reads what saveState() made; null when it is damaged or of another make: the daemon then begins anew. */
export function readState(starts: Buffer, marks: Buffer): RestoredState | null {
  try {
    const [ids, startMs, streamAtMs, names] = unpackColumns(starts);
    const [times, flags, rows, values, evidence] = unpackColumns(marks);
    if (ids === undefined || startMs === undefined || streamAtMs === undefined) return null;
    if (times === undefined || flags === undefined || rows === undefined) return null;
    if (names === undefined || values === undefined || evidence === undefined) return null;
    const idOfRows = doublesOf(ids);
    const read = readMarks(idOfRows.length, times, flags, rows, values);
    const uptimes = readUptimes(names, doublesOf(evidence));
    if (read === null || uptimes === null) return null;
    return {
      indexById: new Map(Array.from(idOfRows, (id, index) => [id, index])),
      startMs: doublesOf(startMs),
      streamAtMs: doublesOf(streamAtMs),
      ...read,
      uptimes,
      pageCount: 0,
    };
  } catch {
    return null;
  }
}

function readUptimes(names: Buffer, numbers: Float64Array): RestoredState['uptimes'] | null {
  const known = JSON.parse(names.toString()) as readonly (readonly [string, string])[];
  if (numbers.length !== known.length * EVIDENCE_NUMBERS) return null;
  return new Map(
    known.map(([component, name], index) => {
      const [
        value = Number.NaN,
        timeMs = Number.NaN,
        startMs = Number.NaN,
        firstTimeMs = Number.NaN,
      ] = numbers.subarray(index * EVIDENCE_NUMBERS);
      const saved = { component, name, value, timeMs, startMs, firstTimeMs };
      return [uptimeKey(component, name), saved];
    }),
  );
}

/** Gives rows that are new on this page what a former process knew of them; call it once they are resolved. */
export function* restoreRows(
  table: SeriesTable,
  rows: readonly number[],
  monotonicMs: number,
): Generator<void, void> {
  const { restored } = table;
  if (restored === null) return;
  for (const [index, row] of rows.entries()) {
    if (index % RESTORED_SLICE === RESTORED_SLICE - 1) yield;
    restoreRow(table, restored, row, monotonicMs);
  }
  for (const compound of table.compounds.values()) {
    const known = new Set(compound.observed);
    const ordered = [...compound.rows, compound.count, compound.sum].filter(row => known.has(row));
    if (known.size > 0) compound.observed = ordered;
  }
  restoreUptimes(table, restored);
  if (++restored.pageCount >= RESTORE_PAGES) table.restored = null;
}

/** The same for one row. */
function restoreRow(
  table: SeriesTable,
  restored: RestoredState,
  row: number,
  monotonicMs: number,
): void {
  const id = idOf(table, row);
  const index = restored.indexById.get(id);
  if (index === undefined || table.role[row] === ROLE.synthetic) return;
  restored.indexById.delete(id);
  table.savedStarts = null;
  table.startMs[row] = restored.startMs[index] ?? Number.NaN;
  table.streamAtMs[row] = restored.streamAtMs[index] ?? Number.NaN;
  table.lastTimeMs[row] = restored.lastTimeMs[index] ?? Number.NaN;
  table.lastValue[row] = restored.lastValue[index] ?? Number.NaN;
  table.flags[row] = (restored.flags[index] ?? 0) | ROW_FLAG.restored;
  table.movedAtMs[row] = monotonicMs;
  const compound = table.compounds.get(table.head[row] ?? row);
  if (compound !== undefined && row !== compound.created)
    compound.observed = [...compound.observed, row];
}

function restoreUptimes(table: SeriesTable, restored: RestoredState): void {
  for (const [key, index] of table.componentByKey) {
    const component = table.components[index];
    if (component === undefined) continue;
    for (const [name, evidence] of component.uptimes) {
      const saved = restored.uptimes.get(uptimeKey(componentName(table, key, index), name));
      if (saved === undefined || !Number.isNaN(evidence.startMs)) continue;
      const { value, timeMs, startMs, firstTimeMs } = saved;
      Object.assign(evidence, { value, timeMs, startMs });
      component.firstTimeMs = firstTimeMs;
      if (!(component.newestStartMs >= startMs)) component.newestStartMs = startMs;
    }
  }
}

function uptimeKey(component: string, name: string): string {
  return JSON.stringify([component, name]);
}
