// The queue's files are deleted or replaced while it uses them: it notices and reports it, opens new ones, and counts the
// waiting points as evicted.

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

function findsIn({ counters }: Options): number {
  const errors = counters.list().find(({ name }) => name.endsWith('storage_errors_total'));
  return errors?.get('files') ?? 0;
}

/** The queue of the next process, after this one was closed. */
async function reopened({ directory, queue }: Stage): Promise<Queue> {
  await queue.close();
  return Queue.open(queueOptions(), directory);
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
  'the directory, by renaming it': directory => renameSync(directory, `${directory}-away`),
};

for (const [what, remove] of Object.entries(DELETIONS))
  test(`deleted: ${what}; what waited is lost, counted and told, and new files are used`, async () => {
    const stage = await createStage();
    const { directory, options, queue, commit } = stage;
    remove(directory);
    await options.clock.advance(MINUTE_MS);
    expect(findsIn(options)).toBe(1);
    expect(queue.notes()).toEqual([expect.stringContaining('new ones were opened')]);
    expect(queue.trouble()).toBeNull();
    expect(await services(queue, 'metrics')).toEqual([]);
    expectPoints(queue, null, { made: 31, accepted: 10, evicted: 21 });
    expect(await commit('d')).toBe('stored');
    expect(await services(queue, 'metrics')).toEqual(['d']);
    expect(await foundByNext(stage)).toEqual(['d']);
    expectPoints(queue, 'a', { accepted: 10 });
    // New files are opened only once.
    await options.clock.advance(MINUTE_MS);
    expect(findsIn(options)).toBe(1);
    // A log without its database is kept.
    const names = readdirSync(directory).filter(name => !name.endsWith('.corrupt'));
    expect(names.sort()).toEqual(
      'lock.sqlite queue.sqlite queue.sqlite-shm queue.sqlite-wal reserve'.split(' '),
    );
    await using again = await reopened(stage);
    expectPoints(again, null, { made: 41, accepted: 10, evicted: 21 });
  });

test.each(['queue.sqlite-wal', 'queue.sqlite-shm'])(
  'deleted: %s alone; nothing is lost',
  async name => {
    const stage = await createStage();
    const { directory, options, queue, commit } = stage;
    rmSync(join(directory, name));
    await options.clock.advance(MINUTE_MS);
    expect(findsIn(options)).toBe(1);
    expect(await commit('d')).toBe('stored');
    expect(await services(queue, 'metrics')).toEqual(['b', 'c', 'd']);
    expect(await services(queue, 'logs')).toEqual(['x']);
    expect(await foundByNext(stage)).toEqual(['b', 'c', 'd']);
  },
);

test('a row that is being sent while its file is deleted is settled once, and no other row has its id', async () => {
  const { directory, options, queue, commit } = await createStage();
  const sending = await firstRow(queue);
  expect(queue.pin(sending.id)).toBe(true);
  rmSync(directory, { recursive: true });
  await options.clock.advance(MINUTE_MS);
  await commit('d');
  await queue.settle(sending.id, [{ service: 'b', accepted: 10, rejected: 0, setAside: 0 }], []);
  expect(await services(queue, 'metrics')).toEqual(['d']);
  expectPoints(queue, 'b', { made: 10, accepted: 0, evicted: 10 });
});

test('replaced by another file: that is put aside', async () => {
  const stage = await createStage();
  const { directory, options, queue, commit } = stage;
  const path = join(directory, 'queue.sqlite');
  writeFileSync(`${path}.new`, 'of somebody else');
  renameSync(`${path}.new`, path);
  await options.clock.advance(MINUTE_MS);
  expect(queue.corruptFiles()).not.toEqual([]);
  expect(await commit('d')).toBe('stored');
  expect(await foundByNext(stage)).toEqual(['d']);
});

test('if it cannot open new files, the queue reports it, sends from memory, and retries', async () => {
  const stage = await createStage();
  const { directory, options, queue, commit } = stage;
  renameSync(directory, `${directory}-away`);
  writeFileSync(directory, 'in the way');
  await options.clock.advance(MINUTE_MS);
  expect(queue.trouble()).toContain('there are no new ones');
  expect(options.counters.of(QUEUE_COUNTERS).trouble.get()).toBe(1);
  expect(await commit('d')).toBe('held');
  expect((await services(queue, 'metrics')).at(-1)).toBe('d');
  expectBalance(queue);
  rmSync(directory);
  await options.clock.advance(MINUTE_MS);
  expect(await commit('e')).toBe('stored');
  expect(queue.trouble()).toBeNull();
  expect((await foundByNext(stage)).slice(-2)).toEqual(['d', 'e']);
  expectBalance(queue);
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
