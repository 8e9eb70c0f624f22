// The faults that tests rely on, as a client sees them.

import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { emptyAnswer } from '../../src/simulator/answer.ts';
import { METRICS_PATH } from '../../src/simulator/simulator.ts';
import { ask, type Heard, type Question } from './ask.ts';
import { FakeClock } from './fake-clock.ts';
import { deliver, gzipBomb, NO_DELIVERY_FAULTS } from './faulty-delivery.ts';
import { type Faults, type FaultySimulator, startFaultySimulator } from './faulty-simulator.ts';
import { startHttpServer } from './http-server.ts';

const KEY = 'a-key';
const NOW = Date.UTC(2026, 2, 4, 9, 0, 30);
const MINUTE = Date.UTC(2026, 2, 4, 9);

let clock: FakeClock;
let simulator: FaultySimulator;

beforeEach(async () => {
  clock = new FakeClock(NOW);
  simulator = await startFaultySimulator({ clock, key: KEY });
});
afterEach(() => simulator.close());

function get(path = METRICS_PATH, question: Question = {}): Promise<Heard> {
  return ask(simulator.url + path, {
    ...question,
    headers: { 'x-api-key': KEY, ...question.headers },
  });
}

async function page(): Promise<string> {
  const { status, body } = await get();
  expect(status).toBe(200);
  return body.toString();
}

test('the latest requests are kept with their headers', async () => {
  await get(`${METRICS_PATH}?service=ledger`, { headers: { 'x-region': 'north' } });
  expect(simulator.latest).toMatchObject([
    {
      method: 'GET',
      url: `${METRICS_PATH}?service=ledger`,
      headers: { 'x-api-key': KEY, 'x-region': 'north' },
      atMs: NOW,
    },
  ]);
});

