import { connect as connectTo, type Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { OtlpSignalConfig } from '../../../src/config/config.ts';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { BodyBuffer } from '../../../src/lib/body-buffer.ts';
import { programVersion } from '../../../src/lib/version.ts';
import { ANSWER_BYTES_MAX } from '../../../src/pipeline/send/answer.ts';
import { OtlpHttp } from '../../../src/pipeline/send/otlp-http.ts';
import type { SendRequest, SendResult } from '../../../src/pipeline/send/transport.ts';
import { KnownApis } from '../../../src/service/redact.ts';
import { oracleDecodeMetrics } from '../../reference/oracle.ts';
import { BackEnd, type Answer } from '../../support/back-end.ts';
import { TEST_TLS } from '../../support/certificates.ts';
import { startTcpServer } from '../../support/http-server.ts';
import { metricsBytes } from '../../support/otlp-requests.ts';
import { testApi, testEndpoint } from '../../support/test-api.ts';

const RAW = metricsBytes('a', 3);
const REQUEST: SendRequest = {
  signal: 'metrics',
  encoding: 'gzip',
  body: gzipSync(RAW),
  rawBytes: RAW.length,
};

const never = new AbortController().signal;
let backEnd: BackEnd;

beforeEach(async () => {
  backEnd = await BackEnd.start();
  onTestFinished(() => backEnd.stop());
});

function connect(
  config: Partial<OtlpSignalConfig> = {},
  url = backEnd.url,
  apis?: KnownApis,
  query = '',
): OtlpHttp {
  const options = testEndpoint(`${url}/v1/metrics${query}`, config);
  const transport = new OtlpHttp({ ...options, ...(apis && { apis }) });
  onTestFinished(() => transport.close());
  return transport;
}

function send(transport: OtlpHttp, request: SendRequest = REQUEST): Promise<SendResult> {
  return transport.send(request, never);
}

const ACCEPTED: SendResult = { kind: 'accepted', rejected: 0, message: '' };

/** Expects the reason of a result to contain these words. */
async function expectReason(transport: OtlpHttp, words: string): Promise<void> {
  expect(await send(transport)).toMatchObject({ reason: expect.stringContaining(words) });
}

test('the body goes out unchanged from the queue, with the headers of OTLP over HTTP', async () => {
  const key = new ConfigSecret('key-of-the-back-end');
  const transport = connect({ headers: { 'X-Api-Key': key } });
  expect(await send(transport)).toEqual(ACCEPTED);
  const [request] = backEnd.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/v1/metrics' });
  expect(request?.body).toEqual(REQUEST.body);
  expect(request?.headers).toMatchObject({
    'content-type': 'application/x-protobuf',
    'content-encoding': 'gzip',
    'content-length': String(REQUEST.body.length),
    'user-agent': `prom2otlp/${programVersion()}`,
    'x-api-key': 'key-of-the-back-end',
  });
});

test.each([
  ['none', 'none', RAW],
  ['gzip', 'none', gzipSync(RAW)],
  ['gzip', 'zstd', gzipSync(RAW)],
] as const)(
  'a row in %s goes out in the configured compression, %s',
  async (encoding, compression, body) => {
    await send(connect({ compression }), { ...REQUEST, encoding, body });
    const [request] = backEnd.requests;
    expect(request?.headers['content-encoding']).toBe(
      compression === 'none' ? undefined : compression,
    );
    expect(request?.raw).toEqual(RAW);
  },
);

test('http/json sends the same request as JSON', async () => {
  await send(connect({ protocol: 'http/json' }));
  const [request] = backEnd.requests;
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    'content-encoding': 'gzip',
  });
  expect(JSON.parse(request?.raw.toString() ?? '')).toEqual(oracleDecodeMetrics(RAW));
});

