// A queue whose file was damaged on disk: it always opens, recovers every readable row, counts the others as evicted,
// and keeps the damaged file.

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Counters } from '../../../src/lib/counters.ts';
import type { QueueOptions, QueueRow } from '../../../src/pipeline/queue/commit.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { QueueView } from '../../../src/pipeline/queue/queue-view.ts';
import { salvage } from '../../../src/pipeline/queue/salvage.ts';
import { batchOf, logsBatch, metricsBatch, metricsBytes } from '../../support/otlp-requests.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  acceptRow,
  ASIDE,
  commitOf,
  expectBalance,
  expectPoints,
  firstRow,
  limitsOf,
  NONE,
  put,
  queueOptions,
  services,
} from './queue-behaviour.ts';

const ROWS = 40;
const PAGE_BYTES = 4096;
/** The header fields for the owner and the version of the file. */
const MARKS = [60, 61, 62, 63, 68, 69, 70, 71];

interface Stage {
  readonly directory: string;
  readonly path: string;
  readonly options: QueueOptions;
  readonly log: Record<string, unknown>[];
}

/** A closed queue with ROWS rows of metrics (services s0, s1 …) and one of logs, state and an account. */
async function createStage(): Promise<Stage> {
  const stage = emptyStage();
  // Its commits wait for the disk, so they are made once.
  if (wholeFile === null) {
    await fill(stage);
    wholeFile = readFileSync(stage.path);
  } else writeFileSync(stage.path, wholeFile);
  return stage;
}

/** The file of a whole queue. */
let wholeFile: Buffer | null = null;

function emptyStage(): Stage {
  const directory = temporaryDirectory();
  const { log, logger } = recordingLogger();
  const options = queueOptions({
    logger,
    config: limitsOf({ metrics: 10_000_000, logs: 1_000_000 }, directory),
    limits: {
      metrics: { bytes: 1_000_000, points: Infinity },
      logs: { bytes: 1_000_000, points: Infinity },
    },
  });
  return { directory, path: join(directory, 'queue.sqlite'), options, log };
}

async function fill({ directory, options }: Stage): Promise<void> {
  const queue = Queue.open(options, directory);
  const now = options.clock.nowMs();
  for (let i = 0; i < ROWS; i++)
    await queue.commit({
      batches: [metricsBatch({ [`s${i}`]: 10 * (i + 1) }, now)],
      state: [{ kind: 'cursor', key: `k${i}`, blob: Buffer.alloc(500, i) }],
      reads: [{ service: `s${i}`, outcome: 'used', count: i + 1 }],
    });
  await queue.commit(commitOf(logsBatch('x', ['line'], now)));
  await queue.close();
}

function copyOf(original: Stage): Stage {
  const directory = temporaryDirectory();
  const path = join(directory, 'queue.sqlite');
  copyFileSync(original.path, path);
  return {
    ...original,
    directory,
    path,
    options: { ...original.options, counters: new Counters() },
  };
}

function overwrite(path: string, offset: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, offset);
  closeSync(file);
}

/** Inverts these bits of a byte. */
function flip(path: string, at: number, bits: number): void {
  overwrite(path, at, Uint8Array.of((readFileSync(path)[at] ?? 0) ^ bits));
}

/** Changes the file as another program would. */
function alter(path: string, sql: string): void {
  const file = new DatabaseSync(path);
  file.exec(sql);
  file.close();
}

/** Opens the queue, checks its invariants, and returns the services of its rows. */
async function reopen({ directory, options }: Stage): Promise<{
  readonly services: readonly string[];
  readonly corruptFiles: readonly string[];
  readonly states: number;
  readonly evicted: number;
}> {
  const queue = Queue.open(options, directory);
  try {
    const rows = await queue.oldest('metrics', 1000, NONE);
    for (const row of rows) expect(row.body).toEqual(bodyOf(row));
    expectBalance(queue);
    const states = await Promise.all(
      Array.from({ length: ROWS }, (_, i) => queue.readState('cursor', `k${i}`)),
    );
    for (const [i, blob] of states.entries())
      if (blob !== null) expect(blob).toEqual(Buffer.alloc(500, i));
    // New rows are stored and can be settled.
    expect(await put(queue, { fresh: 1 })).toMatchObject({ kind: 'stored' });
    const fresh = (await queue.oldest('metrics', 1000, NONE)).at(-1) ?? expect.fail('no row');
    expect(fresh.parts[0]?.service).toBe('fresh');
    await acceptRow(queue, fresh);
    expectBalance(queue);
    return {
      services: rows.flatMap(row => row.parts.map(part => part.service)),
      corruptFiles: queue.corruptFiles(),
      states: states.filter(state => state !== null).length,
      evicted: queue.account.total().get('point/evicted') ?? 0,
    };
  } finally {
    await queue.close();
  }
}

