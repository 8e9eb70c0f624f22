// Selects the format by the log's type, and reads with it. In: the lines of one entry. Out: records. Lines of an unknown
// type become records marked as unparsed.
//
//   SlowQueryReader    the slow query log
//   JoiningReader      a record begins with a header and ends before the next one: error and proxy log
//   SingleLineReader   each line is a record: audit log and unknown types

import {
  type CreateLineReader,
  type LineReader,
  type LineReaderOptions,
  type LogRecord,
  MARK,
  type ParsedRecord,
  type RawLine,
} from '../record.ts';
import { AUDIT_LOG } from './audit-log.ts';
import { ERROR_LOG } from './error-log.ts';
import { JoiningReader } from './joining-reader.ts';
import { withoutLastToken } from './open-contexts.ts';
import { PROXY_LOG } from './proxy-log.ts';
import {
  cutToBytes,
  type LineFormat,
  type Reading,
  RecordLines,
  textRecord,
  toParsedRecord,
} from './record-lines.ts';
import { PLACEHOLDER } from './redact.ts';
import { redactMessage } from './redact-message.ts';
import { SlowQueryReader } from './slow-query-log.ts';
import { LocalTime } from './time.ts';

export const createLineReader: CreateLineReader = (options: LineReaderOptions): LineReader => {
  const { timezone, isRedacting, comments, recordBytesMax } = options;
  const reading: Reading = { localTime: new LocalTime(timezone), isRedacting, comments };
  switch (options.type) {
    case 'error-log':
      return new JoiningReader(ERROR_LOG, reading, recordBytesMax);
    case 'proxy-log':
      return new JoiningReader(PROXY_LOG, reading, recordBytesMax);
    case 'slow-query-log':
      return new SlowQueryReader(reading, recordBytesMax);
    case 'audit-log':
      return new SingleLineReader(AUDIT_LOG, reading, recordBytesMax);
    default:
      return new SingleLineReader(LINES, reading, recordBytesMax);
  }
};

const LINES: LineFormat = { name: 'lines/1', read: () => null, redact: redactMessage };

const NO_RECORDS: readonly ParsedRecord[] = [];

/** A line that does not parse is marked, and sent as text; of the rest of a line that was sent, nothing is. */
class SingleLineReader implements LineReader {
  readonly #format: LineFormat;
  readonly #reading: Reading;
  readonly #bytesMax: number;
  /** Always empty. */
  readonly #lines: RecordLines;
  /** The next line is the rest of one. */
  #isWithinLine = false;

  constructor(format: LineFormat, reading: Reading, recordBytesMax: number) {
    this.#format = format;
    this.#reading = reading;
    this.#bytesMax = recordBytesMax;
    this.#lines = new RecordLines(0, reading.localTime);
  }

  push(line: RawLine): readonly ParsedRecord[] {
    const { text, offset, timeMs, timeExtraNs, stream } = line;
    const isRest = this.#isWithinLine;
    this.#isWithinLine = (line.marks & MARK.lineOpen) !== 0;
    if (isRest && text === '' && !this.#isWithinLine) return NO_RECORDS;
    const read = isRest ? null : this.#format.read(text, this.#reading);
    const fields =
      read ?? textRecord(this.#reading.isRedacting ? this.#redact(text, isRest) : text);
    const raw = cutToBytes(text, this.#bytesMax);
    const isCut = raw.length < text.length;
    let marks = line.marks | (isCut ? MARK.recordCut : 0);
    if (isRest) marks |= MARK.continuation;
    else if (read === null) marks |= MARK.unparsed;
    else if (Number.isNaN(timeMs) && Number.isNaN(read.timeMs)) marks |= MARK.timeUnknown;
    const lines = { raw, firstOffset: offset, lineCount: 1, timeMs, timeExtraNs, stream, marks };
    return [toParsedRecord(lines, isCut ? this.#cut(fields) : fields)];
  }

  flush(): readonly ParsedRecord[] {
    return NO_RECORDS;
  }

  save(): string {
    const state = this.#isWithinLine ? { isWithinLine: true } : null;
    return this.#lines.save(this.#format.name, state);
  }

  restore(saved: string): void {
    const state = this.#lines.restore<{ isWithinLine: boolean }>(this.#format.name, saved);
    this.#isWithinLine = state?.isWithinLine === true;
  }

  #redact(text: string, isRest: boolean): string {
    if (isRest) return PLACEHOLDER;
    const redacted = this.#format.redact(text);
    return this.#isWithinLine ? withoutLastToken(redacted, PLACEHOLDER) : redacted;
  }

  #cut(fields: LogRecord): LogRecord {
    const cut = (text: string): string => cutToBytes(text, this.#bytesMax);
    return {
      ...fields,
      body: cut(fields.body),
      attributes: fields.attributes.map(attribute => {
        const [key, value] = attribute;
        return typeof value === 'string' ? [key, cut(value)] : attribute;
      }),
    };
  }
}
