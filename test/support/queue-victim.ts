// A process to be killed while it uses a durable queue. It prints a line for each operation, only after the queue has
// reported that the operation is done. Arguments: the mode (a function below), the directory, and a count or a path.

import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Counters } from '../../src/lib/counters.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { Signal } from '../../src/model/batch.ts';
import type { QueueOptions, QueueRow } from '../../src/pipeline/queue/commit.ts';
import { Queue } from '../../src/pipeline/queue/queue.ts';
import { allAccepted, batchOf } from './otlp-requests.ts';

/** Small shares, so that the log is moved into the file every few commits. */
const CONFIG: QueueOptions['config'] = {
  directory: null,
  metrics: { maxBytes: 1e7, maxAgeMs: 1e15 },
  logs: { maxBytes: 1e7 },
};
/** The points of each commit of `mix`. */
const POINTS = 8;

const NONE: ReadonlySet<number> = new Set();

// Writes synchronously, so that a printed line survives a kill at any time.
const tell = (text: string): void => void writeSync(1, `${text}\n`);

function open(directory: string): Queue {
  const options: QueueOptions = {
    config: { ...CONFIG, directory },
    limits: { metrics: { bytes: 1e6, points: Infinity }, logs: { bytes: 1e6, points: Infinity } },
    compression: { metrics: 'gzip', logs: 'gzip' },
    clock: systemClock,
    counters: new Counters(),
    logger: silentLogger,
  };
  return Queue.open(options, directory);
}

/**
 * Does `count` operations, mixed as in the life of a queue. Prints `commit N`, `settle N`, and `set-aside N` for a row
 * of which a point was set aside. N is the number of the commit, which also is the row's `madeAtMs`.
 */
async function mix(queue: Queue, count: number): Promise<void> {
  let last = Number((await queue.readState('cursor', 'a')) ?? 0);
  const signalOf = (n: number): Signal => (n % 4 === 0 ? 'logs' : 'metrics');
  for (let i = 0; i < count; i++) {
    // Most of the time, more rows come than go; now and then, nearly all rows go.
    const isGoing = i % 40 > 25 || i % 5 === 4;
    const [row] = isGoing ? await queue.oldest(signalOf(i), 1, NONE) : [];
    if (row === undefined) {
      await store(queue, signalOf(++last), last);
      tell(`commit ${String(last)}`);
    } else if (i % 3 === 0) {
      await setAside(queue, row);
      tell(`set-aside ${String(row.madeAtMs)}`);
    } else {
      await accept(queue, row);
      tell(`settle ${String(row.madeAtMs)}`);
    }
  }
}

/** Makes three commits that are stored, and one whose fsync fails. Then settles the newest row, and prints `sent N`. */
async function fail(queue: Queue, failsPath: string): Promise<void> {
  for (const n of [1, 2, 3]) await store(queue, 'metrics', n);
  writeFileSync(failsPath, '');
  await store(queue, 'metrics', 4, 'held');
  const row = (await queue.oldest('metrics', 4, NONE)).at(-1);
  if (row === undefined) return;
  await accept(queue, row);
  tell(`sent ${String(row.madeAtMs)}`);
}

/** Writes junk where it costs no row: the next process must find the file damaged and replace it. */
function breakIndex(directory: string): void {
  const path = join(directory, 'queue.sqlite');
  const db = new DatabaseSync(path, { readOnly: true });
  const found = db
    .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'batch_by_signal'")
    .get();
  db.close();
  const file = openSync(path, 'r+');
  writeSync(file, randomBytes(4096), 0, 4096, (Number(found?.['rootpage']) - 1) * 4096);
  fsyncSync(file);
  closeSync(file);
}

async function store(
  queue: Queue,
  signal: Signal,
  n: number,
  expected: 'stored' | 'held' = 'stored',
): Promise<void> {
  const bytes = randomBytes((n % 7) * 1500 + 50);
  const outcome = await queue.commit({
    batches: [batchOf(signal, [{ service: 'a', points: POINTS, bytes }], n)],
    state: [{ kind: 'cursor', key: 'a', blob: Buffer.from(String(n)) }],
    reads: [{ service: 'a', outcome: 'used', count: 5 }],
  });
  if (outcome.kind !== expected) throw new Error(JSON.stringify(outcome));
}

async function accept(queue: Queue, row: QueueRow): Promise<void> {
  queue.pin(row.id);
  await queue.settle(row.id, allAccepted(row.parts), []);
}

/** Sets one point aside, and accepts the others. */
async function setAside(queue: Queue, { id, signal }: QueueRow): Promise<void> {
  queue.pin(id);
  const settlement = { service: 'a', accepted: POINTS - 1, rejected: 0, setAside: 1 };
  const sample = randomBytes(700);
  const aside = { signal, service: 'a', points: 1, reason: 'test', sample, atMs: 0 };
  await queue.settle(id, [settlement], [aside]);
}

async function main([mode = '', directory = '', argument = '']: readonly string[]): Promise<void> {
  if (mode === 'break-index') return breakIndex(directory);
  const queue = open(directory);
  if (mode === 'fail') await fail(queue, argument);
  else await mix(queue, Number(argument));
  if (mode === 'mix-and-close') return queue.close();
  process.kill(process.pid, 'SIGKILL');
}

await main(process.argv.slice(2));