function bodyOf(row: QueueRow): Buffer {
  return Buffer.concat(row.parts.map(({ service, points }) => metricsBytes(service, points)));
}

const ALL = Array.from({ length: ROWS }, (_, i) => `s${i}`);
const WHOLE = { services: ALL, corruptFiles: [], states: ROWS, evicted: 0 };

test('an undamaged queue is complete', async () => {
  const stage = await createStage();
  expect(await reopen(stage)).toEqual(WHOLE);
  expect(stage.log).toEqual([]);
});

test('a flipped byte in a body costs that row, which is kept for inspection', async () => {
  const stage = await createStage();
  const at = readFileSync(stage.path).indexOf(metricsBytes('s7', 80).subarray(0, 200));
  expect(at).toBeGreaterThan(0);
  flip(stage.path, at + 150, 0x10);
  const services = ALL.filter(id => id !== 's7');
  expect(await reopen(stage)).toEqual({ ...WHOLE, services, evicted: 80 });
  await using queue = Queue.open(stage.options, stage.directory);
  const [aside] = await queue.readSetAside(5);
  expect(aside).toMatchObject({ service: 's7', points: 80 });
  expect(aside?.reason).toContain('damaged on disk');
  expect(aside?.sample).toHaveLength(metricsBytes('s7', 80).length);
  const entry = { level: 'warn', reason: 'damaged', points: 80, services: ['s7'] };
  expect(stage.log).toMatchObject([entry]);
});

test('a flipped byte in a state costs that state', async () => {
  const stage = await createStage();
  flip(stage.path, readFileSync(stage.path).indexOf(Buffer.alloc(400, 9)) + 100, 1);
  expect(await reopen(stage)).toEqual({ ...WHOLE, states: ROWS - 1 });
  expect(stage.log).toMatchObject([{ level: 'error', cause: 'state cursor of k9 is damaged' }]);
});

test('a torn tail costs its content', async () => {
  const stage = await createStage();
  truncateSync(stage.path, statSync(stage.path).size - 20 * PAGE_BYTES);
  const { services, corruptFiles, evicted } = await reopen(stage);
  expect(services.length).toBeGreaterThan(ROWS / 2);
  expect(services.length).toBeLessThan(ROWS);
  expect(corruptFiles).toHaveLength(1);
  expect(evicted).toBeGreaterThan(0);
  const [corruptFile = ''] = corruptFiles;
  expect(stage.log[0]).toMatchObject({ level: 'error', corruptFile });
  expect(existsSync(join(stage.directory, corruptFile))).toBe(true);
});

test('a page of junk costs its content, and no more', async () => {
  const stage = await createStage();
  const pages = statSync(stage.path).size / PAGE_BYTES;
  // In the middle of the file, where rows are.
  overwrite(stage.path, Math.floor(pages / 2) * PAGE_BYTES, Buffer.alloc(PAGE_BYTES, 0xa5));
  const { services } = await reopen(stage);
  expect(services.length).toBeGreaterThan(ROWS - 10);
});

test('a file of junk is put aside, and a new one is created', async () => {
  for (const junk of [Buffer.from('junk'), Buffer.alloc(100_000, 0x5a), Buffer.alloc(8192)]) {
    const stage = await createStage();
    writeFileSync(stage.path, junk);
    const { services, corruptFiles } = await reopen(stage);
    expect(services).toEqual([]);
    expect(corruptFiles).toHaveLength(1);
    expect(readFileSync(join(stage.directory, corruptFiles[0] ?? ''))).toEqual(junk);
  }
});

test('an empty file is a new queue', async () => {
  const stage = await createStage();
  truncateSync(stage.path);
  expect(await reopen(stage)).toEqual({ ...WHOLE, services: [], states: 0 });
});

