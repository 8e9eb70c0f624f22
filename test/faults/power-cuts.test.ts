// The power fails while the durable queue works: every operation that it had reported as done is done when it is opened
// again, the account balances, and the rows are in order. The writes and fsyncs of real processes are recorded, and the
// disk is rebuilt as a power cut leaves it (support/recorded-disk.ts), at POWER_CUTS places of the record.

import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { QueueConfig } from '../../src/pipeline/queue/commit.ts';
import type { Signal } from '../../src/model/batch.ts';
import { Queue } from '../../src/pipeline/queue/queue.ts';
import { expectBalance, queueOptions } from '../pipeline/queue/queue-behaviour.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { randomNumbers } from '../support/random.ts';
import { Disk, DiskRecorder, type DiskEvent } from './support/recorded-disk.ts';

/** The mode `mix` of this process prints each operation that is done; each of its commits has POINTS points. */
const VICTIM = join(import.meta.dirname, '../support/queue-victim.ts');
const CUTS = Number(process.env['POWER_CUTS'] ?? 20);
const POINTS = 8;
const NONE: ReadonlySet<number> = new Set();

const CONFIG: QueueConfig = {
  directory: null,
  metrics: { maxBytes: 1e7, maxAgeMs: 1e15 },
  logs: { maxBytes: 1e7 },
};

const noRecorder = DiskRecorder.reasonToSkip();
if (noRecorder !== null) console.log(`faults: power cuts are skipped: ${noRecorder}`);
if (process.env['CI'] === 'true')
  test('power cuts can be recorded when skips are forbidden', () => {
    expect(noRecorder).toBeNull();
  });

/** The content and the account of a queue; the points of its rows by the number of their commit. */
interface Content {
  readonly rows: Readonly<Record<Signal, ReadonlyMap<number, number>>>;
  readonly cursor: number;
  readonly account: Readonly<Record<string, number>>;
}

/** The content that a queue must have after these operations. */
function contentAfter(operations: readonly string[]): Content {
  const rows = { metrics: new Map<number, number>(), logs: new Map<number, number>() };
  let cursor = 0;
  const account = { 'point/accepted': 0, 'point/made': 0, 'point/set_aside': 0, 'sample/used': 0 };
  for (const operation of operations) {
    const [what, number] = operation.split(' ');
    const n = Number(number);
    const of = rows[n % 4 === 0 ? 'logs' : 'metrics'];
    if (what === 'commit') {
      of.set(n, POINTS);
      cursor = n;
      account['point/made'] += POINTS;
      account['sample/used'] += 5;
    } else {
      const aside = what === 'set-aside' ? 1 : 0;
      account['point/accepted'] += (of.get(n) ?? 0) - aside;
      account['point/set_aside'] += aside;
      of.delete(n);
    }
  }
  const counted = Object.entries(account).filter(([, count]) => count > 0);
  return { rows, cursor, account: Object.fromEntries(counted) };
}

/** Opens the queue as the next process would. */
async function look(directory: string): Promise<Content & { readonly corruptCount: number }> {
  const queue = Queue.open(queueOptions({ config: CONFIG }), directory);
  try {
    const rowsOf = async (signal: Signal): Promise<ReadonlyMap<number, number>> => {
      const rows = await queue.oldest(signal, 1e6, NONE);
      const numbers = rows.map(row => row.madeAtMs);
      expect(numbers, 'in the order of the commits').toEqual(numbers.toSorted((a, b) => a - b));
      return new Map(rows.map(row => [row.madeAtMs, row.parts[0]?.points ?? 0]));
    };
    expectBalance(queue);
    return {
      rows: { metrics: await rowsOf('metrics'), logs: await rowsOf('logs') },
      cursor: Number((await queue.readState('cursor', 'a')) ?? 0),
      account: Object.fromEntries([...queue.account.total()].sort(([a], [b]) => (a < b ? -1 : 1))),
      corruptCount: queue.corruptFiles().length,
    };
  } finally {
    await queue.close();
  }
}

function toldIn(events: readonly DiskEvent[]): readonly string[] {
  return events
    .filter(event => event.op === 'tell')
    .flatMap(event => String(event.data).trim().split('\n'));
}

