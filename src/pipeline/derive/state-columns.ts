// Columns of numbers as one blob: the number of columns, their lengths in bytes, and the columns,
// split into pieces with sizes. Large pieces are compressed, since times and counts repeat; for
// small ones the set-up of a compressor would cost more than it saves.
//
//   size │ piece │ size │ piece │ …        size: 32 bits, the highest set if uncompressed
//
// Among the columns are the marks: for each row the time of its newest sample, its flags, and its
// value if a fall would matter. Adjacent rows mostly share time and flags, so these are stored by
// runs of rows; values of gauges are not stored. Marks are made for every page, so they must be
// cheap.
//
//   by run   timeMs │ flags, with a bit for stored values │ rows        by row with a value   value

import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { RestoredState } from '../../model/memory.ts';
import { isCounting } from '../../model/metric.ts';
import { type Column, resized, type SeriesTable } from '../../model/series-table.ts';

/** How much is compressed at once. */
const PIECE_BYTES = 2 ** 20;
/** Columns up to this total length form one piece: to set up a compressor costs as much as to compress 30 kB. */
const JOINED_BYTES_MAX = 2 ** 19;
/** About one page of the store. */
const PLAIN_BYTES_MAX = 4096;
const PLAIN = 0x8000_0000;
const PACKED = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Makes the blob; yields between pieces. */
export function* packColumns(columns: readonly Column[]): Generator<void, Buffer> {
  const bytes = columns.map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
  const lengths = Buffer.from(Uint32Array.from([bytes.length, ...bytes.map(b => b.length)]).buffer);
  const all = [lengths, ...bytes];
  const size = all.reduce((sum, { length }) => sum + length, 0);
  const packed: Buffer[] = [];
  for (const part of size <= JOINED_BYTES_MAX ? [Buffer.concat(all)] : all)
    for (let from = 0; from < part.length; from += PIECE_BYTES) {
      if (packed.length > 0) yield;
      packed.push(...packPiece(part.subarray(from, from + PIECE_BYTES)));
    }
  return Buffer.concat(packed);
}

function packPiece(piece: Buffer): readonly [size: Buffer, piece: Buffer] {
  const size = Buffer.alloc(4);
  const isPlain = piece.length <= PLAIN_BYTES_MAX;
  const chunkSize = Math.max(1024, piece.length >> 1);
  const packed = isPlain ? piece : zstdCompressSync(piece, { ...PACKED, chunkSize });
  size.writeUInt32LE(packed.length + (isPlain ? PLAIN : 0));
  return [size, packed];
}

