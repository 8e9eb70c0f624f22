import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { ApiConfig } from '../../src/config/config.ts';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { BodyBuffer } from '../../src/lib/body-buffer.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { ServiceHttp } from '../../src/service/http-client.ts';
import { TEST_TLS } from '../support/certificates.ts';
import { startHttpServer, startTcpServer } from '../support/http-server.ts';
import { testApi } from '../support/test-api.ts';

const METRICS = { accept: 'text/plain', priority: 'metrics' } as const;

interface Opened extends AsyncDisposable {
  readonly client: ServiceHttp;
  readonly counters: Counters;
}

function open(baseUrl: string, settings: Partial<ApiConfig> = {}): Opened {
  const counters = new Counters();
  const api = testApi(baseUrl, settings);
  const client = new ServiceHttp({ api, clock: systemClock, counters });
  return { client, counters, [Symbol.asyncDispose]: () => client.close() };
}

/** Waits until the connection is free again, shortly after its answer was read. */
function isIdle(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve);
  });
}

test('a page is read with the key, below the path of base_url', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end('engine_up 1\n');
  });
  const headers = { 'x-region': new ConfigSecret('north') };
  await using opened = open(`${server.origin}/prefix`, { headers });
  const beforeMs = Date.now();
  const result = await opened.client.get('/observability/v2/metrics', METRICS);
  if (!result.ok) throw new Error(result.error.message);
  expect(result.body.toString()).toBe('engine_up 1\n');
  expect(result.status).toBe(200);
  expect(result.headers['content-type']).toBe('text/plain; version=0.0.4');
  expect(result.wireBytes).toBe(12);
  expect(result.startedAtMs).toBeGreaterThanOrEqual(beforeMs);
  expect(result.durationMs).toBeGreaterThan(0);
  const request = server.requests[0];
  expect(request?.path).toBe('/prefix/observability/v2/metrics');
  expect(request?.headers).toMatchObject({
    'x-api-key': 'test-key',
    'x-region': 'north',
    accept: 'text/plain',
    'user-agent': 'prom2otlp',
  });
  expect(opened.counters.list()[0]?.get('metrics', 'ok')).toBe(1);
});

test('over TLS the authority of the configuration is trusted', async () => {
  await using server = await startHttpServer((_request, response) => void response.end('ok'), {
    isTls: true,
  });
  await using opened = open(server.origin, { ca: TEST_TLS.ca });
  const result = await opened.client.get('/', METRICS);
  expect(result.ok).toBe(true);
});

test('bodies in any encoding are unpacked into the given memory', async () => {
  const page = 'engine_up 1\n'.repeat(10_000);
  const packed = { gzip: gzipSync(page), zstd: zstdCompressSync(page) };
  await using server = await startHttpServer(({ path }, response) => {
    const encoding = path === '/gzip' ? 'gzip' : 'zstd';
    response.setHeader('content-encoding', encoding);
    response.end(packed[encoding]);
  });
  await using opened = open(server.origin);
  const into = new BodyBuffer();
  for (const [encoding, bytes] of Object.entries(packed)) {
    const result = await opened.client.get(`/${encoding}`, { ...METRICS, into });
    if (!result.ok) throw new Error(result.error.message);
    expect(result.body.toString()).toBe(page);
    expect(result.wireBytes).toBe(bytes.length);
    expect(result.body.buffer).toBe(into.bytes.buffer);
  }
});

test('the next poll reuses the memory and the connection', async () => {
  const ports = new Set<number | undefined>();
  await using server = await startHttpServer((_request, response) => {
    ports.add(response.socket?.remotePort);
    response.end('x'.repeat(300_000));
  });
  await using opened = open(server.origin);
  const into = new BodyBuffer();
  const memories = new Set<ArrayBufferLike>();
  for (let poll = 0; poll < 5; poll++) {
    const result = await opened.client.get('/', { ...METRICS, into });
    if (result.ok) memories.add(result.body.buffer);
    await isIdle();
  }
  expect(memories.size).toBe(1);
  expect(ports.size).toBe(1);
});

