import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { METRICS_PATH } from '../../src/simulator/metrics-endpoint.ts';
import {
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../src/simulator/simulator.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ask, type Heard, type Question } from './ask.ts';

const KEY = 'a-key';
const NOW = Date.UTC(2026, 2, 4, 9, 0, 30);

async function start(options: Partial<SimulatorOptions> = {}): Promise<[Simulator, FakeClock]> {
  const clock = new FakeClock(NOW);
  return [await startSimulator({ clock, key: KEY, ...options }), clock];
}

function get(simulator: Simulator, path = METRICS_PATH, question: Question = {}): Promise<Heard> {
  const headers = { 'x-api-key': KEY, ...question.headers };
  return ask(simulator.url + path, { ...question, headers });
}

async function page(simulator: Simulator, query = ''): Promise<string> {
  const { status, body } = await get(simulator, METRICS_PATH + query);
  expect(status).toBe(200);
  return body.toString();
}

/** Value and timestamp of the one line of that series and server. */
function lineOf(text: string, name: string, server: string): readonly [number, number] {
  const label = `server_name="${server}"`;
  const line = text.split('\n').find(one => one.startsWith(`${name}{`) && one.includes(label));
  const [value, timeMs] =
    line
      ?.replace(/^.*\} /u, '')
      .split(' ')
      .map(Number) ?? [];
  return [value ?? NaN, timeMs ?? NaN];
}

