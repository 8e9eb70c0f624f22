// The queue's file cannot be written because another program has locked it. New commits are sent from memory, and all of
// them reach the file once it works again. What memory cannot hold is evicted, and told at once.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Commit, QueueOptions } from '../../../src/pipeline/queue/commit.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { MEMORY, QueueFile, SET_ASIDE_ROWS_MAX } from '../../../src/pipeline/queue/queue-file.ts';
import { Unwritten } from '../../../src/pipeline/queue/unwritten.ts';
import { Account, ACCOUNT_SERVICES_MAX } from '../../../src/pipeline/queue/account.ts';
import { metricsBatch } from '../../support/otlp-requests.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  acceptRow,
  ASIDE,
  expectBalance,
  expectPoints,
  firstRow,
  HOUR_MS,
  limitsOf,
  NONE,
  queueOptions,
  rowAt,
  services,
  shareFor,
} from './queue-behaviour.ts';

interface Stage {
  readonly directory: string;
  readonly options: ReturnType<typeof queueOptions>;
  readonly queue: Queue;
  /** The queue of the next process. */
  readonly reopen: () => Promise<Queue>;
  /** Locks the file. Returns a function that unlocks it. */
  readonly block: () => () => void;
  readonly commitOf: (service: string) => Commit;
}

