// Which digests have sums of their own, and that all sums together are always those of the log.

import { expect, test } from 'vitest';
import {
  BOUNDS_S,
  type DigestSums,
  DigestTable,
  type Statement,
  type TableLimits,
} from '../../../src/logs/digests/digest-table.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { randomOf } from '../../support/random.ts';

const NOW = Date.UTC(2026, 2, 4, 9);
const LIMITS: TableLimits = { top: 2, tracked: 10 };

const query = (digest: string | null, timeMs: number, seconds = 1): Statement => ({
  timeMs,
  digest,
  summary: `SELECT ${digest ?? ''}`,
  micros: seconds * 1e6,
  lockMicros: 2,
  rowsExamined: 100,
  rowsSent: 10,
  bytesSent: 1000,
  span: null,
});

/** The number of statements of each series. */
const counts = (table: DigestTable, isDelta = false): Readonly<Record<string, number>> =>
  Object.fromEntries(
    (table.take(isDelta)?.series ?? []).map(({ digest, sums }) => [digest ?? 'other', sums.count]),
  );

function tableWith(statements: readonly Statement[], limits = LIMITS): DigestTable {
  const table = new DigestTable(limits);
  for (const statement of statements) table.add(statement);
  return table;
}

test('the first digests have series of their own, the rest is other', () => {
  const table = tableWith(['a', 'b', 'a', 'c', null].map(digest => query(digest, NOW)));
  expect(counts(table)).toEqual({ a: 2, b: 1, other: 2 });
});

test('a digest is new once: when it enters the top', () => {
  const table = new DigestTable(LIMITS);
  expect(['a', 'b', 'a', 'c'].map(digest => table.add(query(digest, NOW)))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('the top is chosen by the seconds of the last hour; who leaves keeps the sums', () => {
  const table = tableWith([query('a', NOW), query('b', NOW, 2), query('c', NOW, 5)]);
  expect(counts(table)).toEqual({ a: 1, b: 1, other: 1 });
  const later = NOW + 10 * MINUTE_MS;
  table.add(query('c', later));
  table.add(query('a', later));
  // c has replaced a: what c had cost before stays in other, and so does what a costs now.
  expect(counts(table)).toEqual({ b: 1, c: 1, other: 2 });
  const last = NOW + 2 * HOUR_MS;
  for (const digest of ['a', 'a', 'b']) table.add(query(digest, last));
  table.add(query('a', last + 10 * MINUTE_MS));
  expect(counts(table)).toMatchObject({ a: 2 });
});

test('a digest that left is forgotten after a day', () => {
  const table = tableWith([query('a', NOW), query('b', NOW), query('c', NOW)]);
  table.add(query('d', NOW + HOUR_MS + 20 * MINUTE_MS));
  expect(table.size).toBe(3);
  table.add(query('d', NOW + DAY_MS + 20 * MINUTE_MS));
  expect(table.size).toBe(1);
});

test('late statements join the next points, and time never falls', () => {
  const table = tableWith([query('a', NOW)]);
  expect(table.take(false)?.timeMs).toBe(NOW);
  table.add(query('a', NOW - HOUR_MS));
  expect(table.take(false)).toBeNull();
  table.add(query('a', NOW + 1));
  const taken = table.take(false);
  expect(taken?.timeMs).toBe(NOW + 1);
  expect(taken?.series[0]?.sums).toMatchObject({ count: 3, startMs: NOW - 1000 });
});

test('delta sums begin at the last points', () => {
  const table = tableWith([query('a', NOW), query('a', NOW)]);
  expect(counts(table, true)).toEqual({ a: 2 });
  table.add(query('a', NOW + 5));
  expect(table.take(true)?.series[0]?.sums).toMatchObject({ count: 1, startMs: NOW });
});

test('more digests than may be tracked are other, and counted', () => {
  const table = tableWith(Array.from({ length: 15 }, (_, i) => query(`d${i}`, NOW)));
  expect(table.size).toBe(10);
  expect(table.untracked).toBe(5);
  expect(counts(table)).toEqual({ d0: 1, d1: 1, other: 13 });
});

test('the histogram has each statement in the bucket of its duration', () => {
  const table = tableWith([0.01, 0.011, 2, 1000].map(seconds => query('a', NOW, seconds)));
  const buckets = table.take(false)?.series[0]?.sums.buckets ?? [];
  const filled = buckets.flatMap((count, i) =>
    count === 0 ? [] : [[BOUNDS_S[i] ?? Infinity, count]],
  );
  expect(filled).toEqual([
    [0.01, 1],
    [0.025, 1],
    [2.5, 1],
    [Infinity, 1],
  ]);
});

test('whatever comes, nothing is lost or counted twice, no sum falls, and a saved table goes on', () => {
  const random = randomOf(7);
  let table = new DigestTable({ top: 5, tracked: 30 });
  const last = new Map<string, DigestSums>();
  const truth = { count: 0, micros: 0 };
  let nowMs = NOW;
  for (let i = 0; i < 20_000; i++) {
    nowMs += Math.floor(random() * 8000);
    const digest = random() < 0.02 ? null : `d${Math.floor(random() ** 2 * 50)}`;
    const statement = query(
      digest,
      nowMs - (random() < 0.1 ? 60_000 : 0),
      Math.floor(random() * 9) + 1,
    );
    table.add(statement);
    truth.count++;
    truth.micros += statement.micros;
    if (random() > 0.05) continue;
    const saved = table.save();
    table = new DigestTable({ top: 5, tracked: 30 }, JSON.parse(JSON.stringify(saved)));
    for (const { digest: own, sums } of table.take(false)?.series ?? []) {
      const before = last.get(own ?? 'other');
      if (before?.startMs === sums.startMs)
        expect(sums.micros).toBeGreaterThanOrEqual(before.micros);
      last.set(own ?? 'other', sums);
    }
  }
  const { entries = [], other = null } = table.save() ?? {};
  const all = [...entries.map(([, { sums }]) => sums), other].filter(sums => sums !== null);
  const forgotten = truth.count - all.reduce((sum, { count }) => sum + count, 0);
  expect(forgotten).toBe(0);
  expect(all.reduce((sum, { micros }) => sum + micros, 0)).toBe(truth.micros);
});
