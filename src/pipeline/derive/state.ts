// What must survive the process: start times, the times last sent, the last values of what counts, and the evidence of
// uptimes. In: the table after derive. Out: two blobs, and from them the table of the next process. Committed with the batch that it belongs to, so that a daemon killed between any two scrapes goes on as
// if nothing had happened: no start moves, no delta is lost, no point goes twice.
//
//   starts (written when rows or starts change)      marks (written with every page)
//   ids │ startMs │ streamAtMs                       lastTimeMs │ flags │ lastValue │ uptimes
//
// Both hold one entry per row, in the order of `starts`. A row is known again by a 53-bit id made of its key: the hash
// that finds it in the table, and bits of a CRC of the text. Columns are compressed: times repeat.

import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type Metric, ROLE, ROW_FLAG, type SeriesTable } from '../../model.ts';
import type { RestoredState, SavedStarts, SavedUptime } from '../../table-memory.ts';

/** The kinds of blobs in the queue's state. */
export const STARTS = 'target-starts';
export const MARKS = 'target-marks';

/** How many rows are gone through before the event loop gets its turn. */
const SLICE_ROWS = 65_536;
const RESTORED_SLICE = 4096;
const CRC_BITS = 2 ** 21;
/** A service that is back after so many good pages begins anew. */
const RESTORE_PAGES = 10;
/** What is compressed in one go. */
const PIECE_BYTES = 2 ** 20;
const PACKED = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

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
  const isCurrent =
    unseen.places.length === 0 &&
    table.savedStarts !== null &&
    (yield* isSaved(table, table.savedStarts));
  const starts = isCurrent ? undefined : yield* packStarts(table, unseen);
  const rows = table.savedStarts?.rows ?? new Uint32Array(0);
  const marks = newMarks(rows.length + unseen.places.length);
  const isCounting = Uint8Array.from(table.metrics, metric => (counts(metric) ? 1 : 0));
  for (let from = 0; from < rows.length; from += SLICE_ROWS) {
    takeMarks(table, rows.subarray(from, from + SLICE_ROWS), { marks, from, isCounting });
    yield;
  }
  appendMarks(marks, rows.length, unseen);
  const uptimes = Buffer.from(JSON.stringify([...unseen.uptimes, ...uptimesOf(table)]));
  const { lastTimeMs, flags, lastValue } = marks;
  const blob = yield* pack([lastTimeMs, flags, lastValue, uptimes]);
  // Once all is seen, or given up, the starts are other ones.
  if (unseen.places.length > 0) table.savedStarts = null;
  return starts === undefined ? { marks: blob } : { starts, marks: blob };
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

function appendMarks(marks: Marks, from: number, { restored, places }: Unseen): void {
  for (const [i, place] of places.entries()) {
    marks.lastTimeMs[from + i] = restored?.lastTimeMs[place] ?? Number.NaN;
    marks.flags[from + i] = restored?.flags[place] ?? 0;
    marks.lastValue[from + i] = restored?.lastValue[place] ?? Number.NaN;
  }
}

/** Columns of the marks. */
interface Marks {
  readonly lastTimeMs: Float64Array;
  readonly flags: Uint8Array;
  readonly lastValue: Float64Array;
}

function newMarks(count: number): Marks {
  return {
    lastTimeMs: new Float64Array(count),
    flags: new Uint8Array(count),
    lastValue: new Float64Array(count),
  };
}

/** Copies what the table knows of `rows` into the marks from `from` on; `isCounting` is by metric. */
function takeMarks(
  { lastTimeMs, flags, lastValue, metric }: SeriesTable,
  rows: Uint32Array,
  into: { readonly marks: Marks; readonly from: number; readonly isCounting: Uint8Array },
): void {
  const { marks, from, isCounting } = into;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] ?? 0;
    marks.lastTimeMs[from + i] = lastTimeMs[row] ?? Number.NaN;
    marks.flags[from + i] = flags[row] ?? 0;
    // Of a gauge no value is missed, and NaN compresses to nothing.
    const isKept = isCounting[metric[row] ?? 0] === 1;
    marks.lastValue[from + i] = isKept ? (lastValue[row] ?? Number.NaN) : Number.NaN;
  }
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

/** True when the saved starts are still those of the table. */
function* isSaved(table: SeriesTable, saved: SavedStarts): Generator<void, boolean> {
  let count = 0;
  for (let from = 0; from < table.count; from += SLICE_ROWS) {
    const to = Math.min(from + SLICE_ROWS, table.count);
    for (let row = from; row < to; row++) if (isWorthSaving(table, row)) count++;
    yield;
  }
  if (count !== saved.rows.length) return false;
  for (let i = 0; i < saved.rows.length; i++) {
    const row = saved.rows[i] ?? 0;
    if (!isWorthSaving(table, row)) return false;
    if (!Object.is(table.startMs[row], saved.startMs[i])) return false;
    if (!Object.is(table.streamAtMs[row], saved.streamAtMs[i])) return false;
  }
  return true;
}

