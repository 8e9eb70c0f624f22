// One case per bad answer: each has its own reason, in time, and within the memory limit. The canary test uses the same
// servers to look for the key in all output.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { ApiConfig } from '../../src/config/config.ts';
import { ConfigSecret } from '../../src/config/secrets.ts';
import type { FailureReason, ServiceError } from '../../src/service/service-error.ts';
import { TEST_TLS } from '../support/certificates.ts';
import {
  findClosedPort,
  startHttpServer,
  startTcpServer,
  type TestServer,
} from '../support/http-server.ts';
import { openHttp } from '../support/service-client.ts';
import { expectWordings } from '../support/wordings.ts';

const KEY = 'canary-3b9f/KEY+with=odd%signs';
const HEADER_VALUE = 'canary-header-77aa';
const LIMIT_BYTES = 1_000_000;

async function failureOf(
  baseUrl: string,
  settings: Partial<ApiConfig> = {},
): Promise<ServiceError> {
  const key = new ConfigSecret(KEY);
  const headers = { 'x-tenant': new ConfigSecret(HEADER_VALUE) };
  await using opened = openHttp(baseUrl, { key, headers, timeoutMs: 5000, ...settings });
  const options = { accept: 'text/plain', maxBodyBytes: LIMIT_BYTES } as const;
  const result = await opened.http.get('/metrics', options);
  if (result.ok) throw new Error(`unexpected success: ${result.body.toString().slice(0, 80)}`);
  checkSilence(result.error);
  return result.error;
}

/** No form of a secret may be in any result. */
function checkSilence(failure: ServiceError): void {
  const shown = JSON.stringify(failure).toLowerCase();
  for (const secret of [KEY, HEADER_VALUE, encodeURIComponent(KEY), 'canary'])
    expect(shown).not.toContain(secret.toLowerCase());
}

/** Expects these words of a failure, but for the number of the port. */
function expectSaid(what: string, words: readonly string[]): void {
  const said = words.map(one => one.replaceAll(/:\d+(?!\d)/g, ':PORT'));
  expectWordings(`bad answer: ${what}`, said);
}

async function check(
  want: FailureReason,
  server: TestServer,
  settings?: Partial<ApiConfig>,
): Promise<ServiceError> {
  await using _ = server;
  const failure = await failureOf(server.origin, settings);
  expect(failure.reason, failure.message).toBe(want);
  return failure;
}

async function checkHttp(
  want: FailureReason,
  answer: (response: ServerResponse) => void,
  settings?: Partial<ApiConfig>,
): Promise<ServiceError> {
  return check(want, await startHttpServer((_request, response) => answer(response)), settings);
}

async function checkTcp(
  want: FailureReason,
  answer: (socket: Socket) => void,
  settings?: Partial<ApiConfig>,
): Promise<ServiceError> {
  const server = await startTcpServer(socket => void socket.once('data', () => answer(socket)));
  return check(want, server, settings);
}

function send(status: number, body = '', headers: Record<string, string> = {}) {
  return (response: ServerResponse): void => void response.writeHead(status, headers).end(body);
}

