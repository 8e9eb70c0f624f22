// On a page that is read in full, most rows are predicted: predictions must equal look-ups.

import { array, assert, constantFrom, integer, property, tuple } from 'fast-check';
import { expect, test } from 'vitest';
import { SeriesTable } from '../../../src/model/series-table.ts';
import { Decoding } from '../../../src/pipeline/decode/decode.ts';
import { LIMITS } from '../../support/decode-page.ts';

const KEYS = [
  'a',
  'a {x="1"}',
  'a{x="1"}',
  'a{x="2"}',
  'b{}',
  'b{y="}"}',
  'b{ y="1",}',
  'c{z="é"}',
];
const TAILS = [' 1', ' 2 1500', '\t3', ' NaN', ' {x="1"} 4', ' x', '', ' 1 2 3'];

function decode(table: SeriesTable, text: string): unknown {
  const bytes = Buffer.from(text);
  const time = { startedAtMs: 0, monotonicMs: 0, durationMs: 0, serverAtMs: Number.NaN };
  const page = { bytes, format: 'text', wireBytes: 0, ...time } as const;
  const decoding = new Decoding(page, table, LIMITS);
  while (!decoding.step(3));
  const { keys, keyOffset, keyLength, seen, value, timeMs } = table;
  const rows = Array.from({ length: table.count }, (_, row) => {
    const offset = keyOffset[row] ?? 0;
    const key = keys.toString('utf8', offset, offset + (keyLength[row] ?? 0));
    return seen[row] === table.page ? [key, value[row], timeMs[row]] : [];
  });
  return {
    report: decoding.report,
    rows: rows
      .filter(row => row.length > 0)
      .map(String)
      .sort(),
  };
}

test('a page reads the same with a table that knows its series and with an empty one', () => {
  const line = tuple(constantFrom(...KEYS), constantFrom(...TAILS)).map(([key, end]) => key + end);
  const pages = array(array(line, { maxLength: 12 }), { minLength: 2, maxLength: 5 });
  assert(
    property(pages, integer({ min: 0, max: 1 }), (texts, blanks) => {
      const table = new SeriesTable();
      for (const lines of texts) {
        const text = lines.map(one => `${' '.repeat(blanks)}${one}\n`).join('');
        expect(decode(table, text)).toEqual(decode(new SeriesTable(), text));
      }
    }),
    { numRuns: 1000 },
  );
});
