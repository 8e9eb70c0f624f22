// The simulator as a client sees it, with every fault that it can show on the wire.

import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { emptyAnswer } from '../../src/simulator/answer.ts';
import { deliver, gzipBomb } from '../../src/simulator/delivery.ts';
import { type Faults, METRICS_PATH, NO_FAULTS } from '../../src/simulator/faults.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { ask, type Heard, type Question } from '../support/ask.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { TEST_TLS } from '../support/certificates.ts';
import { startHttpServer } from '../support/http-server.ts';

const KEY = 'a-key';
const NOW = Date.UTC(2026, 2, 4, 9, 0, 30);
const MINUTE = Date.UTC(2026, 2, 4, 9);

let clock: FakeClock;
let simulator: Simulator;

beforeEach(async () => {
  clock = new FakeClock(NOW);
  simulator = await startSimulator({ clock, key: KEY });
});
afterEach(() => simulator.close());

function get(path = METRICS_PATH, question: Question = {}): Promise<Heard> {
  return ask(simulator.url + path, {
    ...question,
    headers: { 'x-api-key': KEY, ...question.headers },
  });
}

async function page(query = ''): Promise<string> {
  const { status, body } = await get(METRICS_PATH + query);
  expect(status).toBe(200);
  return body.toString();
}

/** Value and timestamp of the one line of that series and server. */
function lineOf(text: string, name: string, server: string): readonly number[] {
  const label = `server_name="${server}"`;
  const line = text.split('\n').find(one => one.startsWith(`${name}{`) && one.includes(label));
  return (line ?? '')
    .replace(/^.*\} /u, '')
    .split(' ')
    .map(Number);
}

