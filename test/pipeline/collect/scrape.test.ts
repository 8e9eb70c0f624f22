import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { ApiConfig } from '../../../src/config/config.ts';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { BodyBufferPool } from '../../../src/lib/body-buffer.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { Counters, renderCounters } from '../../../src/lib/counters.ts';
import {
  Scraper,
  type ScrapeFailure,
  type ScrapeResult,
} from '../../../src/pipeline/collect/scrape.ts';
import { ServiceClients } from '../../../src/service/clients.ts';
import { findClosedPort, startHttpServer } from '../../support/http-server.ts';
import { testApi } from '../../support/test-api.ts';

const TEXT = { 'content-type': 'text/plain; version=0.0.4' };

interface Setting extends AsyncDisposable {
  readonly scraper: Scraper;
  readonly counters: Counters;
  readonly buffers: BodyBufferPool;
}

interface SettingOptions {
  readonly settings?: Partial<ApiConfig>;
  readonly bodyBytesMax?: number;
  readonly path?: string;
}

function setUp(baseUrl: string, options: SettingOptions = {}): Setting {
  const { settings, bodyBytesMax = 1_000_000, path = '/metrics' } = options;
  const clock = systemClock;
  const api = testApi(baseUrl, settings);
  const counters = new Counters();
  const clients = new ServiceClients({ clock, counters });
  const buffers = new BodyBufferPool();
  const others = { configured: new Map(), otherShards: { serviceCount: 0, takes: () => false } };
  const target = { id: 'id', name: 'name', services: [], ...others, api, path, intervalMs: 60_000 };
  const parts = { target, client: clients.get(api), buffers, clock, counters };
  const scraper = new Scraper({ ...parts, bodyBytesMax: () => bodyBytesMax });
  return { scraper, counters, buffers, [Symbol.asyncDispose]: () => clients.close() };
}

type Handler = Parameters<typeof startHttpServer>[0];