test('two damaged files of the same day are both kept', async () => {
  const stage = await createStage();
  for (let i = 1; i <= 3; i++) {
    writeFileSync(stage.path, `junk ${i}`);
    const { corruptFiles } = await reopen(stage);
    expect(corruptFiles).toHaveLength(i);
  }
});

describe('with a log that is not yet in the file', () => {
  /** A copy of the directory as a killed process would leave it. */
  async function createKilled(): Promise<Stage> {
    const { options, log } = await createStage();
    const running = temporaryDirectory();
    // With large limits the log is checkpointed late.
    const config = { ...options.config, metrics: { maxBytes: 1e9, maxAgeMs: 3_600_000 } };
    const queue = Queue.open({ ...options, config }, running);
    for (let i = 0; i < 5; i++)
      await put(queue, { [`s${i}`]: 10 * (i + 1) }, options.clock.nowMs());
    const directory = temporaryDirectory();
    for (const name of ['queue.sqlite', 'queue.sqlite-wal'])
      copyFileSync(join(running, name), join(directory, name));
    await queue.close();
    return { directory, path: join(directory, 'queue.sqlite'), options, log };
  }

  test('it is applied', async () => {
    const stage = await createKilled();
    expect(statSync(`${stage.path}-wal`).size).toBeGreaterThan(0);
    expect((await reopen(stage)).services).toEqual(['s0', 's1', 's2', 's3', 's4']);
  });

  test('a torn one is applied up to its damage', async () => {
    const stage = await createKilled();
    truncateSync(`${stage.path}-wal`, statSync(`${stage.path}-wal`).size - 100);
    expect((await reopen(stage)).services).toEqual(['s0', 's1', 's2', 's3']);
  });

  test.each([
    ['lost', rmSync],
    ['empty', truncateSync],
  ])(
    'and the file is %s, the log is kept, reported and not applied to the new one',
    async (_, lose) => {
      const stage = await createKilled();
      lose(stage.path);
      const { services: found, corruptFiles } = await reopen(stage);
      expect(found).toEqual([]);
      expect(corruptFiles).toEqual(['queue-log.corrupt']);
      const view = QueueView.open(stage.directory);
      expect(view.corruptFiles()).toEqual(corruptFiles);
      view.close();
      expect(stage.log).toMatchObject([{ level: 'error', corruptFile: corruptFiles[0] }]);
    },
  );
});

describe('an interrupted salvage', () => {
  test('starts again if the damaged file was not yet moved', async () => {
    const stage = await createStage();
    truncateSync(stage.path, statSync(stage.path).size - 20 * PAGE_BYTES);
    writeFileSync(join(stage.directory, 'salvage.sqlite'), 'half');
    const { services } = await reopen(stage);
    expect(services.length).toBeGreaterThan(ROWS / 2);
  });

  test('is completed if the damaged file was already moved', async () => {
    const stage = await createStage();
    salvage(stage.path, join(stage.directory, 'salvage.sqlite'));
    renameSync(stage.path, join(stage.directory, 'queue-x.corrupt'));
    writeFileSync(`${stage.path}-wal`, 'the log of the damaged one');
    const { services, corruptFiles } = await reopen(stage);
    expect(services).toEqual(ALL);
    expect(corruptFiles).toEqual(['queue-log.corrupt', 'queue-x.corrupt']);
    expect(readdirSync(stage.directory)).not.toContain('salvage.sqlite');
  });
});

test('damage that appears while the queue is in use is repaired without a restart', async () => {
  const directory = temporaryDirectory();
  const { options } = await createStage();
  await using queue = Queue.open(options, directory);
  const now = options.clock.nowMs();
  // The rows are more than SQLite's cache holds.
  const putLarge = async (service: string): Promise<void> => {
    const bytes = randomBytes(100_000);
    const batch = batchOf('metrics', [{ service, points: 10, bytes }], now);
    expect(await queue.commit(commitOf(batch))).toMatchObject({ kind: 'stored' });
  };
  for (let i = 0; i < 60; i++) await putLarge(`s${i}`);
  const held = await firstRow(queue);
  expect(queue.pin(held.id)).toBe(true);
  const { size } = statSync(join(directory, 'queue.sqlite'));
  for (let at = 100_000; at < size; at += 500_000)
    overwrite(join(directory, 'queue.sqlite'), at, Buffer.alloc(10_000, 0xa5));
  const left = await services(queue, 'metrics');
  expect(left.length).toBeGreaterThan(30);
  expect(left.length).toBeLessThan(60);
  expect(queue.corruptFiles()).toHaveLength(1);
  expectBalance(queue);
  await putLarge('fresh');
  // No other row gets the id of a row that is being sent, even if the row was lost.
  await queue.settle(held.id, [{ service: 's0', accepted: 10, rejected: 0, setAside: 0 }], []);
  expect((await services(queue, 'metrics')).at(-1)).toBe('fresh');
  expectBalance(queue);
});

