import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { Counters } from '../../../src/lib/counters.ts';
import { QueueFile, SHRINK_PAGES_MAX } from '../../../src/pipeline/queue/queue-file.ts';
import type { QueueOptions } from '../../../src/pipeline/queue/commit.ts';
import { openQueue } from '../../../src/pipeline/queue/open-queue.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { FILE_COUNTERS } from '../../../src/pipeline/queue/storage.ts';
import { linesOf, mistakesOf } from '../../support/mistakes.ts';
import { logsBatch, metricsBatch } from '../../support/otlp-requests.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  acceptRow,
  ASIDE,
  commitOf,
  describeQueue,
  expectBalance,
  expectPoints,
  firstRow,
  limitsOf,
  NONE,
  put,
  queueOptions,
  services,
  shareFor,
} from './queue-behaviour.ts';

describeQueue('Queue in a directory', options =>
  Promise.resolve(Queue.open(options, temporaryDirectory())),
);
describeQueue('Queue in memory', options => Promise.resolve(Queue.open(options, null)));

/** Opens the queue of a directory, and closes it after the call. */
async function visit<T>(
  directory: string,
  options: QueueOptions,
  work: (queue: Queue) => T | Promise<T>,
): Promise<T> {
  const queue = Queue.open(options, directory);
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}

describe('after a restart', () => {
  test('everything is unchanged: rows, state, account, set-aside points', async () => {
    const directory = temporaryDirectory();
    const options = queueOptions({ compression: { metrics: 'zstd', logs: 'gzip' } });
    const now = options.clock.nowMs();
    const aside = { ...ASIDE, service: 'b', points: 2 };
    const seen = async (queue: Queue): Promise<unknown> => ({
      rows: [await queue.oldest('metrics', 9, NONE), await queue.oldest('logs', 9, NONE)],
      account: queue.account.total(),
      stats: queue.stats('metrics'),
    });
    const before = await visit(directory, options, async queue => {
      await put(queue, { b: 5 });
      const row = await firstRow(queue);
      queue.pin(row.id);
      const ends = [{ service: 'b', accepted: 3, rejected: 0, setAside: 2 }];
      await queue.settle(row.id, ends, [aside]);
      await queue.commit({
        batches: [metricsBatch({ a: 1, c: 2 }, now), logsBatch('x', ['one', 'two'], now)],
        state: [{ kind: 'cursor', key: 'x', blob: Buffer.from('here') }],
        reads: [{ service: 'a', outcome: 'used', count: 9 }],
      });
      return await seen(queue);
    });
    await visit(directory, options, async queue => {
      expect(await seen(queue)).toEqual(before);
      expect(await queue.readSetAside(9)).toEqual([aside]);
      expect((await queue.readState('cursor', 'x'))?.toString()).toBe('here');
      expectBalance(queue);
    });
  });

  test('an id is never used again, not even that of the newest row', async () => {
    const directory = temporaryDirectory();
    const options = queueOptions();
    const store = async (queue: Queue): Promise<number> => {
      await put(queue, { a: 1 });
      const row = await firstRow(queue);
      await acceptRow(queue, row);
      return row.id;
    };
    const first = await visit(directory, options, store);
    const second = await visit(directory, options, store);
    expect(second).toBeGreaterThan(first);
  });

  test('a lower limit applies from the next commit on', async () => {
    const directory = temporaryDirectory();
    const options = queueOptions();
    const now = options.clock.nowMs();
    await visit(directory, options, async queue => {
      for (const id of ['a', 'b', 'c', 'd']) await put(queue, { [id]: 10 });
      await queue.commit(commitOf(logsBatch('x', ['x'.repeat(500)], now)));
    });
    const config = limitsOf({ metrics: shareFor(2), logs: 700 }, directory);
    await visit(directory, { ...options, config }, async queue => {
      expect(queue.stats('metrics').rows).toBe(4);
      await put(queue, { e: 10 });
      expectPoints(queue, null, { evicted: 30 });
      expect(await services(queue, 'metrics')).toEqual(['d', 'e']);
      expect(await queue.commit(commitOf(logsBatch('x', ['short'], now)))).toEqual({
        kind: 'full',
      });
      expect(await services(queue, 'logs')).toEqual(['x']);
      expectBalance(queue);
    });
  });

  test('the file shrinks again after a long outage', async () => {
    const directory = temporaryDirectory();
    const options = queueOptions();
    const config = limitsOf({ metrics: 1e8 }, directory);
    const large = {
      ...options,
      config,
      limits: { metrics: { bytes: 1e8, points: Infinity }, logs: { bytes: 1e8, points: Infinity } },
    };
    const batch = metricsBatch({ a: 1 }, options.clock.nowMs());
    const payload = Buffer.alloc(12_000_000, 7);
    const part = { service: 'a', points: 1, offset: 0, length: payload.length };
    const sizeOf = (): number => statSync(join(directory, 'queue.sqlite')).size;
    await visit(directory, large, async queue => {
      for (let i = 0; i < 2; i++)
        await queue.commit(commitOf({ ...batch, payload, parts: [part] }));
    });
    expect(sizeOf()).toBeGreaterThan(24_000_000);
    await visit(directory, large, async queue => {
      for (let i = 0; i < 2; i++) await acceptRow(queue, await firstRow(queue));
    });
    expect(sizeOf()).toBeLessThan(14_000_000);
  });
});

