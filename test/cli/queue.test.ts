import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
import { openQueue, type Queue } from '../../src/pipeline/queue/queue.ts';
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

/** The output of `inspect --json`. */
async function inspection(): Promise<unknown> {
  return JSON.parse((await queue('inspect', ['--json'])).out);
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
  test('shows sizes and ages by signal and service, and the account', async () => {
    await fill(...WAITING);
    const { code, out } = await queue('inspect', [], { clock: new FakeClock(NOW_MS) });
    expect(code).toBe(0);
    const lines = out.split('\n').map(line => line.trim().replaceAll(/ {2,}/g, '|'));
    expect(out).toMatch(/^metrics +2 +9 +\d+ B +1\.0 GiB +1 h ago +1 s ago$/m);
    expect(lines).toContain('orders|metrics|2|7|1 h ago|1 s ago');
    expect(lines).toContain('billing|metrics|1|2|1 h ago|1 h ago');
    expect(lines).toContain('orders|logs|1|2|1 s ago|1 s ago');
    expect(lines).toContain('total|0|0|11|0|0|0|0|11');
  });

  test('prints the same as JSON', async () => {
    await fill(...WAITING);
    const [oldestAt, newestAt] = [HOUR_MS, 1000].map(ms => new Date(NOW_MS - ms).toISOString());
    const times = { maxBytes: 2 ** 30, oldestAt, newestAt };
    expect(await inspection()).toMatchObject({
      directory: join(directory.path, 'queue'),
      corruptFiles: [],
      signals: [
        { signal: 'metrics', requests: 2, points: 9, ...times },
        { signal: 'logs', requests: 1, points: 2 },
      ],
      services: [
        { service: 'orders', signal: 'metrics', requests: 2, points: 7 },
        { service: 'billing', signal: 'metrics', requests: 1, points: 2 },
        { service: 'orders', signal: 'logs', requests: 1, points: 2 },
      ],
      setAside: [],
      account: { total: { points: { made: 11, queued: 11 } } },
    });
  });

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

  test('names damaged files', async () => {
    await fill(...WAITING);
    directory.write('queue/queue-20260304T090000Z.corrupt', '');
    expect((await queue('inspect')).out).toContain('kept: queue-20260304T090000Z.corrupt');
  });

  test('shows a queue with a damaged time', async () => {
    await fill(...WAITING);
    damage('UPDATE batch SET made_at_ms = 8700000000000000 WHERE id = 2');
    const metrics = { requests: 2, points: 9, newestAt: null };
    expect(await inspection()).toMatchObject({ signals: [metrics, {}] });
    expect(await queue('inspect')).toMatchObject({ code: 0 });
  });
});

