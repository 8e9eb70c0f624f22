// `node bench/floor.ts [pages]` measures the floor under a page of the fleet: the cost of a program that receives each
// byte, compares it with the page before, and stores on disk what it sends, but understands nothing. It uses only the
// system's sockets, memcmp, and SQLite with the settings of the queue. It does not separate these steps: the caches that
// one step fills, and the kernel's work for the next step, would count for the wrong step.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomFillSync } from 'node:crypto';
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { openDatabase } from '../src/pipeline/queue/schema.ts';
import { pageOf } from './corpus/corpora.ts';
import { PageSource } from './corpus/page-source.ts';

const SPEC = { corpus: 'engine', addresses: 1, services: 200, series: 500 } as const;
const SERIES = SPEC.services * SPEC.series;
const READ_BYTES = 64 * 1024;
/** The size of the fleet's page as it is sent with gzip. */
const SENT_BYTES = 1_480_000;
/** Pages that are not counted, because V8 and the caches are still cold. */
const WARM = 5;

async function main(pages: number): Promise<void> {
  const page = new PageSource(pageOf(SPEC, 0)).render(Date.now()).bytes;
  const worker = new Worker(new URL(import.meta.url), { workerData: page });
  const [port] = (await once(worker, 'message')) as [number];
  const taken = Buffer.alloc(page.length);
  const before = Buffer.from(page);
  const directory = mkdtempSync(join(tmpdir(), 'bench-floor-'));
  const store = storing(join(directory, 'floor.db'));
  let startMs = 0;
  for (let i = 0; i < WARM + pages; i++) {
    if (i === WARM) startMs = threadMs();
    await receive(port, taken);
    compare(taken, before);
    store();
  }
  const floorMs = (threadMs() - startMs) / pages;
  await worker.terminate();
  rmSync(directory, { recursive: true });
  const megabytes = (page.length / 1e6).toFixed(1);
  process.stdout.write(`a page of ${SERIES} series, ${megabytes} MB, ${pages} times\n`);
  const perSample = ((floorMs * 1e6) / SERIES).toFixed(0);
  process.stdout.write(`floor ${floorMs.toFixed(1)} ms  ${perSample} ns/sample\n`);
}

/** The processor time of this thread alone, without the page server's thread. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function receive(port: number, into: Buffer): Promise<void> {
  const buffer = Buffer.alloc(READ_BYTES);
  let at = 0;
  const callback = (count: number): boolean => {
    buffer.copy(into, at, 0, count);
    at += count;
    return true;
  };
  const socket = connect({ port, host: '127.0.0.1', onread: { buffer, callback } });
  await once(socket, 'close');
  if (at !== into.length) throw new Error(`got ${at} of ${into.length} bytes`);
}

function compare(taken: Buffer, before: Buffer): void {
  if (!taken.equals(before)) throw new Error('another page came');
}

function storing(path: string): () => void {
  const db = openDatabase(path);
  const insert = db.prepare(
    `INSERT INTO batch (signal, encoding, made_at_ms, raw_bytes, points, counted_bytes, checksum, parts, body)
     VALUES ('metrics', 'gzip', 0, 0, 0, 0, 0, '', ?)`,
  );
  const read = db.prepare('SELECT body FROM batch');
  const remove = db.prepare('DELETE FROM batch');
  const body = randomFillSync(Buffer.alloc(SENT_BYTES));
  return () => {
    insert.run(body);
    if (read.all().length !== 1) throw new Error('the row is not there');
    remove.run();
  };
}

/** Sends the page on every connection. Runs in the worker thread. */
async function serve(page: Uint8Array): Promise<Server> {
  const server = createServer(socket => socket.end(page));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

if (isMainThread) await main(Number(process.argv[2] ?? 50));
else {
  const { parentPort } = await import('node:worker_threads');
  const server = await serve(workerData as Uint8Array);
  parentPort?.postMessage((server.address() as AddressInfo).port, []);
}
