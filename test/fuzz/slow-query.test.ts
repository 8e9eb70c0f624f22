// Writes slow query logs from known records whose statements contain lines of headers and banners in their strings,
// comments and names, closed or not. The reader must give exactly these records. Where a statement contains a whole
// header, the reader may also give a record for that header, but every true record is a separate one. FUZZ_INPUTS is the
// number of logs; FUZZ_SEED repeats a run.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { EntryReader, type EntryProgress } from '../../src/logs/entry-reader.ts';
import { createLineReader } from '../../src/logs/formats/reader.ts';
import type { ParsedRecord } from '../../src/logs/record.ts';
import { attribute, readLog, rejoin, TEST_OPTIONS } from '../support/log-reading.ts';
import { INPUTS, parametersFor } from './parameters.ts';

const PARAMETERS = parametersFor(INPUTS);
const CLOCK = 1_772_615_525;

interface Written {
  readonly user: string;
  readonly thread: number;
  readonly seconds: number;
  readonly clock: number;
  readonly statement: string;
  /** The record in the log, without its last line end. */
  readonly text: string;
}

/** Lines of headers and banners, and lines that only look like them. */
const HEADER_LINES = [
  '# Time: x',
  '# Time: 260304  9:12:07',
  '# User@Host: x',
  '# User@Host: fake[fake] @ evil [1.2.3.4]',
  '# Thread_id: 7  Schema: shop  QC_hit: No',
  '# Thread_id: x',
  '# Query_time: 9.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 2',
  '# Rows_affected: 0  Bytes_sent: 65',
  '# explain: 1\tSIMPLE',
  '#',
  'SET timestamp=5',
  'use x',
  '/usr/sbin/engined, Version: 11.4.5-log. started with:',
  'Tcp port: 3306  Unix socket: /run/engine.sock',
  'Time\t\t    Id Command\tArgument',
  '# administrator command: Quit',
];
const OPENERS = ["'", '"', '`', '/*', '-- ', '# ', '', "\\'", "''", '\\', "x'"];
const CLOSERS = ["'", '"', '`', '*/', '', '\\', "'a'"];

const headerLine = fc
  .tuple(fc.constantFrom(...HEADER_LINES), fc.constantFrom('', '', ';', ' ;', "';"))
  .map(([line, end]) => line + end);
const plainLine = fc.constantFrom('', 'select 1;', "it's;", 'end;', 'x', ';', '  and b = 2');
const part = fc
  .tuple(
    fc.constantFrom(...OPENERS),
    fc.array(fc.oneof({ weight: 3, arbitrary: headerLine }, plainLine), { maxLength: 6 }),
    fc.constantFrom(...CLOSERS),
  )
  .map(([opener, lines, closer]) => [`select ${opener}`, ...lines].join('\n') + closer);
/** A statement without blanks and semicolons at its end, which the server removes. */
const statement = fc
  .array(part, { minLength: 1, maxLength: 3 })
  .map(parts => parts.join(';\n').replace(/[;\s]+$/, ''));
const user = fc.constantFrom('app', 'root', 'b;c', 'a;\nb', 'x\ny', '');

const written: fc.Arbitrary<Written> = fc
  .record({
    user,
    thread: fc.integer({ min: 1, max: 99_999 }),
    seconds: fc.integer({ min: 0, max: 99 }).map(value => value + 0.25),
    clock: fc.integer({ min: CLOCK - 100, max: CLOCK + 100 }),
    statement,
    hasTime: fc.boolean(),
    hasExplain: fc.boolean(),
  })
  .map(({ hasTime, hasExplain, ...known }) => {
    const lines = [
      ...(hasTime ? ['# Time: 260304  9:12:07'] : []),
      `# User@Host: ${known.user}[${known.user}] @ web-1 [10.0.0.9]`,
      `# Thread_id: ${known.thread}  Schema: shop  QC_hit: No`,
      `# Query_time: ${known.seconds}  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210`,
      '# Rows_affected: 0  Bytes_sent: 65',
      ...(hasExplain ? ['#', '# explain: 1\tSIMPLE', '#'] : []),
      `SET timestamp=${known.clock};`,
      `${known.statement};`,
    ];
    return { ...known, text: lines.join('\n') };
  });
const log = fc.array(written, { minLength: 1, maxLength: 6 });

