// The simulator as a client sees it, with the failures that /_control can set.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { METRICS_PATH, type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { ask, type Heard, type Question } from '../support/ask.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { TEST_TLS } from '../support/certificates.ts';

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

  test('can be rotated', async () => {
    simulator.key = 'another';
    expect((await get()).status).toBe(400);
    expect((await get(METRICS_PATH, { headers: { 'x-api-key': 'another' } })).status).toBe(200);
  });
});

test('requests are counted, by path', async () => {
  await get(`${METRICS_PATH}?service=ledger`);
  await ask(`${simulator.url}/elsewhere`);
  const { count, countByPath } = simulator.requests;
  expect([count, Object.fromEntries(countByPath)]).toEqual([
    2,
    { [METRICS_PATH]: 1, '/elsewhere': 1 },
  ]);
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
    const faults = { status: 503, times: null };
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
    [{ faults: { status: '503', path: 'x' } }, 400, /path: .*status: /u],
    [{ faults: { status: 429, retryAfter: '1\r\nx: y' } }, 400, /retryAfter: /u],
    [{ faults: { status: 503, times: 0 } }, 400, /times: /u],
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

describe('a failure', () => {
  test.each([400, 401, 403, 404, 429, 500, 503])('may be a status: %i', async status => {
    simulator.setFaults({ status });
    const heard = await get();
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
});
