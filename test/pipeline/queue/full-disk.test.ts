// The durable queue on a full disk: a file system of 2 MiB in memory, which only root can mount.

import { randomBytes } from 'node:crypto';
import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Counters } from '../../../src/lib/counters.ts';
import type { Commit, CommitOutcome, QueueOptions } from '../../../src/pipeline/queue/commit.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { SmallDisk } from '../../faults/support/small-disk.ts';
import { batchOf } from '../../support/otlp-requests.ts';
import {
  acceptRow,
  expectBalance,
  expectPoints,
  limitsOf,
  NONE,
  queueOptions,
  services,
} from './queue-behaviour.ts';

const BODY_BYTES = 60_000;

const noDisk = SmallDisk.reasonToSkip();
if (noDisk !== null) console.log(`full-disk: skipped: ${noDisk}`);

interface Disk {
  readonly directory: string;
  readonly options: QueueOptions;
  /** It is closed at the end of the test, before the disk. */
  readonly queue: Queue;
  /** Another program uses every free byte. */
  readonly fill: () => void;
  readonly clear: () => void;
  /** The queue of the next process. */
  readonly reopen: () => Promise<Queue>;
}

function mountDisk(): Omit<Disk, 'queue' | 'reopen'> {
  const disk = SmallDisk.mount(2);
  onTestFinished(() => disk[Symbol.dispose]());
  const { path: directory } = disk;
  const options = queueOptions({
    config: limitsOf({ metrics: 10_000_000, logs: 5_000_000 }, directory),
    limits: {
      metrics: { bytes: 1_000_000, points: Infinity },
      logs: { bytes: 1_000_000, points: Infinity },
    },
  });
  return { directory, options, fill: () => disk.fill(), clear: () => disk.clear() };
}

function createDisk(): Disk {
  const disk = mountDisk();
  const { directory, options } = disk;
  let queue = Queue.open(options, directory);
  onTestFinished(() => queue.close());
  const reopen = async (): Promise<Queue> => {
    const account = queue.account.total();
    await queue.close();
    queue = Queue.open({ ...options, counters: new Counters() }, directory);
    expectBalance(queue);
    expect(queue.account.total()).toEqual(account);
    return queue;
  };
  return { ...disk, queue, reopen };
}

function commitOf(service: string, signal: 'metrics' | 'logs' = 'metrics'): Commit {
  const slice = { service, points: 10, bytes: randomBytes(BODY_BYTES) };
  return {
    batches: [batchOf(signal, [slice], Date.UTC(2026, 2, 4, 9))],
    state: [{ kind: 'last', key: signal, blob: Buffer.from(service) }],
    reads: [],
  };
}

/** Commits until a commit fails or evicts points. Returns the number of commits before it, and its outcome. */
async function commitUntilFull(queue: Queue): Promise<[number, CommitOutcome]> {
  for (let i = 0; ; i++) {
    const outcome = await queue.commit(commitOf(`s${i}`));
    const isSimple = outcome.kind === 'stored' && !queue.account.total().has('point/evicted');
    if (!isSimple) return [i, outcome];
  }
}

