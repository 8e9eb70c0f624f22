// Reads share memory: no byte of a body may be overwritten, however it is split and however slowly it is consumed.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { BodyBuffer } from '../../src/lib/body-buffer.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type Connection, createConnection } from '../../src/service/connection.ts';
import { exchange, type Outcome } from '../../src/service/exchange.ts';
import { testApi, testCall } from '../support/test-api.ts';

const KIB = 1024;
let connection: Connection | undefined;
afterEach(() => connection?.dispatcher.destroy());

/** Requests from a server that answers with these pieces, each in a separate packet. */
async function receive(
  answer: (request: number) => readonly Buffer[],
  requests = 1,
): Promise<readonly Outcome[]> {
  let count = 0;
  const server = createServer({ noDelay: true }, socket => {
    socket.on('data', () => void send(socket, answer(count++))).on('error', () => undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const way = (connection = createConnection(testApi(origin)));
  const deadlineMs = systemClock.monotonicMs() + 10_000;
  const ask = (): Promise<Outcome> =>
    exchange(testCall({ deadlineMs }), {
      ...way,
      headers: {},
      clock: systemClock,
    });
  const outcomes = await Promise.all(Array.from({ length: requests }, ask));
  server.close();
  return outcomes;
}

async function send(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    if (!socket.write(piece)) await once(socket, 'drain');
    if (pieces.length > 1) await sleep(1);
  }
}

function headOf(body: Buffer, more = ''): Buffer {
  return Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${more}\r\n`);
}

function bodyOf(outcome: Outcome | undefined): Buffer {
  return outcome?.kind === 'answer' ? outcome.body : Buffer.from(JSON.stringify(outcome));
}

describe('a body over a plain connection', () => {
  test('arrives whole at any size, again and again', async () => {
    for (const size of [1, 20 * KIB, 40 * KIB, 64 * KIB, 300 * KIB, 5000 * KIB, 20_000 * KIB]) {
      const body = randomBytes(size);
      const [outcome] = await receive(() => [Buffer.concat([headOf(body), body])]);
      expect([size, bodyOf(outcome).equals(body)]).toStrictEqual([size, true]);
    }
  });

  test('of many MiB is read in larger pieces', async () => {
    using append = vi.spyOn(BodyBuffer.prototype, 'append');
    const longestOf = async (size: number): Promise<number> => {
      append.mockClear();
      const body = Buffer.alloc(size);
      await receive(() => [headOf(body), body]);
      return Math.max(...append.mock.calls.map(([chunk]) => chunk.length));
    };
    expect(await longestOf(1000 * KIB)).toBeLessThanOrEqual(64 * KIB);
    expect(await longestOf(20_000 * KIB)).toBe(256 * KIB);
  });

  test('is not mixed with bodies of other connections', async () => {
    const bodies = Array.from({ length: 8 }, () => randomBytes(2000 * KIB));
    const answer = (i: number): readonly Buffer[] => {
      const body = bodies[i] ?? Buffer.alloc(0);
      const pieces = Array.from({ length: 20 }, (_, n) =>
        body.subarray(n * 100 * KIB, (n + 1) * 100 * KIB),
      );
      return [headOf(body), ...pieces];
    };
    const outcomes = await receive(answer, bodies.length);
    const received = outcomes.map(outcome => bodyOf(outcome).toString('base64'));
    expect(received.toSorted()).toStrictEqual(bodies.map(b => b.toString('base64')).toSorted());
  });

  test('is unpacked although the inflater reads it later', async () => {
    const body = randomBytes(3000 * KIB);
    const packed = gzipSync(body, { level: 1 });
    const head = headOf(packed, 'content-encoding: gzip\r\n');
    const [outcome] = await receive(() => [Buffer.concat([head, packed])]);
    expect(bodyOf(outcome).equals(body)).toBe(true);
  });
});

describe('a head over a plain connection', () => {
  test('is whole, wherever it is split', async () => {
    const body = randomBytes(100 * KIB);
    const text = headOf(body, `x-long: ${'long,'.repeat(1000)}\r\nx-last: last\r\n`);
    for (const at of [1, 12, 17, 25, 40, 60, 3000, text.length - 10, text.length - 1]) {
      const pieces = [text.subarray(0, at), Buffer.concat([text.subarray(at), body])];
      const [outcome] = await receive(() => pieces);
      expect(bodyOf(outcome).equals(body)).toBe(true);
      expect(outcome).toMatchObject({
        headers: { 'x-long': 'long,'.repeat(1000), 'x-last': 'last' },
      });
    }
  });

  test('in pieces of one byte', async () => {
    const body = Buffer.from('up 1\n');
    const whole = Buffer.concat([headOf(body, 'x-last: last\r\n'), body]);
    const [outcome] = await receive(() => [...whole].map(byte => Buffer.from([byte])));
    expect(bodyOf(outcome).toString()).toBe('up 1\n');
    expect(outcome).toMatchObject({ headers: { 'x-last': 'last' } });
  });
});