function createStage(changes: Partial<QueueOptions> = {}): Stage {
  const directory = temporaryDirectory();
  const options = queueOptions(changes);
  const queue = Queue.open(options, directory);
  let open = queue;
  onTestFinished(() => open.close());
  const reopen = async (): Promise<Queue> => {
    await open.close();
    open = Queue.open(options, directory);
    expectBalance(open);
    return open;
  };
  const block = (): (() => void) => {
    const other = new DatabaseSync(join(directory, 'queue.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    return () => other.close();
  };
  const commitOf = (service: string): Commit => ({
    batches: [metricsBatch({ [service]: 10 }, options.clock.nowMs())],
    state: [{ kind: 'last', key: 'k', blob: Buffer.from(service) }],
    reads: [{ service, outcome: 'used', count: 10 }],
  });
  return { directory, options, queue, reopen, block, commitOf };
}

async function stateOf(queue: Queue): Promise<string> {
  expect(queue.stateKeys('last')).toEqual(['k']);
  return String(await queue.readState('last', 'k'));
}

test('rows go out from memory, after the rows in the file', async () => {
  const { queue, block, commitOf } = createStage();
  await queue.commit(commitOf('a'));
  const unblock = block();
  expect(await queue.commit(commitOf('b'))).toMatchObject({ kind: 'held' });
  expect(await services(queue, 'metrics')).toEqual(['a', 'b']);
  expect(await stateOf(queue)).toBe('b');
  expect(queue.stats('metrics')).toMatchObject({ rows: 2, points: 20 });
  await acceptRow(queue, await rowAt(queue, 1));
  expectPoints(queue, 'b', { accepted: 10 });
  expect(await services(queue, 'metrics')).toEqual(['a']);
  unblock();
});

test('the file gets everything once it can be written, in order, and a new process finds it', async () => {
  const { queue, reopen, block, commitOf } = createStage();
  await queue.commit(commitOf('a'));
  const unblock = block();
  for (const service of ['b', 'c', 'd']) await queue.commit(commitOf(service));
  // One row is sent from memory, another one is being sent when the file works again.
  const sending = await rowAt(queue, 2);
  await acceptRow(queue, await rowAt(queue, 1));
  expect(queue.pin(sending.id)).toBe(true);
  unblock();
  expect(await queue.commit(commitOf('e'))).toEqual({ kind: 'stored' });
  expect(await services(queue, 'metrics')).toEqual(['a', 'c', 'd', 'e']);
  await acceptRow(queue, sending);
  const account = queue.account.total();
  expectBalance(queue);
  const again = await reopen();
  expect(await services(again, 'metrics')).toEqual(['a', 'd', 'e']);
  expect(await stateOf(again)).toBe('e');
  expect(again.account.total()).toEqual(account);
  expect(Object.fromEntries(account)).toEqual({
    'point/made': 50,
    'point/accepted': 20,
    'sample/used': 50,
  });
});

test('neither a commit into memory nor a row that moves into the file costs a look at all rows', async () => {
  const { queue, reopen, block, commitOf } = createStage();
  await queue.commit(commitOf('a'));
  const unblock = block();
  using counts = vi.spyOn(QueueFile.prototype, 'counts');
  for (const service of ['b', 'c', 'd']) await queue.commit(commitOf(service));
  unblock();
  await queue.commit(commitOf('e'));
  expect(counts).not.toHaveBeenCalled();
  expect(await services(await reopen(), 'metrics')).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('closing the queue writes the held commits', async () => {
  const { queue, reopen, block, commitOf } = createStage();
  const unblock = block();
  await queue.commit(commitOf('a'));
  unblock();
  const again = await reopen();
  expect(await services(again, 'metrics')).toEqual(['a']);
});

test('memory is bounded: the oldest are dropped and counted, and the file records it', async () => {
  const { options, queue, block, commitOf } = createStage({
    config: limitsOf({ metrics: shareFor(3), logs: 1000 }),
  });
  const unblock = block();
  for (const service of ['a', 'b', 'c', 'd']) await queue.commit(commitOf(service));
  expect(await queue.commit(commitOf('e'))).toMatchObject({ kind: 'held' });
  expect(await services(queue, 'metrics')).toEqual(['c', 'd', 'e']);
  const evicted = options.counters.list().find(({ name }) => name.includes('evicted'));
  expect(evicted?.get('metrics', 'a', 'disk')).toBe(10);
  expect(queue.trouble()).toMatch(/^20 points a minute are lost: .*locked/);
  expectBalance(queue);
  await options.clock.advance(2 * HOUR_MS);
  expect(await services(queue, 'metrics')).toEqual([]);
  expect(evicted?.get('metrics', 'e', 'age')).toBe(10);
  unblock();
  await queue.commit(commitOf('f'));
  expectPoints(queue, 'a', { evicted: 10 });
  expect(await services(queue, 'metrics')).toEqual(['f']);
});

test('the reserve stays: a lock is no lack of space', async () => {
  const { directory, queue, block, commitOf } = createStage();
  await queue.commit(commitOf('a'));
  const path = join(directory, 'reserve');
  const { ino } = statSync(path);
  const unblock = block();
  await acceptRow(queue, await firstRow(queue));
  expect(statSync(path).ino).toBe(ino);
  unblock();
  await queue.commit(commitOf('b'));
  expect(await services(queue, 'metrics')).toEqual(['b']);
});

test('services beyond the bound of the account share its rows in the file', async () => {
  const { directory, queue, block, commitOf } = createStage();
  const bound = ACCOUNT_SERVICES_MAX;
  const reads = Array.from({ length: bound }, (_, i) => ({
    service: `s${i}`,
    outcome: 'used',
    count: 1,
  }));
  await queue.commit({ batches: [], state: [], reads });
  await queue.commit(commitOf('late'));
  const unblock = block();
  expect(await queue.commit(commitOf('later'))).toMatchObject({ kind: 'held' });
  unblock();
  await queue.commit(commitOf('last'));
  for (const row of await queue.oldest('metrics', 9, NONE)) await acceptRow(queue, row);
  expectBalance(queue);
  await queue.close();
  const file = new DatabaseSync(join(directory, 'queue.sqlite'));
  const found = file.prepare("SELECT key, count FROM account WHERE service = 'other'").all();
  expect(found).toEqual([
    { key: 'point/accepted', count: 30 },
    { key: 'point/made', count: 30 },
    { key: 'sample/used', count: 30 },
  ]);
  expect(file.prepare('SELECT count(DISTINCT service) AS n FROM account').get()).toEqual({
    n: bound + 1,
  });
  file.close();
});

test('while nothing can be written, the cost of sending a row does not grow with the number of sent ones', async () => {
  const { queue, block, commitOf } = createStage();
  // Each row waits for the lock of the file.
  const count = 12;
  for (let i = 0; i < count; i++) await queue.commit(commitOf(`s${String(i)}`));
  const unblock = block();
  using reads = vi.spyOn(QueueFile.prototype, 'read');
  using settled = vi.spyOn(Unwritten.prototype, 'isSettled');
  for (let i = 0; i < count; i++) await acceptRow(queue, await firstRow(queue));
  expect(reads.mock.calls.length).toBe(count);
  // Twice for each row that is found or pinned, and once more for the row that was sent before.
  expect(settled.mock.calls.length).toBeLessThan(count * 4);
  expectPoints(queue, `s${String(count - 1)}`, { accepted: 10 });
  unblock();
  await queue.commit(commitOf('later'));
  expect(await services(queue, 'metrics')).toEqual(['later']);
});

test('not more entries wait in memory than the file keeps', () => {
  const unwritten = new Unwritten();
  const entry = { ...ASIDE, sample: Buffer.alloc(0) };
  const head = { id: 1, signal: 'metrics', madeAtMs: 0, parts: [], body: { length: 0 } } as const;
  for (let i = 0; i < 3; i++)
    unwritten.settle(head, {
      settlements: [],
      aside: Array.from({ length: 600 }, (_, at) => ({ ...entry, atMs: i * 600 + at })),
    });
  const file = QueueFile.open(MEMORY);
  onTestFinished(() => file.close());
  using added = vi.spyOn(file, 'addSetAside');
  unwritten.writeSettled(file, new Account())();
  expect(added.mock.calls[0]?.[0]).toHaveLength(SET_ASIDE_ROWS_MAX);
  expect(file.setAside(1)).toMatchObject([{ atMs: 1799 }]);
});

test('the newest rows are found without a look at all rows', async () => {
  const { queue, commitOf } = createStage();
  for (let i = 0; i < 40; i++) await queue.commit(commitOf(`s${String(i)}`));
  using seen = vi.spyOn(Unwritten.prototype, 'isSettled');
  const rows = await queue.newest('metrics', 2, NONE);
  expect(rows.map(row => row.parts[0]?.service)).toEqual(['s39', 's38']);
  expect(seen.mock.calls.length).toBeLessThanOrEqual(3);
});

test('the newest rows come from memory first', async () => {
  const { queue, block, commitOf } = createStage();
  for (const service of ['a', 'b', 'c']) await queue.commit(commitOf(service));
  const unblock = block();
  await queue.commit(commitOf('d'));
  await acceptRow(queue, await rowAt(queue, 2));
  const rows = await queue.newest('metrics', 2, NONE);
  expect(rows.map(row => row.parts[0]?.service)).toEqual(['d', 'b']);
  const skip = new Set(rows.map(({ id }) => id));
  expect((await queue.newest('metrics', 2, skip)).map(row => row.parts[0]?.service)).toEqual(['a']);
  unblock();
});