test('a file with much unused space gives it back in steps', () => {
  const path = join(temporaryDirectory(), 'queue.sqlite');
  const file = QueueFile.open(path);
  onTestFinished(() => file.close());
  const unusedPages = (): number => {
    using other = new DatabaseSync(path);
    return Number(other.prepare('PRAGMA freelist_count').get()?.['freelist_count']);
  };
  const body = Buffer.alloc(30_000_000, 7);
  const parts = [{ service: 'a', points: 1, offset: 0, length: body.length }];
  const row = { signal: 'metrics', encoding: 'none', rawBytes: body.length, madeAtMs: 0 } as const;
  file.insert({ id: 1, body, parts, ...row });
  file.remove(1);
  const before = unusedPages();
  expect(before).toBeGreaterThan(SHRINK_PAGES_MAX);
  expect([file.shrink(0), unusedPages()]).toEqual([true, before - SHRINK_PAGES_MAX]);
  expect([file.shrink(0), unusedPages(), file.shrink(0)]).toEqual([true, 0, false]);
});

test('while the file cannot be written an acknowledgement is not forgotten, and its row is not returned again', async () => {
  const directory = temporaryDirectory();
  const options = queueOptions();
  await visit(directory, options, async queue => {
    await put(queue, { a: 4 });
    await put(queue, { b: 4 });
    const other = new DatabaseSync(join(directory, 'queue.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    const row = await firstRow(queue);
    await acceptRow(queue, row);
    expect(queue.pin(row.id)).toBe(false);
    expect(await services(queue, 'metrics')).toEqual(['b']);
    expectPoints(queue, 'a', { accepted: 4 });
    expect(queue.stats('metrics').rows).toBe(2);
    const commit = commitOf(metricsBatch({ c: 4 }, options.clock.nowMs()));
    expect(await queue.commit(commit)).toMatchObject({ kind: 'held' });
    const errors = options.counters.list().find(({ name }) => name.includes('storage_errors'));
    expect(errors?.get('settle')).toBeGreaterThan(0);
    other.exec('ROLLBACK');
    other.close();
    expect(await queue.commit(commit)).toMatchObject({ kind: 'stored' });
    expectPoints(queue, 'a', { accepted: 4 });
  });
  await visit(directory, options, async queue => {
    expect(await services(queue, 'metrics')).toEqual(['b', 'c', 'c']);
  });
});

describe('the directory', () => {
  test('is created, and nobody else can read it', async () => {
    const directory = join(temporaryDirectory(), 'deep', 'below');
    const options = queueOptions();
    const queue = Queue.open(options, directory);
    await put(queue, { a: 1 });
    for (const name of ['queue.sqlite', 'queue.sqlite-wal', 'reserve'])
      expect(statSync(join(directory, name)).mode & 0o077, name).toBe(0);
    expect(statSync(directory).mode & 0o077).toBe(0);
    await queue.close();
    expect(readdirSync(directory).sort()).toEqual(['lock.sqlite', 'queue.sqlite', 'reserve']);
  });

  test('belongs to one queue at a time, in this process and in others', async () => {
    const directory = temporaryDirectory();
    const options = queueOptions();
    const queue = Queue.open(options, directory);
    const want = `cannot lock ${directory}: another process is using it`;
    expect(mistakesOf(() => Queue.open(options, directory))).toMatchObject([{ message: want }]);
    const script = `
      import { DirectoryLock } from ${JSON.stringify(join(import.meta.dirname, '../../../src/pipeline/queue/queue-directory.ts'))};
      try { DirectoryLock.acquire(${JSON.stringify(directory)}); process.stdout.write('opened'); }
      catch (error) { process.stdout.write(error.message); }
    `;
    const inOtherProcess = (): string =>
      execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
        encoding: 'utf8',
      });
    const isNamed = process.platform === 'linux';
    const named = want.replace('another process', `process ${process.pid}`);
    expect(inOtherProcess()).toContain(isNamed ? named : want);
    await queue.close();
    expect(inOtherProcess()).toBe('opened');
    await Queue.open(options, directory).close();
  });

  test('waits for another program that locks its file: the same start may work later', async () => {
    const directory = temporaryDirectory();
    await Queue.open(queueOptions(), directory).close();
    const other = new DatabaseSync(join(directory, 'queue.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    expect(mistakesOf(() => Queue.open(queueOptions(), directory))).toMatchObject([
      { isTransient: true, hint: expect.stringContaining('end the program') },
    ]);
    other.close();
    await Queue.open(queueOptions(), directory).close();
  });

  test('is an operator’s mistake if it is unusable', () => {
    const check = (directory: string, words: string): void =>
      expect(linesOf(() => Queue.open(queueOptions(), directory)).join()).toContain(words);
    const parent = temporaryDirectory();
    writeFileSync(join(parent, 'file'), '');
    check(join(parent, 'file'), `cannot use ${join(parent, 'file')}: EEXIST`);
    check(join(parent, 'file', 'below'), 'ENOTDIR');
    // A directory with the name of the file.
    const inTheWay = join(parent, 'in-the-way');
    mkdirSync(join(inTheWay, 'queue.sqlite'), { recursive: true });
    check(inTheWay, 'queue.sqlite is a directory and no regular file');
    // A failed start releases the lock.
    check(inTheWay, 'is a directory');
  });

  test.skipIf(process.getuid?.() === 0)('is an operator’s mistake if it is not writable', () => {
    const directory = temporaryDirectory();
    chmodSync(directory, 0o500);
    expect(linesOf(() => Queue.open(queueOptions(), directory)).join()).toMatch(
      /^cannot lock .*: EACCES|readonly|unable/,
    );
  });

  test('is not changed if it holds a database of another program or of a newer version', async () => {
    const check = async (sql: string, words: string): Promise<void> => {
      const directory = temporaryDirectory();
      const db = new DatabaseSync(join(directory, 'queue.sqlite'));
      db.exec(sql);
      db.close();
      expect(linesOf(() => Queue.open(queueOptions(), directory)).join()).toContain(words);
      expect(readdirSync(directory)).not.toContain('salvage.sqlite');
    };
    await check(
      'CREATE TABLE theirs (x); PRAGMA user_version = 1',
      'it belongs to another program; name a directory of its own',
    );
    await check(
      `CREATE TABLE batch (x); PRAGMA application_id = ${String(0x70326f74)}; PRAGMA user_version = 2`,
      'it has format 2, made by another version; this one reads format 1; deliver it with the version',
    );
  });
});

