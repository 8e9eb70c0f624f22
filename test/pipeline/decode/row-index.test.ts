import { describe, expect, test } from 'vitest';
import { SeriesTable } from '../../../src/model/series-table.ts';
import {
  compactKeys,
  findRow,
  findSeries,
  freeRow,
  insertRow,
  rebuildIndex,
} from '../../../src/pipeline/decode/row-index.ts';
import { SampleLine } from '../../../src/pipeline/decode/sample-line.ts';
import { keyOf, LIMITS } from '../../support/decode-page.ts';

const line = new SampleLine(LIMITS);

function scan(series: string): Buffer {
  const bytes = Buffer.from(`${series} 1`);
  expect(line.scan(bytes, 0, bytes.length), line.reason).toBe(true);
  return bytes;
}

const find = (table: SeriesTable, series: string): number => findRow(table, scan(series), line);
const insert = (table: SeriesTable, series: string): number => insertRow(table, scan(series), line);

describe('finding rows', () => {
  test('a series is found again, another is not', () => {
    const table = new SeriesTable();
    const row = insert(table, 'a{b="1"}');
    expect(find(table, 'a{b="1"}')).toBe(row);
    expect(find(table, 'a{b="2"}')).toBe(-1);
    expect(find(table, 'a')).toBe(-1);
  });

  test('the latest spelling of the key is kept, so that the next page finds it by its bytes', () => {
    const table = new SeriesTable();
    const row = insert(table, 'a{b="1",c="2"}');
    for (const spelling of ['a{c="2",b="1"}', '{"a", "c"="2", d="", b="1"}']) {
      expect(find(table, spelling)).toBe(row);
      expect(keyOf(table, row)).toBe(spelling);
    }
    const labels = [['c', '2'] as const, ['b', '1'] as const];
    expect(findSeries(table, 'a', labels)).toBe(row);
    expect(findSeries(table, 'a', labels.slice(1))).toBe(-1);
    const odd = insert(table, '{"a.b",c="\\"\\n"}');
    expect(findSeries(table, 'a.b', [['c', '"\n']])).toBe(odd);
  });

  test('series with equal hashes stay apart', () => {
    const table = new SeriesTable();
    const bytes = scan('a{b="1"}');
    const first = insertRow(table, bytes, line);
    const { hash } = line;
    const other = Buffer.from('other{x="y"}');
    const place = { keyStart: 0, keyEnd: other.length, hash };
    expect(findRow(table, other, place)).toBe(-1);
    const second = insertRow(table, other, place);
    expect(findRow(table, other, place)).toBe(second);
    expect(find(table, 'a{b="1"}')).toBe(first);
  });

  test('thousands of series keep their rows while the index grows', () => {
    const table = new SeriesTable();
    const series = Array.from({ length: 5000 }, (_, i) => `m${i % 7}{i="${i}",j="${i * 31}"}`);
    const rows = series.map(one => insert(table, one));
    expect(new Set(rows).size).toBe(5000);
    expect(table.slots.length).toBeGreaterThanOrEqual(7500);
    expect(series.map(one => find(table, one))).toStrictEqual(rows);
  });
});

describe('freeing rows', () => {
  test('a freed row is gone after a rebuild of the index, and is used again', () => {
    const table = new SeriesTable();
    const kept = insert(table, 'kept');
    const gone = insert(table, 'gone');
    freeRow(table, gone);
    rebuildIndex(table);
    expect(find(table, 'gone')).toBe(-1);
    expect(find(table, 'kept')).toBe(kept);
    expect(insert(table, 'new')).toBe(gone);
    expect(find(table, 'new')).toBe(gone);
  });

  test('keys are compacted when more than half of the arena is waste, and do not change', () => {
    const table = new SeriesTable();
    const long = 'x'.repeat(200);
    const rows = Array.from({ length: 1000 }, (_, i) => insert(table, `m{i="${i}",x="${long}"}`));
    const before = table.keysUsed;
    for (const row of rows.slice(100)) freeRow(table, row);
    compactKeys(table);
    expect(table.keysUsed).toBeLessThan(before / 5);
    rebuildIndex(table);
    for (const [i, row] of rows.slice(0, 100).entries())
      expect(find(table, `m{i="${i}",x="${long}"}`)).toBe(row);
  });

  test('a small arena is not compacted', () => {
    const table = new SeriesTable();
    const rows = Array.from({ length: 10 }, (_, i) => insert(table, `m{i="${i}"}`));
    const before = table.keysUsed;
    for (const row of rows) freeRow(table, row);
    compactKeys(table);
    expect(table.keysUsed).toBe(before);
  });
});
