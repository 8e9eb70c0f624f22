import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { exchange, type Outcome } from '../../src/service/exchange.ts';
import { testCall } from '../support/test-api.ts';

const PAGE = 'engine_up{namespace="a"} 1\n'.repeat(5000);

/** Sends an answer in pieces of `stepBytes`, and stops during a pause, as undici does. */
class PiecewiseDispatcher {
  readonly #encoding: string;
  readonly #bytes: Buffer;
  readonly #stepBytes: number;

  constructor(encoding: string, bytes: Buffer, stepBytes: number) {
    this.#encoding = encoding;
    this.#bytes = bytes;
    this.#stepBytes = stepBytes;
  }

  dispatch(_options: unknown, handler: Dispatcher.DispatchHandler): boolean {
    let offset = 0;
    const flow = { isPaused: false };
    const controller = {
      pause: () => void (flow.isPaused = true),
      resume: () => {
        flow.isPaused = false;
        feed();
      },
      abort: () => undefined,
    } as unknown as Dispatcher.DispatchController;
    const feed = (): void => {
      while (offset < this.#bytes.length && !flow.isPaused) {
        const piece = this.#bytes.subarray(offset, (offset += this.#stepBytes));
        handler.onResponseData?.(controller, piece);
      }
      if (!flow.isPaused) handler.onResponseEnd?.(controller, {});
    };
    handler.onRequestStart?.(controller, {});
    handler.onResponseStart?.(controller, 200, { 'content-encoding': this.#encoding });
    feed();
    return true;
  }
}

function answer(
  encoding: string,
  bytes: Buffer,
  { stepBytes = bytes.length, signal }: { stepBytes?: number; signal?: AbortSignal } = {},
): Promise<Outcome> {
  const dispatcher = new PiecewiseDispatcher(encoding, bytes, stepBytes) as unknown as Dispatcher;
  const deadlineMs = systemClock.monotonicMs() + 60_000;
  return exchange(testCall({ signal, deadlineMs }), {
    dispatcher,
    origin: 'http://127.0.0.1:1',
    headers: {},
    clock: systemClock,
    isOpening: () => true,
    isProxied: false,
  });
}

/** The text of the body, or the reason why there is none. */
async function inflate(encoding: string, bytes: Buffer, stepBytes?: number): Promise<string> {
  const outcome = await answer(encoding, bytes, stepBytes === undefined ? {} : { stepBytes });
  return outcome.kind === 'answer' ? outcome.body.toString() : outcome.fault.reason;
}

test('every encoding is unpacked, in one piece or byte by byte', async () => {
  const check = async (encoding: string, bytes: Buffer): Promise<void> => {
    expect((await inflate(encoding, bytes)) === PAGE, encoding).toBe(true);
    expect((await inflate(encoding, bytes, 1)) === PAGE, encoding).toBe(true);
    expect((await inflate(encoding, bytes, 4096)) === PAGE, encoding).toBe(true);
  };
  await check('gzip', gzipSync(PAGE));
  await check('x-gzip', gzipSync(PAGE));
  await check('deflate', deflateSync(PAGE));
  await check('deflate', deflateRawSync(PAGE));
  await check('br', brotliCompressSync(PAGE));
  await check('zstd', zstdCompressSync(PAGE));
});

test('gzip accepts further members and padding', async () => {
  const half = PAGE.slice(0, PAGE.length / 2);
  const members = Buffer.concat([gzipSync(half), gzipSync(half)]);
  expect((await inflate('gzip', members)) === PAGE).toBe(true);
  expect((await inflate('gzip', Buffer.concat([members, Buffer.alloc(512)]))) === PAGE).toBe(true);
});

test('a second frame, which would be lost silently, is an error', async () => {
  const twice = (bytes: Buffer): Buffer => Buffer.concat([bytes, bytes]);
  expect(await inflate('zstd', twice(zstdCompressSync(PAGE)))).toBe('encoding');
  expect(await inflate('deflate', twice(deflateSync(PAGE)))).toBe('encoding');
  expect(await inflate('br', twice(brotliCompressSync(PAGE)))).toBe('encoding');
});

test('input that ends too early is cut, other damage is broken', async () => {
  const gzip = gzipSync(PAGE);
  const flipped = Buffer.from(gzip);
  flipped.writeUInt8(flipped.readUInt8(flipped.length - 6) ^ 1, flipped.length - 6);
  for (const lostBytes of [1, 4, 9, 100])
    expect(await inflate('gzip', gzip.subarray(0, -lostBytes))).toBe('cut');
  expect(await inflate('gzip', gzip.subarray(0, 3))).toBe('cut');
  expect(await inflate('deflate', deflateSync(PAGE).subarray(0, -2))).toBe('cut');
  expect(await inflate('zstd', zstdCompressSync(PAGE).subarray(0, -2))).toBe('cut');
  expect(await inflate('br', brotliCompressSync(PAGE).subarray(0, -2))).toBe('cut');
  expect(await inflate('gzip', flipped)).toBe('encoding');
  expect(await inflate('gzip', Buffer.from(PAGE))).toBe('encoding');
  expect(await inflate('zstd', Buffer.from(PAGE))).toBe('encoding');
});

test('no input is an empty body', async () => {
  expect(await inflate('gzip', Buffer.alloc(0))).toBe('');
  expect(await inflate('zstd', Buffer.alloc(0))).toBe('');
});

test('a zstd frame that asks for a window beyond 8 MiB is refused', async () => {
  const params = {
    [constants.ZSTD_c_windowLog]: 25,
    [constants.ZSTD_c_compressionLevel]: 19,
    [constants.ZSTD_c_contentSizeFlag]: 0,
  };
  const packed = zstdCompressSync(Buffer.alloc(20_000_000, 'abc'), { params });
  expect(await inflate('zstd', packed)).toBe('encoding');
});

test('after an abort nothing is unpacked any more', async () => {
  const stop = new AbortController();
  const answering = answer('gzip', gzipSync(PAGE), { stepBytes: 10, signal: stop.signal });
  stop.abort();
  expect(await answering).toMatchObject({ kind: 'fault', fault: { reason: 'aborted' } });
});
