import { expect, test } from 'vitest';
import { BodyBuffer, BodyBufferPool } from '../../src/lib/body-buffer.ts';

test('appended pieces are read as one', () => {
  const buffer = new BodyBuffer();
  const piece = Buffer.from('0123456789'.repeat(5000));
  for (let i = 0; i < 10; i++) buffer.append(piece);
  expect(buffer.usedBytes).toBe(500_000);
  expect(buffer.bytes.equals(Buffer.concat(Array.from({ length: 10 }, () => piece)))).toBe(true);
});

test('the next round is written into the same memory', () => {
  const buffer = new BodyBuffer();
  buffer.append(Buffer.alloc(300_000, 'a'));
  const { capacityBytes } = buffer;
  const memory = buffer.bytes.buffer;
  for (let round = 0; round < 40; round++) {
    buffer.clear();
    buffer.append(Buffer.alloc(300_000, 'b'));
  }
  expect(buffer.bytes.buffer).toBe(memory);
  expect(buffer.capacityBytes).toBe(capacityBytes);
  expect(buffer.bytes.toString()).toBe('b'.repeat(300_000));
});

test('reserved room does not grow again', () => {
  const buffer = new BodyBuffer();
  buffer.append(Buffer.from('kept'));
  buffer.reserve(1_000_000);
  const memory = buffer.bytes.buffer;
  buffer.append(Buffer.alloc(999_996));
  expect(buffer.bytes.buffer).toBe(memory);
  expect(buffer.bytes.subarray(0, 4).toString()).toBe('kept');
  expect(buffer.capacityBytes).toBe(1_000_000);
});

test('memory that sixteen rounds did not need is released', () => {
  const buffer = new BodyBuffer();
  buffer.append(Buffer.alloc(8_000_000));
  for (let round = 0; round < 32; round++) {
    buffer.clear();
    buffer.append(Buffer.from('small'));
  }
  expect(buffer.capacityBytes).toBeLessThan(100_000);
  expect(buffer.bytes.toString()).toBe('small');
});

test('memory can be released at once', () => {
  const buffer = new BodyBuffer();
  buffer.append(Buffer.alloc(8_000_000));
  buffer.release();
  expect([buffer.usedBytes, buffer.capacityBytes, buffer.bytes.length]).toEqual([0, 0, 0]);
  buffer.append(Buffer.from('again'));
  expect(buffer.bytes.toString()).toBe('again');
});

test('a pool lends the buffer that came back last, and keeps no more than its limit', () => {
  const pool = new BodyBufferPool();
  const [first, second] = [pool.take(), pool.take()];
  expect(first).not.toBe(second);
  first.reserve(14_000_000);
  second.reserve(12_000_000);
  pool.give(first);
  pool.give(second);
  expect(pool.idleBytes).toBe(14_000_000);
  expect(pool.take()).toBe(first);
  expect(pool.idleBytes).toBe(0);
  pool.give(second);
  pool.give(first);
  expect(pool.take()).toBe(second);
});

test('one buffer is kept, however large', () => {
  const pool = new BodyBufferPool();
  const [first, second] = [pool.take(), pool.take()];
  for (const buffer of [first, second]) buffer.reserve(30_000_000);
  pool.give(first);
  pool.give(second);
  expect(pool.idleBytes).toBe(30_000_000);
  expect(pool.take()).toBe(first);
});
