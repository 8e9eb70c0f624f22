import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { BodyBuffer } from '../../src/lib/body-buffer.ts';
import { USER_AGENT } from '../../src/lib/version.ts';
import { Counters } from '../../src/lib/counters.ts';
import { ServiceHttp } from '../../src/service/http-client.ts';
import { TEST_TLS } from '../support/certificates.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { startHttpServer, startTcpServer } from '../support/http-server.ts';
import { openHttp, openService } from '../support/service-client.ts';
import { testApi } from '../support/test-api.ts';

const METRICS = { accept: 'text/plain', part: 'metrics' } as const;

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
  await using opened = openHttp(`${server.origin}/prefix`, { headers });
  const beforeMs = Date.now();
  const result = await opened.http.get('/observability/v2/metrics', METRICS);
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
    'user-agent': USER_AGENT,
  });
  expect(opened.counters.list()[0]?.get('metrics', 'ok')).toBe(1);
});

test('over TLS the authority of the configuration is trusted', async () => {
  await using server = await startHttpServer((_request, response) => void response.end('ok'), {
    isTls: true,
  });
  await using opened = openHttp(server.origin, { ca: TEST_TLS.ca });
  const result = await opened.http.get('/', METRICS);
  expect(result.ok).toBe(true);
});

test('each poll reuses the memory and the connection, in any encoding', async () => {
  const page = 'engine_up 1\n'.repeat(10_000);
  const packed = {
    identity: Buffer.from(page),
    gzip: gzipSync(page),
    zstd: zstdCompressSync(page),
  };
  const ports = new Set<number | undefined>();
  await using service = await openService(({ path }, response) => {
    ports.add(response.socket?.remotePort);
    const encoding = path.slice(1) as keyof typeof packed;
    response.setHeader('content-encoding', encoding);
    response.end(packed[encoding]);
  });
  const into = new BodyBuffer();
  const memories = new Set<ArrayBufferLike>();
  for (const [encoding, bytes] of Object.entries({ ...packed, ...packed })) {
    const result = await service.http.get(`/${encoding}`, { ...METRICS, into });
    if (!result.ok) throw new Error(result.error.message);
    expect(result.body.toString()).toBe(page);
    expect(result.wireBytes).toBe(bytes.length);
    memories.add(result.body.buffer);
    await isIdle();
  }
  expect([memories.size, ports.size]).toEqual([1, 1]);
});

test('a changed key is used at once, and the poll is not lost', async () => {
  let source = 'old-key';
  await using service = await openService(
    ({ headers }, response) => {
      response.statusCode = headers['x-api-key'] === 'new-key' ? 200 : 401;
      response.end('engine_up 1\n');
    },
    { key: new ConfigSecret(source, () => source) },
  );
  source = 'new-key';
  const result = await service.http.get('/', METRICS);
  expect(result.ok).toBe(true);
  expect(service.server.requests.map(({ headers }) => headers['x-api-key'])).toEqual([
    'old-key',
    'new-key',
  ]);
});

test('a refused key that has not changed is tried once only', async () => {
  await using service = await openService((_request, response) => {
    response.statusCode = 401;
    response.end('{"errors":[{"message":"invalid key"}],"trace_id":"abc-1"}');
  });
  const result = await service.http.get('/metrics', METRICS);
  expect(result.ok || result.error).toEqual({
    kind: 'key',
    reason: 'auth',
    message: `cannot get ${service.server.origin}/metrics: the service refused the key (401: invalid key)`,
    hint: 'the key may be wrong or may lack access: check api.key; its source was read again and has no other usable key',
    status: 401,
    traceId: 'abc-1',
    isKeyChanged: false,
    isOutcomeUnknown: false,
  });
  expect(service.server.requests.length).toBe(1);
});

test('a key that is invalid in a header is not sent, and its source is read again', async () => {
  let source = 'two\nlines';
  await using service = await openService((_request, response) => void response.end('ok'), {
    key: new ConfigSecret(source, () => source),
  });
  const refused = await service.http.get('/', METRICS);
  expect(refused.ok || refused.error.reason).toBe('auth');
  expect(service.server.requests.length).toBe(0);
  source = 'one-line';
  expect((await service.http.get('/', METRICS)).ok).toBe(true);
  expect(service.server.requests.length).toBe(1);
});

test('a GET on a kept-alive connection that the server has just closed is sent once more', async () => {
  const requests: string[] = [];
  let isGone = false;
  await using server = await startTcpServer(socket => {
    let isUsed = isGone;
    socket.on('data', data => {
      requests.push(data.toString().slice(0, 4));
      if (isUsed) socket.destroy();
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      isUsed = true;
    });
  });
  await using opened = openHttp(server.origin);
  const reasonOf = async (method: 'GET' | 'POST'): Promise<string> => {
    const result = await opened.http.requestJson(method, '/');
    await isIdle();
    return result.ok ? 'ok' : result.error.reason;
  };
  expect([await reasonOf('GET'), await reasonOf('GET')]).toEqual(['not_json', 'not_json']);
  expect(requests).toHaveLength(3);
  // An operation may have had its effect: it is not sent twice.
  expect(await reasonOf('POST')).toBe('reset');
  // A request on a new connection is not sent again, either.
  isGone = true;
  expect(await reasonOf('GET')).toBe('reset');
  expect(requests).toHaveLength(5);
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
  await using opened = openHttp(server.origin);
  await opened.http.get('/', METRICS);
  await isIdle();
  const results = await Promise.all([1, 2].map(() => opened.http.get('/', METRICS)));
  expect(results.map(result => result.ok || result.error.message)).toEqual([true, true]);
});

