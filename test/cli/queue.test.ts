// `queue` where a daemon, a full disk or a signal gets in its way; all else is in test/transcripts/queue.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { verb } from '../../src/cli/queue.ts';
import { loadConfig } from '../../src/config/load.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { Batch } from '../../src/model/batch.ts';
import { openQueue } from '../../src/pipeline/queue/open-queue.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { oracleDecodeMetrics } from '../reference/oracle.ts';
import { BackEnd } from '../support/back-end.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { logsBatch, metricsBatch, metricsBytes } from '../support/otlp-requests.ts';
import { tempDirectory } from '../support/program.ts';
import { callVerb, type CallOptions, type Printed } from '../support/verb-context.ts';

const HOUR_MS = 3_600_000;
const KEY = 'canary-of-the-back-end';

let directory: ReturnType<typeof tempDirectory>;
let backEnd: BackEnd;
let file: string;

beforeEach(async () => {
  directory = tempDirectory();
  backEnd = await BackEnd.start();
  file = configFile({});
});
afterEach(async () => {
  await backEnd.stop();
  directory[Symbol.dispose]();
});

function configFile(changes: Readonly<Record<string, unknown>>): string {
  const config = {
    api: { base_url: 'https://api.example.com', key: 'k' },
    services: [{ id: 'orders' }],
    otlp: { endpoint: backEnd.url, headers: { 'x-key': KEY } },
    queue: { directory: 'queue' },
    ...changes,
  };
  return directory.write('prom2otlp.yaml', JSON.stringify(config));
}

function queue(
  action: string,
  args: readonly string[] = [],
  options?: CallOptions,
): Promise<Printed> {
  return callVerb(verb, [action, '--config', file, ...args], options);
}

/** Opens the queue as the daemon does; close it before a drain. */
function open(): Queue {
  const config = loadConfig({ file, environment: {} });
  return openQueue(config, { clock, counters: new Counters(), logger: silentLogger });
}

/** The output of `inspect --format json`. */
async function inspection(): Promise<unknown> {
  return JSON.parse((await queue('inspect', ['--format', 'json'])).out);
}

/** Changes the file of the queue as another program would. */
function damage(sql: string): void {
  const database = new DatabaseSync(join(directory.path, 'queue', 'queue.sqlite'));
  database.exec(sql);
  database.close();
}

/** The number of lines of an output or of a file. */
const lineCount = (text: string): number => text.split('\n').length - 1;

async function fill(...batches: readonly Batch[]): Promise<void> {
  const daemon = open();
  for (const batch of batches) await commit(daemon, batch);
  await daemon.close();
}

async function commit(daemon: Queue, batch: Batch): Promise<void> {
  expect(await daemon.commit({ batches: [batch], state: [], reads: [] })).toMatchObject({
    kind: 'stored',
  });
}

const NOW_MS = clock.nowMs();
const WAITING = [
  metricsBatch({ orders: 3, billing: 2 }, NOW_MS - HOUR_MS),
  metricsBatch({ orders: 4 }, NOW_MS - 1000),
  logsBatch('orders', ['one', 'two'], NOW_MS - 1000),
];

describe('inspect', () => {
  test('shows refused points with the back end’s words and a sample', async () => {
    const daemon = open();
    await commit(daemon, metricsBatch({ orders: 3 }, NOW_MS));
    const [row] = await daemon.oldest('metrics', 1, new Set());
    const id = row?.id ?? expect.fail('no row');
    daemon.pin(id);
    const what = { signal: 'metrics', service: 'orders' } as const;
    const aside = { ...what, reason: 'too old', atMs: NOW_MS };
    const sample = metricsBytes('orders', 1);
    await daemon.settle(
      id,
      [{ service: 'orders', accepted: 0, rejected: 0, setAside: 3 }],
      [
        { ...aside, points: 1, sample },
        { ...aside, points: 2, sample: Buffer.from('damaged') },
      ],
    );
    await daemon.close();
    const { out } = await queue('inspect', [], { clock: new FakeClock(NOW_MS) });
    expect(out).toMatch(/^now +orders +metrics +2 +3 +too old$/m);
    expect(await inspection()).toMatchObject({
      setAside: [
        { service: 'orders', points: 2, reason: 'too old', sample: null },
        { service: 'orders', points: 1, sample: oracleDecodeMetrics(sample) },
      ],
    });
  });

  test('works while a daemon holds the queue, and sees its commits', async () => {
    const daemon = open();
    for (let points = 1; points <= 3; points++) {
      await commit(daemon, metricsBatch({ orders: 1 }, NOW_MS));
      expect(await inspection()).toMatchObject({ signals: [{ points }, { points: 0 }] });
    }
    await daemon.close();
  });
});

describe('export', () => {
  beforeEach(() => fill(...WAITING));

  const fail = (): never => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  };

  test.each([
    ['its disk fills', null, 'free space on its disk', fail],
    ['the queue is damaged', null, 'repairs', () => damage('ALTER TABLE batch RENAME TO lost')],
    ['a signal stops it', 1, 'stopped by a signal', (stop: AbortController) => stop.abort()],
  ])('leaves no file when %s, and says why', async (_, code, words, happens) => {
    const output = join(directory.path, 'out.jsonl');
    const stop = new AbortController();
    const handle = await openFile(join(directory.path, 'other'), 'w');
    const append = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'appendFile');
    onTestFinished(() => append.mockRestore());
    await handle.close();
    append.mockImplementationOnce(async () => {
      expect(existsSync(output)).toBe(true);
      happens(stop);
    });
    const result = await queue('export', ['--output', output], { stop: stop.signal });
    expect(result).toEqual({ code, out: '', err: expect.stringContaining(words) });
    expect(existsSync(output)).toBe(false);
  });

  test('stops after a signal, also without a file', async () => {
    const stop = new AbortController();
    const onLine = (): boolean => stop.abort() === undefined;
    const { code, out } = await queue('export', [], { onLine, stop: stop.signal });
    expect([code, lineCount(out)]).toEqual([1, 1]);
  });

  test('stops when its reader closes the pipe', async () => {
    const { out } = await queue('export', [], { onLine: () => false });
    expect(lineCount(out)).toBe(1);
  });
});

describe('drain', () => {
  test('exits with 1 at its deadline or on a signal; the rest stays', async () => {
    await fill(...WAITING);
    backEnd.answer = () => ({ status: 503 });
    expect(await queue('drain', ['--for', '50ms'])).toMatchObject({ code: 1 });
    const stop = new AbortController();
    const draining = queue('drain', [], { stop: stop.signal });
    await expect.poll(() => backEnd.requests.length).toBeGreaterThan(2);
    stop.abort();
    expect(await draining).toMatchObject({ code: 1, out: expect.stringMatching(/left 11$/m) });
    backEnd.answer = () => ({ status: 200 });
    expect(await queue('drain')).toMatchObject({ code: 0 });
  });

  test('repairs the file as the daemon does', async () => {
    await fill(...WAITING);
    const path = join(directory.path, 'queue', 'queue.sqlite');
    const header = readFileSync(path);
    header.fill(0, 0, 16);
    writeFileSync(path, header);
    expect(await queue('drain')).toMatchObject({ code: 0, out: expect.stringMatching(/left 0/) });
  });
});
