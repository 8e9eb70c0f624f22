import { setImmediate } from 'node:timers/promises';
import { constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createInflater, type ContentEncoding } from '../../src/service/exchange.ts';

const PAGE = 'engine_up{namespace="a"} 1\n'.repeat(5000);

/** The result for `bytes` in pieces of `stepBytes`: the text, `cut` or `broken`. */
function inflate(
  encoding: ContentEncoding,
  bytes: Buffer,
  stepBytes: number = bytes.length,
): Promise<string> {
  return new Promise(resolve => {
    const pieces: Buffer[] = [];
    let offset = 0;
    const feed = (): void => {
      while (offset < bytes.length) {
        const piece = bytes.subarray(offset, (offset += stepBytes));
        if (!inflater.write(piece)) return;
      }
      inflater.end();
    };
    const inflater = createInflater(encoding, {
      onData: piece => pieces.push(Buffer.from(piece)),
      onDrain: feed,
      onEnd: () => resolve(Buffer.concat(pieces).toString()),
      onError: (_error, isCut) => resolve(isCut ? 'cut' : 'broken'),
    });
    feed();
  });
}

test('every encoding is unpacked, in one piece or byte by byte', async () => {
  const check = async (encoding: ContentEncoding, bytes: Buffer): Promise<void> => {
    expect((await inflate(encoding, bytes)) === PAGE, encoding).toBe(true);
    expect((await inflate(encoding, bytes, 1)) === PAGE, encoding).toBe(true);
    expect((await inflate(encoding, bytes, 4096)) === PAGE, encoding).toBe(true);
  };
  await check('gzip', gzipSync(PAGE));
  await check('x-gzip', gzipSync(PAGE));
  await check('deflate', deflateSync(PAGE));
  await check('deflate', deflateRawSync(PAGE));
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
  expect(await inflate('zstd', twice(zstdCompressSync(PAGE)))).toBe('broken');
  expect(await inflate('deflate', twice(deflateSync(PAGE)))).toBe('broken');
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
  expect(await inflate('gzip', flipped)).toBe('broken');
  expect(await inflate('gzip', Buffer.from(PAGE))).toBe('broken');
  expect(await inflate('zstd', Buffer.from(PAGE))).toBe('broken');
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
  expect(await inflate('zstd', packed)).toBe('broken');
});

test('after destroy nothing comes any more', async () => {
  let events = 0;
  const count = (): void => void events++;
  const inflater = createInflater('gzip', {
    onData: count,
    onDrain: count,
    onEnd: count,
    onError: count,
  });
  inflater.write(gzipSync(PAGE));
  inflater.destroy();
  inflater.write(Buffer.from('x'));
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  expect(events).toBe(0);
});