/** Whether a statement contains text that no reader can distinguish from a record, or from the banner of a server. */
function isForged({ statement: text }: Written): boolean {
  return (
    /;\n(?:# Time: [^\n]*\n)?# User@Host: [^]*\n# (?:Thread_id|Query_time|Schema): /.test(text) ||
    /;\n(?:# Time: [^\n]*\n)?# Thread_id: [^\n]*  QC_hit: No\n# Query_time: /.test(text) ||
    / started with:\nTcp port: [^\n]*\nTime\s+Id\s+Command/.test(text)
  );
}

function judge(records: readonly ParsedRecord[], writtenRecords: readonly Written[]): void {
  const starts = new Map(records.map(record => [record.firstOffset, record]));
  let offset = 0;
  for (const one of writtenRecords) {
    const record = starts.get(offset);
    expect(record?.raw.slice(0, 13)).toBe(one.text.slice(0, 13));
    expect(attribute(record, 'user.name') ?? '').toBe(one.user);
    expect(attribute(record, 'thread.id')).toBe(one.thread);
    expect(attribute(record, 'prom2otlp.slow_query.query_time_s')).toBe(one.seconds);
    expect(record?.timeMs).toBe(one.clock * 1000);
    if (!isForged(one)) {
      expect(record?.raw).toBe(one.text);
      expect(record?.lineCount).toBe(one.text.split('\n').length);
      expect(attribute(record, 'db.query.text') ?? '').toBe(one.statement);
    }
    offset += Buffer.byteLength(one.text) + 1;
  }
  if (!writtenRecords.some(isForged)) expect(records).toHaveLength(writtenRecords.length);
}

function textOf(writtenRecords: readonly Written[]): string {
  return writtenRecords.map(({ text }) => text).join('\n');
}

test(`the records of ${INPUTS} logs do not depend on their statements`, () => {
  const places = fc.array(fc.nat({ max: 60 }), { maxLength: 6 });
  fc.assert(
    fc.property(log, places, (writtenRecords, resumedAt) => {
      const text = textOf(writtenRecords);
      const records = readLog('slow-query-log', text, { isRedacting: false });
      expect(rejoin(records)).toBe(text);
      judge(records, writtenRecords);
      const redacted = readLog('slow-query-log', text, { resumedAt });
      expect(redacted.map(({ raw, marks }) => [raw, marks])).toEqual(
        records.map(({ raw, marks }) => [raw, marks]),
      );
    }),
    PARAMETERS,
  );
});

test(`nor do those of ${INPUTS} logs in pieces, read on from saved state`, () => {
  const cuts = fc.array(fc.tuple(fc.nat(), fc.boolean()), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(log, cuts, (writtenRecords, places) => {
      const text = textOf(writtenRecords);
      const bytes = Buffer.from(`${text}\n`);
      expect(readPieces(bytes, places)).toEqual(
        readLog('slow-query-log', text, { isRedacting: false }),
      );
    }),
    PARAMETERS,
  );
});

test(`and no flush within a statement hides the next record of ${INPUTS} logs`, () => {
  fc.assert(
    fc.property(log, fc.array(fc.nat({ max: 60 }), { maxLength: 3 }), (writtenRecords, flushes) => {
      const text = textOf(writtenRecords);
      const flushedAt = flushes.filter(line => !isInHeader(writtenRecords, line));
      const records = readLog('slow-query-log', text, { flushedAt, isRedacting: false });
      expect(rejoin(records)).toBe(text);
      const starts = new Map(records.map(record => [record.firstOffset, record]));
      let offset = 0;
      for (const one of writtenRecords) {
        expect(attribute(starts.get(offset), 'user.name') ?? '').toBe(one.user);
        expect(attribute(starts.get(offset), 'thread.id')).toBe(one.thread);
        offset += Buffer.byteLength(one.text) + 1;
      }
    }),
    PARAMETERS,
  );
});

/** Whether a line, numbered from 0, belongs to a header and is not its first line. */
function isInHeader(writtenRecords: readonly Written[], line: number): boolean {
  let first = 0;
  for (const { text, statement: sql } of writtenRecords) {
    const lines = text.split('\n').length;
    const statementAt = first + lines - sql.split('\n').length;
    if (line > first && line < statementAt) return true;
    first += lines;
  }
  return false;
}

/** Reads a log in pieces. Each place is a cut between two pieces; after some cuts, a new reader continues. */
function readPieces(
  bytes: Buffer,
  places: readonly (readonly [number, boolean])[],
): readonly ParsedRecord[] {
  const cuts = places.map(([place, isEnd]) => [place % (bytes.length + 1), isEnd] as const);
  const ordered = [...cuts, [bytes.length, true] as const].sort(([a], [b]) => a - b);
  const records: ParsedRecord[] = [];
  let progress: EntryProgress | null = null;
  let from = 0;
  let reader = entryReader(progress);
  for (const [to, isEnd] of ordered) {
    expect(reader.feed(bytes.subarray(from, to))).toBe(true);
    while (reader.next()) records.push(...reader.records);
    from = to;
    if (!isEnd) continue;
    reader.end(to === bytes.length);
    records.push(...reader.records);
    progress = reader.progress();
    from = 0;
    if (to === bytes.length) break;
    reader = entryReader(progress);
  }
  return records;
}

function entryReader(progress: EntryProgress | null): EntryReader {
  return new EntryReader({
    progress,
    reader: createLineReader({ ...TEST_OPTIONS, type: 'slow-query-log', isRedacting: false }),
    unwrap: {
      format: 'raw',
      pointers: { message: [], time: [], stream: [] },
      lineBytesMax: 1024 * 1024,
    },
  });
}
