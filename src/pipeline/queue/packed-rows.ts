// Rows of a batch that is packed already: parts are put together to streams of gzip. In: a PackedBatch, whose memory may
// change as soon as this has returned. Out: rows as of makeRows() in rows.ts, of at most `maxRequestBytes` uncompressed;
// nothing is compressed or cut here, so it does not wait. RFC 1952.

import { constants, inflateRawSync } from 'node:zlib';
import { finish, shift } from '../../lib/deflate/crc.ts';
import type { Batch, BatchPart, PackedBatch, PackedPart } from '../../model.ts';
import type { NewRow } from './rows.ts';

/** Deflate, no name, no time, no system. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** The last block of the stream: one with fixed codes and nothing but its end. */
const LAST_BLOCK = Buffer.from([3, 0]);
const TRAILER_BYTES = 8;
const TWO_32 = 0x1_0000_0000;

/** The rows of a packed batch, in order; a part that is larger than the limit has a row of its own. */
export function makePackedRows(
  { packed, parts, madeAtMs }: PackedBatch,
  maxRequestBytes: number,
): readonly NewRow[] {
  const rows: NewRow[] = [];
  let first = 0;
  let rawBytes = 0;
  for (const [index, { length }] of parts.entries()) {
    if (index > first && rawBytes + length > maxRequestBytes) {
      rows.push(makeRow(packed, parts.slice(first, index), madeAtMs));
      first = index;
      rawBytes = 0;
    }
    rawBytes += length;
  }
  if (first < parts.length) rows.push(makeRow(packed, parts.slice(first), madeAtMs));
  return rows;
}

/** The uncompressed request that a batch stands for. */
export function payloadOf(batch: Batch | PackedBatch): Buffer {
  if ('payload' in batch) return batch.payload;
  const parts = batch.parts.map(({ start, end }) =>
    inflateRawSync(batch.packed.subarray(start, end), { finishFlush: constants.Z_SYNC_FLUSH }),
  );
  return Buffer.concat(parts);
}

function makeRow(packed: Buffer, parts: readonly PackedPart[], madeAtMs: number): NewRow {
  let rawBytes = 0;
  let register = 0;
  const placed: BatchPart[] = [];
  const pieces: Buffer[] = [HEAD];
  for (const { service, points, length, start, end, register: own } of parts) {
    placed.push({ service, points, offset: rawBytes, length });
    pieces.push(packed.subarray(start, end));
    register = shift(register, length) ^ own;
    rawBytes += length;
  }
  const trailer = Buffer.alloc(TRAILER_BYTES);
  trailer.writeUInt32LE(finish(register, rawBytes), 0);
  trailer.writeUInt32LE(rawBytes % TWO_32, 4);
  const body = Buffer.concat([...pieces, LAST_BLOCK, trailer]);
  return { signal: 'metrics', encoding: 'gzip', body, rawBytes, parts: placed, madeAtMs };
}
