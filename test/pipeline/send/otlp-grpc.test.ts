import { once } from 'node:events';
import { createServer as createHttp2Server, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { status as codes } from '@grpc/grpc-js';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { OtlpSignalConfig } from '../../../src/config/config.ts';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { programVersion } from '../../../src/lib/version.ts';
import { ANSWER_BYTES_MAX } from '../../../src/pipeline/send/answer.ts';
import { OtlpGrpc } from '../../../src/pipeline/send/otlp-grpc.ts';
import type { SendRequest, SendResult } from '../../../src/pipeline/send/transport.ts';
import { GrpcBackEnd, type GrpcAnswer } from '../../support/grpc-back-end.ts';
import { findClosedPort, startTcpServer } from '../../support/http-server.ts';
import { metricsBytes } from '../../support/otlp-requests.ts';
import { retryInfo } from '../../support/status-details.ts';
import { testEndpoint } from '../../support/test-api.ts';

const RAW = metricsBytes('a', 200);
const REQUEST: SendRequest = {
  signal: 'metrics',
  encoding: 'gzip',
  body: gzipSync(RAW),
  rawBytes: RAW.length,
};
const ACCEPTED = { kind: 'accepted', rejected: 0, message: '' };

const never = new AbortController().signal;
let backEnd: GrpcBackEnd;

beforeEach(async () => {
  backEnd = await GrpcBackEnd.start();
  onTestFinished(() => backEnd.stop());
});

function connect(config: Partial<OtlpSignalConfig> = {}, endpoint = backEnd.url): OtlpGrpc {
  const transport = new OtlpGrpc(testEndpoint(endpoint, { protocol: 'grpc', ...config }));
  onTestFinished(() => transport.close());
  return transport;
}

function send(transport: OtlpGrpc, request: SendRequest = REQUEST): Promise<SendResult> {
  return transport.send(request, never);
}

describe('a request', () => {
  test('arrives as the protobuf that was queued, at the service of its signal', async () => {
    const transport = connect({
      headers: { 'X-Api-Key': new ConfigSecret('key-of-the-back-end') },
    });
    expect(await send(transport)).toEqual(ACCEPTED);
    expect(await send(transport, { ...REQUEST, signal: 'logs' })).toEqual(ACCEPTED);
    expect(backEnd.requests.map(({ signal }) => signal)).toEqual(['metrics', 'logs']);
    for (const { bytes, metadata } of backEnd.requests) {
      expect(bytes).toEqual(RAW);
      expect(metadata).toMatchObject({ 'x-api-key': 'key-of-the-back-end' });
      expect(metadata['user-agent']).toMatch(new RegExp(`^prom2otlp/${programVersion()} `));
    }
    expect(backEnd.connectionCount).toBe(1);
  });

  test("is compressed with gzip if configured, whatever the row's compression", async () => {
    const rows: readonly SendRequest[] = [
      REQUEST,
      { ...REQUEST, encoding: 'zstd', body: zstdCompressSync(RAW) },
      { ...REQUEST, encoding: 'none', body: RAW },
    ];
    for (const row of rows)
      for (const compression of ['gzip', 'none'] as const) {
        const before = backEnd.receivedBytes;
        expect(await send(connect({ compression }), row)).toEqual(ACCEPTED);
        const sentBytes = backEnd.receivedBytes - before;
        expect(sentBytes > RAW.length).toBe(compression === 'none');
      }
    expect(backEnd.requests.map(({ bytes }) => bytes.equals(RAW))).toEqual(Array(6).fill(true));
  });

  test('may be empty, or larger than servers accept by default', async () => {
    const transport = connect({ compression: 'none' });
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(8 * 1024 * 1024, 1)]) {
      const row = { ...REQUEST, encoding: 'none', body: bytes, rawBytes: bytes.length } as const;
      expect(await send(transport, row)).toEqual(ACCEPTED);
      expect(backEnd.requests.at(-1)?.bytes.length).toBe(bytes.length);
    }
  });

  test('tells the server its deadline', async () => {
    await send(connect({ timeoutMs: 60_000 }));
    const leftMs = (backEnd.requests[0]?.deadlineMs ?? 0) - Date.now();
    expect(leftMs).toBeGreaterThan(50_000);
    expect(leftMs).toBeLessThanOrEqual(60_000);
  });

  test('is held if gRPC cannot carry a header, and the value is not shown', async () => {
    const tab = new ConfigSecret('hush\thush');
    const result = await send(connect({ headers: { 'x-key': tab } }));
    expect(result).toMatchObject({
      kind: 'settings',
      reason: expect.stringMatching(/header x-key/),
    });
    expect(JSON.stringify(result)).not.toContain('hush');
    expect(backEnd.requests).toEqual([]);
  });

  test('ignores the proxies of the environment', async () => {
    process.env['http_proxy'] = 'http://127.0.0.1:9';
    process.env['grpc_proxy'] = 'http://127.0.0.1:9';
    try {
      expect(await send(connect())).toEqual(ACCEPTED);
    } finally {
      delete process.env['http_proxy'];
      delete process.env['grpc_proxy'];
    }
  });
});

