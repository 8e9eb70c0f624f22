// A service with a single archive of any size, which is made while it is sent. It also has a metrics page, and a back end
// that accepts every export.

import type { ServerResponse } from 'node:http';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { listen } from '../../../src/simulator/loopback-server.ts';

const MIB: number = 2 ** 20;
/** The configured service. */
export const BIG_SERVICE = 'dbbig1';

const DAY = new Date().toISOString().slice(0, 10);

/** A block of slow-query log that can be repeated. It is packed by itself, with its end at a whole byte. */
const BLOCK = Buffer.alloc(MIB, blockOfRecords());
const PACKED = deflateRawSync(BLOCK, { finishFlush: constants.Z_FULL_FLUSH, level: 6 });

function blockOfRecords(): Buffer {
  const records: string[] = [];
  for (let i = 0; i < 4096; i++)
    records.push(
      `# User@Host: app[app] @ web-1 [10.0.0.9]\n# Thread_id: ${i % 97}  Schema: shop  QC_hit: No\n` +
        `# Query_time: ${(i % 13) + 0.000215}  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: ${i * 7}\n` +
        `SET timestamp=${1_772_615_525 + i};\nSELECT * FROM orders WHERE customer_id = ${i * 7919} AND state = 'open';\n`,
    );
  // Fills the block exactly: the rest of it is one long comment.
  const text = Buffer.from(records.join('')).subarray(0, MIB - 100);
  const end = text.lastIndexOf('\n# User@Host') + 1;
  return Buffer.concat([
    text.subarray(0, end),
    Buffer.alloc(MIB - end - 1, '#'),
    Buffer.from('\n'),
  ]);
}

/** The records in a block. Its first header is older than the record before it, and so counts as part of that record. */
export const RECORDS_PER_BLOCK: number = BLOCK.toString().split('# User@Host').length - 2;

/** The packed size of an archive of `blocks` blocks. */
export function packedMiB(blocks: number): number {
  return (blocks * PACKED.length) / MIB;
}

/** Makes a ZIP with one entry of `blocks` blocks, piece by piece. */
function* bigZip(blocks: number, checksum: number): Generator<Buffer> {
  const name = Buffer.from('slow.log');
  const end = Buffer.from([0x03, 0x00]);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(8, 4);
  fields.writeUInt32LE(checksum, 10);
  fields.writeUInt32LE(blocks * PACKED.length + end.length, 14);
  fields.writeUInt32LE(blocks * MIB, 18);
  fields.writeUInt16LE(name.length, 22);
  yield Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, name]);
  for (let i = 0; i < blocks; i++) yield PACKED;
  const directory = Buffer.concat([
    Buffer.from('PK\x01\x02\x14\x00', 'latin1'),
    fields,
    Buffer.alloc(14),
    name,
  ]);
  const tail = Buffer.alloc(22);
  tail.write('PK\x05\x06', 'latin1');
  tail.writeUInt16LE(1, 8);
  tail.writeUInt16LE(1, 10);
  tail.writeUInt32LE(directory.length, 12);
  tail.writeUInt32LE(30 + name.length + blocks * PACKED.length + end.length, 16);
  yield Buffer.concat([end, directory, tail]);
}

export interface BigArchiveService extends AsyncDisposable {
  readonly url: string;
  /** The times of the requests for the metrics page (monotonic), and for the archive (wall clock; NaN before). */
  readonly scrapes: readonly number[];
  readonly archiveAskedAtMs: () => number;
}

/** Lists and serves one archive; accepts every export without reading it; notes the times of scrapes. */
export async function serveBigArchive(blocks: number): Promise<BigArchiveService> {
  let askedAtMs = Number.NaN;
  // Computes the checksum in advance: for gigabytes, that takes longer than an answer may.
  let checksum = 0;
  for (let i = 0; i < blocks; i++) checksum = crc32(BLOCK, checksum);
  const scrapes: number[] = [];
  const { url, close } = await listen({}, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    if (request.method === 'POST') {
      request.resume().on('end', () => response.end());
    } else if (pathname === '/observability/v2/metrics') {
      scrapes.push(performance.now());
      response.setHeader('content-type', 'text/plain').end('engine_up 1\n');
    } else if (pathname.endsWith('/archive')) {
      askedAtMs = Date.now();
      void pipeAll(response, bigZip(blocks, checksum));
    } else {
      const logs = blocks === 0 ? [] : [descriptor(blocks)];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ count: logs.length, logs }));
    }
  });
  return { url, scrapes, archiveAskedAtMs: () => askedAtMs, [Symbol.asyncDispose]: close };
}

function descriptor(blocks: number): object {
  return {
    id: 'big',
    name: 'big',
    logType: 'slow-query-log',
    server: 'a',
    serverDataSourceId: `${BIG_SERVICE}/a`,
    size: blocks,
    startTime: `${DAY}T00:00:00Z`,
  };
}

async function pipeAll(response: ServerResponse, pieces: Iterable<Buffer>): Promise<void> {
  for (const piece of pieces)
    if (!response.write(piece)) await new Promise<void>(resolve => response.once('drain', resolve));
  response.end();
}
