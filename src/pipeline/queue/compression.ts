// Compresses a row's payload when it is committed and opens it again where it must be cut or re-encoded. The bytes
// handed in must not change until the promise is settled: but for zstd of small payloads the work is done on the thread
// pool. zstd takes less time than handing the work over does (bench: half of the cost of a fleet's page).

import { constants, gunzip, gzip, zstdCompress, zstdCompressSync, zstdDecompress } from 'node:zlib';
import { promisify } from 'node:util';
import type { Encoding } from './queue.ts';

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const zstdAsync = promisify(zstdCompress);
const unzstdAsync = promisify(zstdDecompress);

// Level 1 of either: higher levels double the cost for a tenth of the bytes. zstd looks back 256 KiB: as good for
// points as any larger window, and a third smaller than with 128 KiB; every decoder takes it (RFC 8878 asks for 8 MiB).
const GZIP_LEVEL = 1;
const ZSTD_PARAMS = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 18,
};
/** At about 0.4 ms a MiB, so much is compressed in a turn of the event loop. */
const ZSTD_SYNC_BYTES_MAX = 8 * 1024 * 1024;
/** Points become a thirteenth of their bytes or less: there is room for all of it, so that it comes in one piece. */
const OUTPUT_SHARE = 12;
const OUTPUT_BYTES_MIN = 4096;

/** The compressed bytes, in memory of their own also where nothing is compressed. */
export async function compress(encoding: Encoding, bytes: Buffer): Promise<Buffer> {
  const chunkSize = Math.max(OUTPUT_BYTES_MIN, Math.ceil(bytes.length / OUTPUT_SHARE));
  if (encoding === 'gzip') return await gzipAsync(bytes, { level: GZIP_LEVEL, chunkSize });
  if (encoding === 'zstd') {
    const options = { params: ZSTD_PARAMS, chunkSize };
    if (bytes.length <= ZSTD_SYNC_BYTES_MAX) return zstdCompressSync(bytes, options);
    return await zstdAsync(bytes, options);
  }
  return Buffer.from(bytes);
}

/** The bytes as they were; fails when they are broken or more than `maxBytes`. */
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