/** Cuts the power at many places of a record, and returns the problems, in words. */
async function cutPower(
  recorder: DiskRecorder,
  events: readonly DiskEvent[],
  { isDamaged = false, areSyncsIgnored = false } = {},
): Promise<readonly string[]> {
  const random = randomNumbers('power cuts');
  const below = (limit: number): number => Math.floor(random() * limit);
  const target = join(temporaryDirectory(), 'cut');
  const disk = new Disk(recorder.root);
  const places = Array.from({ length: CUTS }, () => below(events.length));
  const found: string[] = [];
  let at = 0;
  for (const place of places.sort((a, b) => a - b)) {
    for (const event of events.slice(at, place)) disk.take(event, areSyncsIgnored);
    at = place;
    const cut = {
      random,
      keptShare: [0, 0.1, 0.5, 0.9, 1][below(5)] ?? 0,
      blockBytes: [512, 4096][below(2)] ?? 512,
    };
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target);
    disk.writeCut(target, cut);
    const done = toldIn(events.slice(0, place));
    const next = toldIn(events.slice(place)).slice(0, 1);
    const words = `cut at event ${String(place)} of ${String(events.length)}: ${JSON.stringify(cut)}`;
    try {
      const { corruptCount, ...content } = await look(join(target, 'queue'));
      // The operation under way may be done or not.
      expect([contentAfter(done), contentAfter([...done, ...next])]).toContainEqual(content);
      if (!isDamaged) expect(corruptCount, 'damaged files').toBe(0);
    } catch (error) {
      found.push(`${words}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return found;
}

/** The files of a directory, except the index of the write-ahead log, which each process makes again in memory. */
function filesIn(directory: string): ReadonlyMap<string, Buffer> {
  const names = readdirSync(directory).filter(name => !name.endsWith('-shm'));
  return new Map(names.map(name => [name, readFileSync(join(directory, name))]));
}

describe.skipIf(noRecorder !== null)('power cuts', () => {
  test('cost no completed step: while a queue is created, used, killed, opened again and closed', async () => {
    const recorder = new DiskRecorder(temporaryDirectory());
    const directory = join(recorder.root, 'queue');
    expect(await recorder.run(VICTIM, 'mix', directory, '160')).toBeNull();
    expect(await recorder.run(VICTIM, 'mix-and-close', directory, '120')).toBe(0);
    const events = recorder.events();
    expect(await cutPower(recorder, events)).toEqual([]);
    // The record is complete: without a cut, it gives the real files.
    const disk = new Disk(recorder.root);
    for (const event of events) disk.take(event);
    const copy = temporaryDirectory();
    disk.writeWhole(copy);
    expect(filesIn(join(copy, 'queue'))).toEqual(filesIn(directory));
    // On a disk that ignores fsyncs, the checks must find problems: this proves that they depend on fsyncs.
    expect(await cutPower(recorder, events, { areSyncsIgnored: true })).not.toEqual([]);
  });

  test('cost no completed step: while a damaged file is replaced', async () => {
    const recorder = new DiskRecorder(temporaryDirectory());
    const directory = join(recorder.root, 'queue');
    expect(await recorder.run(VICTIM, 'mix-and-close', directory, '60')).toBe(0);
    expect(await recorder.run(VICTIM, 'break-index', directory)).toBe(0);
    expect(await recorder.run(VICTIM, 'mix', directory, '20')).toBeNull();
    expect(await cutPower(recorder, recorder.events(), { isDamaged: true })).toEqual([]);
    expect((await look(directory)).corruptCount).toBe(1);
  });

  test('and kills bring back no commit whose fsync failed and whose rows were sent from memory', async () => {
    const recorder = new DiskRecorder(temporaryDirectory());
    const directory = join(recorder.root, 'queue');
    expect(await recorder.run(VICTIM, 'fail', directory, recorder.failsPath)).toBeNull();
    expect(toldIn(recorder.events())).toEqual(['sent 4']);
    const { rows, cursor } = await look(directory);
    expect([...rows.metrics.keys()]).toEqual([1, 2, 3]);
    expect(cursor).toBe(3);
  });
});