test('a row that is damaged after it was read: the account balances once it is settled', async () => {
  const { options, directory, path } = copyOf(await createStage());
  await using queue = Queue.open(options, directory);
  const row = await firstRow(queue);
  alter(path, `UPDATE batch SET parts = '[' WHERE id = ${String(row.id)}`);
  await acceptRow(queue, row);
  expect(await services(queue, 'metrics')).toEqual(ALL.slice(1));
  expectPoints(queue, 's0', { accepted: 10 });
});

describe('a damaged header', () => {
  const spoiled = (original: Stage, at: number): Stage => {
    const stage = copyOf(original);
    flip(stage.path, at, 0xff);
    return stage;
  };

  test('costs what SQLite cannot read: the file is put aside, and a new one works', async () => {
    const original = await createStage();
    // One byte of each field that SQLite cannot do without.
    for (const at of [0, 16, 18, 19, 20, 21, 47, 59]) {
      const stage = spoiled(original, at);
      const { services: found, corruptFiles } = await reopen(stage);
      // A file that SQLite still reads is copied.
      expect(ALL, `byte ${at}`).toEqual(expect.arrayContaining([...found]));
      expect(corruptFiles, `byte ${at}`).toHaveLength(1);
    }
  });

  test('is left to the operator if it hides the owner or the version of the file', async () => {
    const original = await createStage();
    for (const at of MARKS) {
      const { options, directory, path } = spoiled(original, at);
      const bytes = readFileSync(path);
      expect(() => Queue.open(options, directory)).toThrow(
        /belongs to another program|made by another version/,
      );
      expect(readFileSync(path)).toEqual(bytes);
    }
  });
});

test('an index that lacks rows is rebuilt from them', async () => {
  const stage = await createStage();
  const file = new DatabaseSync(stage.path);
  const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'batch_by_signal'";
  const page = Number(file.prepare(sql).get()?.['rootpage']);
  file.close();
  const start = (page - 1) * PAGE_BYTES;
  const entry = readFileSync(stage.path).lastIndexOf('metrics', start + PAGE_BYTES - 1);
  expect(entry).toBeGreaterThan(start);
  // The first row gets an unknown signal that sorts before the others.
  overwrite(stage.path, entry, Buffer.from('metricr'));
  const { services: found, corruptFiles } = await reopen(stage);
  expect(found).toHaveLength(ROWS);
  expect(corruptFiles).toHaveLength(1);
});

test('with a damaged head of a set-aside entry, the queue opens and keeps its rows', async () => {
  const original = await createStage();
  const queue = Queue.open(original.options, original.directory);
  const { id } = await firstRow(queue);
  const aside = { ...ASIDE, points: 10, reason: 'THE REASON' };
  expect(queue.pin(id)).toBe(true);
  await queue.settle(id, [{ service: 's0', accepted: 0, rejected: 0, setAside: 10 }], [aside]);
  await queue.close();
  const file = readFileSync(original.path);
  const end = file.lastIndexOf(aside.reason);
  // The sizes and types of the columns; 15 bytes of columns lie between them and the reason.
  for (let at = end - 25; at < end - 15; at++) {
    const stage = copyOf(original);
    flip(stage.path, at, 0x80);
    expect((await reopen(stage)).services, `byte ${at - end}`).toEqual(ALL.slice(1));
  }
});