describe('statuses', () => {
  test('a failed answer is not read to its end, however long it is', async () => {
    const failure = await checkHttp('server_error', response => {
      response.writeHead(500);
      response.write('x'.repeat(200_000));
    });
    expect(failure.status).toBe(500);
  });

  test('a bad status is the reason even when the body is cut or in an unknown encoding', async () => {
    await checkTcp('auth', socket =>
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 500\r\n\r\n{"errors'),
    );
    await checkHttp('not_found', send(404, 'x', { 'content-encoding': 'lzma' }));
  });
});

test('of two secrets with the same beginning, the longer one is replaced as a whole', async () => {
  const north = `${KEY}-of-north`;
  const message = `no tenant has the key ${KEY} and the region ${north}`;
  const answer = send(400, JSON.stringify({ errors: [{ message }] }));
  const headers = { 'x-region': new ConfigSecret(north) };
  const failure = await checkHttp('auth', answer, { headers });
  expect(failure.message).toContain('the key [secret] and the region [secret]');
  expect(failure.message).not.toContain('of-north');
});

test('a word of a header, such as the token after Bearer, is replaced, too', async () => {
  const answer = send(401, JSON.stringify({ errors: [{ message: `no token ${KEY}-word` }] }));
  const headers = { authorization: new ConfigSecret(`Bearer ${KEY}-word`) };
  const failure = await checkHttp('auth', answer, { headers });
  expect(failure.message).toContain('no token [secret]');
  expect(failure.message).not.toContain('-word');
});

describe('bodies', () => {
  test('one that ends too early counts as cut, with any kind of length', async () => {
    await checkTcp('cut', socket =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nengine_up 1\n'),
    );
    await checkTcp('cut', socket =>
      socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nc\r\nengine_up 1\n\r\n'),
    );
    await checkTcp('cut', socket =>
      socket.end(
        'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\nc\r\nengine_',
      ),
    );
    await checkTcp('cut', socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nengine_up 1\n', () =>
        socket.resetAndDestroy(),
      );
    });
  });

  test.each(['HTTP/1.0 200 OK', 'HTTP/1.1 200 OK', 'HTTP/1.1 200 OK\r\nconnection: close'])(
    'one without a length is cut if a reset ends it: %j',
    async head => {
      const body = 'engine_up 1\nengine_queries_total 12';
      for (const text of [body, `${body}3\n`])
        await checkTcp('cut', socket =>
          socket.write(`${head}\r\n\r\n${text}`, () => socket.resetAndDestroy()),
        );
    },
  );

  test('a page without a length is cut if it ends within a line', async () => {
    const end = (text: string) => (socket: Socket) =>
      void socket.end(`HTTP/1.1 200 OK\r\n\r\n${text}`);
    const failure = await checkTcp('cut', end('engine_up 1\nengine_queries_total 12'));
    expect(failure.message).toMatch(/before it was complete \(in the middle of a line\)$/);
    for (const whole of ['engine_up 1\n', 'engine_up 1\n# EOF', ''])
      await expect(checkTcp('cut', end(whole)), whole).rejects.toThrow('unexpected success');
    await expect(checkHttp('cut', send(200, 'up 1'))).rejects.toThrow('unexpected success');
  });

  test('one that is too large is refused by its declared length, or as soon as it is', async () => {
    const failure = await checkHttp('too_large', response => {
      response.writeHead(200, { 'content-length': String(LIMIT_BYTES + 1) });
      response.write('x');
    });
    expect(failure.message).toMatch(/the answer is larger than the limit \(1000000 bytes\)$/);
    await checkHttp('too_large', response => {
      response.writeHead(200);
      const more = (): void => void response.write('x'.repeat(50_000), more);
      more();
    });
    await checkHttp('too_large', response => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync(Buffer.alloc(LIMIT_BYTES + 1)));
    });
  });

  test('an unrequested encoding is reported', async () => {
    const failure = await checkHttp('encoding', send(200, 'x', { 'content-encoding': 'lzma' }));
    expect(failure.message).toMatch(/\(its encoding is "lzma"\)$/);
    await checkHttp('encoding', send(200, 'x', { 'content-encoding': 'gzip, gzip' }));
  });
});

describe('time', () => {
  const timeoutMs = 150;

  /** Writes `what` until the connection ends. */
  const drip = (stream: Writable, what: string): void => {
    const timer = setInterval(() => stream.write(what), 10);
    stream.on('close', () => clearInterval(timer));
  };

  test.each<[what: string, answer: (response: ServerResponse) => void]>([
    ['no answer at all', () => undefined],
    ['a slow drip of bytes', response => drip(response.writeHead(200), 'x')],
    [
      'a head that drips',
      ({ socket }) => {
        socket?.write('HTTP/1.1 200 OK\r\n');
        if (socket !== null) drip(socket, 'x: y\r\n');
      },
    ],
  ])('%s ends at the timeout, although bytes may keep coming', async (_, answer) => {
    const startMs = performance.now();
    await checkHttp('timeout', answer, { timeoutMs });
    const durationMs = performance.now() - startMs;
    expect(durationMs).toBeGreaterThanOrEqual(timeoutMs - 5);
    expect(durationMs).toBeLessThan(timeoutMs + 1000);
  });

  test('a connection that never opens has its own reason', async () => {
    // TEST-NET-1 of RFC 5737 is not routed; some machines refuse it at once, which is also a valid reason.
    const settings = { timeoutMs, isInsecureAllowed: true };
    const failure = await failureOf('http://192.0.2.1:9', settings);
    expect(['connect_timeout', 'network', 'refused', 'reset']).toContain(failure.reason);
  });

  test('a TLS handshake that never ends is no connection', async () => {
    await using server = await startTcpServer(() => undefined);
    const baseUrl = `https://localhost:${server.port}`;
    const failure = await failureOf(baseUrl, { timeoutMs });
    expect(failure.reason).toBe('connect_timeout');
  });
});