/** The bridge's own series need no memory; all others do once they were observed. */
function isWorthSaving(table: SeriesTable, row: number): boolean {
  if (table.keyLength[row] === 0 || table.role[row] === ROLE.synthetic) return false;
  return (
    !Number.isNaN(table.lastTimeMs[row] ?? Number.NaN) ||
    !Number.isNaN(table.lastValue[row] ?? Number.NaN)
  );
}

/** Counters, histograms and summaries: a fall of their value means something. */
function counts({ kind }: Metric): boolean {
  return kind !== 'gauge' && kind !== 'updown';
}

function* packStarts(table: SeriesTable, unseen: Unseen): Generator<void, Buffer> {
  const kept: number[] = [];
  for (let row = 0; row < table.count; row++) if (isWorthSaving(table, row)) kept.push(row);
  const rows = Uint32Array.from(kept);
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
  table.savedStarts = { rows, startMs, streamAtMs };
  return yield* pack([ids, startMs, streamAtMs]);
}

function idOf(table: SeriesTable, row: number): number {
  const offset = table.keyOffset[row] ?? 0;
  const text = table.keys.subarray(offset, offset + (table.keyLength[row] ?? 0));
  return (table.hash[row] ?? 0) * CRC_BITS + (crc32(text) % CRC_BITS);
}

function uptimesOf(table: SeriesTable): SavedUptime[] {
  return [...table.componentByKey].flatMap(([component, index]) => {
    const { uptimes, firstTimeMs } = table.components[index] ?? {
      uptimes: new Map(),
      firstTimeMs: Number.NaN,
    };
    return [...uptimes].map(([name, { value, timeMs, startMs }]) => ({
      component: componentName(table, component, index),
      name,
      value,
      timeMs,
      startMs,
      firstTimeMs,
    }));
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
    const [ids, startMs, streamAtMs] = unpack(starts).map(doubles);
    const [times, flags, values, uptimes] = unpack(marks);
    if (ids === undefined || startMs === undefined || streamAtMs === undefined) return null;
    if (times === undefined || flags === undefined || values === undefined) return null;
    const lastTimeMs = doubles(times);
    if (lastTimeMs.length !== ids.length || flags.length !== ids.length) return null;
    const saved = JSON.parse(uptimes?.toString() ?? '[]') as SavedUptime[];
    return {
      indexById: new Map(Array.from(ids, (id, index) => [id, index])),
      startMs,
      streamAtMs,
      lastTimeMs,
      flags,
      lastValue: doubles(values),
      uptimes: new Map(saved.map(entry => [uptimeKey(entry.component, entry.name), entry])),
      pageCount: 0,
    };
  } catch {
    return null;
  }
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

/**
 * Their lengths, then all columns, compressed in pieces with their sizes. Mostly that is one piece: a stream of its own
 * for each column would cost more than its bytes. Yields between pieces.
 */
function* pack(columns: readonly (Float64Array | Uint8Array)[]): Generator<void, Buffer> {
  const bytes = columns.map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
  const lengths = Buffer.from(Uint32Array.from([bytes.length, ...bytes.map(b => b.length)]).buffer);
  const raw = Buffer.concat([lengths, ...bytes]);
  const pieces: Buffer[] = [];
  for (let from = 0; from < raw.length; from += PIECE_BYTES) {
    if (from > 0) yield;
    const piece = raw.subarray(from, from + PIECE_BYTES);
    const chunkSize = Math.max(1024, piece.length >> 3);
    const packed = zstdCompressSync(piece, { ...PACKED, chunkSize });
    const size = Buffer.alloc(4);
    size.writeUInt32LE(packed.length);
    pieces.push(size, packed);
  }
  return Buffer.concat(pieces);
}

/** Fails when the blob is not what pack() made. */
function unpack(blob: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < blob.length; ) {
    const end = at + 4 + blob.readUInt32LE(at);
    pieces.push(zstdDecompressSync(blob.subarray(at + 4, end), { maxOutputLength: PIECE_BYTES }));
    at = end;
  }
  const raw = Buffer.concat(pieces);
  const count = raw.readUInt32LE(0);
  let at = 4 * (count + 1);
  return Array.from({ length: count }, (_, column) => {
    const length = raw.readUInt32LE(4 * (column + 1));
    at += length;
    return raw.subarray(at - length, at);
  });
}

function doubles(bytes: Buffer): Float64Array {
  const copy = new Uint8Array(bytes);
  return new Float64Array(copy.buffer, 0, Math.floor(copy.length / 8));
}
