// Streams the bytes of a spooled archive or of one entry in it, unpacked and counted: what an archive declares
// about sizes is not believed. Throws an ArchiveError; holds a few pieces at a time.

import { type Readable, pipeline, Readable as ReadableStream, type Transform } from 'node:stream';
import { createGunzip, createInflateRaw, crc32 } from 'node:zlib';
import { causeText } from '../errors.ts';
import type { SpoolFile } from '../lib/spool-file.ts';
import { ArchiveError } from './archive-error.ts';

export const PIECE_BYTES: number = 64 * 1024;

/** Bodies below this may shrink by any ratio: a few lines repeated often do. */
const RATIO_BYTES_MIN = 16 * 1024 * 1024;

/** The bytes `[from, to)` of the file. */
export async function* fileBytes(
  spool: SpoolFile,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  for (let offset = from; offset < to; ) {
    const piece = await spool.read(offset, Math.min(PIECE_BYTES, to - offset));
    if (piece.length === 0) throw new ArchiveError('cut', 'it ends in the middle');
    yield piece;
    offset += piece.length;
  }
}

export async function* gunzipped(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* unpacked(packed, createGunzip({ chunkSize: PIECE_BYTES }));
}

export async function* inflated(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* unpacked(packed, createInflateRaw({ chunkSize: PIECE_BYTES }));
}

async function* unpacked(
  packed: AsyncIterable<Buffer>,
  unpacker: Transform,
): AsyncGenerator<Buffer> {
  const source: Readable = ReadableStream.from(packed, { objectMode: true, highWaterMark: 1 });
  // Whatever fails is thrown by the loop below; without a callback it would be thrown into the process.
  pipeline(source, unpacker, () => undefined);
  try {
    for await (const piece of unpacker) {
      yield piece as Buffer;
      giveBack(piece as Buffer);
    }
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    const isCut = error instanceof Error && 'code' in error && error.code === 'Z_BUF_ERROR';
    throw new ArchiveError(isCut ? 'cut' : 'damaged', causeText(error), { cause: error });
  } finally {
    source.destroy();
    unpacker.destroy();
  }
}

/**
 * Frees a piece's memory now. The collector sees small objects and takes its time, while their memory outside its
 * heap grows by the size of the archive: measured, 60 MB of it lay about. A piece that ends where its memory ends is
 * the last of it, and the unpacker has taken other memory by then.
 */
function giveBack({ buffer, byteOffset, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteOffset + byteLength === buffer.byteLength)
    buffer.transfer(0);
}

/** Counts what one archive unpacks to, over all its entries. */
export class UnpackedCount {
  bytes = 0;
  readonly #packedBytes: number;
  readonly #limits: { readonly unpackedBytes: number; readonly ratio: number };

  constructor(
    packedBytes: number,
    limits: { readonly unpackedBytes: number; readonly ratio: number },
  ) {
    this.#packedBytes = packedBytes;
    this.#limits = limits;
  }

  /** Passes pieces through until a limit is reached; the piece that crosses it is passed up to the limit. */
  async *of(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const { unpackedBytes, ratio } = this.#limits;
    const ratioBytes = Math.max(RATIO_BYTES_MIN, this.#packedBytes * ratio);
    const limit = Math.min(unpackedBytes, ratioBytes);
    for await (const piece of pieces) {
      const room = limit - this.bytes;
      this.bytes += Math.min(piece.length, room);
      if (piece.length <= room) {
        yield piece;
        continue;
      }
      if (room > 0) yield piece.subarray(0, room);
      throw limit === unpackedBytes
        ? new ArchiveError('unpacked_limit', `it unpacks to more than ${limit} bytes`)
        : new ArchiveError('ratio_limit', `it unpacks to more than ${ratio} times its size`);
    }
  }
}

/** Passes pieces through; throws at the end when they are not those that the checksum was made of. */
export async function* checked(
  pieces: AsyncIterable<Buffer>,
  checksum: number,
): AsyncGenerator<Buffer> {
  let sum = 0;
  for await (const piece of pieces) {
    sum = crc32(piece, sum);
    yield piece;
  }
  if (sum !== checksum) throw new ArchiveError('checksum', 'its checksum is wrong');
}
