// Somebody deletes or replaces files of the queue while they are in use: within a minute the queue notices and reports
// it, and writes them again with all queued data.

import { cpSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { QUEUE_COUNTERS } from '../../../src/pipeline/queue/account.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { logsBatch, metricsBatch } from '../../support/otlp-requests.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  acceptRow,
  commitOf,
  expectBalance,
  expectPoints,
  firstRow,
  queueOptions,
  services,
} from './queue-behaviour.ts';

const MINUTE_MS = 60_000;

type Options = ReturnType<typeof queueOptions>;

interface Stage {
  readonly directory: string;
  readonly options: Options;
  readonly queue: Queue;
  readonly commit: (service: string) => Promise<string>;
}

/** A queue that holds a, b, c and a log line, of which a was sent. */
async function createStage(): Promise<Stage> {
  const directory = join(temporaryDirectory(), 'queue');
  const options = queueOptions();
  const queue = Queue.open(options, directory);
  onTestFinished(() => queue.close());
  const commit = async (service: string): Promise<string> => {
    const outcome = await queue.commit({
      batches: [metricsBatch({ [service]: 10 }, options.clock.nowMs())],
      state: [{ kind: 'last', key: 'k', blob: Buffer.from(service) }],
      reads: [{ service, outcome: 'used', count: 10 }],
    });
    return outcome.kind;
  };
  for (const service of ['a', 'b', 'c']) await commit(service);
  await queue.commit(commitOf(logsBatch('x', ['line'], options.clock.nowMs())));
  await acceptRow(queue, await firstRow(queue));
  return { directory, options, queue, commit };
}

function renewalsIn({ counters }: Options): number {
  const errors = counters.list().find(({ name }) => name.endsWith('storage_errors_total'));
  return errors?.get('files') ?? 0;
}

/** The services that the next process would find if this one were killed now. */
async function foundByNext({ directory }: Stage): Promise<readonly string[]> {
  const copy = join(temporaryDirectory(), 'copy');
  cpSync(directory, copy, { recursive: true });
  const next = Queue.open(queueOptions(), copy);
  expectBalance(next);
  const found = await services(next, 'metrics');
  await next.close();
  return found;
}

const DELETIONS: Readonly<Record<string, (directory: string) => void>> = {
  'the whole directory': directory => rmSync(directory, { recursive: true }),
  'all files in it': directory => {
    for (const name of readdirSync(directory)) rmSync(join(directory, name));
  },
  'the file alone': directory => rmSync(join(directory, 'queue.sqlite')),
  'its log alone': directory => rmSync(join(directory, 'queue.sqlite-wal')),
  'the index of its log alone': directory => rmSync(join(directory, 'queue.sqlite-shm')),
  'the directory, by renaming it': directory => renameSync(directory, `${directory}-away`),
};

for (const [what, remove] of Object.entries(DELETIONS))
  test(`deleted: ${what}; nothing is lost at the next kill`, async () => {
    const stage = await createStage();
    const { directory, options, queue, commit } = stage;
    remove(directory);
    expect(await commit('d')).toBe('stored');
    expect(queue.corruptFiles()).toEqual([]);
    await options.clock.advance(MINUTE_MS);
    expect(renewalsIn(options)).toBe(1);
    expect(queue.notes()).toEqual([expect.stringContaining('written again')]);
    expect(queue.trouble()).toBeNull();
    expect(await foundByNext(stage)).toEqual(['b', 'c', 'd']);
    expect(await commit('e')).toBe('stored');
    expect(await services(queue, 'metrics')).toEqual(['b', 'c', 'd', 'e']);
    expect(await services(queue, 'logs')).toEqual(['x']);
    expect(String(await queue.readState('last', 'k'))).toBe('e');
    expectPoints(queue, 'a', { accepted: 10 });
    expect(await foundByNext(stage)).toEqual(['b', 'c', 'd', 'e']);
    // The files are written again only once.
    await options.clock.advance(MINUTE_MS);
    expect(renewalsIn(options)).toBe(1);
    expect(readdirSync(directory).sort()).toEqual(
      'lock.sqlite queue.sqlite queue.sqlite-shm queue.sqlite-wal reserve'.split(' '),
    );
  });

