// Reads the error and the proxy log. In: lines. Out: records: a record begins with a header and ends before the next one.
// Lines before the first header become an unparsed record; lines after a flushed record become its continuation.
//
// A statement in a message may contain any line, even headers. So after a record that ends within a string, a comment or
// a quotation, the next records may be text of it: of those only the header is sent, until one ends closed however it is
// read, as a record and as such text, or until they are beyond what the engine shows of the statement.

import {
  type LineReader,
  type LogRecord,
  MARK,
  type ParsedRecord,
  type RawLine,
} from '../record.ts';
import { contextsAfter, type OpenEnd, openEnd, withoutLastToken } from './open-contexts.ts';
import {
  type CompleteLines,
  type HeaderFormat,
  type LinePart,
  type Reading,
  RecordLines,
  textRecord,
  toParsedRecord,
} from './record-lines.ts';
import { PLACEHOLDER } from './redact.ts';
import {
  endOfMessage,
  isMessageOpen,
  type MessageContext,
  readMessage,
  type RedactedMessage,
  redactRest,
} from './redact-message.ts';

/** The fields that a continuation inherits from its record; a time of null means NaN. */
interface Inherited {
  readonly timeMs: number | null;
  readonly timeExtraNs: number;
  readonly severityNumber: number;
  readonly severityText: string;
}

/** What may follow a flushed record before the next header. */
interface Rest extends OpenEnd<MessageContext> {
  /** The record ended within a line, a string, a comment or a quotation: nothing of the rest is sent. */
  readonly isHidden: boolean;
  /** The next line is the rest of one. */
  readonly isWithinLine: boolean;
}

interface State {
  /** Null until a record was flushed. */
  inherited: Inherited | null;
  rest: Rest | null;
  /** What may be open at the beginning of the next record. */
  open: readonly MessageContext[];
  /** How many characters may belong to what is open; null if that is unknown. */
  room: number | null;
}

type RecordEnd = Pick<RedactedMessage, 'end' | 'room'>;

const NEW: Readonly<State> = { inherited: null, rest: null, open: [], room: null };
const BEGINS: OpenEnd<MessageContext> = { contexts: ['code'], carry: '' };
const CLOSED: RecordEnd = { end: 'code', room: null };
const NO_RECORDS: readonly ParsedRecord[] = [];
/** The marks of a record without a header. */
const ORPHAN = MARK.unparsed | MARK.continuation;

export class JoiningReader implements LineReader {
  readonly #format: HeaderFormat;
  readonly #reading: Reading;
  readonly #lines: RecordLines;
  #state: State = { ...NEW };
  /** The end of the last record, if it was read. */
  #end: RecordEnd | null = null;

  constructor(format: HeaderFormat, reading: Reading, recordBytesMax: number) {
    this.#format = format;
    this.#reading = reading;
    this.#lines = new RecordLines(recordBytesMax, reading.localTime);
  }

  push(line: RawLine): readonly ParsedRecord[] {
    const { rest } = this.#state;
    if (rest?.isWithinLine === true && this.#lines.isEmpty) return this.#takeRestOfLine(line, rest);
    if (isPartOfObject(line)) return this.#takeHidden(line);
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
    const begins = this.#begins();
    const record = this.#complete();
    const { timeMs, timeExtraNs, severityNumber, severityText, raw, marks } = record;
    const time = Number.isNaN(timeMs) ? null : timeMs;
    const isWithinLine = (marks & MARK.lineOpen) !== 0;
    const end = openEnd(begins.contexts, begins.carry + raw, isWithinLine, endOfMessage);
    const isHidden =
      isWithinLine || this.#isHidden(marks) || end.contexts.some(context => isMessageOpen(context));
    this.#state.inherited = { timeMs: time, timeExtraNs, severityNumber, severityText };
    this.#state.rest = { ...end, isHidden, isWithinLine };
    return [record];
  }

  save(): string {
    const { inherited, rest, open } = this.#state;
    const isNew = inherited === null && rest === null && open.length === 0;
    return this.#lines.save(this.#format.name, isNew ? null : this.#state);
  }

  restore(saved: string): void {
    const state = this.#lines.restore<State | Inherited>(this.#format.name, saved);
    // An earlier version saved only what a continuation inherits.
    const isOld = state !== null && 'timeMs' in state;
    this.#state = isOld ? { ...NEW, inherited: state } : { ...NEW, ...state };
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
    if (isStart) {
      this.#state.inherited = null;
      this.#state.rest = null;
    }
    this.#lines.begin(line, isStart ? 0 : this.#orphanMark(), part);
    return records;
  }

  /** No header begins within a line. */
  #takeRestOfLine(line: RawLine, rest: Rest): readonly ParsedRecord[] {
    const { contexts, carry } = rest;
    if (line.text !== '' || (line.marks & MARK.lineOpen) !== 0) {
      this.#lines.begin(line, this.#orphanMark());
      return NO_RECORDS;
    }
    const end = openEnd(contexts, carry, false, endOfMessage);
    this.#state.rest = { ...rest, ...end, isWithinLine: false };
    this.#setOpen(end.contexts, null);
    return NO_RECORDS;
  }

