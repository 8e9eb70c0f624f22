import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
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
  /** How often a chunk came during a pause. */
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

async function download(
  handler: Handler,
  sink: BodySink,
  { timeoutMs = 2000, maxBodyBytes = 2 ** 30 } = {},
): Promise<{ result: ServiceResult<ServiceAnswer>; encoding: string | undefined }> {
  await using server = await startHttpServer(handler);
  const client = new ServiceHttp({
    api: testApi(server.origin, { timeoutMs }),
    clock: systemClock,
    counters: new Counters(),
    acceptEncoding: 'gzip',
  });
  onTestFinished(() => client.close());
  const options = { accept: '*/*', sink, maxBodyBytes, part: 'logs' } as const;
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

  test('is a failure if it cannot be stored', async () => {
    const sink = new SlowSink();
    sink.failure = new Error('ENOSPC: no space left on device');
    const { result } = await download((_, response) => void response.end('body'), sink);
    expect(reasonOf(result)).toBe('not_stored');
    expect(result.ok || result.error.message).toContain('no space left');
  });

  const limits = { timeoutMs: 200, maxBodyBytes: 50_000 };
  test.each<[what: string, want: string, answer: (response: ServerResponse) => void]>([
    ['that stalls', 'timeout', response => void response.write('a')],
    ['of too many bytes, announced', 'too_large', response => void response.end(LARGE)],
    [
      'of too many bytes',
      'too_large',
      response => {
        response.write(LARGE);
        response.end();
      },
    ],
    [
      'that is cut off',
      'cut',
      response => {
        response.setHeader('content-length', 100);
        response.write('half', () => response.destroy());
      },
    ],
  ])('%s is a failure: %s', async (_, want, answer) => {
    const { result } = await download((_, response) => answer(response), new SlowSink(), limits);
    expect(reasonOf(result)).toBe(want);
  });
});

const LARGE = Buffer.alloc(100_000);

test.each([
  [503, 'server_error', 7000],
  [202, 'http_status', undefined],
  [206, 'http_status', undefined],
  [204, 'ok', undefined],
])('the body of a %i does not reach the sink: %s', async (status, want, retryAfterMs) => {
  const sink = new SlowSink();
  const { result } = await download((_, response) => {
    response.writeHead(status, retryAfterMs === undefined ? {} : { 'retry-after': '7' });
    response.end(status === 204 ? '' : '{"message":"preparing"}');
  }, sink);
  expect([reasonOf(result), sink.chunks]).toEqual([want, []]);
  if (result.ok) return;
  expect(result.error.retryAfterMs).toBe(retryAfterMs);
  expect(result.error.message).toContain(`(${status}: preparing)`);
});