test('with any bytes damaged, the queue opens, works, and sends nothing wrong', async () => {
  const original = await createStage();
  const whole = readFileSync(original.path);
  const size = whole.length;
  const damage = fc.record({
    offset: fc.integer({ min: 0, max: size - 1 }),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 4 }), async damages => {
      const stage = copyOf(original);
      for (const { offset, bytes } of damages) overwrite(stage.path, offset, bytes);
      for (const at of MARKS) overwrite(stage.path, at, whole.subarray(at, at + 1));
      await reopen(stage);
    }),
    { numRuns: 25 },
  );
});

test.each([
  'CREATE TABLE batch',
  'INTEGER PRIMARY KEY',
  'encoding TEXT',
  'kind TEXT',
  'PRIMARY KEY (service, key)',
  'WITHOUT ROWID',
  'CREATE INDEX',
])('with a damaged text of the schema, the queue opens and works: %s', async text => {
  const stage = await createStage();
  overwrite(stage.path, readFileSync(stage.path).indexOf(text), Buffer.from('#%'));
  expect((await reopen(stage)).corruptFiles).toHaveLength(1);
});

test('the highest id is known without SQLite’s record of it', async () => {
  const stage = await createStage();
  alter(stage.path, "UPDATE sqlite_sequence SET name = 'x'");
  expect(await reopen(stage)).toEqual(WHOLE);
});

test('the statistics of another program are no damage', async () => {
  const stage = await createStage();
  alter(stage.path, 'ANALYZE');
  expect(await reopen(stage)).toEqual(WHOLE);
});

describe('a number that is damaged', () => {
  const HUGE = 2n ** 60n;
  const damaged = async (sql: string): Promise<Stage> => {
    const stage = copyOf(await createStage());
    const file = new DatabaseSync(stage.path);
    file.exec("INSERT INTO set_aside VALUES (1, 1, 'metrics', 's0', 1, 'no', x'00')");
    expect(file.prepare(sql).run().changes).toBe(1);
    file.close();
    return stage;
  };

  test.each([
    ['batch', 'id'],
    ['batch', 'made_at_ms'],
    ['batch', 'raw_bytes'],
    ['batch', 'points'],
    ['batch', 'counted_bytes'],
    ['batch', 'checksum'],
    ['state', 'checksum'],
    ['account', 'count'],
    ['set_aside', 'id'],
    ['set_aside', 'at_ms'],
    ['set_aside', 'points'],
    ['sqlite_sequence', 'seq'],
  ])('%s.%s too large for JavaScript costs its row at most', async (table, column) => {
    const rowid = table === 'account' ? '(service, key)' : 'rowid';
    const one = `SELECT ${rowid.replace(/[()]/g, '')} FROM ${table} ORDER BY 1 LIMIT 1`;
    const stage = await damaged(
      `UPDATE ${table} SET ${column} = ${String(HUGE)} WHERE ${rowid} = (${one})`,
    );
    const { services: found, corruptFiles, states } = await reopen(stage);
    expect(found.length).toBeGreaterThanOrEqual(ROWS - 1);
    expect(states).toBeGreaterThanOrEqual(ROWS - 1);
    expect(corruptFiles).toHaveLength(1);
    expect((await reopen(stage)).services).toEqual(found);
  });

  test('while the queue is open, the same', async () => {
    const { options, directory, path } = copyOf(await createStage());
    await using queue = Queue.open(options, directory);
    alter(path, `UPDATE batch SET made_at_ms = ${String(HUGE)} WHERE id = 1`);
    expect(await services(queue, 'metrics')).toEqual(ALL.slice(1));
    expectBalance(queue);
    expect(queue.corruptFiles()).toHaveLength(1);
  });

  test.each([
    ['the time of the newest row', 'made_at_ms = 7e15 WHERE id = (SELECT max(id) FROM batch)'],
    ['the size of a row', 'counted_bytes = 7e15 WHERE id = 30'],
  ])('as %s, it evicts no other row', async (_, change) => {
    const stage = await damaged(`UPDATE batch SET ${change}`);
    expect(await reopen(stage)).toMatchObject({ services: ALL, evicted: 0 });
  });

  test('as the points of a service, it costs its row', async () => {
    const stage = await damaged(
      `UPDATE batch SET parts = replace(parts, '310', '1.5') WHERE id = 31`,
    );
    const { services: found, evicted } = await reopen(stage);
    expect(found).toEqual(ALL.filter(id => id !== 's30'));
    expect(evicted).toBe(310);
  });
});
