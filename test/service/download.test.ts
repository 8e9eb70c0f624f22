import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import type { BodySink } from '../../src/service/exchange.ts';
import {
  ServiceHttp,
  type ServiceAnswer,
  type ServiceResult,
} from '../../src/service/http-client.ts';
import { startHttpServer, type Handler } from '../support/http-server.ts';
import { testApi } from '../support/test-api.ts';

/** Keeps its input, and requests a pause after every chunk, like a slow disk. */
class SlowSink implements BodySink {
  failure: Error | null = null;
  readonly chunks: Buffer[] = [];
  pauses = 0;
  /** How often something came during a pause. */
  earlyCount = 0;
  #isPausing = false;
  #onDrain = (): void => undefined;

  write(chunk: Buffer): boolean {
    this.chunks.push(Buffer.from(chunk));
    this.pauses++;
    if (this.#isPausing) this.earlyCount++;
    this.#isPausing = true;
    setTimeout(() => {
      this.#isPausing = false;
      this.#onDrain();
    }, 1);
    return false;
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  end(): Promise<void> {
    return new Promise(resolve => setTimeout(resolve, 5));
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

let client: ServiceHttp | undefined;
afterEach(() => client?.close());

async function download(
  handler: Handler,
  sink: BodySink,
  { timeoutMs = 2000, maxBodyBytes = 2 ** 30 } = {},
): Promise<{ result: ServiceResult<ServiceAnswer>; encoding: string | undefined }> {
  await using server = await startHttpServer(handler);
  client = new ServiceHttp({
    api: testApi(server.origin, { timeoutMs }),
    clock: systemClock,
    counters: new Counters(),
    acceptEncoding: 'gzip',
  });
  const options = { accept: '*/*', sink, maxBodyBytes, priority: 'logs' } as const;
  const result = await client.get('/archive', options);
  return { result, encoding: server.requests[0]?.headers['accept-encoding']?.toString() };
}

const reasonOf = (result: ServiceResult<ServiceAnswer>): string =>
  result.ok ? 'ok' : result.error.reason;

describe('a body that goes into a sink', () => {
  test('arrives whole, at the pace of the sink, and requests no compression', async () => {
    const body = randomBytes(1_000_000);
    const sink = new SlowSink();
    const { result, encoding } = await download((_, response) => void response.end(body), sink);
    expect(reasonOf(result)).toBe('ok');
    expect(result).toMatchObject({ wireBytes: body.length, body: Buffer.alloc(0) });
    expect(sink.bytes.equals(body)).toBe(true);
    expect(sink.pauses).toBeGreaterThan(3);
    expect(encoding).toBe('identity');
  });

  test('is unpacked if it is compressed nevertheless, also at the pace of the sink', async () => {
    const body = Buffer.alloc(3_000_000, 'abc ');
    const sink = new SlowSink();
    const { result } = await download((_, response) => {
      response.setHeader('content-encoding', 'gzip');
      response.end(gzipSync(body));
    }, sink);
    expect([reasonOf(result), sink.bytes.equals(body)]).toEqual(['ok', true]);
    expect(sink.earlyCount).toBe(0);
  });

  test('may take longer than a small answer, but not stall', async () => {
    const sink = new SlowSink();
    const { result } = await download((_, response) => void response.write('a'), sink, {
      timeoutMs: 200,
    });
    expect(reasonOf(result)).toBe('timeout');
  });

  test('ends at the limit, whether it is announced or not', async () => {
    const body = Buffer.alloc(100_000);
    const check = async (handler: Handler): Promise<void> => {
      const { result } = await download(handler, new SlowSink(), { maxBodyBytes: 50_000 });
      expect(reasonOf(result)).toBe('too_large');
    };
    await check((_, response) => void response.end(body));
    await check((_, response) => {
      response.write(body);
      response.end();
    });
  });

  test('is a failure if it is cut off', async () => {
    const { result } = await download((_, response) => {
      response.setHeader('content-length', 100);
      response.write('half', () => response.destroy());
    }, new SlowSink());
    expect(reasonOf(result)).toBe('cut');
  });

  test('is a failure if it cannot be stored', async () => {
    const sink = new SlowSink();
    sink.failure = new Error('ENOSPC: no space left on device');
    const { result } = await download((_, response) => void response.end('body'), sink);
    expect(reasonOf(result)).toBe('not_stored');
    expect(result.ok || result.error.message).toContain('no space left');
  });
});

test('of a failed answer does not reach the sink', async () => {
  const sink = new SlowSink();
  const { result } = await download((_, response) => {
    response.statusCode = 503;
    response.setHeader('retry-after', '7');
    response.end('{"message":"later"}');
  }, sink);
  expect(result).toMatchObject({ error: { reason: 'server_error', retryAfterMs: 7000 } });
  expect(result.ok || result.error.message).toContain('later');
  expect(sink.chunks).toEqual([]);
});

test('of an answer that is not the whole body, or none yet, does not reach the sink', async () => {
  const check = async (status: number, want: object): Promise<void> => {
    const sink = new SlowSink();
    const { result } = await download((_, response) => {
      response.statusCode = status;
      response.end(status === 204 ? '' : '{"message":"preparing"}');
    }, sink);
    expect(result, String(status)).toMatchObject(want);
    expect(sink.chunks).toEqual([]);
  };
  for (const status of [202, 206])
    await check(status, {
      error: { reason: 'http_status', message: expect.stringContaining(`(${status}: preparing)`) },
    });
  await check(204, { ok: true });
});
