// Reads a log whose records begin with a header and go on until the next one: error and proxy log. In: lines.
// Out: records; a line without header belongs to the record before it. Lines before the first header become an
// unparsed record; those behind a flushed one a continuation, which takes over its time and severity.

import type { LineReader, ParsedRecord, RawLine } from '../record.ts';
import { MARK } from '../record.ts';
import type { LocalTime } from './local-time.ts';
import {
  type CompleteLines,
  type RecordFields,
  RecordLines,
  toParsedRecord,
} from './record-lines.ts';
import { type ReaderParts, restoreState, saveState } from './saved-state.ts';

/** What a log's format knows. */
export interface HeaderFormat {
  /** With the version of what is saved; another version's state is not taken over. */
  readonly name: string;
  /** Of the file that is read with it. */
  readonly localTime: LocalTime;
  /** Whether a record begins with this line, or with this part of one. */
  startsRecord(text: string): boolean;
  /** Where further records begin in the line: messages whose writer forgot to end the one before. */
  furtherStarts(text: string): readonly number[];
  /** Reads a record that begins with a header. */
  read(raw: string): RecordFields;
  /** The text of a record without header, as it may be sent. */
  redact(raw: string): string;
}

/** What a continuation takes over; null stands for NaN. */
interface Inherited {
  readonly timeMs: number | null;
  readonly timeExtraNs: number;
  readonly severityNumber: number;
  readonly severityText: string;
}

const NO_RECORDS: readonly ParsedRecord[] = [];
/** The marks of a record without header. */
const ORPHAN = MARK.unparsed | MARK.continuation;

export class JoiningReader implements LineReader {
  readonly #format: HeaderFormat;
  readonly #lines: RecordLines;
  #inherited: Inherited | null = null;

  constructor(format: HeaderFormat, recordBytesMax: number) {
    this.#format = format;
    this.#lines = new RecordLines(recordBytesMax);
  }

  get isOpen(): boolean {
    return !this.#lines.isEmpty;
  }

  push(line: RawLine): readonly ParsedRecord[] {
    const further = this.#format.furtherStarts(line.text);
    if (further.length === 0) return this.#take(line, 0, line.text.length);
    const records: ParsedRecord[] = [];
    const ends = [...further, line.text.length];
    let at = 0;
    for (const end of ends) {
      records.push(...this.#take(line, at, end));
      at = end;
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
    return saveState(this.#format.name, this.#inherited, this.#parts());
  }

  restore(saved: string): void {
    this.#inherited = restoreState<Inherited>(this.#format.name, saved, this.#parts());
  }

  #parts(): ReaderParts {
    return { lines: this.#lines, localTime: this.#format.localTime };
  }

  /** Takes the part of a line that begins at `at`. */
  #take(line: RawLine, at: number, end: number): readonly ParsedRecord[] {
    const text = line.text.slice(at, end);
    const isStart = this.#format.startsRecord(text);
    if (!isStart && !this.#lines.isEmpty && !this.#overflowsOrphan(text)) {
      this.#lines.add(line, text);
      return NO_RECORDS;
    }
    const records = this.#lines.isEmpty ? NO_RECORDS : [this.#complete()];
    if (isStart) this.#inherited = null;
    const orphan = this.#inherited === null ? MARK.unparsed : MARK.continuation;
    this.#lines.beginPart(line, { text, at }, isStart ? 0 : orphan);
    return records;
  }

  /** What follows no header is not cut at the limit, but makes several records: it may be a whole log. */
  #overflowsOrphan(text: string): boolean {
    return (this.#lines.marks & ORPHAN) !== 0 && this.#lines.wouldOverflow(text);
  }

  #complete(): ParsedRecord {
    const lines = this.#lines.complete();
    return toParsedRecord(lines, this.#fields(lines));
  }

  #fields({ raw, marks }: CompleteLines): RecordFields {
    if ((marks & ORPHAN) === 0) return this.#format.read(raw);
    const { timeMs, ...inherited } = this.#inherited ?? NOTHING_INHERITED;
    return {
      ...inherited,
      timeMs: timeMs ?? Number.NaN,
      body: this.#format.redact(raw),
      eventName: null,
      attributes: [],
    };
  }
}

const NOTHING_INHERITED: Inherited = {
  timeMs: null,
  timeExtraNs: 0,
  severityNumber: 0,
  severityText: '',
};