test('a new connection that ends in the handshake is an answer that is missing', async () => {
  let count = 0;
  await using front = await startTcpServer(socket => {
    count++;
    socket.resetAndDestroy();
  });
  const transport = connect({}, `https://127.0.0.1:${front.port}`);
  expect(await send(transport)).toMatchObject({ kind: 'retry' });
  expect(count).toBe(1);
});

test('redirects are not followed, and hold', async () => {
  const other = await BackEnd.start();
  for (const status of [301, 302, 307, 308]) {
    const count = backEnd.requests.length;
    backEnd.answer = () => ({ status, headers: { location: `${other.url}/v1/metrics` } });
    expect(await send(connect())).toMatchObject({ kind: 'settings', status });
    expect(backEnd.requests).toHaveLength(count + 1);
  }
  expect(other.requests).toEqual([]);
  await other.stop();
});

test('a missing answer is retried: refused, cut off, silent, not HTTP', async () => {
  const check = async (transport: OtlpHttp, words: RegExp): Promise<void> => {
    const result = await send(transport);
    expect(result).toMatchObject({ kind: 'retry', retryAfterMs: null });
    expect(JSON.stringify(result)).toMatch(words);
  };
  const closed = await BackEnd.start();
  const { url } = closed;
  await closed.stop();
  await check(connect({}, url), /no answer: .*ECONNREFUSED/);
  backEnd.answer = () => response => void response.socket?.destroy();
  await check(connect(), /no answer: .*other side closed/);
  backEnd.answer = () => () => undefined;
  for (const timeoutMs of [50, 50.4])
    await check(connect({ timeoutMs }), /none within 50 ms; raise otlp.timeout/);
  backEnd.answer = () => response => void response.socket?.end('SSH-2.0-x\r\n');
  await check(connect(), /no answer: /);
  await check(connect({}, `https://127.0.0.1:${String(backEnd.port)}`), /no answer: /);
});

describe('a TLS handshake that takes long', () => {
  const tls = { ca: TEST_TLS.ca, cert: null, key: null };
  let behind: BackEnd;
  const sockets: Socket[] = [];
  const pass = (socket: Socket): void => {
    socket.pipe(connectTo(behind.port, '127.0.0.1').on('error', () => undefined)).pipe(socket);
  };
  beforeEach(async () => {
    behind = await BackEnd.start(undefined, TEST_TLS);
    sockets.length = 0;
  });
  afterEach(() => behind.stop());

  test('ends with the timeout, and the next request gets a new connection', async () => {
    await using front = await startTcpServer(socket => {
      if (sockets.push(socket) > 1) pass(socket);
    });
    const transport = connect({ tls, timeoutMs: 300 }, `https://localhost:${front.port}`);
    await expectReason(transport, 'none within 300 ms');
    const kindOf = async (): Promise<string> => (await send(transport)).kind;
    await expect.poll(kindOf, { timeout: 20_000 }).toBe('accepted');
  });

  test('gives one connection, however many requests were given up meanwhile', async () => {
    await using front = await startTcpServer(socket => {
      if (sockets.push(socket) > 1) pass(socket);
    });
    const transport = connect({ tls }, `https://localhost:${front.port}`);
    for (let i = 0; i < 3; i++) {
      const abort = new AbortController();
      const result = transport.send(REQUEST, abort.signal);
      await expect.poll(() => sockets.length).toBe(1);
      abort.abort();
      expect(await result).toMatchObject({ kind: 'retry' });
    }
    const result = send(transport);
    for (const socket of sockets) pass(socket);
    expect(await result).toMatchObject({ kind: 'accepted' });
    expect(sockets).toHaveLength(1);
    expect(behind.requests).toHaveLength(1);
  });
});