/** Throws if packColumns() did not make the blob. */
export function unpackColumns(blob: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < blob.length; ) {
    const size = blob.readUInt32LE(at);
    const end = at + 4 + (size % PLAIN);
    const piece = blob.subarray(at + 4, end);
    const isPlain = size >= PLAIN;
    pieces.push(isPlain ? piece : zstdDecompressSync(piece, { maxOutputLength: PIECE_BYTES }));
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

/** The bytes of a column as numbers. */
export function doublesOf(bytes: Buffer): Float64Array {
  return new Float64Array(new Uint8Array(bytes).buffer, 0, Math.floor(bytes.length / 8));
}

export function integersOf(bytes: Buffer): Uint32Array {
  return new Uint32Array(new Uint8Array(bytes).buffer, 0, Math.floor(bytes.length / 4));
}

/** The service of each of `count` rows, by its index into ids. */
export function readServices(count: number, ids: Buffer, indexes: Buffer): readonly string[] {
  const known = JSON.parse(ids.toString()) as readonly string[];
  const places = integersOf(indexes);
  return Array.from({ length: count }, (_, row) => known[places[row] ?? -1] ?? '');
}

/** In addition to the bits of ROW_FLAG: the rows of the run have values. */
const HAS_VALUE = 0x80;
const RUNS_MIN = 64;

/** The marks of all rows. */
export type ReadMarks = Pick<RestoredState, 'lastTimeMs' | 'flags' | 'lastValue'>;

/** Columns of marks that grow as rows are added. */
export class Marks {
  #timeMs = new Float64Array(RUNS_MIN);
  #flags = new Uint8Array(RUNS_MIN);
  #rows = new Uint32Array(RUNS_MIN);
  #runs = 0;
  readonly #value: Float64Array;
  #values = 0;
  readonly #table: SeriesTable;
  /** 1 for each metric whose fall matters. */
  readonly #isCounting: Uint8Array;

  /** For at most `rows` rows. */
  constructor(table: SeriesTable, rows: number) {
    this.#value = new Float64Array(rows);
    this.#table = table;
    this.#isCounting = Uint8Array.from(table.metrics, metric => (isCounting(metric) ? 1 : 0));
  }

  /** Adds rows[from, to) of the table. */
  take(rows: Uint32Array, from: number, to: number): void {
    const { lastTimeMs, flags, lastValue, metric } = this.#table;
    const counting = this.#isCounting;
    const value = this.#value;
    let values = this.#values;
    let runMs = Number.NaN;
    let runFlags = -1;
    let first = from;
    for (let i = from; i < to; i++) {
      const row = rows[i]!;
      const rowMs = lastTimeMs[row]!;
      const hasValue = counting[metric[row]!] === 1;
      const rowFlags = flags[row]! | (hasValue ? HAS_VALUE : 0);
      if (hasValue) value[values++] = lastValue[row]!;
      if (rowFlags === runFlags && (rowMs === runMs || (rowMs !== rowMs && runMs !== runMs)))
        continue;
      if (i > first) this.#addRun(runMs, runFlags, i - first);
      first = i;
      runMs = rowMs;
      runFlags = rowFlags;
    }
    if (to > first) this.#addRun(runMs, runFlags, to - first);
    this.#values = values;
  }

  /** Adds one restored row. */
  add({ lastTimeMs, flags, lastValue }: ReadMarks, place: number): void {
    const value = lastValue[place]!;
    const hasValue = !Number.isNaN(value);
    if (hasValue) this.#value[this.#values++] = value;
    this.#addRun(lastTimeMs[place]!, flags[place]! | (hasValue ? HAS_VALUE : 0), 1);
  }

  columns(): readonly [Column, Column, Column, Column] {
    const runs = this.#runs;
    return [
      this.#timeMs.subarray(0, runs),
      this.#flags.subarray(0, runs),
      this.#rows.subarray(0, runs),
      this.#value.subarray(0, this.#values),
    ];
  }

  #addRun(timeMs: number, flags: number, rows: number): void {
    const run = this.#runs++;
    if (run === this.#timeMs.length) this.#grow();
    this.#timeMs[run] = timeMs;
    this.#flags[run] = flags;
    this.#rows[run] = rows;
  }

  #grow(): void {
    const size = this.#timeMs.length * 2;
    this.#timeMs = resized(this.#timeMs, size);
    this.#flags = resized(this.#flags, size);
    this.#rows = resized(this.#rows, size);
  }
}

/** Reads the marks of `count` rows; throws if they belong to other rows. */
export function readMarks(
  count: number,
  timesOfRuns: Buffer,
  flagsOfRuns: Buffer,
  rowsOfRuns: Buffer,
  keptValues: Buffer,
): ReadMarks {
  const times = doublesOf(timesOfRuns);
  const rows = integersOf(rowsOfRuns);
  const values = doublesOf(keptValues);
  const all = rows.reduce((sum, length) => sum + length, 0);
  if (times.length !== rows.length || flagsOfRuns.length !== rows.length || all !== count)
    throw new Error('other rows');
  const lastTimeMs = new Float64Array(count);
  const flags = new Uint8Array(count);
  const lastValue = new Float64Array(count).fill(Number.NaN);
  let [at, used] = [0, 0];
  for (const [run, length] of rows.entries()) {
    const runFlags = flagsOfRuns[run]!;
    lastTimeMs.fill(times[run]!, at, at + length);
    flags.fill(runFlags & ~HAS_VALUE, at, at + length);
    if ((runFlags & HAS_VALUE) !== 0) {
      lastValue.set(values.subarray(used, used + length), at);
      used += length;
    }
    at += length;
  }
  if (used !== values.length) throw new Error('other values');
  return { lastTimeMs, flags, lastValue };
}