test('a changed key is used at once, and the poll is not lost', async () => {
  await using server = await startHttpServer(({ headers }, response) => {
    response.statusCode = headers['x-api-key'] === 'new-key' ? 200 : 401;
    response.end('engine_up 1\n');
  });
  let source = 'old-key';
  await using opened = open(server.origin, { key: new ConfigSecret(source, () => source) });
  source = 'new-key';
  const result = await opened.client.get('/', METRICS);
  expect(result.ok).toBe(true);
  expect(server.requests.map(({ headers }) => headers['x-api-key'])).toEqual([
    'old-key',
    'new-key',
  ]);
});

test('a refused key that has not changed is tried once only', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.statusCode = 401;
    response.end('{"errors":[{"message":"invalid key"}],"trace_id":"abc-1"}');
  });
  await using opened = open(server.origin);
  const result = await opened.client.get('/metrics', METRICS);
  expect(result.ok || result.error).toEqual({
    kind: 'key',
    reason: 'auth',
    message: `cannot get ${server.origin}/metrics: the service refused the key (401: invalid key)`,
    hint: 'the key may be wrong or may lack access: check api.key; its source was read again and has no other usable key',
    status: 401,
    traceId: 'abc-1',
    isKeyChanged: false,
    isOutcomeUnknown: false,
  });
  expect(server.requests.length).toBe(1);
});

test('a key that is invalid in a header is not sent, and its source is read again', async () => {
  await using server = await startHttpServer((_request, response) => void response.end('ok'));
  let source = 'two\nlines';
  await using opened = open(server.origin, { key: new ConfigSecret(source, () => source) });
  const refused = await opened.client.get('/', METRICS);
  expect(refused.ok || refused.error.reason).toBe('auth');
  expect(server.requests.length).toBe(0);
  source = 'one-line';
  expect((await opened.client.get('/', METRICS)).ok).toBe(true);
  expect(server.requests.length).toBe(1);
});

test('a GET on a kept-alive connection that the server has just closed is sent once more', async () => {
  let requestCount = 0;
  await using server = await startTcpServer(socket => {
    let isUsed = false;
    socket.on('data', () => {
      requestCount++;
      if (isUsed) socket.destroy();
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      isUsed = true;
    });
  });
  await using opened = open(server.origin);
  expect((await opened.client.get('/', METRICS)).ok).toBe(true);
  await isIdle();
  expect((await opened.client.get('/', METRICS)).ok).toBe(true);
  await isIdle();
  expect(requestCount).toBe(3);
  // An operation may have had its effect: it is not sent twice.
  const result = await opened.client.requestJson('POST', '/', { body: {} });
  expect(result.ok || result.error.reason).toBe('reset');
  expect(requestCount).toBe(4);
});

test('it is sent once more also if another request connects meanwhile', async () => {
  let connections = 0;
  await using server = await startTcpServer(socket => {
    const isFirst = ++connections === 1;
    let requests = 0;
    socket.on('data', () => {
      if (isFirst && ++requests === 2)
        void expect
          .poll(() => connections)
          .toBe(2)
          .then(() => socket.destroy());
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
  });
  await using opened = open(server.origin);
  await opened.client.get('/', METRICS);
  await isIdle();
  const results = await Promise.all([1, 2].map(() => opened.client.get('/', METRICS)));
  expect(results.map(result => result.ok || result.error.message)).toEqual([true, true]);
});

test('a GET that is reset on a new connection is not sent again', async () => {
  let requestCount = 0;
  await using server = await startTcpServer(socket => {
    socket.on('data', () => {
      requestCount++;
      socket.destroy();
    });
  });
  await using opened = open(server.origin);
  const result = await opened.client.get('/', METRICS);
  expect(result.ok || result.error.reason).toBe('reset');
  expect(requestCount).toBe(1);
});

test('Retry-After delays requests of the same or lower priority, and lets metrics through', async () => {
  await using server = await startHttpServer(({ path }, response) => {
    if (path === '/logs') response.writeHead(429, { 'retry-after': '120' });
    response.end('ok');
  });
  await using opened = open(server.origin);
  const logs = { accept: 'application/json', priority: 'logs' } as const;
  const limited = await opened.client.get('/logs', logs);
  expect(limited.ok || limited.error).toMatchObject({
    reason: 'rate_limited',
    retryAfterMs: 120_000,
  });
  const held = await opened.client.get('/logs', logs);
  if (held.ok) throw new Error('unexpected success');
  expect(held.error.reason).toBe('rate_limited');
  expect(held.error.retryAfterMs).toBeGreaterThan(119_000);
  expect((await opened.client.get('/metrics', METRICS)).ok).toBe(true);
  expect(server.requests.map(({ path }) => path)).toEqual(['/logs', '/metrics']);
});

test('a Retry-After of a month counts as a quarter of an hour', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.writeHead(503, { 'retry-after': '2592000' });
    response.end();
  });
  await using opened = open(server.origin);
  const result = await opened.client.get('/', METRICS);
  expect(result.ok || result.error).toMatchObject({
    reason: 'server_error',
    retryAfterMs: 900_000,
  });
});