test('a status counts even if its body is cut, never ends, or is larger than the limit', async () => {
  backEnd.answer = () => response => {
    response.writeHead(200, { 'content-length': '100', 'content-type': 'application/json' });
    response.write('{"partialSuccess":');
    setImmediate(() => response.socket?.destroy());
  };
  expect(await send(connect())).toEqual(ACCEPTED);
  backEnd.answer = () => response => void response.writeHead(200).write('x');
  expect(await send(connect({ timeoutMs: 50 }))).toEqual(ACCEPTED);
  const bytes = Buffer.alloc(ANSWER_BYTES_MAX + 1, 0x20);
  backEnd.answer = () => ({ status: 200, body: bytes });
  expect(await send(connect())).toEqual(ACCEPTED);
  backEnd.answer = () => ({ status: 503, body: bytes });
  expect(await send(connect())).toMatchObject({ kind: 'retry' });
});

test.each([
  ['identity', (body: Buffer) => body],
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
])('an answer in %s is read: its partial success, and its message', async (encoding, pack) => {
  const answer = (status: number, body: object): Answer => ({
    status,
    headers: { 'content-type': 'application/json', 'content-encoding': encoding },
    body: pack(Buffer.from(JSON.stringify(body))),
  });
  const partialSuccess = { rejectedDataPoints: '2', errorMessage: 'too old' };
  backEnd.answer = () => answer(200, { partialSuccess });
  const transport = connect();
  expect(await send(transport)).toEqual({ kind: 'accepted', rejected: 2, message: 'too old' });
  backEnd.answer = () => answer(400, { message: 'duplicate label' });
  await expectReason(transport, 'duplicate label');
});

test.each([
  ['gzip', Buffer.from('not gzip')],
  ['gzip', gzipSync(Buffer.alloc(ANSWER_BYTES_MAX + 1))],
  ['compress', Buffer.from('x')],
])('an answer in %s that cannot be unpacked counts by its status', async (encoding, body) => {
  backEnd.answer = () => ({ status: 200, headers: { 'content-encoding': encoding }, body });
  expect(await send(connect())).toEqual(ACCEPTED);
});

test('no more memory is reserved for an answer than is read of it', async () => {
  const reserve = vi.spyOn(BodyBuffer.prototype, 'reserve');
  onTestFinished(() => reserve.mockRestore());
  backEnd.answer = () => response => {
    response.writeHead(200, { 'content-length': 4 * ANSWER_BYTES_MAX }).write('x');
    setImmediate(() => response.socket?.destroy());
  };
  expect(await send(connect())).toMatchObject({ kind: 'accepted' });
  expect(reserve.mock.calls).toEqual([[ANSWER_BYTES_MAX]]);
});

test.each(['utf-8', 'none', 'compress'])(
  'an answer in the unknown encoding %s counts by its status, and its connection is kept',
  async encoding => {
    const transport = connect();
    const headers = { 'content-encoding': encoding };
    for (const [status, kind] of [
      [200, 'accepted'],
      [503, 'retry'],
    ] as const) {
      backEnd.answer = () => ({ status, headers, body: 'x'.repeat(200_000) });
      for (let i = 0; i < 2; i++) expect(await send(transport)).toMatchObject({ kind });
    }
    expect(backEnd.requests).toHaveLength(4);
    expect(backEnd.connectionCount).toBe(1);
    // Such an answer is read no further than any other answer.
    backEnd.answer = () => response =>
      void response.writeHead(200, headers).write(Buffer.alloc(ANSWER_BYTES_MAX + 1));
    expect(await send(transport)).toEqual(ACCEPTED);
  },
);

test('of a header that a proxy has added once more, the first counts', async () => {
  const twice = (status: number, name: string, values: string[], body = ''): void => {
    backEnd.answer = () => response => {
      response.setHeader(name, values);
      response.writeHead(status).end(body);
    };
  };
  const transport = connect();
  twice(503, 'retry-after', ['5', '7']);
  expect(await send(transport)).toMatchObject({ kind: 'retry', retryAfterMs: 5000 });
  const type = 'application/json';
  const partialSuccess = { rejectedDataPoints: '2', errorMessage: 'too old' };
  twice(200, 'content-type', [type, type], JSON.stringify({ partialSuccess }));
  expect(await send(transport)).toEqual({ kind: 'accepted', rejected: 2, message: 'too old' });
});