describe('the metrics page', () => {
  test('refreshes once a minute, and its proxies are two minutes older', async () => {
    const { headers } = await get();
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(headers.date).toBe(new Date(NOW).toUTCString());
    const first = await page();
    await clock.advance(29_999);
    expect(await page()).toBe(first);
    await clock.advance(1);
    const second = await page();
    expect(lineOf(first, 'engine_up', 'orders-0')).toEqual([1, MINUTE]);
    expect(lineOf(second, 'engine_up', 'orders-0')).toEqual([1, MINUTE + 60_000]);
    expect(lineOf(second, 'proxy_up', 'orders-proxy-0')).toEqual([1, MINUTE - 60_000]);
    const [before = NaN] = lineOf(first, 'engine_global_status_queries', 'orders-0');
    const [after] = lineOf(second, 'engine_global_status_queries', 'orders-0');
    expect(after).toBeGreaterThan(before);
  });

  test('shows only the service whose name is requested', async () => {
    const ledger = await page('?service=ledger');
    expect(new Set(ledger.match(/namespace="[^"]*"/gu))).toEqual(
      new Set(['namespace="dbpgf10000002"']),
    );
    expect(await page('?service=dbpgf10000002')).toBe('');
  });
});

describe('the key', () => {
  test('is required everywhere, and its absence is answered with 400', async () => {
    for (const path of [METRICS_PATH, '/observability/v2/logs', '/backup/v1/backups', '/']) {
      for (const headers of [{}, { 'x-api-key': 'wrong' }, { 'x-api-key': '' }]) {
        const { status, body } = await ask(simulator.url + path, { headers });
        expect(status).toBe(400);
        expect(JSON.parse(body.toString())).toMatchObject({
          errors: [{ error: 'BAD_REQUEST', message: 'API key is missing or invalid' }],
          path: path === '/' ? '' : path,
          code: 400,
          trace_id: expect.any(String),
        });
      }
    }
  });

  test('is answered with 401 by the agent always, and with another status if configured', async () => {
    simulator.refusalStatus = 403;
    expect((await ask(simulator.url + METRICS_PATH)).status).toBe(403);
    const { status, body } = await ask(`${simulator.url}/copilot/v1/chat`, { method: 'POST' });
    expect([status, JSON.parse(body.toString())]).toMatchObject([401, { detail: [{}] }]);
  });

  test('is checked before a redirect to a path with a slash', async () => {
    simulator.setFaults({ isSlashRequired: true });
    const path = '/copilot/v1/session';
    const body = { agent_id: 'a' };
    const { status, headers } = await get(path, { method: 'POST', body });
    expect([status, headers.location]).toEqual([307, `${path}/`]);
    expect((await get(`${path}/`, { method: 'POST', body })).status).toBe(200);
    expect((await ask(simulator.url + path, { method: 'POST', body })).status).toBe(401);
  });

  test('can be rotated', async () => {
    simulator.key = 'another';
    expect((await get()).status).toBe(400);
    expect((await get(METRICS_PATH, { headers: { 'x-api-key': 'another' } })).status).toBe(200);
  });
});

test('requests are counted, and the latest are kept with their headers', async () => {
  await get(`${METRICS_PATH}?service=ledger`, { headers: { 'x-region': 'north' } });
  await ask(`${simulator.url}/elsewhere`);
  const { count, countByPath, latest } = simulator.requests;
  expect([count, Object.fromEntries(countByPath)]).toEqual([
    2,
    { [METRICS_PATH]: 1, '/elsewhere': 1 },
  ]);
  expect(latest[0]).toMatchObject({
    method: 'GET',
    url: `${METRICS_PATH}?service=ledger`,
    headers: { 'x-api-key': KEY, 'x-region': 'north' },
    atMs: NOW,
  });
});

test('unknown paths are answered with 404, other methods with 405, long bodies with 413', async () => {
  expect((await get('/observability/v2/metrics/more')).status).toBe(404);
  expect((await get('/observability/v2/metricsmore')).status).toBe(404);
  expect((await get(METRICS_PATH, { method: 'POST' })).status).toBe(405);
  expect((await get('/backup/v1/nothing%ZZ')).status).toBe(404);
  const body = Buffer.alloc(2 ** 20 + 1, ' ');
  expect((await get('/copilot/v1/chat', { method: 'POST', body })).status).toBe(413);
});

test('the service can be served over TLS', async () => {
  await using secure = await startSimulator({ clock, key: KEY, tls: TEST_TLS });
  // The certificate is for the name `localhost`.
  const url = secure.url.replace('https://127.0.0.1:', 'https://localhost:') + METRICS_PATH;
  const heard = await ask(url, { ca: TEST_TLS.ca, headers: { 'x-api-key': KEY } });
  expect(heard.body.toString()).toBe(await page());
});

test('a port that is taken is refused at the start', async () => {
  const port = Number(new URL(simulator.url).port);
  await expect(startSimulator({ clock, key: KEY, port })).rejects.toThrow('EADDRINUSE');
});

describe('/_control', () => {
  const post = (body: unknown): Promise<Heard> =>
    ask(`${simulator.url}/_control`, { method: 'POST', body });

  test('needs no key, sets faults and restarts, and shows the services but never a key', async () => {
    const faults = { status: 503, times: null, badLines: { a: 1 } };
    expect((await post({ faults, restart: ['orders-0'] })).status).toBe(200);
    expect((await get()).status).toBe(503);
    const { status, body } = await ask(`${simulator.url}/_control`);
    expect(status).toBe(200);
    expect(JSON.parse(body.toString())).toMatchObject({
      services: [{ id: 'dbpgf10000001' }, {}, {}, { servers: ['sessions-0'] }],
      requests: 1,
      requestsByPath: { [METRICS_PATH]: 1 },
      faults,
    });
    expect(body.toString()).not.toContain(KEY);
    expect((await post({ reset: true })).status).toBe(200);
    const uptimes = async (): Promise<unknown> => {
      const text = await page();
      const uptime = 'engine_global_status_uptime';
      return ['orders-0', 'orders-1'].map(
        server => (lineOf(text, uptime, server)[0] ?? 0) > 86_400,
      );
    };
    // Only the named server restarts, and the next refresh of the page shows it.
    expect(await uptimes()).toEqual([true, true]);
    await clock.advance(60_000);
    expect(await uptimes()).toEqual([false, true]);
  });

  test.each([
    [{ faults: { status: 503, stat: 1 } }, 400, /stat/u],
    [{ faults: { status: '503', body: 'json' } }, 400, /status: .*body: /u],
    [{ faults: { status: 429, retryAfter: '1\r\nx: y' } }, 400, /retryAfter: /u],
    [{ faults: { status: 503, times: 0 } }, 400, /times: /u],
    [{ faults: { redirectTo: 'elsewhere' } }, 400, /redirectTo: /u],
    [{ fault: { status: 503 } }, 400, /fault/u],
    [[], 400, /object/u],
    [{ restart: ['nowhere-0'] }, 404, /no server named nowhere-0/u],
  ])('refuses %j and changes nothing', async (body, status, problem) => {
    const heard = await post(body);
    expect([heard.status, heard.body.toString()]).toEqual([status, expect.stringMatching(problem)]);
    expect(simulator.faults.status).toBeNull();
    expect((await ask(`${simulator.url}/_control`, { method: 'PUT' })).status).toBe(405);
  });
});

describe('a fault', () => {
  /** The answer with these faults, and the page without them. */
  const heardWith = async (faults: Partial<Faults>): Promise<readonly [Heard, string]> => {
    const good = await page();
    simulator.setFaults(faults);
    return [await get(), good];
  };

  test.each([400, 401, 403, 404, 429, 500, 503])('may be a status: %i', async status => {
    const [heard] = await heardWith({ status });
    expect([heard.status, JSON.parse(heard.body.toString()).code]).toEqual([status, status]);
    expect(heard.headers['retry-after']).toBeUndefined();
    const retryAfter = new Date(NOW + 60_000).toUTCString();
    simulator.setFaults({ retryAfter });
    const again = await get();
    expect(again.headers['retry-after']).toBe(retryAfter);
  });

  test('may be for some requests, one method or another part of the service only', async () => {
    simulator.setFaults({ status: 503, times: 2 });
    const statuses = [await get(), await get(), await get()].map(({ status }) => status);
    expect(statuses).toEqual([503, 503, 200]);
    simulator.setFaults({ status: 500, times: null, method: 'POST' });
    expect((await get()).status).toBe(200);
    simulator.setFaults({ method: null, path: '/observability/v2/logs' });
    expect((await get()).status).toBe(200);
    expect((await get('/observability/v2/logs/types')).status).toBe(500);
  });

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
      const faults = { ...NO_FAULTS, body: 'gzip-bomb' } as const;
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
