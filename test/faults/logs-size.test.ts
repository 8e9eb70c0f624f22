// An archive with an entry as large as the limit allows passes through the program in little memory, and metrics are
// scraped meanwhile as if it were not there.

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { start, tempDirectory, until } from '../support/program.ts';

/** Of the entry, unpacked; the limit is 2 GiB. */
const ENTRY_MIB = Number(process.env['ENTRY_MIB'] ?? 128);
const ABOVE_IDLE_MIB = 64;
const MIB = 2 ** 20;
const DAY = new Date().toISOString().slice(0, 10);

/** A block of slow-query log that can be repeated, packed by itself: its end is at a byte. */
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
  // To the byte: the rest is one long comment.
  const text = Buffer.from(records.join('')).subarray(0, MIB - 100);
  const end = text.lastIndexOf('\n# User@Host') + 1;
  return Buffer.concat([
    text.subarray(0, end),
    Buffer.alloc(MIB - end - 1, '#'),
    Buffer.from('\n'),
  ]);
}

/** A ZIP with one entry of so many blocks, piece by piece. */
function* bigZip(blocks: number): Generator<Buffer> {
  let checksum = 0;
  for (let i = 0; i < blocks; i++) checksum = crc32(BLOCK, checksum);
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

interface Service extends AsyncDisposable {
  readonly url: string;
  readonly records: () => number;
  /** When the metrics page was asked for. */
  readonly scrapes: number[];
}

/** Lists one archive and serves it; takes whatever is exported, without looking; counts scrapes. */
async function serve(blocks: number): Promise<Service> {
  let bytes = 0;
  const scrapes: number[] = [];
  const server: Server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    if (request.method === 'POST') {
      request.on('data', (chunk: Buffer) => (bytes += chunk.length));
      request.on('end', () => response.end());
    } else if (pathname === '/observability/v2/metrics') {
      scrapes.push(performance.now());
      response.setHeader('content-type', 'text/plain').end('engine_up 1\n');
    } else if (pathname.endsWith('/archive')) {
      void pipeAll(response, bigZip(blocks));
    } else {
      const logs = blocks === 0 ? [] : [descriptor(blocks)];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ count: logs.length, logs }));
    }
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const dispose = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise<void>(resolve => server.close(() => resolve()));
  };
  return {
    url: `http://127.0.0.1:${port}`,
    records: () => bytes,
    scrapes,
    [Symbol.asyncDispose]: dispose,
  };
}

function descriptor(blocks: number): object {
  return {
    id: 'big',
    name: 'big',
    logType: 'slow-query-log',
    server: 'a',
    serverDataSourceId: 'dbbig1/a',
    size: blocks,
    startTime: `${DAY}T00:00:00Z`,
  };
}

async function pipeAll(
  response: {
    write(chunk: Buffer): boolean;
    end(): void;
    once(event: 'drain', done: () => void): void;
  },
  pieces: Iterable<Buffer>,
): Promise<void> {
  for (const piece of pieces)
    if (!response.write(piece)) await new Promise<void>(resolve => response.once('drain', resolve));
  response.end();
}

function configOf(service: Service, directory: string): string {
  return JSON.stringify({
    api: { base_url: service.url, key: 'k', timeout: '1s' },
    services: [{ id: 'dbbig1' }],
    metrics: { interval: '1s' },
    logs: {
      enabled: true,
      types: ['slow-query-log'],
      first_start: 'beginning',
      limits: { unpacked: '2GiB' },
      endpoints: { format: 'raw' },
    },
    otlp: { endpoint: service.url },
    queue: { directory },
    status: { listen: '127.0.0.1:0' },
    telemetry: { enabled: false },
    log: { level: 'error' },
  });
}

interface Lived {
  readonly peakMiB: number;
  readonly seconds: number;
  /** How far scrapes stood from where they belong, in milliseconds: the latest of them. */
  readonly jitterMs: number;
  readonly stderr: string;
}

/** Runs the daemon until the archive is through (or for ten seconds, without one). */
async function live(blocks: number): Promise<Lived> {
  await using service = await serve(blocks);
  using files = tempDirectory();
  const config = files.write('c.yaml', configOf(service, `${files.path}/queue`));
  const running = start(['run', '--config', config], {
    NODE_OPTIONS: process.env['CHILD_NODE_OPTIONS'] ?? '',
  });
  const { child } = running;
  const startedMs = performance.now();
  const peak = (): number => {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  };
  let quietSince = performance.now();
  let seen = -1;
  await until(
    'the archive is through',
    () => {
      if (child.exitCode !== null) throw new Error(`the program has ended: ${running.stderr()}`);
      const now = service.records();
      // Metrics alone are a few hundred bytes a second.
      if (now - seen > 5000) quietSince = performance.now();
      seen = now;
      return performance.now() - quietSince > 6000 && performance.now() - startedMs > 10_000;
    },
    1_500_000,
  );
  const peakMiB = peak();
  const seconds = (performance.now() - startedMs - 6000) / 1000;
  child.kill('SIGTERM');
  await running.finished;
  const { scrapes } = service;
  // Away from the first round, which does not wait for its place.
  const phases = scrapes.slice(2).map(atMs => atMs % 1000);
  const base = phases.toSorted((a, b) => a - b)[Math.floor(phases.length / 2)] ?? 0;
  const off = phases.map(phase => Math.min(Math.abs(phase - base), 1000 - Math.abs(phase - base)));
  return { peakMiB, seconds, jitterMs: Math.max(...off), stderr: running.stderr() };
}

test(`an entry of ${ENTRY_MIB} MiB passes in little memory, and scrapes keep their time`, async () => {
  const idle = await live(0);
  const busy = await live(ENTRY_MIB);
  console.log(
    `logs: ${ENTRY_MIB} MiB (packed ${Math.round((ENTRY_MIB * PACKED.length) / MIB)} MiB) in ${busy.seconds.toFixed(1)} s, ` +
      `${(ENTRY_MIB / busy.seconds).toFixed(1)} MiB/s; peak ${busy.peakMiB.toFixed(0)} MiB, idle ${idle.peakMiB.toFixed(0)} MiB; ` +
      `scrape jitter ${busy.jitterMs.toFixed(0)} ms, idle ${idle.jitterMs.toFixed(0)} ms`,
  );
  expect(busy.stderr).toBe('');
  expect(busy.peakMiB - idle.peakMiB).toBeLessThan(ABOVE_IDLE_MIB);
});