test('an early refusal is seen while a large body is still being sent', async () => {
  const body = Buffer.alloc(4 * 1024 * 1024, 1);
  const server = await BackEnd.start();
  server.refuseEarly(413);
  const transport = connect({ compression: 'none' }, server.url);
  const result = await send(transport, { ...REQUEST, encoding: 'none', body });
  expect(result).toMatchObject({ kind: 'too_large', status: 413 });
  await server.stop();
});

test('an endpoint keeps its path and its query', async () => {
  await send(connect({}, `${backEnd.url}/otlp`, undefined, '?tenant=7'));
  expect(backEnd.requests[0]?.path).toBe('/otlp/v1/metrics?tenant=7');
});

test('no answer shows a secret, even if it echoes one', async () => {
  const headers = { authorization: new ConfigSecret('Bearer s3cr3t-t0ken-of-ours') };
  const check = async (answer: Answer): Promise<void> => {
    backEnd.answer = () => answer;
    const text = JSON.stringify(await send(connect({ headers })));
    expect(text).not.toContain('s3cr3t');
    expect(text).toContain('[secret]');
  };
  const text = 'the token s3cr3t-t0ken-of-ours is unknown';
  await check({ status: 401, body: text });
  await check({ status: 503, body: text });
  await check({ status: 400, body: `${'x '.repeat(142)}${text}`.replace('token ', '') });
  await check({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ partialSuccess: { errorMessage: text } }),
  });
});

test('no answer shows a secret that was rotated, or that is echoed percent-encoded', async () => {
  let source = 'canary/of the first day';
  const key = new ConfigSecret(source, () => source);
  const transport = connect({ headers: { 'x-api-key': key } });
  backEnd.answer = () => ({ status: 401, body: 'unknown: canary%2Fof%20the%20first%20day' });
  await send(transport);
  source = 'canary-of-the-second-day';
  key.refresh();
  await expectReason(transport, 'unknown: [secret]');
  expect(key.reveal()).toBe(source);
});

test('no answer shows a secret of the service', async () => {
  let source = 'canary-of-the-service';
  const key = new ConfigSecret(source, () => source);
  const apis = [testApi('https://api.example.com', { key })];
  const known = new KnownApis(apis);
  const transport = connect({}, backEnd.url, known);
  const check = async (): Promise<void> => {
    const echo = `unknown ${encodeURIComponent(key.reveal())} for ${key.reveal()}`;
    backEnd.answer = () => ({ status: 401, body: echo });
    await expectReason(transport, 'unknown [secret] for [secret]');
  };
  await check();
  // A key that was rotated since the start is hidden, too.
  source = 'canary/of=another day';
  key.refresh();
  await check();
  // A reload keeps the transport. The new configuration has another key, which rotates before anything is sent.
  const [former, other] = [key.reveal(), new ConfigSecret('third-canary', () => 'fourth-canary')];
  known.follow([testApi('https://api.example.com', { key: other })]);
  other.refresh();
  const body = `unknown ${former}, third-canary, fourth-canary`;
  backEnd.answer = () => ({ status: 401, body });
  await expectReason(transport, 'unknown [secret], [secret], [secret]');
});

test.each(['?api_key=canary-of-the-query', '?k=x&api_key=canary%20of+all', '?canary'])(
  'no answer shows the query of the endpoint: %s',
  async query => {
    const transport = connect({}, backEnd.url, undefined, query);
    const value = new URLSearchParams(query).get('api_key') ?? 'nothing';
    const written = query.slice(query.lastIndexOf('=') + 1);
    const body = `no ${query} (${value}) (${written})`;
    backEnd.answer = () => ({ status: 404, body });
    const { reason } = (await send(transport)) as { readonly reason: string };
    expect(reason).toContain('no ?[secret]');
    if (value !== 'nothing') expect(reason).not.toContain('canary');
  },
);