describe('the metrics page', () => {
  test('shows all services, with the values that sample() predicts', async () => {
    const [simulator] = await start();
    await using _ = simulator;
    const { headers, body } = await get(simulator);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(headers.date).toBe(new Date(NOW).toUTCString());
    const text = body.toString();
    expect(text).toBe(simulator.page().toString());
    for (const server of ['orders-1', 'ledger-2', 'sessions-0']) {
      const sample = simulator.sample('engine_global_status_queries', { server_name: server });
      const [value, timeMs] = lineOf(text, 'engine_global_status_queries', server);
      expect({ value, timeMs }).toEqual(sample);
    }
    expect(simulator.sample('engine_nothing')).toBeUndefined();
  });

  test('refreshes once a minute, and its proxies are two minutes older', async () => {
    const [simulator, clock] = await start();
    await using _ = simulator;
    const first = await page(simulator);
    await clock.advance(29_999);
    expect(await page(simulator)).toBe(first);
    await clock.advance(1);
    const second = await page(simulator);
    const minute = Date.UTC(2026, 2, 4, 9, 1);
    expect(lineOf(first, 'engine_up', 'orders-0')).toEqual([1, minute - 60_000]);
    expect(lineOf(second, 'engine_up', 'orders-0')).toEqual([1, minute]);
    expect(lineOf(second, 'proxy_up', 'orders-proxy-0')).toEqual([1, minute - 120_000]);
    const [before] = lineOf(first, 'engine_global_status_queries', 'orders-0');
    const [after] = lineOf(second, 'engine_global_status_queries', 'orders-0');
    expect(after).toBeGreaterThan(before);
  });

  test('takes its speed from the options', async () => {
    const [simulator, clock] = await start({ refreshMs: 1_000, proxyLagMs: 5_000 });
    await using _ = simulator;
    await clock.advance(1_500);
    const text = await page(simulator);
    expect(lineOf(text, 'engine_up', 'orders-0')[1]).toBe(NOW + 1_000);
    expect(lineOf(text, 'proxy_up', 'orders-proxy-0')[1]).toBe(NOW - 4_000);
  });

  test('shows only the service whose name is requested', async () => {
    const [simulator] = await start();
    await using _ = simulator;
    const ledger = await page(simulator, '?service=ledger');
    expect(new Set(ledger.match(/namespace="[^"]*"/gu))).toEqual(
      new Set(['namespace="dbpgf10000002"']),
    );
    expect(await page(simulator, '?service=dbpgf10000002')).toBe('');
  });

  test('holds a corpus of any size', async () => {
    const [simulator] = await start({ corpus: { services: 4, seriesPerService: 300 } });
    await using _ = simulator;
    const samples = (text: string): number => text.match(/^[a-z]/gmu)?.length ?? 0;
    expect(samples(await page(simulator))).toBe(1_200);
    expect(samples(await page(simulator, '?service=corpus-3'))).toBe(300);
  });
});

describe('a server', () => {
  test('that restarts begins again with the next refresh', async () => {
    const [simulator, clock] = await start();
    await using _ = simulator;
    const name = 'engine_global_status_queries';
    const [before] = lineOf(await page(simulator), name, 'orders-0');
    expect(simulator.restart('orders-0')).toBe(true);
    expect(lineOf(await page(simulator), name, 'orders-0')[0]).toBe(before);
    await clock.advance(60_000);
    const text = await page(simulator);
    expect(lineOf(text, name, 'orders-0')[0]).toBeLessThan(before / 10);
    expect(lineOf(text, 'engine_global_status_uptime', 'orders-0')[0]).toBe(30);
    expect(lineOf(text, 'engine_global_status_uptime', 'orders-1')[0]).toBeGreaterThan(86_400);
  });

  test('whose status is flushed keeps its uptime', async () => {
    const [simulator, clock] = await start();
    await using _ = simulator;
    const name = 'engine_global_status_table_locks_immediate';
    const [before] = lineOf(await page(simulator), name, 'sessions-0');
    simulator.flushStatus('sessions-0');
    await clock.advance(60_000);
    const text = await page(simulator);
    expect(lineOf(text, name, 'sessions-0')[0]).toBeLessThan(before);
    expect(lineOf(text, 'engine_global_status_uptime', 'sessions-0')[0]).toBeGreaterThan(86_400);
  });
});

describe('the key', () => {
  test('is required everywhere, and its absence is answered with 400', async () => {
    const [simulator] = await start();
    await using _ = simulator;
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

  test('is answered with 401 by the agent always, and everywhere if configured', async () => {
    const [simulator] = await start({ refusalStatus: 401 });
    await using _ = simulator;
    expect((await ask(simulator.url + METRICS_PATH)).status).toBe(401);
    simulator.refusalStatus = 403;
    expect((await ask(simulator.url + METRICS_PATH)).status).toBe(403);
    const { status, body } = await ask(`${simulator.url}/copilot/v1/chat`, { method: 'POST' });
    expect([status, JSON.parse(body.toString())]).toMatchObject([401, { detail: [{}] }]);
  });

  test('is checked before a redirect to a path with a slash, if configured', async () => {
    const [simulator] = await start();
    await using _ = simulator;
    simulator.setFaults({ isSlashRequired: true });
    const path = '/copilot/v1/session';
    const body = { agent_id: 'a' };
    const { status, headers } = await get(simulator, path, { method: 'POST', body });
    expect([status, headers.location]).toEqual([307, `${path}/`]);
    expect((await get(simulator, `${path}/`, { method: 'POST', body })).status).toBe(200);
    expect((await ask(simulator.url + path, { method: 'POST', body })).status).toBe(401);
  });

  test('can be rotated', async () => {
    const [simulator] = await start();
    await using _ = simulator;
    simulator.key = 'another';
    expect((await get(simulator)).status).toBe(400);
    expect(
      (await get(simulator, METRICS_PATH, { headers: { 'x-api-key': 'another' } })).status,
    ).toBe(200);
  });
});

test('requests are counted, and the latest are kept with their headers', async () => {
  const [simulator] = await start();
  await using _ = simulator;
  await get(simulator, `${METRICS_PATH}?service=ledger`, { headers: { 'x-region': 'north' } });
  await ask(`${simulator.url}/elsewhere`);
  const { requests } = simulator;
  expect(requests.count).toBe(2);
  expect(requests.countByPath).toEqual(
    new Map([
      [METRICS_PATH, 1],
      ['/elsewhere', 1],
    ]),
  );
  expect(requests.latest[0]).toMatchObject({
    method: 'GET',
    url: `${METRICS_PATH}?service=ledger`,
    headers: { 'x-api-key': KEY, 'x-region': 'north' },
    atMs: NOW,
  });
});

test('unknown paths are answered with 404, other methods with 405', async () => {
  const [simulator] = await start();
  await using _ = simulator;
  expect((await get(simulator, '/observability/v2/metrics/more')).status).toBe(404);
  expect((await get(simulator, '/observability/v2/metricsmore')).status).toBe(404);
  expect((await get(simulator, METRICS_PATH, { method: 'POST' })).status).toBe(405);
  expect((await get(simulator, '/backup/v1/nothing%ZZ')).status).toBe(404);
});

test('the service can be served over TLS', async () => {
  const pem = (name: string): string =>
    readFileSync(new URL(`../support/tls/${name}`, import.meta.url), 'utf8');
  const tls = { key: pem('localhost.key'), cert: pem('localhost.pem') };
  const [simulator] = await start({ tls });
  await using _ = simulator;
  expect(simulator.url).toBe(`https://127.0.0.1:${simulator.port}`);
  // The certificate is for the name.
  const url = `https://localhost:${simulator.port}${METRICS_PATH}`;
  const heard = await ask(url, { ca: pem('ca.pem'), headers: { 'x-api-key': KEY } });
  expect(heard.body.equals(simulator.page())).toBe(true);
});

describe('/_control', () => {
  const post = (simulator: Simulator, body: unknown): Promise<Heard> =>
    ask(`${simulator.url}/_control`, { method: 'POST', body });

  test('needs no key, and sets faults, restarts and flushes', async () => {
    const [simulator, clock] = await start();
    await using _ = simulator;
    const command = { faults: { status: 503 }, restart: ['orders-0'], flush: ['sessions-0'] };
    expect((await post(simulator, command)).status).toBe(200);
    expect((await get(simulator)).status).toBe(503);
    expect((await post(simulator, { reset: true })).status).toBe(200);
    await clock.advance(60_000);
    const text = await page(simulator);
    expect(lineOf(text, 'engine_global_status_uptime', 'orders-0')[0]).toBe(30);
    const locks = lineOf(text, 'engine_global_status_table_locks_immediate', 'sessions-0');
    expect(locks[0]).toBeLessThan(200);
  });

  test('shows the simulated services, and never a key', async () => {
    const [simulator] = await start();
    await using _ = simulator;
    await get(simulator);
    const { status, body } = await ask(`${simulator.url}/_control`);
    expect(status).toBe(200);
    expect(JSON.parse(body.toString())).toMatchObject({
      services: [{ id: 'dbpgf10000001' }, {}, {}, { servers: ['sessions-0'] }],
      requests: 1,
      requestsByPath: { [METRICS_PATH]: 1 },
      faults: { status: null },
    });
    expect(body.toString()).not.toContain(KEY);
  });

  test('refuses unknown commands and changes nothing', async () => {
    const [simulator] = await start();
    await using _ = simulator;
    const check = async (body: unknown, status: number, problem: RegExp): Promise<void> => {
      const heard = await post(simulator, body);
      expect([heard.status, heard.body.toString()]).toEqual([
        status,
        expect.stringMatching(problem),
      ]);
      expect(simulator.faults.status).toBeNull();
    };
    await check({ faults: { status: 503, stat: 1 } }, 400, /stat/u);
    await check({ fault: { status: 503 } }, 400, /fault/u);
    await check([], 400, /object/u);
    await check({ restart: ['nowhere-0'] }, 404, /no server named nowhere-0/u);
    expect((await ask(`${simulator.url}/_control`, { method: 'PUT' })).status).toBe(405);
  });
});

test('a body of more than 1 MiB is refused', async () => {
  const [simulator] = await start();
  await using _ = simulator;
  const body = Buffer.alloc(2 ** 20 + 1, ' ');
  const heard = await get(simulator, '/copilot/v1/chat', { method: 'POST', body });
  expect(heard.status).toBe(413);
});

test('two simulators with the same seed give the same answers', async () => {
  const [first] = await start({ seed: 3 });
  const [second] = await start({ seed: 3 });
  await using _ = first;
  await using __ = second;
  expect((await page(first)) === (await page(second))).toBe(true);
});