test('replaced by another file: ours stays in use, the other one is put aside', async () => {
  const stage = await createStage();
  const { directory, options, queue } = stage;
  const path = join(directory, 'queue.sqlite');
  writeFileSync(`${path}.new`, 'of somebody else');
  renameSync(`${path}.new`, path);
  await options.clock.advance(MINUTE_MS);
  expect(await foundByNext(stage)).toEqual(['b', 'c']);
  expect(queue.corruptFiles()).toHaveLength(1);
});

test('if it cannot write new files, the queue reports it, sends the waiting rows, and retries', async () => {
  const stage = await createStage();
  const { directory, options, queue, commit } = stage;
  renameSync(directory, `${directory}-away`);
  writeFileSync(directory, 'in the way');
  await options.clock.advance(MINUTE_MS);
  expect(queue.trouble()).toContain('cannot be written again');
  expect(options.counters.of(QUEUE_COUNTERS).trouble.get()).toBe(1);
  expect(await commit('d')).toBe('stored');
  expect(await services(queue, 'metrics')).toEqual(['b', 'c', 'd']);
  expectBalance(queue);
  rmSync(directory);
  await options.clock.advance(MINUTE_MS);
  expect(queue.trouble()).toBeNull();
  expect(await foundByNext(stage)).toEqual(['b', 'c', 'd']);
});

test('deleted files are also written again when the queue is closed', async () => {
  const { directory, options, queue } = await createStage();
  rmSync(directory, { recursive: true });
  await queue.close();
  await using again = Queue.open(options, directory);
  expect(await services(again, 'metrics')).toEqual(['b', 'c']);
});

test('only the lock: it is taken again, or the file is left to the process that has it now', async () => {
  const { directory, options, queue, commit } = await createStage();
  const lock = join(directory, 'lock.sqlite');
  rmSync(lock);
  await options.clock.advance(MINUTE_MS);
  expect(() => Queue.open(queueOptions(), directory)).toThrow('another process is using it');
  rmSync(lock);
  const other = new DatabaseSync(lock);
  other.exec('BEGIN IMMEDIATE');
  await options.clock.advance(MINUTE_MS);
  expect(queue.trouble()).toContain('another process is using it');
  // New rows are held in memory.
  expect(await commit('d')).toBe('held');
  expect(await services(queue, 'metrics')).toEqual(['d']);
  other.close();
  await options.clock.advance(MINUTE_MS);
  expect(await commit('e')).toBe('stored');
  expect(queue.trouble()).toBeNull();
  expect(await services(queue, 'metrics')).toEqual(['b', 'c', 'd', 'e']);
  expectBalance(queue);
});

test('only the lock, and another process uses the queue meanwhile: all rows of both are kept', async () => {
  const stage = await createStage();
  const { directory, options, queue, commit } = stage;
  rmSync(join(directory, 'lock.sqlite'));
  const other = Queue.open(queueOptions(), directory);
  const commitOther = async (service: string): Promise<void> => {
    const batches = [metricsBatch({ [service]: 10 }, options.clock.nowMs())];
    await other.commit({ batches, state: [], reads: [{ service, outcome: 'used', count: 10 }] });
  };
  await commitOther('other-1');
  expect(await commit('d')).toBe('stored');
  await options.clock.advance(MINUTE_MS);
  // This row is being sent when the other process takes its id.
  expect([await commit('e'), await commit('f')]).toEqual(['held', 'held']);
  for (const name of ['other-2', 'other-3', 'other-4']) await commitOther(name);
  const sending = await firstRow(queue);
  expect(queue.pin(sending.id)).toBe(true);
  await other.close();
  await options.clock.advance(MINUTE_MS);
  expect(await commit('g')).toBe('stored');
  expect(queue.trouble()).toBeNull();
  const all = ['b', 'c', 'other-1', 'd', 'other-2', 'other-3', 'other-4', 'f', 'g'];
  expect(await services(queue, 'metrics')).toEqual([...all, 'e']);
  expectBalance(queue);
  await acceptRow(queue, sending);
  expect(await services(queue, 'metrics')).toEqual(all);
  expect(await commit('h')).toBe('stored');
  expect(await foundByNext(stage)).toEqual([...all, 'h']);
});

test('the reserved space is taken again', async () => {
  const { directory, options } = await createStage();
  rmSync(join(directory, 'reserve'));
  await options.clock.advance(MINUTE_MS);
  expect(existsSync(join(directory, 'reserve'))).toBe(true);
});