describe.skipIf(noDisk !== null)('on a full disk', () => {
  test('new metrics wait in memory, and nothing is lost', async () => {
    const { directory, queue, reopen } = createDisk();
    const [count, outcome] = await commitUntilFull(queue);
    expect(count).toBeGreaterThan(5);
    expect(outcome.kind).toBe('held');
    for (let i = 0; i < 10; i++)
      expect(await queue.commit(commitOf(`n${i}`))).toMatchObject({ kind: 'held' });
    expect(await services(queue, 'metrics')).toHaveLength(count + 11);
    expect((await queue.readState('last', 'metrics'))?.toString()).toBe('n9');
    expect(queue.trouble()).toMatch(/full/);
    expect(queue.trouble()).not.toMatch(/lost/);
    expect(queue.account.total().has('point/evicted')).toBe(false);
    expect(existsSync(join(directory, 'reserve'))).toBe(true);
    // Once there is room, all of it is stored.
    for (const row of await queue.oldest('metrics', count, NONE)) await acceptRow(queue, row);
    expect(await queue.commit(commitOf('later'))).toEqual({ kind: 'stored' });
    expect(queue.trouble()).toBeNull();
    expectBalance(queue);
    const stored = await services(await reopen(), 'metrics');
    expect(stored.slice(1)).toEqual([...Array.from({ length: 10 }, (_, i) => `n${i}`), 'later']);
  });

  test('once the memory is full, too, the oldest in it are lost and told', async () => {
    const { options, queue } = createDisk();
    const [count] = await commitUntilFull(queue);
    for (let i = 0; i < 200; i++) await queue.commit(commitOf(`n${i}`));
    const waiting = await services(queue, 'metrics');
    expect(waiting.slice(0, count)).toEqual(Array.from({ length: count }, (_, i) => `s${i}`));
    expect(waiting.at(-1)).toBe('n199');
    const evicted = options.counters.list().find(({ name }) => name.includes('evicted'));
    expect(evicted?.get('metrics', 'n0', 'disk')).toBe(10);
    expect(queue.trouble()).toMatch(/points were lost in the last minute: .*full/);
    expectBalance(queue);
  });

  test('a commit of state alone waits with the rows before it, and does not end the trouble', async () => {
    const { queue } = createDisk();
    await commitUntilFull(queue);
    expect(queue.trouble()).toMatch(/full/);
    const state = [{ kind: 'last', key: 'metrics', blob: Buffer.from('alone') }];
    expect(await queue.commit({ batches: [], state, reads: [] })).toMatchObject({ kind: 'held' });
    expect((await queue.readState('last', 'metrics'))?.toString()).toBe('alone');
    expect(queue.trouble()).toMatch(/full/);
    for (const row of await queue.oldest('metrics', 1000, NONE)) await acceptRow(queue, row);
    await queue.commit(commitOf('later'));
    expect(queue.trouble()).toBeNull();
  });

  test('a stop stores the state and the account of what went out from memory', async () => {
    const { queue, fill, reopen } = createDisk();
    fill();
    expect(await queue.commit(commitOf('a'))).toMatchObject({ kind: 'held' });
    for (const row of await queue.oldest('metrics', 1000, NONE)) await acceptRow(queue, row);
    const again = await reopen();
    expect((await again.readState('last', 'metrics'))?.toString()).toBe('a');
  });

  test('a commit with logs is not stored at all', async () => {
    const { queue, fill } = createDisk();
    expect(await queue.commit(commitOf('a', 'logs'))).toMatchObject({ kind: 'stored' });
    fill();
    const outcome = await queue.commit(commitOf('b', 'logs'));
    expect(outcome).toMatchObject({ kind: 'failed' });
    expect(JSON.stringify(outcome)).toContain('free space');
    expect((await queue.readState('last', 'logs'))?.toString()).toBe('a');
    expect(await services(queue, 'logs')).toEqual(['a']);
    expectBalance(queue);
  });

  test('every acknowledgement is stored, even on a full disk', async () => {
    const { directory, options, queue, fill, clear, reopen } = createDisk();
    const [count] = await commitUntilFull(queue);
    fill();
    const rows = await queue.oldest('metrics', 1000, NONE);
    expect(rows.length).toBeGreaterThanOrEqual(count - 2);
    for (const row of rows.slice(0, -1)) {
      await acceptRow(queue, row);
      // The freed space is used up at once.
      fill();
    }
    const errors = options.counters.list().find(({ name }) => name.includes('storage_errors'));
    expect(errors?.get('settle')).toBe(0);
    expectBalance(queue);
    const again = await reopen();
    expect(again.stats('metrics').rows).toBe(1);
    // With free space everything works as before.
    clear();
    expect(await again.commit(commitOf('later'))).toEqual({ kind: 'stored' });
    expect(existsSync(join(directory, 'reserve'))).toBe(true);
  });

  test('space freed by acknowledgements serves new rows, and other programs', async () => {
    const { directory, queue, fill } = createDisk();
    await commitUntilFull(queue);
    fill();
    for (const row of await queue.oldest('metrics', 1000, NONE)) await acceptRow(queue, row);
    expect(await queue.commit(commitOf('later'))).toEqual({ kind: 'stored' });
    expect(await services(queue, 'metrics')).toEqual(['later']);
    const { bavail, bsize } = statfsSync(directory);
    expect(bavail * bsize).toBeGreaterThan(500_000);
  });

  test('a commit without room, because of another program, waits in memory', async () => {
    const { queue, fill, clear, reopen } = createDisk();
    fill();
    expect(await queue.commit(commitOf('a'))).toMatchObject({ kind: 'held' });
    expect(await queue.commit(commitOf('b', 'logs'))).toMatchObject({ kind: 'failed' });
    expect(await services(queue, 'metrics')).toEqual(['a']);
    expectPoints(queue, 'a', { made: 10 });
    clear();
    expect(await queue.commit(commitOf('c'))).toEqual({ kind: 'stored' });
    expect(await services(queue, 'metrics')).toEqual(['a', 'c']);
    expectBalance(queue);
    const again = await reopen();
    expect(await services(again, 'metrics')).toEqual(['a', 'c']);
  });

  test('a start finds the stored rows, and can acknowledge them', async () => {
    const { queue, fill, reopen } = createDisk();
    const [count] = await commitUntilFull(queue);
    // A stop would lose the row in memory.
    const [last] = (await queue.oldest('metrics', 1000, NONE)).slice(count);
    if (last !== undefined) await acceptRow(queue, last);
    const { rows } = queue.stats('metrics');
    fill();
    const again = await reopen();
    const found = await again.oldest('metrics', 1000, NONE);
    expect(found).toHaveLength(rows);
    for (const row of found) await acceptRow(again, row);
    expect((await reopen()).stats('metrics').rows).toBe(0);
  });

  test('a first start reports the cause', () => {
    const { directory, options, fill } = mountDisk();
    fill();
    expect(() => Queue.open(options, directory)).toThrow(
      /cannot open the queue .*full|cannot lock/,
    );
  });
});