describe('connections', () => {
  test('a name that does not resolve', async () => {
    const failure = await failureOf('https://no-such-host.invalid');
    expect(failure.reason).toBe('dns');
  });

  test('a port without a listener', async () => {
    const failure = await failureOf(`http://127.0.0.1:${await findClosedPort()}`);
    expect(failure.reason).toBe('refused');
    expectSaid('a port without a listener', [failure.message]);
  });

  test('a connection that is closed or reset before an answer', async () => {
    await checkTcp('reset', socket => socket.end());
    await checkTcp('reset', socket => socket.resetAndDestroy());
    await checkTcp('reset', socket => socket.end('HTTP/1.1 200 OK\r\ncontent-'));
  });

  test('an answer that is not HTTP', async () => {
    await checkTcp('protocol', socket => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    const failure = await checkTcp('protocol', socket => socket.end('HTTP/1.1 000 X\r\n\r\n'));
    expect(failure.message).not.toContain('\n');
    await checkTcp('protocol', socket =>
      socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno chunk\r\n'),
    );
    await checkTcp('protocol', socket =>
      socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`),
    );
  });

  test('a certificate that is not trusted, is for another name, or no TLS at all', async () => {
    await using server = await startHttpServer((_request, response) => void response.end(), {
      isTls: true,
    });
    const untrusted = await failureOf(server.origin);
    expect(untrusted.reason, untrusted.message).toBe('tls');
    const misnamed = await failureOf(`https://127.0.0.1:${server.port}`, { ca: TEST_TLS.ca });
    expect(misnamed.reason, misnamed.message).toBe('tls');
    await using plain = await startHttpServer((_request, response) => void response.end());
    const clear = await failureOf(`https://localhost:${plain.port}`, { ca: TEST_TLS.ca });
    expect(clear.reason, clear.message).toBe('tls');
    expectSaid('https on a port without TLS', [clear.message, clear.hint]);
    const unencrypted = await failureOf(`http://localhost:${server.port}`);
    expect(unencrypted.reason).toBe('reset');
    expectSaid('http on a port with TLS', [unencrypted.hint]);
    expect(server.requests).toEqual([]);
  });

  test('a proxy that is missing, or refuses to connect', async () => {
    const absent = new ConfigSecret(`http://user:canary-pw@127.0.0.1:${await findClosedPort()}`);
    const failure = await failureOf('https://service.invalid', { proxy: absent });
    expect(failure.reason, failure.message).toBe('proxy');
    await using server = await startTcpServer(socket => {
      socket.once('data', () => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'));
    });
    const proxy = new ConfigSecret(`http://user:canary-pw@127.0.0.1:${server.port}`);
    const refused = await failureOf('https://service.invalid', { proxy });
    expect(refused.reason, refused.message).toBe('proxy');
  });
});

describe('text that the other side echoes', () => {
  test('never shows the key, in any place and form', async () => {
    const long = `${'x'.repeat(180)}${KEY}`;
    for (const message of [KEY, `no: ${KEY}`, KEY.toLowerCase(), encodeURIComponent(KEY), long]) {
      await checkHttp('auth', send(401, JSON.stringify({ errors: [{ message }] })));
      await checkHttp('auth', send(401, JSON.stringify({ detail: message, trace_id: message })));
      await checkHttp(
        'auth',
        send(401, JSON.stringify({ detail: [{ loc: [KEY], msg: message }] })),
      );
    }
    await checkHttp('encoding', send(200, '', { 'content-encoding': KEY }));
    await checkHttp('server_error', send(500, JSON.stringify({ error: HEADER_VALUE })));
    await checkTcp('protocol', socket => socket.end(`${KEY}\r\n`));
  });
});