describe('deleted under a running queue,', () => {
  const deletions: Readonly<Record<string, (directory: string) => void>> = {
    'the directory': directory => rmSync(directory, { recursive: true }),
    'all its files': directory => {
      for (const name of readdirSync(directory)) rmSync(join(directory, name));
    },
    'the file alone': directory => rmSync(join(directory, 'queue.sqlite')),
  };

  for (const [what, remove] of Object.entries(deletions))
    test(`${what}: it goes on with the open file, and the next start begins anew`, async () => {
      const directory = join(temporaryDirectory(), 'queue');
      const options = queueOptions();
      await visit(directory, options, async queue => {
        await put(queue, { a: 1 });
        await put(queue, { b: 1 });
        remove(directory);
        await acceptRow(queue, await firstRow(queue));
        await put(queue, { c: 1 });
        expect(await services(queue, 'metrics')).toEqual(['b', 'c']);
        expect([queue.trouble(), queue.notes()]).toEqual([null, []]);
        expectPoints(queue, null, { made: 3, accepted: 1 });
        expectBalance(queue);
      });
      await visit(directory, queueOptions(), async queue => {
        expect(await services(queue, 'metrics')).toEqual([]);
        await put(queue, { d: 1 });
        expect(queue.trouble()).toBeNull();
      });
      await visit(directory, queueOptions(), async queue => {
        expect(await services(queue, 'metrics')).toEqual(['d']);
      });
    });

  test('it leaves the files alone that another one has made in the directory since then', async () => {
    const directory = join(temporaryDirectory(), 'queue');
    const queue = Queue.open(queueOptions(), directory);
    await put(queue, { a: 1 });
    rmSync(directory, { recursive: true });
    await visit(directory, queueOptions(), async next => {
      await put(next, { b: 1 });
      await queue.close();
      await put(next, { c: 1 });
    });
    await visit(directory, queueOptions(), async next => {
      expect(await services(next, 'metrics')).toEqual(['b', 'c']);
    });
  });
});

