// Every fault, seen from the other end of the wire.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createServer } from 'node:net';
import { gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { METRICS_PATH } from '../../src/simulator/metrics-endpoint.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ask, type Heard, type Question } from './ask.ts';

const KEY = 'a-key';
const NOW = Date.UTC(2026, 2, 4, 9);

let clock: FakeClock;
let simulator: Simulator;

beforeEach(async () => {
  clock = new FakeClock(NOW);
  simulator = await startSimulator({ clock, key: KEY });
});
afterEach(() => simulator.close());

function get(path = METRICS_PATH, question: Question = {}): Promise<Heard> {
  return ask(simulator.url + path, { ...question, headers: { 'x-api-key': KEY } });
}

describe('a status', () => {
  test('is answered with an error body', async () => {
    for (const status of [400, 401, 403, 404, 429, 500, 503]) {
      simulator.setFaults({ status });
      const heard = await get();
      expect(heard.status).toBe(status);
      expect(JSON.parse(heard.body.toString())).toMatchObject({ code: status });
      expect(heard.headers['retry-after']).toBeUndefined();
    }
  });

  test('may have a Retry-After, in seconds or as a date', async () => {
    for (const retryAfter of ['7', new Date(NOW + 60_000).toUTCString()]) {
      simulator.setFaults({ status: 429, retryAfter });
      expect((await get()).headers['retry-after']).toBe(retryAfter);
    }
  });

  test('may apply to some requests only', async () => {
    simulator.setFaults({ status: 503, times: 2 });
    const statuses = [await get(), await get(), await get()].map(heard => heard.status);
    expect(statuses).toEqual([503, 503, 200]);
  });

  test('may apply to another part of the service', async () => {
    simulator.setFaults({ status: 500, path: '/observability/v2/logs' });
    expect((await get()).status).toBe(200);
    expect((await get('/observability/v2/logs/types')).status).toBe(500);
  });
});

describe('a body', () => {
  test('may be a web page', async () => {
    simulator.setFaults({ body: 'html' });
    const { status, headers, body } = await get();
    expect([status, headers['content-type']]).toEqual([200, 'text/html']);
    expect(body.toString()).toMatch(/^<!doctype html>/u);
  });

  test('may be empty', async () => {
    simulator.setFaults({ body: 'empty' });
    const { status, headers, body } = await get();
    expect([status, body.length, headers['content-length']]).toEqual([200, 0, '0']);
  });

  test('may have the wrong type', async () => {
    simulator.setFaults({ contentType: 'application/octet-stream' });
    const { headers, body } = await get();
    expect(headers['content-type']).toBe('application/octet-stream');
    expect(body.equals(simulator.page())).toBe(true);
  });

  test('may be compressed in three ways', async () => {
    const inflaters = { gzip: gunzipSync, deflate: inflateSync, zstd: zstdDecompressSync };
    for (const encoding of ['gzip', 'deflate', 'zstd'] as const) {
      simulator.setFaults({ contentEncoding: encoding });
      const { headers, body } = await get();
      expect(headers['content-encoding']).toBe(encoding);
      expect(inflaters[encoding](body).equals(simulator.page())).toBe(true);
    }
  });

  test('may be a bomb, from which a reader can disconnect', async () => {
    simulator.setFaults({ body: 'gzip-bomb' });
    const { headers, body, isWhole } = await get(METRICS_PATH, { maxBytes: 50_000 });
    expect([headers['content-encoding'], isWhole]).toEqual(['gzip', false]);
    expect(body.length).toBeGreaterThan(50_000);
    simulator.resetFaults();
    expect((await get()).status).toBe(200);
  });
});

describe('a connection', () => {
  test('may end before the announced length', async () => {
    simulator.setFaults({ cut: 'length' });
    const { headers, body, isWhole } = await get();
    expect(isWhole).toBe(false);
    expect(Number(headers['content-length'])).toBe(simulator.page().length);
    expect(body.equals(simulator.page().subarray(0, body.length))).toBe(true);
    expect(body.length).toBeLessThan(simulator.page().length);
  });

  test('may end within a chunked body', async () => {
    simulator.setFaults({ cut: 'chunked' });
    const { headers, body, isWhole } = await get();
    expect([headers['content-length'], headers['transfer-encoding'], isWhole]).toEqual([
      undefined,
      'chunked',
      false,
    ]);
    expect(body.length).toBeLessThan(simulator.page().length);
  });

  test('may be slow', async () => {
    const length = simulator.page().length;
    simulator.setFaults({ bytesPerSecond: Math.ceil(length / 3) });
    const heard = get();
    const isDone = heard.then(() => true);
    const isLeft = (): Promise<boolean> =>
      new Promise(resolve => setImmediate(() => resolve(false)));
    while (simulator.requests.count === 0) await isLeft();
    let seconds = 0;
    for (; seconds < 100; seconds += 0.1) {
      if (await Promise.race([isDone, isLeft()])) break;
      await clock.advance(100);
    }
    expect((await heard).body.equals(simulator.page())).toBe(true);
    // The last part leaves before its own tenth of a second is over.
    expect(seconds).toBeGreaterThan(2.5);
  });

  test('may stay silent until the simulator closes', async () => {
    simulator.setFaults({ isSilent: true });
    const heard = get().then(
      () => 'answered',
      () => 'broken',
    );
    while (simulator.requests.count === 0) await new Promise(resolve => setImmediate(resolve));
    expect(await Promise.race([heard, Promise.resolve('waiting')])).toBe('waiting');
    await simulator.close();
    expect(await heard).toBe('broken');
  });
});

describe('a redirect', () => {
  test('may lead to another host', async () => {
    simulator.setFaults({ redirectTo: 'http://127.0.0.1:9/elsewhere' });
    const { status, headers } = await get();
    expect([status, headers.location]).toEqual([307, 'http://127.0.0.1:9/elsewhere']);
  });

  test('may lead to the same origin, where the page is, behind the same key', async () => {
    simulator.setFaults({ redirectTo: 'same-origin' });
    const { status, headers } = await get(`${METRICS_PATH}?service=ledger`);
    expect(status).toBe(307);
    const moved = headers.location ?? '';
    expect(moved).toMatch(/^\/.*\?service=ledger$/u);
    expect((await ask(simulator.url + moved)).status).toBe(400);
    const { status: second, body } = await get(moved);
    expect([second, body.includes('ledger-0'), body.includes('orders-0')]).toEqual([
      200,
      true,
      false,
    ]);
  });
});

describe('the page itself', () => {
  const text = async (): Promise<string> => (await get()).body.toString();

  test('may have bad lines in one service', async () => {
    simulator.setFaults({ badLines: { dbpgf10000004: 2 } });
    const bad = (await text()).split('\n').filter(line => line.endsWith(' 12,5'));
    expect(bad).toHaveLength(2);
    expect(bad[0]).toContain('server_name="sessions-0"');
  });

  test('may lack its last newline', async () => {
    simulator.setFaults({ isLastNewlineMissing: true });
    expect(`${await text()}\n`).toBe(simulator.page().toString());
  });

  test('may lack a service', async () => {
    simulator.setFaults({ absentServices: ['dbpgf10000001', 'dbpgf10000002'] });
    const namespaces = new Set((await text()).match(/namespace="[^"]*"/gu));
    expect([...namespaces].sort()).toEqual([
      'namespace="dbpgf10000003"',
      'namespace="dbpgf10000004"',
    ]);
  });

  test('may be frozen while time goes on', async () => {
    simulator.setFaults({ timestamps: 'frozen' });
    const before = await text();
    await clock.advance(600_000);
    expect(await text()).toBe(before);
    simulator.setFaults({ timestamps: 'explicit' });
    expect(await text()).not.toBe(before);
  });

  test('may have no timestamps', async () => {
    simulator.setFaults({ timestamps: 'none' });
    const lines = (await text()).split('\n').filter(line => /^[a-z]/u.test(line));
    expect(lines.every(line => /\} \S+$/u.test(line))).toBe(true);
  });

  test('may come from a service whose clock is wrong', async () => {
    simulator.setFaults({ clockSkewMs: 3_600_000 });
    const { headers, body } = await get();
    expect(headers.date).toBe(new Date(NOW + 3_600_000).toUTCString());
    expect(body.toString()).toContain(`} 1 ${NOW + 3_600_000}\n`);
    expect(body.toString()).not.toContain(`} 1 ${NOW}\n`);
  });
});

test('an impossible answer is a 500 with the cause, and the simulator continues', async () => {
  simulator.setFaults({ contentType: 'a\nb' });
  const { status, body } = await get();
  expect([status, body.toString()]).toEqual([500, expect.stringContaining('content-type')]);
  simulator.resetFaults();
  expect((await get()).status).toBe(200);
});

test('a port that is taken is refused at the start', async () => {
  const other = createServer();
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve));
  const address = other.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  if (port === undefined) expect.fail('no port');
  await expect(startSimulator({ clock, key: KEY, port })).rejects.toThrow('EADDRINUSE');
  other.close();
});