  /** A part of an object cannot be read, and is no part of the record before it. */
  #takeHidden(line: RawLine): readonly ParsedRecord[] {
    const records = this.flush();
    const { rest } = this.#state;
    this.#state.rest = {
      contexts: ['code'],
      carry: '',
      isWithinLine: false,
      ...rest,
      isHidden: true,
    };
    this.#lines.begin(line, this.#orphanMark());
    return records;
  }

  #orphanMark(): number {
    return this.#state.inherited === null ? MARK.unparsed : MARK.continuation;
  }

  #isHidden(marks: number): boolean {
    return (marks & ORPHAN) !== 0 && this.#state.rest?.isHidden === true;
  }

  /** Text without a header is not cut at the limit, but split into several records: it may be a whole log. */
  #overflowsOrphan(text: string): boolean {
    return (this.#lines.marks & ORPHAN) !== 0 && this.#lines.wouldOverflow(text);
  }

  /** The contexts in which the open record may begin. */
  #begins(): OpenEnd<MessageContext> {
    const { rest, open } = this.#state;
    if ((this.#lines.marks & ORPHAN) !== 0 && rest !== null) return rest;
    return open.length === 0 ? BEGINS : { contexts: ['code', ...open], carry: '' };
  }

  #complete(): ParsedRecord {
    const { contexts, carry } = this.#begins();
    const isDoubtful = (this.#lines.marks & ORPHAN) === 0 && this.#state.open.length > 0;
    const lines = this.#lines.complete();
    this.#end = null;
    const fields = this.#fields(lines, isDoubtful);
    // Most records were read when they were redacted; without that, nothing need be known.
    if (!this.#reading.isRedacting) this.#end = CLOSED;
    const isRead = this.#end !== null && contexts.length === 1;
    const ends: readonly MessageContext[] = isRead
      ? [this.#end?.end ?? 'code']
      : contextsAfter(contexts, `${carry}${lines.raw}\n`, endOfMessage);
    this.#setOpen(ends, isDoubtful ? this.#roomAfter(lines.raw) : (this.#end?.room ?? null));
    if (this.#isHidden(lines.marks) && this.#state.rest !== null)
      this.#state.rest = { ...this.#state.rest, contexts: ends, carry: '' };
    if (!isDoubtful) return toParsedRecord(lines, fields);
    return toParsedRecord({ ...lines, marks: lines.marks | MARK.doubtful }, fields);
  }

  #setOpen(contexts: readonly MessageContext[], room: number | null): void {
    const isPast = room !== null && room <= 0;
    this.#state.open = isPast ? [] : contexts.filter(context => isMessageOpen(context));
    this.#state.room = this.#state.open.length === 0 ? null : room;
  }

  /** What is left of the room after a doubtful record, which may itself open more. */
  #roomAfter(text: string): number | null {
    const { end, room } = readMessage(text);
    const own = isMessageOpen(end) ? room : 0;
    const before = this.#state.room;
    return before === null || own === null ? null : Math.max(before - text.length - 1, own);
  }

  #fields(lines: CompleteLines, isDoubtful: boolean): LogRecord {
    const { raw, marks } = lines;
    if ((marks & ORPHAN) !== 0) return this.#orphan(lines);
    if (!this.#reading.isRedacting) return this.#format.read(raw, raw, this.#reading);
    if (!isDoubtful) {
      const body = this.#redact(lines);
      const isOpen = (marks & MARK.lineOpen) !== 0;
      const sent = isOpen ? withoutLastToken(body, PLACEHOLDER) : body;
      return this.#format.read(raw, sent, this.#reading);
    }
    const headerLength = this.#format.plainHeader(raw);
    const body = raw.slice(0, headerLength) + PLACEHOLDER;
    const read = this.#format.read(raw, body, this.#reading);
    const attributes = read.attributes.filter(([, value]) => typeof value !== 'string');
    return { ...read, severityText: headerLength === 0 ? '' : read.severityText, attributes };
  }

  #redact({ raw, marks, wholeTo }: CompleteLines): string {
    const isCut = (marks & (MARK.recordCut | MARK.lineOpen)) !== 0 || wholeTo < raw.length;
    const read = this.#format.redact(raw.slice(0, wholeTo), isCut);
    if (wholeTo < raw.length) return `${read.text}\n${redactRest(raw.slice(wholeTo + 1))}`;
    this.#end = read;
    return read.text;
  }

  #orphan({ raw, marks }: CompleteLines): LogRecord {
    const isHidden = this.#isHidden(marks);
    const redacted = isHidden ? PLACEHOLDER : redactRest(raw);
    const isOpen = (marks & MARK.lineOpen) !== 0;
    const sent = isOpen ? withoutLastToken(redacted, PLACEHOLDER) : redacted;
    const text = textRecord(this.#reading.isRedacting ? sent : raw);
    const { inherited } = this.#state;
    return inherited === null
      ? text
      : { ...text, ...inherited, timeMs: inherited.timeMs ?? Number.NaN };
  }
}

/** A line of JSON without its end. */
function isPartOfObject({ text, marks }: RawLine): boolean {
  return (marks & MARK.lineOpen) !== 0 && text.startsWith('{');
}