test('each transaction counts, with its time', async () => {
  const counters = new Counters();
  const options = { ...queueOptions({ counters }), clock: systemClock };
  await visit(temporaryDirectory(), options, async queue => {
    const { writes, writeSeconds } = counters.of(FILE_COUNTERS);
    const [before, secondsBefore] = [writes.get(), writeSeconds.get()];
    const startedMs = performance.now();
    for (let i = 0; i < 3; i++) await put(queue, { a: 1 }, Date.now());
    expect(writes.get() - before).toBe(3);
    const seconds = writeSeconds.get() - secondsBefore;
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan((performance.now() - startedMs) / 1000);
  });
});

test('a configuration: rows use the compression of their signal, and are smaller if they are sent as JSON', async () => {
  const rowsFor = async (protocol: string): Promise<readonly number[]> => {
    const signal = { protocol, compression: 'zstd' };
    const config = {
      queue: limitsOf({ metrics: 1_000_000, logs: 1_000_000 }),
      otlp: { maxRequestBytes: 8000, maxPoints: null, metrics: signal, logs: signal },
    } as unknown as Config;
    const queue = openQueue(config, queueOptions());
    await put(queue, { a: 300 });
    const rows = await queue.oldest('metrics', 100, NONE);
    for (const { encoding } of rows) expect(encoding).toBe('zstd');
    await queue.close();
    return rows.map(row => row.rawBytes);
  };
  expect(await rowsFor('http/protobuf')).toHaveLength(1);
  const json = await rowsFor('http/json');
  expect(json.length).toBeGreaterThan(5);
  expect(Math.max(...json)).toBeLessThanOrEqual(1000);
});
