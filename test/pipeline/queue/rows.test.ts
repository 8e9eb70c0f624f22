import { expect, test } from 'vitest';
import { decompress } from '../../../src/pipeline/queue/compression.ts';
import type { Batch } from '../../../src/model/batch.ts';
import type { Encoding } from '../../../src/pipeline/queue/commit.ts';
import * as rows from '../../../src/pipeline/queue/rows.ts';
import { rowBytes, sumPoints, type NewRow } from '../../../src/pipeline/queue/rows.ts';
import { batchOf, flatPoints, metricsBatch, metricsBytes } from '../../support/otlp-requests.ts';

function makeRows(
  batch: Batch,
  encoding: Encoding,
  bytes: number,
  points = Infinity,
): Promise<readonly NewRow[]> {
  return rows.makeRows(batch, encoding, { bytes, points });
}

function raw(row: NewRow): Promise<Buffer> {
  return decompress(row.encoding, row.body, row.rawBytes);
}

test('a batch within the limit is one row, with any compression', async () => {
  for (const encoding of ['gzip', 'zstd', 'none'] as const) {
    const batch = metricsBatch({ a: 3, b: 4 }, 7);
    const rows = await makeRows(batch, encoding, batch.payload.length);
    expect(rows).toMatchObject([{ encoding, madeAtMs: 7, parts: batch.parts, signal: 'metrics' }]);
    for (const row of rows) {
      expect(row.rawBytes).toBe(batch.payload.length);
      expect(await raw(row)).toEqual(batch.payload);
      expect(sumPoints(row.parts)).toBe(7);
      expect(rowBytes(row)).toBeGreaterThan(row.body.length);
    }
  }
});

test('an uncompressed row does not share memory with the payload, which the next page overwrites', async () => {
  const batch = metricsBatch({ a: 3 }, 7);
  const [row] = await makeRows(batch, 'none', 1e6);
  const before = Buffer.from(batch.payload);
  batch.payload.fill(0);
  expect(row?.body).toEqual(before);
});

test('a larger batch is cut between services, and each row has an index of its own bytes', async () => {
  const batch = metricsBatch({ a: 10, b: 10, c: 10, d: 10 }, 7);
  const [first, second] = batch.parts;
  const rows = await makeRows(batch, 'gzip', (first?.length ?? 0) + (second?.length ?? 0));
  expect(rows.map(row => row.parts.map(part => part.service))).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  for (const row of rows)
    for (const part of row.parts) {
      const bytes = (await raw(row)).subarray(part.offset, part.offset + part.length);
      expect(bytes).toEqual(metricsBytes(part.service, part.points));
    }
});

test('a service larger than the limit is cut, and its points stay in order', async () => {
  const batch = metricsBatch({ a: 2, b: 1000, c: 2 }, 7);
  const rows = await makeRows(batch, 'gzip', 3000);
  const pieces = await Promise.all(rows.map(raw));
  expect(pieces.length).toBeGreaterThan(3);
  for (const [i, row] of rows.entries()) {
    expect(row.rawBytes).toBeLessThanOrEqual(3000);
    expect(flatPoints('metrics', pieces[i] ?? Buffer.alloc(0))).toHaveLength(sumPoints(row.parts));
  }
  expect(pieces.flatMap(piece => flatPoints('metrics', piece))).toEqual(
    flatPoints('metrics', batch.payload),
  );
});

test('a batch is cut to a number of points, and its points stay in order', async () => {
  const batch = metricsBatch({ a: 30, b: 7, c: 250, d: 60 }, 7);
  const rows = await makeRows(batch, 'none', 1e6, 50);
  const pieces = await Promise.all(rows.map(raw));
  for (const [i, row] of rows.entries()) {
    expect(sumPoints(row.parts)).toBeLessThanOrEqual(50);
    expect(flatPoints('metrics', pieces[i] ?? Buffer.alloc(0))).toHaveLength(sumPoints(row.parts));
  }
  expect(rows.length).toBe(8);
  expect(pieces.flatMap(piece => flatPoints('metrics', piece))).toEqual(
    flatPoints('metrics', batch.payload),
  );
});

test('a single point above the limit gets its own row', async () => {
  const rows = await makeRows(metricsBatch({ a: 1, b: 1 }, 7), 'gzip', 8);
  expect(rows.map(row => row.parts.map(part => part.service))).toEqual([['a'], ['b']]);
});

test('a batch without points makes no row', async () => {
  expect(await makeRows(batchOf('metrics', [], 7), 'gzip', 100)).toEqual([]);
  const rows = await makeRows(metricsBatch({ a: 0, b: 1 }, 7), 'gzip', 1e6);
  expect(rows.map(row => row.parts.map(part => part.service))).toEqual([['b']]);
});

test('an index that does not cover the payload is a bug', async () => {
  const batch = metricsBatch({ a: 1, b: 1 }, 7);
  const check = async (parts: typeof batch.parts): Promise<void> =>
    await expect(makeRows({ ...batch, parts }, 'gzip', 1e6)).rejects.toThrow('BUG:');
  await check(batch.parts.slice(1));
  await check(batch.parts.slice(0, 1));
});
