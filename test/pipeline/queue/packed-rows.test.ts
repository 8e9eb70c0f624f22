import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { PackedBatch } from '../../../src/model.ts';
import { GatheredBatches } from '../../../src/pipeline/queue/gathered.ts';
import { makePackedRows, payloadOf } from '../../../src/pipeline/queue/packed-rows.ts';
import { BodyBufferPool } from '../../../src/lib/body-buffer.ts';
import { metricsBatch } from '../../support/otlp-requests.ts';
import { Target } from '../../support/target.ts';

/** Three services' points as the fourth page of a target gives them. */
function packedBatch(): { batch: PackedBatch; payload: Buffer } {
  const target = new Target({ services: ['a', 'b', 'c'] });
  const page = (round: number): string =>
    ['a', 'b', 'c']
      .flatMap(id => [1, 2, 3].map(n => `x_${n}{namespace="${id}"} ${n * round}.5\n`))
      .join('');
  for (const round of [1, 2, 3]) target.page(60 * round, page(round));
  const { batch } = target.page(240, page(4)).translated;
  if (!('packed' in batch)) throw new Error('the fourth page is not packed');
  return { batch, payload: payloadOf(batch) };
}

test('a packed batch is one gzip stream, with an index of its bytes', () => {
  const { batch, payload } = packedBatch();
  const [row, ...others] = makePackedRows(batch, 1e6);
  expect(others).toEqual([]);
  expect(row).toMatchObject({ encoding: 'gzip', rawBytes: payload.length, signal: 'metrics' });
  expect(gunzipSync(row?.body ?? Buffer.alloc(0)).equals(payload)).toBe(true);
  expect(row?.parts.map(({ service }) => service)).toEqual(['a', 'b', 'c']);
});

test('it is cut between services where it is larger than a request may be', () => {
  const { batch, payload } = packedBatch();
  const [first] = batch.parts;
  for (const limit of [1, first?.length ?? 0, payload.length - 1]) {
    const rows = makePackedRows(batch, limit);
    expect(rows.length).toBeGreaterThan(1);
    const bodies = rows.map(({ body }) => gunzipSync(body));
    expect(Buffer.concat(bodies).equals(payload)).toBe(true);
    for (const [i, { parts, rawBytes }] of rows.entries()) {
      expect(rawBytes).toBe(bodies[i]?.length);
      expect(parts[0]?.offset).toBe(0);
    }
  }
});

test('parts of several batches make one, plain ones another', () => {
  const [one, other] = [packedBatch(), packedBatch()];
  const plain = metricsBatch({ d: 3 }, 7);
  const gathered = new GatheredBatches(new BodyBufferPool());
  for (const batch of [one.batch, plain, other.batch]) gathered.add(batch);
  const [first, second, ...others] = gathered.batches();
  expect(others).toEqual([]);
  expect(first).toMatchObject({ parts: plain.parts });
  const all = Buffer.concat([one.payload, other.payload]);
  expect(second !== undefined && payloadOf(second).equals(all)).toBe(true);
  const [row] = second !== undefined && 'packed' in second ? makePackedRows(second, 1e6) : [];
  expect(gunzipSync(row?.body ?? Buffer.alloc(0)).equals(all)).toBe(true);
  gathered.release();
});
