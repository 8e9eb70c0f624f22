// Reads whole logs with the readers under test: passes lines as the puller does, saves and resumes readers, flushes
// them, and joins the records again. A text does not include its last line end.

import { expect } from 'vitest';
import { createLineReader } from '../../src/logs/formats/reader.ts';
import type { LineReaderOptions, ParsedRecord, RawLine } from '../../src/logs/record.ts';

export interface ReadingOptions extends Partial<LineReaderOptions> {
  /** Before these lines (numbered from 0) the reader is saved, and a new reader continues. */
  readonly resumedAt?: readonly number[];
  /** Before these lines the reader is flushed. */
  readonly flushedAt?: readonly number[];
  /** The fields that the wrapper gives to a line, by the line's number. */
  readonly line?: (number: number) => Partial<RawLine>;
}

export const TEST_OPTIONS: LineReaderOptions = {
  type: 'error-log',
  timezone: 'UTC',
  isRedacting: true,
  comments: { isTracing: true, keys: [] },
  recordBytesMax: 256 * 1024,
};

/** Characters of SQL that a reader may get wrong. */
export const SQL_CHARACTERS: readonly string[] = Array.from(' a\'"\\\n;`-#/*,(é😀5');
export const SQL_NAMES: readonly string[] =
  "t1|c_2|`a 3`|`it's`|2024_orders|größe|select|IN|from".split('|');

/** All records of a log, including records that only the end of the log completes. */
export function readLog(type: string, text: string, options: ReadingOptions = {}): ParsedRecord[] {
  const { resumedAt = [], flushedAt = [], line: wrapper = () => ({}), ...own } = options;
  const readerOptions = { ...TEST_OPTIONS, type, ...own };
  let reader = createLineReader(readerOptions);
  const records: ParsedRecord[] = [];
  let offset = 0;
  for (const [number, line] of text.split('\n').entries()) {
    if (flushedAt.includes(number)) records.push(...reader.flush());
    if (resumedAt.includes(number)) {
      const saved = reader.save();
      reader = createLineReader(readerOptions);
      reader.restore(saved);
    }
    records.push(...reader.push({ ...rawLine(line, offset), ...wrapper(number) }));
    offset += Buffer.byteLength(line) + 1;
  }
  records.push(...reader.flush());
  return records;
}

export function rawLine(text: string, offset = 0): RawLine {
  return { text, offset, timeMs: Number.NaN, timeExtraNs: 0, stream: '', marks: 0 };
}

/** The log that the records were read from. Throws when a record's offset is wrong. */
export function rejoin(records: readonly ParsedRecord[]): string {
  let text = '';
  let textBytes = 0;
  for (const [number, { raw, firstOffset }] of records.entries()) {
    const isPartOfLine = number === 0 || firstOffset === textBytes;
    text += isPartOfLine ? raw : `\n${raw}`;
    textBytes += Buffer.byteLength(raw) + (isPartOfLine ? 0 : 1);
    if (firstOffset !== textBytes - Buffer.byteLength(raw)) {
      throw new Error(
        `record ${number} says ${firstOffset}, but text before it has another length`,
      );
    }
  }
  return text;
}

/** Expects a log to be split into these records, redacted or not, and also by readers that resume at every line. */
export function expectRecords(
  type: string,
  records: readonly string[],
  options: ReadingOptions = {},
): void {
  const text = records.join('\n');
  const resumedAt = text.split('\n').map((_, number) => number);
  for (const more of [{}, { isRedacting: false }, { resumedAt }])
    expect(readLog(type, text, { ...options, ...more }).map(({ raw }) => raw)).toEqual(records);
}

/** The value of an attribute; undefined if the record has no attribute with that key. */
export function attribute(record: ParsedRecord | undefined, key: string): unknown {
  return record?.attributes.find(([name]) => name === key)?.[1];
}