describe('an answer', () => {
  const check = async (answer: GrpcAnswer, want: object): Promise<void> => {
    backEnd.answer = () => answer;
    expect(await send(connect())).toMatchObject(want);
  };

  test('is classified by its status, with or without headers before it', async () => {
    for (const hasHeaders of [false, true]) {
      const refuse = (code: number, message: string): GrpcAnswer => ({ code, message, hasHeaders });
      await check(refuse(codes.INVALID_ARGUMENT, 'bad'), { kind: 'refused', status: 3 });
      await check(refuse(codes.UNAUTHENTICATED, 'who?'), { kind: 'settings', status: 16 });
      await check(refuse(codes.UNAVAILABLE, 'later'), { kind: 'retry', retryAfterMs: null });
      await check(refuse(codes.RESOURCE_EXHAUSTED, 'quota'), { kind: 'unknown', status: 8 });
      const tooLarge = 'grpc: received message larger than max (5 vs. 4)';
      await check(refuse(codes.RESOURCE_EXHAUSTED, tooLarge), { kind: 'too_large' });
    }
  });

  test('has its RetryInfo in a trailer', async () => {
    const trailers = { 'grpc-status-details-bin': retryInfo(7, 0) };
    const want = { kind: 'retry', retryAfterMs: 7000 };
    await check({ code: codes.RESOURCE_EXHAUSTED, message: 'slow down', trailers }, want);
  });

  test('may reject a part', async () => {
    const body = Buffer.from([0x0a, 0x07, 0x08, 0x03, 0x12, 0x03, 0x6f, 0x6c, 0x64]);
    await check({ body }, { kind: 'accepted', rejected: 3, message: 'old' });
  });

  test('is not read beyond the limit; beyond it, the request holds', async () => {
    const body = Buffer.alloc(ANSWER_BYTES_MAX + 1);
    await check(
      { body },
      { kind: 'settings', reason: expect.stringMatching(/larger than 4194304/) },
    );
  });

  /** Starts an HTTP/2 server with this answer. Returns a transport to it. */
  async function startWeb(answer: (response: Http2ServerResponse) => void): Promise<OtlpGrpc> {
    const server = createHttp2Server((request, response) => {
      request.resume();
      answer(response);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    return connect({}, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  test('may be compressed; in an unknown way, the request holds', async () => {
    const partial = Buffer.from([0x0a, 0x07, 0x08, 0x03, 0x12, 0x03, 0x6f, 0x6c, 0x64]);
    const body = gzipSync(partial);
    let encoding = 'gzip';
    const transport = await startWeb(response => {
      response.writeHead(200, { 'content-type': 'application/grpc', 'grpc-encoding': encoding });
      response.addTrailers({ 'grpc-status': '0' });
      response.end(Buffer.concat([Buffer.of(1, 0, 0, 0, body.length), body]));
    });
    expect(await send(transport)).toMatchObject({ kind: 'accepted', rejected: 3, message: 'old' });
    encoding = 'x-unknown';
    expect(await send(transport)).toMatchObject({
      kind: 'unknown',
      reason: expect.stringMatching(/compressed in an unknown way/),
    });
  });

  test('from a web server without gRPC holds or retries by its HTTP status', async () => {
    let status = 404;
    const transport = await startWeb(response => response.writeHead(status).end('<html>'));
    expect(await send(transport)).toMatchObject({ kind: 'settings' });
    status = 503;
    expect(await send(transport)).toMatchObject({ kind: 'retry' });
  });
});

describe('no answer', () => {
  const check = async (transport: OtlpGrpc, words: RegExp): Promise<void> => {
    const result = await send(transport);
    expect(result).toMatchObject({ kind: 'retry', retryAfterMs: null });
    expect(JSON.stringify(result)).toMatch(words);
  };

  test('is retried: nothing listens, silence, another protocol', async () => {
    const closed = `http://127.0.0.1:${String(await findClosedPort())}`;
    await check(connect({}, closed), /no answer: connect ECONNREFUSED.*; check host and port/);
    await check(connect({}, 'http://nowhere.invalid'), /no answer: Name resolution failed.*host/);
    backEnd.answer = () => null;
    await check(connect({ timeoutMs: 50 }), /no answer: none within 50 ms; raise otlp.timeout/);
    await using silent = await startTcpServer(() => undefined);
    await check(connect({ timeoutMs: 50 }, silent.origin), /none within 50 ms/);
    await using web = await startTcpServer(socket => socket.end('HTTP/1.1 400 No\r\n\r\n'));
    await check(
      connect({}, web.origin),
      /no answer: Protocol error.*; .*otlp.protocol grpc the port is usually 4317/,
    );
  });

  test('a broken connection is opened again', async () => {
    const transport = connect();
    backEnd.answer = () => {
      setImmediate(() => backEnd.cut());
      return null;
    };
    await check(transport, /no answer: /);
    backEnd.answer = () => ({});
    expect(await send(transport)).toEqual(ACCEPTED);
    backEnd.cut();
    await expect.poll(() => send(transport)).toEqual(ACCEPTED);
  });

  test("a back end that returns is reached at once, without the library's back-off", async () => {
    const { port, url } = backEnd;
    await backEnd.stop();
    const transport = connect({}, url);
    for (let i = 0; i < 3; i++) await check(transport, /ECONNREFUSED/);
    backEnd = await GrpcBackEnd.start(undefined, port);
    expect(await send(transport)).toEqual(ACCEPTED);
  });

  test('for one request does not affect others in flight', async () => {
    const transport = connect({ timeoutMs: 300 });
    backEnd.answer = (_, i) => (i === 0 ? null : { afterMs: 200 });
    const first = send(transport);
    await expect.poll(() => backEnd.requests.length).toBe(1);
    await systemClock.sleep(150);
    const second = send(transport);
    expect(await first).toMatchObject({ kind: 'retry' });
    expect(await second).toEqual(ACCEPTED);
  });
});
