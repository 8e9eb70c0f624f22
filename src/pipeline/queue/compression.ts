// Compresses a row's payload when it is committed, and decompresses it to split it or to change its encoding. The input
// must not change until the promise settles: the thread pool reads it. zstd of up to 8 MiB and gzip of up to 64 KiB run on
// the main thread, because passing them to a thread costs more (zstd: half of the cost of a fleet's page; gzip of 200
// points: 156 µs instead of 30 µs).

import {
  constants,
  gunzip,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
} from 'node:zlib';
import { promisify } from 'node:util';
import type { Encoding } from './commit.ts';

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const zstdAsync = promisify(zstdCompress);
const unzstdAsync = promisify(zstdDecompress);

// Level 1: higher levels double the cost to save a tenth of the bytes. A zstd window of 256 KiB is as good for points
// as any larger one, and its output is a third smaller than with 128 KiB. Every decoder supports it (RFC 8878 asks for
// 8 MiB).
const GZIP_LEVEL = 1;
const ZSTD_PARAMS = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 18,
};
/** The limit for one turn of the event loop: a MiB takes about 0.4 ms. */
const ZSTD_SYNC_BYTES_MAX = 8 * 1024 * 1024;
const GZIP_SYNC_BYTES_MAX = 64 * 1024;
/** Points shrink to a thirteenth or less, so a buffer of this share holds the whole output. */
const OUTPUT_SHARE = 12;
const OUTPUT_BYTES_MIN = 4096;

/** The compressed bytes; a copy even with `none`. */
export async function compress(encoding: Encoding, bytes: Buffer): Promise<Buffer> {
  const chunkSize = Math.max(OUTPUT_BYTES_MIN, Math.ceil(bytes.length / OUTPUT_SHARE));
  if (encoding === 'gzip') {
    const options = { level: GZIP_LEVEL, chunkSize };
    return bytes.length <= GZIP_SYNC_BYTES_MAX
      ? gzipSync(bytes, options)
      : await gzipAsync(bytes, options);
  }
  if (encoding === 'zstd') {
    const options = { params: ZSTD_PARAMS, chunkSize };
    if (bytes.length <= ZSTD_SYNC_BYTES_MAX) return zstdCompressSync(bytes, options);
    return await zstdAsync(bytes, options);
  }
  return Buffer.from(bytes);
}

/** The original bytes. Rejects when they are damaged or more than `maxBytes`. */
export async function decompress(
  encoding: Encoding,
  bytes: Buffer,
  maxBytes: number,
): Promise<Buffer> {
  const options = { maxOutputLength: Math.max(maxBytes, 1) };
  if (encoding === 'gzip') return await gunzipAsync(bytes, options);
  if (encoding === 'zstd') return await unzstdAsync(bytes, options);
  return bytes;
}
