// The guarantees of every format: nothing is dropped, whatever the lines are; a reader continues from another's saved
// state with the same records; no record is longer than its limit.

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLineReader } from '../../../src/logs/formats/reader.ts';
import { MARK, type ParsedRecord } from '../../../src/logs/record.ts';
import { rawLine, readLog, rejoin, TEST_OPTIONS } from '../../support/log-reading.ts';

const TYPES = ['error-log', 'slow-query-log', 'audit-log', 'proxy-log', 'general-log'];

/** Lines of all formats, valid and broken, including difficult ones. */
const LINES = [
  '',
  ';',
  "';",
  "select 'it",
  "x';",
  'select 1;',
  '/* ;',
  '*/ end;',
  'é😀 `',
  String.raw`'a\', ';`,
  '# Time: 260304  9:12:07',
  '# User@Host: app[app] @ web-1 [10.0.0.9]',
  '# Thread_id: 75  Schema: shop  QC_hit: No',
  '# Query_time: 2.000215  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210',
  '# explain: 1\tSIMPLE',
  '#',
  "# Warning 1292 value: 'x'",
  'use shop;',
  'SET timestamp=1772615525;',
  'SET timestamp=1772000000;',
  'SET insert_id=7,timestamp=1772615525;',
  'engined, Version: 11.4.5. started with:',
  "select 'engined, Version: 11.4.5. started with:",
  'Tcp port: 3306  Unix socket: /run/engine.sock',
  'Time\t\t    Id Command\tArgument',
  '2026-03-04  9:05:33 0 [Note] ready',
  '260304  9:05:33 server_audit: veiled.260304  9:05:33 server_audit: started',
  '260304  9:07:01 [ERROR] engined got signal 11 ;',
  "20260304 09:12:07,db-0,app,h,75,311,QUERY,shop,'select 5',0",
  '20260304 09:12:08,db-0,bad,h,76,0,FAILED_CONNECT,,,1045',
  '2026-03-04 09:05:33   notice : [monitor] (Mon); up',
];
/** Indexes of lines that follow each other, so that complete records occur. */
const RUNS = [
  [12, 13, 18],
  [11, 12, 13, 18],
  [10, 11, 12, 13, 19, 5],
  [21, 23, 24],
  [11, 12, 13, 18, 5],
  [11, 12, 13, 18, 3],
];
const run = fc.constantFrom(...RUNS).map(numbers => numbers.map(number => LINES[number] ?? ''));
/** Any character, even one half of a surrogate pair. */
const unit = fc.nat({ max: 0xffff }).map(code => String.fromCharCode(code));
const anyLine = fc.string({ unit, maxLength: 80 }).map(text => text.replaceAll('\n', ' '));
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(...LINES).map(line => [line]),
      run,
      anyLine.map(line => [line]),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map(lines => lines.flat().join('\n'));
const places = fc.array(fc.nat({ max: 40 }), { maxLength: 5 });

function lineCountOf(records: readonly ParsedRecord[]): number {
  return records.reduce((count, { lineCount }) => count + lineCount, 0);
}

for (const type of TYPES) {
  describe(type, () => {
    test('returns everything it read, and counts every line once', () => {
      fc.assert(
        fc.property(anyText, places, (text, flushedAt) => {
          const records = readLog(type, text, { flushedAt });
          expect(rejoin(records)).toBe(text);
          expect(lineCountOf(records)).toBe(text.split('\n').length);
        }),
        { numRuns: 100 },
      );
    });

    test("continues from another reader's saved state, flushed or not", () => {
      fc.assert(
        fc.property(anyText, places, places, (text, resumedAt, flushedAt) => {
          const records = readLog(type, text, { flushedAt });
          expect(readLog(type, text, { flushedAt, resumedAt })).toEqual(records);
        }),
        { numRuns: 100 },
      );
    });

    test('truncates a record over the limit, and finds the next one', () => {
      fc.assert(
        fc.property(anyText, fc.integer({ min: 40, max: 200 }), (text, recordBytesMax) => {
          const records = readLog(type, text, { recordBytesMax });
          expect(lineCountOf(records)).toBe(text.split('\n').length);
          const slack = 3 * Math.max(...text.split('\n').map(line => Buffer.byteLength(line) + 1));
          for (const { raw, marks } of records) {
            const bytes = Buffer.byteLength(raw);
            expect(bytes).toBeLessThanOrEqual(recordBytesMax + slack);
            if ((marks & MARK.recordCut) === 0) expect(text).toContain(raw);
          }
        }),
        { numRuns: 100 },
      );
    });

    test('starts again from a state that it cannot use', () => {
      const reader = createLineReader({ ...TEST_OPTIONS, type });
      expect(reader.save()).toBe('');
      for (const saved of ['', 'x', 'x\ny', `${type}/1 {\n`, `${type}/0 [null,[]]\n`]) {
        reader.restore(saved);
        expect(reader.save()).toBe('');
        expect(reader.flush()).toEqual([]);
      }
    });
  });
}

test('the hour that occurs twice follows the order of the lines, in every log, also from saved state', () => {
  const lines: Readonly<Record<string, (time: string) => string>> = {
    'error-log': time => `2026-10-25 ${time} 0 [Note] ready`,
    'proxy-log': time => `2026-10-25 ${time}   notice : [monitor] (Mon); up`,
    'audit-log': time => `20261025 ${time},db-0,app,h,75,0,CONNECT,,,0`,
    'slow-query-log': time =>
      `# Time: 261025 ${time}\n# User@Host: a[a] @ h []\n# Thread_id: 1\nselect 1;`,
  };
  for (const [type, line] of Object.entries(lines)) {
    const text = ['02:00:01', '02:59:59', '02:00:01', '02:59:59', '03:00:00'].map(line).join('\n');
    const resumedAt = text.split('\n').map((_, number) => number);
    for (const options of [{}, { resumedAt }]) {
      const records = readLog(type, text, { timezone: 'Europe/Berlin', ...options });
      const times = records.map(({ timeMs }) => new Date(timeMs).toISOString().slice(11, 19));
      expect(times, type).toEqual(['00:00:01', '00:59:59', '01:00:01', '01:59:59', '02:00:00']);
    }
  }
});

test.each(['error-log', 'audit-log'])(
  '%s: lines of the state of another log are not taken over',
  type => {
    const other = createLineReader({ ...TEST_OPTIONS, type: 'slow-query-log' });
    for (const number of [11, 12, 13, 18]) other.push(rawLine(LINES[number] ?? ''));
    const saved = other.save();
    const reader = createLineReader({ ...TEST_OPTIONS, type });
    // The last two names are as long as the reader's own, so that only the name itself differs.
    for (const name of ['slow-query-log/1', `${type}/0`, `${type}/2`]) {
      reader.restore(saved.replace(/^\S+/, name));
      expect(reader.flush()).toEqual([]);
      expect(reader.save()).toBe('');
    }
  },
);

test('lines of an unknown type go out at once, unchanged and marked', () => {
  const reader = createLineReader({ ...TEST_OPTIONS, type: 'something-new' });
  const [record] = reader.push({ ...rawLine('anything 5', 17), timeMs: 42, stream: 'stdout' });
  expect(record).toMatchObject({
    body: 'anything 5',
    raw: 'anything 5',
    marks: MARK.unparsed,
    timeMs: 42,
    stream: 'stdout',
    firstOffset: 17,
    severityNumber: 0,
    eventName: null,
    attributes: [],
  });
  expect(reader.flush()).toEqual([]);
  const [query] = reader.push(rawLine("75 Query select 'secret', 5"));
  expect(query?.body).toBe('75 Query select ?, ?');
});
