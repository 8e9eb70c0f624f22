// Reads the blob of a target's saved state (state.ts). A blob that does not fit its form is one
// outcome: null. The target then begins anew, and the daemon says so.

import * as z from 'zod';
import type { RestoredState, SavedInstance } from '../../model/memory.ts';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Column } from '../../model/series-table.ts';

/** The kind of the blob in the queue's state. */
export const STATE = 'target-state';
/** The kinds that versions until 0.1.0 stored; they are dropped. */
export const FORMER_KINDS = ['target-starts', 'target-marks'] as const;

/** Blobs of another form are not read. */
export const FORM = 4 as const;

/** What the blob says beside its columns. Times are null where there is none: JSON has no NaN. */
export interface StateHeader {
  readonly form: typeof FORM;
  readonly rows: number;
  /** SeriesTable.startMode. */
  readonly mode: number | null;
  readonly savedMs: number | null;
  readonly releasedMs: number | null;
  readonly services: readonly string[];
  /** null if only the starts are saved. */
  readonly whole: {
    /** The instances; the name is that of the stored form, as is `tornMs` for `forgottenMs`. */
    readonly components: readonly StoredInstance[];
    readonly falls: readonly (readonly [place: number, fromMs: number, toMs: number])[];
  } | null;
}

interface StoredInstance {
  readonly names: SavedInstance['names'];
  readonly firstTimeMs: number | null;
  readonly tornMs: number | null;
  readonly uptimes: readonly {
    readonly name: string;
    readonly value: number | null;
    readonly timeMs: number | null;
    readonly sinceMs: number | null;
    readonly stood: number;
    readonly missed: number;
  }[];
}

/** null for none. */
const time = z.number().nullable();
const count = z.int().nonnegative();
const uptime = z.strictObject({
  name: z.string(),
  value: time,
  timeMs: time,
  sinceMs: time,
  stood: count,
  missed: count,
});
const instance = z.strictObject({
  names: z.tuple([z.string(), z.string(), z.string()]),
  firstTimeMs: time,
  tornMs: time,
  uptimes: z.array(uptime),
});
const stateHeader: z.ZodType<StateHeader> = z.strictObject({
  form: z.literal(FORM),
  rows: count,
  mode: count.max(3).nullable(),
  savedMs: time,
  releasedMs: time,
  services: z.array(z.string()),
  whole: z
    .strictObject({
      components: z.array(instance),
      falls: z.array(z.tuple([count, z.number(), z.number()])),
    })
    .nullable(),
});

/** Reads a blob; null if it does not fit its form. */
export function readState(blob: Buffer): RestoredState | null {
  try {
    const [header, ...columns] = unpackColumns(blob);
    const read = stateHeader.safeParse(JSON.parse(String(header)));
    return read.success ? stateOf(read.data, columns) : null;
  } catch {
    // A blob of another form: its lengths point outside it, or its text is no JSON.
    return null;
  }
}

const COLUMNS = 8;

function stateOf(header: StateHeader, columns: readonly Buffer[]): RestoredState | null {
  const { rows, whole, services } = header;
  if (columns.length !== COLUMNS) return null;
  const [ids, startMs, lastTimeMs, lastValue, uptimes, uptimeMs] = [0, 1, 3, 4, 5, 6].map(at =>
    doublesOf(columns[at]!),
  ) as [Doubles, Doubles, Doubles, Doubles, Doubles, Doubles];
  const service = integersOf(columns[2]!);
  const flags = new Uint8Array(columns[7]!);
  const more = whole === null ? 0 : rows;
  const isLong = [lastTimeMs, lastValue, uptimes, uptimeMs, flags].every(
    ({ length }) => length === more,
  );
  if (!isLong || [ids, startMs, service].some(({ length }) => length !== rows)) return null;
  // A part of a histogram may be older than its start.
  const newestMs = lastTimeMs.reduce((newest, ms) => (ms > newest ? ms : newest), 0);
  const isFit =
    service.every(index => index < services.length) &&
    [startMs, lastTimeMs, uptimeMs].every(column => column.every(isTimeOrNone)) &&
    ids.every(Number.isSafeInteger) &&
    (newestMs === 0 || startMs.every(ms => !(ms > newestMs))) &&
    flags.every(bits => bits < FLAGS_END);
  if (!isFit || whole?.falls.some(([place]) => place >= rows) === true) return null;
  return {
    isWhole: whole !== null,
    indexById: new Map(Array.from(ids, (id, index) => [id, index])),
    startMs,
    lastTimeMs,
    lastValue,
    uptime: uptimes,
    uptimeMs,
    flags,
    falls: new Map(whole?.falls.map(([place, fromMs, toMs]) => [place, { fromMs, toMs }])),
    startMode: header.mode,
    services: Array.from(service, index => services[index]!),
    savedMs: header.savedMs ?? Number.NaN,
    releasedMs: header.releasedMs ?? Number.NaN,
    instances: (whole?.components ?? []).map(({ names, ...times }) => ({
      names,
      firstTimeMs: times.firstTimeMs ?? Number.NaN,
      forgottenMs: times.tornMs ?? Number.NaN,
      uptimes: times.uptimes.map(saved => ({
        ...saved,
        value: saved.value ?? Number.NaN,
        timeMs: saved.timeMs ?? Number.NaN,
        sinceMs: saved.sinceMs ?? Number.NaN,
      })),
    })),
    pageCount: 0,
  };
}

type Doubles = Float64Array<ArrayBuffer>;

/** One above the highest value of a row's flags. */
const FLAGS_END = 0x80;
/** The last time of a date, in ms. */
const TIME_MAX_MS = 8.64e15;

function isTimeOrNone(ms: number): boolean {
  return Number.isNaN(ms) || Math.abs(ms) <= TIME_MAX_MS;
}

// Columns of numbers as one blob: the number of columns, their lengths in bytes, and the columns,
// split into pieces with sizes. Large pieces are compressed, since times and counts repeat; for
// small ones the set-up of a compressor would cost more than it saves.
//
//   size │ piece │ size │ piece │ …        size: 32 bits, the highest set if uncompressed

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
function doublesOf(bytes: Buffer): Float64Array {
  return new Float64Array(new Uint8Array(bytes).buffer, 0, Math.floor(bytes.length / 8));
}

function integersOf(bytes: Buffer): Uint32Array {
  return new Uint32Array(new Uint8Array(bytes).buffer, 0, Math.floor(bytes.length / 4));
}