test.each([429, 503])(
  'nothing is sent before the time that a %i asked for, by any part',
  async status => {
    await using service = await openService(({ path }, response) => {
      if (path === '/logs') response.writeHead(status, { 'retry-after': '120' });
      response.end('ok');
    });
    const limited = await service.http.get('/logs', { accept: 'application/json', part: 'logs' });
    expect(limited.ok || limited.error).toMatchObject({ status, retryAfterMs: 120_000 });
    const held = await service.http.get('/metrics', METRICS);
    if (held.ok) throw new Error('unexpected success');
    expect(held.error).toMatchObject({ reason: 'rate_limited', hint: expect.any(String) });
    expect(held.error.message).toContain('(held back for another 120 s)');
    expect(held.error.retryAfterMs).toBeGreaterThan(119_000);
    expect(held.error.status).toBeUndefined();
    expect(service.server.requests.map(({ path }) => path)).toEqual(['/logs']);
  },
);

test('a pause ends by itself, and a shorter one does not shorten it', async () => {
  const clock = new FakeClock();
  await using server = await startHttpServer(({ path }, response) => {
    response.writeHead(503, { 'retry-after': path.slice(1) });
    response.end();
  });
  const [pause, counters] = [{ untilMs: -Infinity }, new Counters()];
  const http = new ServiceHttp({ api: testApi(server.origin), clock, counters, pause });
  await Promise.all([http.get('/60', METRICS), http.get('/1', METRICS)]);
  await clock.advance(59_999);
  await http.get('/1', METRICS);
  expect(server.requests).toHaveLength(2);
  await clock.advance(1);
  await http.get('/1', METRICS);
  expect(server.requests).toHaveLength(3);
  await http.close();
});

test('a Retry-After of a month counts as a quarter of an hour, also if it is there twice', async () => {
  await using service = await openService((_request, response) => {
    response.statusCode = 503;
    response.setHeader('retry-after', ['2592000', '2592000']);
    response.end();
  });
  const result = await service.http.get('/', METRICS);
  expect(result.ok || result.error).toMatchObject({
    reason: 'server_error',
    retryAfterMs: 900_000,
  });
});

test('an operation sends and reads JSON', async () => {
  await using service = await openService((request, response) => {
    response.statusCode = 201;
    response.end(JSON.stringify({ got: JSON.parse(request.body || 'null') as unknown }));
  });
  const body = { service_id: 'db1', key: 'backup:1' };
  const result = await service.http.requestJson('POST', '/backup/v1/restores', {
    body,
    query: { page: 2, 'a b': 'ä&=' },
  });
  expect(result).toMatchObject({ ok: true, status: 201, json: { got: body } });
  const request = service.server.requests[0];
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
  await using opened = openHttp(`${server.origin}/base`);
  for (const path of ['/ä b', '/a%2Fb:c?d=é', '//evil.example/x', '/@evil.example', '/a#b'])
    await opened.http.get(path, METRICS);
  expect(server.requests.map(({ path }) => path)).toEqual([
    '/base/%C3%A4%20b',
    '/base/a%2Fb:c?d=%C3%A9',
    '/base//evil.example/x',
    '/base/@evil.example',
    '/base/a',
  ]);
  expect(() => opened.http.get('@evil.example', METRICS)).toThrow('BUG: ');
});

test('an operation without an answer body returns no value, one that is not JSON fails', async () => {
  await using service = await openService(({ method, path }, response) => {
    response.statusCode = method === 'DELETE' ? 204 : 200;
    response.end(method === 'DELETE' ? undefined : path.endsWith('/page') ? '\n<html>' : 'OK');
  });
  const deleted = await service.http.requestJson('DELETE', '/x');
  expect(deleted).toMatchObject({ ok: true, status: 204, json: undefined });
  const text = await service.http.requestJson('GET', '/x');
  expect(text).toMatchObject({ error: { kind: 'unreadable', reason: 'not_json' } });
  const page = await service.http.requestJson('GET', '/page');
  expect(page).toMatchObject({ error: { kind: 'unreadable', reason: 'web_page' } });
});

test('a 400 means the key if nothing else can be wrong, else the request', async () => {
  await using service = await openService((_request, response) => {
    response.statusCode = 400;
    response.end('{"detail":[{"loc":["body","name"],"msg":"field required"}]}');
  });
  const plain = await service.http.get('/', METRICS);
  expect(plain.ok || plain.error.reason).toBe('auth');
  const posted = await service.http.requestJson('POST', '/', { body: {} });
  expect(posted.ok || posted.error).toMatchObject({
    kind: 'bad_request',
    reason: 'bad_request',
    problems: [],
    message: expect.stringMatching(/\(400: body\.name: field required\)$/),
  });
  const asked = await service.http.requestJson('GET', '/', { query: { page: 1 } });
  expect(asked.ok || asked.error.reason).toBe('bad_request');
});

test('a request can be aborted at any time, and after closing nothing is sent', async () => {
  await using server = await startHttpServer(() => undefined);
  const { http: client } = openHttp(server.origin);
  const stop = new AbortController();
  const running = client.get('/', { ...METRICS, signal: stop.signal });
  await expect.poll(() => server.requests.length).toBe(1);
  stop.abort();
  expect(await running).toMatchObject({ error: { kind: 'aborted', reason: 'aborted' } });
  const late = await client.get('/', { ...METRICS, signal: stop.signal });
  expect(late.ok || late.error.reason).toBe('aborted');
  await client.close();
  const closed = await client.get('/', METRICS);
  expect(closed.ok || closed.error.reason).toBe('aborted');
  expect(server.requests.length).toBe(1);
});