test('an operation sends and reads JSON', async () => {
  await using server = await startHttpServer((request, response) => {
    response.statusCode = 201;
    response.end(JSON.stringify({ got: JSON.parse(request.body || 'null') as unknown }));
  });
  await using opened = open(server.origin);
  const body = { service_id: 'db1', key: 'backup:1' };
  const result = await opened.client.requestJson('POST', '/backup/v1/restores', {
    body,
    query: { page: 2, 'a b': 'ä&=' },
  });
  expect(result).toMatchObject({ ok: true, status: 201, json: { got: body } });
  const request = server.requests[0];
  expect(request).toMatchObject({
    method: 'POST',
    path: '/backup/v1/restores?page=2&a+b=%C3%A4%26%3D',
  });
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    accept: 'application/json',
    'x-api-key': 'test-key',
  });
});

test('a path stays within the origin, and is encoded where HTTP requires it', async () => {
  await using server = await startHttpServer((_request, response) => void response.end('ok'));
  await using opened = open(`${server.origin}/base`);
  for (const path of ['/ä b', '/a%2Fb:c?d=é', '//evil.example/x', '/@evil.example', '/a#b'])
    await opened.client.get(path, METRICS);
  expect(server.requests.map(({ path }) => path)).toEqual([
    '/base/%C3%A4%20b',
    '/base/a%2Fb:c?d=%C3%A9',
    '/base//evil.example/x',
    '/base/@evil.example',
    '/base/a',
  ]);
  expect(() => opened.client.get('@evil.example', METRICS)).toThrow('BUG: ');
});

test('an operation without an answer body returns no value, one that is not JSON fails', async () => {
  await using server = await startHttpServer(({ method }, response) => {
    response.statusCode = method === 'DELETE' ? 204 : 200;
    response.end(method === 'DELETE' ? undefined : '<html>');
  });
  await using opened = open(server.origin);
  const deleted = await opened.client.requestJson('DELETE', '/x');
  expect(deleted).toMatchObject({ ok: true, status: 204, json: undefined });
  const page = await opened.client.requestJson('GET', '/x');
  expect(page.ok || page.error.reason).toBe('not_json');
});

test('a 400 means the key if nothing else can be wrong, else the request', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.statusCode = 400;
    response.end('{"detail":[{"loc":["body","name"],"msg":"field required"}]}');
  });
  await using opened = open(server.origin);
  const plain = await opened.client.get('/', METRICS);
  expect(plain.ok || plain.error.reason).toBe('auth');
  const posted = await opened.client.requestJson('POST', '/', { body: {} });
  expect(posted.ok || posted.error).toMatchObject({
    reason: 'bad_request',
    message: expect.stringMatching(/\(400: body\.name: field required\)$/),
  });
  const asked = await opened.client.requestJson('GET', '/', { query: { page: 1 } });
  expect(asked.ok || asked.error.reason).toBe('bad_request');
});

test('a request can be aborted at any time, and after closing nothing is sent', async () => {
  await using server = await startHttpServer(() => undefined);
  const { client } = open(server.origin);
  const stop = new AbortController();
  const running = client.get('/', { ...METRICS, signal: stop.signal });
  await expect.poll(() => server.requests.length).toBe(1);
  stop.abort();
  const given = await running;
  expect(given.ok || given.error.reason).toBe('aborted');
  const late = await client.get('/', { ...METRICS, signal: stop.signal });
  expect(late.ok || late.error.reason).toBe('aborted');
  await client.close();
  const closed = await client.get('/', METRICS);
  expect(closed.ok || closed.error.reason).toBe('aborted');
  expect(server.requests.length).toBe(1);
});