/** Starts a server with this answer, and a scraper of it. Also returns the received requests. */
async function serve(answer: Handler, options?: SettingOptions) {
  const server = await startHttpServer(answer);
  const setting = setUp(server.origin, options);
  const close = async (): Promise<void> => {
    await setting[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
  return { ...setting, requests: server.requests, [Symbol.asyncDispose]: close };
}

async function scrapeOnce(answer: Handler, options?: SettingOptions): Promise<ScrapeResult> {
  await using setting = await serve(answer, options);
  return await setting.scraper.scrape();
}

function failureOf(result: ScrapeResult): ScrapeFailure {
  if (result.kind === 'page') throw new Error('unexpected page');
  return result;
}

function send(status: number, body: string, headers: Record<string, string> = TEXT) {
  return (_: unknown, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(body);
}

test('a page has its format, times and sizes, and the request prefers the right formats', async () => {
  const format = { 'content-type': 'application/openmetrics-text; version=1.0.0' };
  const path = '/metrics?service=orders';
  await using setting = await serve(send(200, 'engine_up 1\n', format), { path });
  const beforeMs = Date.now();
  const result = await setting.scraper.scrape();
  if (result.kind !== 'page') throw new Error(result.message);
  const { page } = result;
  expect(page.bytes.toString()).toBe('engine_up 1\n');
  expect(page).toMatchObject({ format: 'openmetrics', wireBytes: 12 });
  expect(page.startedAtMs).toBeGreaterThanOrEqual(beforeMs);
  expect(page.startedAtMs).toBeLessThanOrEqual(Date.now());
  expect(page.durationMs).toBeGreaterThan(0);
  expect(setting.requests[0]?.path).toBe(path);
  expect(setting.requests[0]?.headers.accept).toBe(
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
  );
  const rendered = renderCounters(setting.counters);
  expect(rendered).toContain('prom2otlp_collect_scrapes_total{result="ok"} 1');
  expect(rendered).toContain('prom2otlp_collect_body_bytes_total 12');
  expect(rendered).toContain('prom2otlp_collect_wire_bytes_total 12');
});

test('every bad answer has its reason', async () => {
  const check = async (
    want: string,
    answer: Handler,
    options: SettingOptions = {},
  ): Promise<ScrapeFailure> => {
    const failure = failureOf(await scrapeOnce(answer, options));
    expect(failure.reason, failure.message).toBe(want);
    return failure;
  };
  const html = await check('not_metrics', send(200, '<html>log in</html>'));
  expect(html.message).toMatch(
    /^cannot read metrics from http:\/\/127\.0\.0\.1:\d+\/metrics: the answer is a web page$/,
  );
  expect(html.hint).toBe('check api.base_url and metrics.path');
  await check('not_metrics', send(200, '{}', { 'content-type': 'application/json' }));
  for (const status of [200, 204]) await check('empty', send(status, ''));
  for (const status of [400, 401, 403]) await check('auth', send(status, ''));
  await check('not_found', send(404, ''));
  await check('rate_limited', send(429, ''));
  await check('server_error', send(500, ''));
  await check('redirect', send(302, '', { location: 'https://elsewhere.example/' }));
  await check('timeout', () => undefined, { settings: { timeoutMs: 50 } });
  const large = await check('too_large', send(200, 'x'.repeat(101)), { bodyBytesMax: 100 });
  expect(large.hint).toContain('raise metrics.limits.body');
  await check('cut', (_, response) => {
    response.writeHead(200, { ...TEXT, 'content-length': '1000' });
    response.write('engine_up 1\n', () => response.destroy());
  });
});

test('a failure has its time and duration, and is counted by its reason', async () => {
  await using setting = setUp(`http://127.0.0.1:${await findClosedPort()}`);
  const beforeMs = Date.now();
  const failure = failureOf(await setting.scraper.scrape());
  expect(failure.reason).toBe('refused');
  expect(failure.startedAtMs).toBeGreaterThanOrEqual(beforeMs);
  expect(failure.durationMs).toBeGreaterThan(0);
  const rendered = renderCounters(setting.counters);
  expect(rendered).toContain('prom2otlp_collect_scrapes_total{result="refused"} 1');
});

test('a refused key is held off, and tried again at once when its source has changed', async () => {
  let source = 'wrong';
  const settings = { key: new ConfigSecret(source, () => source) };
  const answer: Handler = (request, response) =>
    send(request.headers['x-api-key'] === 'right' ? 200 : 400, 'engine_up 1\n')(request, response);
  await using setting = await serve(answer, { settings });
  const { scraper, requests } = setting;
  for (let i = 0; i < 3; i++) failureOf(await scraper.scrape());
  const held = failureOf(await scraper.scrape());
  expect(held.reason).toBe('auth');
  expect(held.message).toMatch(/the service refused the key \(400\)$/);
  expect(requests.length).toBe(2);
  source = 'right';
  expect((await scraper.scrape()).kind).toBe('page');
  expect(requests.length).toBe(3);
  const rendered = renderCounters(setting.counters);
  expect(rendered).toContain('prom2otlp_collect_held_total{reason="auth"} 2');
  expect(rendered).toContain('prom2otlp_collect_scrapes_total{result="auth"} 4');
});

test('Retry-After is honoured', async () => {
  await using setting = await serve(send(503, '', { 'retry-after': '90' }));
  expect(failureOf(await setting.scraper.scrape()).retryAfterMs).toBe(90_000);
  const held = { reason: 'server_error', durationMs: 0 };
  expect(failureOf(await setting.scraper.scrape())).toMatchObject(held);
  expect(setting.requests.length).toBe(1);
});

test('a target with a slow drip does not delay the others', async () => {
  await using server = await startHttpServer((request, response) => {
    if (request.path === '/metrics') return send(200, 'engine_up 1\n')(request, response);
    response.writeHead(200, TEXT);
    const drip = setInterval(() => response.write('#\n'), 5);
    response.on('close', () => clearInterval(drip));
  });
  await using slow = setUp(server.origin, { path: '/slow', settings: { timeoutMs: 400 } });
  await using quick = setUp(server.origin);
  const ended: string[] = [];
  const dripping = slow.scraper.scrape().then(result => {
    ended.push('slow');
    return result;
  });
  for (let poll = 0; poll < 5; poll++) {
    expect((await quick.scraper.scrape()).kind).toBe('page');
    ended.push('quick');
  }
  expect(failureOf(await dripping).reason).toBe('timeout');
  expect(ended).toEqual(['quick', 'quick', 'quick', 'quick', 'quick', 'slow']);
});

test('memory is lent for a page and then goes to the next target', async () => {
  await using setting = await serve(send(200, 'x'.repeat(200_000)));
  const { scraper, buffers } = setting;
  const first = await scraper.scrape();
  expect(buffers.idleBytes).toBe(0);
  scraper.release();
  scraper.release();
  const kept = buffers.idleBytes;
  expect(kept).toBeGreaterThanOrEqual(200_000);
  const second = await scraper.scrape();
  if (first.kind !== 'page' || second.kind !== 'page') throw new Error('unexpected failure');
  expect(second.page.bytes.buffer).toBe(first.page.bytes.buffer);
  scraper.release();
  expect(buffers.idleBytes).toBe(kept);
});

test('a scrape can be aborted, and a concurrent second one is a bug', async () => {
  await using setting = await serve(() => undefined);
  const stop = new AbortController();
  const running = setting.scraper.scrape(stop.signal);
  await expect(setting.scraper.scrape()).rejects.toThrow('BUG: the target id is scraped twice');
  stop.abort();
  expect(failureOf(await running).reason).toBe('aborted');
});

test('no failure shows the key, even if the service echoes it', async () => {
  const key = 'canary-0123';
  const answers = [
    send(200, `<html>${key}`, { 'content-type': key }),
    send(401, JSON.stringify({ errors: [{ message: key }], trace_id: key })),
    send(302, '', { location: `https://${key}.example/${key}` }),
    send(200, 'x', { 'content-encoding': key }),
    send(500, key),
  ];
  for (const answer of answers) {
    const settings = { key: new ConfigSecret(key) };
    const failure = failureOf(await scrapeOnce(answer, { settings }));
    expect(JSON.stringify(failure)).not.toContain('canary');
  }
});
