// Selects the format by the log's type, and reads with it. In: the lines of one entry. Out: records. Lines of an unknown
// type become records marked as unparsed. The slow query log has its own reader; the other formats use one of these:
//
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
import { PROXY_LOG } from './proxy-log.ts';
import {
  type CompleteLines,
  cutToBytes,
  type HeaderFormat,
  type LineFormat,
  type LinePart,
  type Reading,
  RecordLines,
  textRecord,
  toParsedRecord,
} from './record-lines.ts';
import { redactMessage, redactRest } from './redact-message.ts';
import { SlowQueryReader } from './slow-query-log.ts';
import { LocalTime } from './time.ts';

export const createLineReader: CreateLineReader = (options: LineReaderOptions): LineReader => {
  const { timezone, isRedacting, recordBytesMax } = options;
  const reading: Reading = { localTime: new LocalTime(timezone), isRedacting };
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

/** The fields that a continuation inherits from its record; a time of null means NaN. */
interface Inherited {
  readonly timeMs: number | null;
  readonly timeExtraNs: number;
  readonly severityNumber: number;
  readonly severityText: string;
}

const NO_RECORDS: readonly ParsedRecord[] = [];
/** The beginning of a line with an unknown header. A quote would follow a time that is a value of a statement. */
const BEGINS_WITH_TIME =
  /^\W{0,2}\d{2,4}[-/.]\d{2}[-/.]\d{2,4}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?[ \t\]]/;

/** The marks of a record without a header. */
const ORPHAN = MARK.unparsed | MARK.continuation;

/**
 * A line without a header belongs to the previous record. Lines before the first header become an unparsed record; lines
 * after a flushed record become its continuation.
 */
class JoiningReader implements LineReader {
  readonly #format: HeaderFormat;
  readonly #reading: Reading;
  readonly #lines: RecordLines;
  #inherited: Inherited | null = null;

  constructor(format: HeaderFormat, reading: Reading, recordBytesMax: number) {
    this.#format = format;
    this.#reading = reading;
    this.#lines = new RecordLines(recordBytesMax, reading.localTime);
  }

  push(line: RawLine): readonly ParsedRecord[] {
    const further = this.#format.furtherStarts?.(line.text) ?? [];
    if (further.length === 0) return this.#take(line, { text: line.text, bytesBefore: 0 });
    const records: ParsedRecord[] = [];
    let at = 0;
    let bytesBefore = 0;
    for (const end of [...further, line.text.length]) {
      const text = line.text.slice(at, end);
      records.push(...this.#take(line, { text, bytesBefore }));
      at = end;
      bytesBefore += Buffer.byteLength(text);
    }
    return records;
  }

  flush(): readonly ParsedRecord[] {
    if (this.#lines.isEmpty) return NO_RECORDS;
    const record = this.#complete();
    const { timeMs, timeExtraNs, severityNumber, severityText } = record;
    const time = Number.isNaN(timeMs) ? null : timeMs;
    this.#inherited = { timeMs: time, timeExtraNs, severityNumber, severityText };
    return [record];
  }

  save(): string {
    return this.#lines.save(this.#format.name, this.#inherited);
  }

  restore(saved: string): void {
    this.#inherited = this.#lines.restore<Inherited>(this.#format.name, saved);
  }

  /** Takes a part of a line, or all of it. */
  #take(line: RawLine, part: LinePart): readonly ParsedRecord[] {
    const { text } = part;
    const isStart = this.#format.startsRecord(text);
    if (!isStart && !this.#lines.isEmpty && !this.#overflowsOrphan(text)) {
      this.#lines.add(line, text);
      return NO_RECORDS;
    }
    const records = this.#lines.isEmpty ? NO_RECORDS : [this.#complete()];
    if (isStart) this.#inherited = null;
    const orphan = this.#inherited === null ? MARK.unparsed : MARK.continuation;
    this.#lines.begin(line, isStart ? 0 : orphan, part);
    return records;
  }

  /** Text without a header is not cut at the limit, but split into several records: it may be a whole log. */
  #overflowsOrphan(text: string): boolean {
    return (this.#lines.marks & ORPHAN) !== 0 && this.#lines.wouldOverflow(text);
  }

  #complete(): ParsedRecord {
    const lines = this.#lines.complete();
    return toParsedRecord(lines, this.#fields(lines));
  }

  #fields({ raw, marks, wholeTo }: CompleteLines): LogRecord {
    const { isRedacting } = this.#reading;
    if ((marks & ORPHAN) === 0) {
      const read = this.#format.read(raw.slice(0, wholeTo), this.#reading);
      if (wholeTo === raw.length) return read;
      const rest = raw.slice(wholeTo + 1);
      return { ...read, body: `${read.body}\n${isRedacting ? redactRest(rest) : rest}` };
    }
    const redact = BEGINS_WITH_TIME.test(raw) ? redactMessage : redactRest;
    const text = textRecord(isRedacting ? redact(raw) : raw);
    const inherited = this.#inherited;
    return inherited === null
      ? text
      : { ...text, ...inherited, timeMs: inherited.timeMs ?? Number.NaN };
  }
}

/** A line that does not parse is marked, and sent as text. */
class SingleLineReader implements LineReader {
  readonly #format: LineFormat;
  readonly #reading: Reading;
  readonly #bytesMax: number;
  /** Always empty. */
  readonly #lines: RecordLines;

  constructor(format: LineFormat, reading: Reading, recordBytesMax: number) {
    this.#format = format;
    this.#reading = reading;
    this.#bytesMax = recordBytesMax;
    this.#lines = new RecordLines(0, reading.localTime);
  }

  push(line: RawLine): readonly ParsedRecord[] {
    const { text, offset, timeMs, timeExtraNs, stream } = line;
    const read = this.#format.read(text, this.#reading);
    const fields = read ?? textRecord(this.#reading.isRedacting ? this.#format.redact(text) : text);
    const raw = cutToBytes(text, this.#bytesMax);
    const isCut = raw.length < text.length;
    let marks = line.marks | (read === null ? MARK.unparsed : 0) | (isCut ? MARK.recordCut : 0);
    if (read !== null && Number.isNaN(timeMs) && Number.isNaN(read.timeMs))
      marks |= MARK.timeUnknown;
    const lines = { raw, firstOffset: offset, lineCount: 1, timeMs, timeExtraNs, stream, marks };
    return [toParsedRecord(lines, isCut ? this.#cut(fields) : fields)];
  }

  flush(): readonly ParsedRecord[] {
    return NO_RECORDS;
  }

  save(): string {
    return this.#lines.save(this.#format.name, null);
  }

  restore(saved: string): void {
    this.#lines.restore(this.#format.name, saved);
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