describe('export', () => {
  beforeEach(() => fill(...WAITING));

  test('prints every request as OTLP/JSON, one per line, oldest first, and removes nothing', async () => {
    const { code, out, err } = await queue('export');
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines.map(line => JSON.parse(line) as object)).toEqual([
      ...WAITING.slice(0, 2).map(({ payload }) => oracleDecodeMetrics(payload)),
      expect.objectContaining({ resourceLogs: expect.any(Array) }),
    ]);
    expect(err).toBe('3 requests exported; nothing was removed from the queue\n');
    expect(await inspection()).toMatchObject({ signals: [{ requests: 2 }, { requests: 1 }] });
  });

  test('prints one signal alone', async () => {
    const { out } = await queue('export', ['--signal', 'logs', '-o', '-']);
    expect(lineCount(out)).toBe(1);
    expect(out).toContain('"resourceLogs"');
  });

  test('writes a file that nobody else may read, and overwrites none', async () => {
    const output = join(directory.path, 'out.jsonl');
    expect(await queue('export', ['--output', output])).toMatchObject({ code: 0, out: '' });
    expect(lineCount(readFileSync(output, 'utf8'))).toBe(3);
    expect(statSync(output).mode & 0o777).toBe(0o600);
    const refused = { code: null, err: expect.stringMatching(/cannot write .*: it exists; name/) };
    expect(await queue('export', ['--output', output])).toMatchObject(refused);
  });

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

  test('leaves out damaged rows, and reports them', async () => {
    damage('UPDATE batch SET body = zeroblob(40) WHERE id = 1');
    const { code, out, err } = await queue('export');
    expect([code, lineCount(out)]).toEqual([1, 2]);
    expect(err).toMatch(/^2 requests exported.*\n1 requests are damaged and were left out\n$/);
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
  const received = (): number =>
    backEnd.requests.reduce(
      (sum, { raw }) =>
        sum + (JSON.stringify(oracleDecodeMetrics(raw)).match(/asDouble/g)?.length ?? 0),
      0,
    );

  test('delivers everything of any age, and leaves nothing', async () => {
    await fill(metricsBatch({ orders: 5 }, NOW_MS - 71 * HOUR_MS), WAITING[1] ?? expect.fail());
    file = configFile({ queue: { directory: 'queue', metrics: { max_age: '1h' } } });
    const { code, out } = await queue('drain');
    expect(out).toMatch(/^accepted 9 points in .*, rejected 0, set aside 0, left 0\n$/);
    expect(code).toBe(0);
    expect(received()).toBe(9);
    expect(backEnd.requests.map(({ headers }) => headers['x-key'])).toEqual([KEY, KEY]);
    const account = { total: { points: { made: 9, accepted: 9, evicted: 0, queued: 0 } } };
    expect(await inspection()).toMatchObject({ account });
  });

  test('sends no configured headers to another receiver', async () => {
    await fill(...WAITING);
    const other = await BackEnd.start();
    const { code, err } = await queue('drain', ['--endpoint', `${other.url}/otlp/`]);
    expect(code).toBe(0);
    expect(err).toContain('otlp.headers are not sent to another origin');
    expect(backEnd.requests).toEqual([]);
    expect(other.requests.map(({ path }) => path).sort()).toEqual([
      '/otlp/v1/logs',
      '/otlp/v1/metrics',
      '/otlp/v1/metrics',
    ]);
    for (const { headers } of other.requests) expect(headers).not.toHaveProperty('x-key');
    await fill(...WAITING);
    other.answer = () => ({ status: 404 });
    const refused = await queue('drain', ['--endpoint', other.url]);
    expect(refused.err).toContain('check --endpoint');
    expect(refused.err).not.toContain('otlp.endpoint');
    await other.stop();
  });

  test('is refused while a daemon holds the queue', async () => {
    const daemon = open();
    const held = { code: null, err: expect.stringMatching(/another process is using it/) };
    expect(await queue('drain')).toMatchObject(held);
    await daemon.close();
  });

  test('exits with 1 and the reason if the back end refuses the settings', async () => {
    await fill(...WAITING);
    backEnd.answer = () => ({ status: 401 });
    const { code, out, err } = await queue('drain');
    expect(out).toMatch(/^accepted 0 points .* left 11\n$/);
    expect(err).toContain(
      `metrics to ${backEnd.url}/v1/metrics: holding: the back end answered 401`,
    );
    expect(code).toBe(1);
  });

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

  test('exits with 1 if all points are refused, which stay in the queue', async () => {
    await fill(WAITING[1] ?? expect.fail());
    backEnd.answer = ({ raw }) => ({ status: raw.length > 0 ? 400 : 200 });
    const left = { code: 1, out: expect.stringMatching(/set aside 0, left 4/) };
    expect(await queue('drain')).toMatchObject(left);
  });

  test.each([
    ['a body', 5, 'body = zeroblob(40) WHERE id = 1'],
    ['the last body', 2, 'body = zeroblob(40) WHERE id = 3'],
    ['what shows when the file is opened', 4, `checksum = ${2n ** 60n} WHERE id = 2`],
  ])('exits with 1 if points were lost because of damage: %s', async (_, lost, sql) => {
    await fill(...WAITING);
    damage(`UPDATE batch SET ${sql}`);
    expect(await queue('drain')).toEqual({
      code: 1,
      out: expect.stringMatching(`^accepted ${11 - lost} points in .*, left 0\n$`),
      err: `${lost} points are lost: their requests in the queue were damaged\n`,
    });
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

describe('a mistake is reported', () => {
  const check = async (args: readonly string[], words: RegExp): Promise<void> => {
    const [action = '', ...rest] = args;
    const mistake = { code: null, err: expect.stringMatching(words) };
    expect(await queue(action, rest)).toMatchObject(mistake);
  };

  test('in the address of another receiver, without its secrets', async () => {
    await fill(...WAITING);
    await check(['drain', '--endpoint', 'localhost:4318'], /--endpoint as http/);
    await check(['drain', '--endpoint', 'http://user:canary@localhost'], /^(?!.*canary)/s);
    // The path of a signal cannot follow a query.
    const query = `${backEnd.url}/otlp?tenant=canary`;
    await check(['drain', '--endpoint', query], /or a query;(?!.*canary)/s);
    expect(backEnd.requests).toEqual([]);
  });

  test("in the queue's location", async () => {
    for (const action of ['inspect', 'export', 'drain']) {
      await check([action], /cannot read the queue in .*there is none/);
      rmSync(join(directory.path, 'queue'), { recursive: true, force: true });
    }
  });

  test("in the queue's file", async () => {
    await fill(...WAITING);
    directory.write('queue/queue.sqlite', 'not a database, but long enough to look like one');
    await check(['inspect'], /cannot read the queue in .*not a database/);
  });
});
