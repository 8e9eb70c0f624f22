// Columns of numbers as one blob: the number of columns, their lengths in bytes, and the columns,
// split into pieces with sizes. Large pieces are compressed, since times and counts repeat; for
// small ones the set-up of a compressor would cost more than it saves.
//
//   size │ piece │ size │ piece │ …        size: 32 bits, the highest set if uncompressed

import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Column } from '../../model/series-table.ts';

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
