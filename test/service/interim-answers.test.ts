// What gateways put before and into the head of an answer, over the connection of the service, which that of the back
// end shares.

import type { Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { TEST_TLS } from '../support/certificates.ts';
import { startTcpServer } from '../support/http-server.ts';
import { openHttp } from '../support/service-client.ts';

const METRICS = { accept: 'text/plain', part: 'metrics' } as const;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Answers each request with these pieces, each in a packet of its own. */
function answerer(pieces: readonly string[]): (socket: Socket | TLSSocket) => void {
  return socket => {
    socket.setNoDelay(true);
    socket.on('data', () => {
      let sent = Promise.resolve();
      for (const piece of pieces)
        sent = sent.then(
          () => new Promise(resolve => socket.write(piece, () => setImmediate(resolve))),
        );
    });
  };
}

async function bodiesOf(pieces: readonly string[]): Promise<string[]> {
  await using server = await startTcpServer(answerer(pieces));
  await using opened = openHttp(server.origin);
  const bodies: string[] = [];
  // Twice, so that the connection is used again.
  for (let i = 0; i < 2; i++) {
    const result = await opened.http.get('/', METRICS);
    bodies.push(result.ok ? result.body.toString() : result.error.message);
  }
  return bodies;
}

const WITH_HEADERS = 'HTTP/1.1 100 Continue\r\nserver: gateway\r\nx-trace: 1\r\n\r\n';

test.each([
  ['in one packet', [CONTINUE + OK]],
  ['in a packet of its own', [CONTINUE, OK]],
  ['twice', [CONTINUE + CONTINUE + OK]],
  ['with headers', [WITH_HEADERS + OK]],
  ['in HTTP/1.0', ['HTTP/1.0 100 Continue\r\n\r\n', OK]],
  [
    'cut within its first words',
    ['HTTP/1', '.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n', OK.slice(17)],
  ],
  ['cut at its end', [CONTINUE.slice(0, -1), CONTINUE.slice(-1) + OK]],
  ['byte by byte', Array.from(CONTINUE + OK)],
])('a 100 Continue that nobody asked for is skipped: %s', async (_how, pieces) => {
  expect(await bodiesOf(pieces)).toEqual(['ok', 'ok']);
});

test.each(['102 Processing', '103 Early Hints'])('a %s is skipped', async status => {
  const interim = `HTTP/1.1 ${status}\r\nlink: </x>\r\n\r\n`;
  expect(await bodiesOf([interim + OK])).toEqual(['ok', 'ok']);
  expect(await bodiesOf([interim, CONTINUE, OK])).toEqual(['ok', 'ok']);
});

test('it is skipped over TLS, too', async () => {
  const server = createServer(TEST_TLS, answerer([CONTINUE, OK]));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  {
    await using opened = openHttp(`https://localhost:${port}`, { ca: TEST_TLS.ca });
    const result = await opened.http.get('/', METRICS);
    expect(result.ok || result.error.message).toBe(true);
  }
  await new Promise(resolve => server.close(resolve));
});

test('a body that begins like one is a body', async () => {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${CONTINUE.length}\r\n\r\n`;
  expect(await bodiesOf([head, CONTINUE])).toEqual([CONTINUE, CONTINUE]);
});

test('a 100 without an end is not an answer', async () => {
  await using server = await startTcpServer(socket => {
    socket.on('data', () => socket.end('HTTP/1.1 100 Continue\r\nx: y'));
  });
  await using opened = openHttp(server.origin);
  const result = await opened.http.get('/', METRICS);
  expect(result.ok || result.error.reason).toBe('reset');
});

const headOf = (bytes: number): string => {
  const cookies = Array.from({ length: Math.floor(bytes / 1000) }, (_, index) => {
    const name = `x-trace-${index}: `;
    return `${name}${'a'.repeat(998 - name.length)}\r\n`;
  });
  return `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n${cookies.join('')}\r\n`;
};

test('a head of up to 64 KiB is read, whatever its pieces', async () => {
  const whole = headOf(63_000);
  expect(await bodiesOf([`${whole}ok`])).toEqual(['ok', 'ok']);
  const half = whole.length / 2;
  expect(await bodiesOf([whole.slice(0, half), whole.slice(half), 'ok'])).toEqual(['ok', 'ok']);
});

test('the headers of a large head have their values', async () => {
  await using server = await startTcpServer(answerer([headOf(60_000), 'ok']));
  await using opened = openHttp(server.origin);
  const result = await opened.http.get('/', METRICS);
  if (!result.ok) throw new Error(result.error.message);
  const values = Object.entries(result.headers).filter(([name]) => name.startsWith('x-trace'));
  expect(values).toHaveLength(60);
  for (const [name, value] of values) expect(value).toBe('a'.repeat(996 - name.length));
});

test('a larger head fails, and says so', async () => {
  const [first = ''] = await bodiesOf([`${headOf(80_000)}ok`]);
  expect(first).toMatch(/^cannot get .*headers overflow/i);
});