describe('a fault', () => {
  /** The answer with these faults, and the page without them. */
  const heardWith = async (faults: Partial<Faults>): Promise<readonly [Heard, string]> => {
    const good = await page();
    simulator.setFaults(faults);
    return [await get(), good];
  };

  test('may replace the body or its type', async () => {
    const [html] = await heardWith({ body: 'html' });
    expect([html.status, html.headers['content-type']]).toEqual([200, 'text/html']);
    expect(html.body.toString()).toMatch(/^<!doctype html>/u);
    simulator.setFaults({ body: 'empty' });
    const empty = await get();
    expect([empty.status, empty.body.length, empty.headers['content-length']]).toEqual([
      200,
      0,
      '0',
    ]);
    simulator.resetFaults();
    const [odd, good] = await heardWith({ contentType: 'application/octet-stream' });
    expect(odd.headers['content-type']).toBe('application/octet-stream');
    expect(odd.body.toString()).toBe(good);
  });

  test('may be a bomb, from which a reader can disconnect', async () => {
    simulator.setFaults({ body: 'gzip-bomb' });
    const { headers, body, isWhole } = await get(METRICS_PATH, { maxBytes: 50_000 });
    expect([headers['content-encoding'], isWhole]).toEqual(['gzip', false]);
    expect(body.length).toBeGreaterThan(50_000);
    simulator.resetFaults();
    expect((await get()).status).toBe(200);
    const bomb = Buffer.concat([...gzipBomb(3)]);
    expect(gunzipSync(bomb).equals(Buffer.alloc(3 * 2 ** 20))).toBe(true);
    expect(bomb.length).toBeLessThan(3 * 2 ** 12);
  });

  test('waits for its reader, and keeps little of a bomb in memory', async () => {
    let keptBytes = 0;
    await using server = await startHttpServer((_request, response) => {
      const faults = { ...NO_DELIVERY_FAULTS, body: 'gzip-bomb' } as const;
      void deliver({ response, answer: emptyAnswer(200), faults, clock, nowMs: NOW });
      const look = setInterval(() => {
        keptBytes = Math.max(keptBytes, response.writableLength);
      }, 1);
      response.once('close', () => clearInterval(look));
    });
    const { body } = await ask(server.origin, { maxBytes: 2_000_000 });
    expect(body.length).toBeGreaterThan(2_000_000);
    expect(keptBytes).toBeLessThan(200_000);
  });

  test.each(['length', 'chunked'] as const)('may cut the connection: %s', async cut => {
    const [{ headers, body, isWhole }, good] = await heardWith({ cut });
    expect(isWhole).toBe(false);
    expect(headers['content-length']).toBe(cut === 'length' ? String(good.length) : undefined);
    expect(good.startsWith(body.toString())).toBe(true);
    expect(body.length).toBeLessThan(good.length);
  });

  test('may slow the body down', async () => {
    const good = await page();
    const before = simulator.requests.count;
    simulator.setFaults({ bytesPerSecond: Math.ceil(good.length / 3) });
    const heard = get();
    const isDone = heard.then(() => true);
    const isLeft = (): Promise<boolean> =>
      new Promise(resolve => setImmediate(() => resolve(false)));
    while (simulator.requests.count === before) await isLeft();
    let seconds = 0;
    for (; seconds < 100; seconds += 0.1) {
      if (await Promise.race([isDone, isLeft()])) break;
      await clock.advance(100);
    }
    expect((await heard).body.toString()).toBe(good);
    // The last part is sent before its tenth of a second is over.
    expect(seconds).toBeGreaterThan(2.5);
  });

  test('may be silence until the simulator closes', async () => {
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

  test('may redirect to another host', async () => {
    const redirectTo = 'http://127.0.0.1:9/elsewhere';
    const [{ status, headers }] = await heardWith({ redirectTo });
    expect([status, headers.location]).toEqual([307, redirectTo]);
  });

  test('may redirect to the same origin, where the page is, for the same key', async () => {
    simulator.setFaults({ redirectTo: 'same-origin' });
    const { status, headers } = await get(`${METRICS_PATH}?service=ledger`);
    expect(status).toBe(307);
    const moved = headers.location ?? '';
    expect(moved).toMatch(/^\/.*\?service=ledger$/u);
    expect((await ask(simulator.url + moved)).status).toBe(400);
    const text = (await get(moved)).body.toString();
    expect([text.includes('ledger-0'), text.includes('orders-0')]).toEqual([true, false]);
  });

  test('may leave out a service', async () => {
    const [{ body }] = await heardWith({ absentServices: ['dbpgf10000001', 'dbpgf10000002'] });
    const namespaces = new Set(body.toString().match(/namespace="[^"]*"/gu));
    expect([...namespaces].sort()).toEqual([
      'namespace="dbpgf10000003"',
      'namespace="dbpgf10000004"',
    ]);
  });

  test('may be a redirect to a path with a slash, for those who have the key', async () => {
    simulator.setFaults({ isSlashRequired: true });
    const path = '/copilot/v1/session';
    const body = { agent_id: 'a' };
    const { status, headers } = await get(path, { method: 'POST', body });
    expect([status, headers.location]).toEqual([307, `${path}/`]);
    expect((await get(`${path}/`, { method: 'POST', body })).status).toBe(200);
    expect((await ask(simulator.url + path, { method: 'POST', body })).status).toBe(401);
  });

  test('may be broken lines, which name their service', async () => {
    const [{ body }, good] = await heardWith({ badLines: { dbpgf10000002: 3 } });
    const bad = body
      .toString()
      .split('\n')
      .filter(line => line.endsWith(' 12,5'));
    expect(bad).toHaveLength(3);
    expect(bad.every(line => line.includes('namespace="dbpgf10000002"'))).toBe(true);
    expect(body.toString().replaceAll(/^.* 12,5\n/gmu, '')).toBe(good);
  });

  test('may be a wrong clock', async () => {
    const [{ headers, body }] = await heardWith({ clockSkewMs: 3_600_000 });
    expect(headers.date).toBe(new Date(NOW + 3_600_000).toUTCString());
    expect(body.toString()).toContain(`} 1 ${MINUTE + 3_600_000}\n`);
    expect(body.toString()).not.toContain(`} 1 ${MINUTE}\n`);
  });

  test('that makes an answer impossible is a 500 with the cause', async () => {
    simulator.setFaults({ contentType: 'a\nb' });
    const { status, body } = await get();
    expect([status, body.toString()]).toEqual([500, expect.stringContaining('content-type')]);
    simulator.resetFaults();
    expect((await get()).status).toBe(200);
  });
});
