// The slow query log. In: lines. Out: one record for each statement, and one for each banner that a server writes when
// it starts. The end of a statement is not marked, and a statement may contain any line, even those of a header. So:
//
//   1. A header begins after a line that ends with a semicolon, because the server writes one after each statement. Its
//      lines have an order: optionally `# Time:`, then `# User@Host:`, then `# Thread_id:` or `# Query_time:`. An
//      incomplete header is text.
//   2. A whole header always begins a record, even if a string or comment of the previous statement is open: text that
//      looks like a record becomes one, and no record can be hidden in text. Such a record is doubtful, and so are those
//      after it, until one ends closed both as a record and as such text.
//   3. A banner has three lines and may begin anywhere, even directly after the statement during which the server died.
//   4. After a record that was flushed, nothing is sent up to the next header: it may be text of a string.

import {
  type LineReader,
  type LogRecord,
  MARK,
  type ParsedRecord,
  type RawLine,
} from '../record.ts';
import {
  type CompleteLines,
  type Reading,
  RecordLines,
  textRecord,
  toParsedRecord,
} from './record-lines.ts';
import { contextsAfter, type OpenEnd, openEnd } from './open-contexts.ts';
import { isOpen, PLACEHOLDER, redactSqlFrom, redactUnknown, type SqlContext } from './redact.ts';
import {
  type Candidate,
  candidateOf,
  endsStatement,
  findBanner,
  isBannerRest,
  isRestOfName,
  isThreadLine,
  isUserLine,
  nextOfCandidate,
  SlowQueryHeader,
  startsHeader,
  takeLines,
} from './slow-query-header.ts';
import { readSlowQuery } from './slow-query-record.ts';

const FORMAT = 'slow-query-log/1';
const NO_RECORDS: readonly ParsedRecord[] = [];
/** The severity of the server's message at its start. */
const INFO = 9;
const CUT = MARK.recordCut | MARK.lineCut;
/** Most statements have none of these, and leave nothing open. */
const OPENERS = /['"`]|\/\*/;

/** Kinds of the open record: `rest` belongs to a record that was flushed, `orphan` to none. */
type Kind = 'query' | 'banner' | 'rest' | 'orphan';

interface State {
  kind: Kind;
  /** The statement has begun. */
  isStatement: boolean;
  /** The index of its beginning in the text. */
  statementAt: number;
  /** A statement may end with the last line. */
  endsStatement: boolean;
  /** The newest lines may be the beginning of the next record: they are a separate segment. */
  candidate: Candidate;
  /** What may be open where the record begins. */
  open: readonly SqlContext[];
  /** The contexts after lines that did not fit into the record; null if all did. */
  beyond: readonly SqlContext[] | null;
  /** For a rest, or before one: the state after the flushed record. */
  flushed: Flushed | null;
}

interface Flushed extends OpenEnd<SqlContext> {
  /** The record may have ended with its last line. */
  readonly mayEnd: boolean;
  /** The next line is the rest of one. */
  readonly isWithinLine: boolean;
  /** Null means NaN. */
  readonly timeMs: number | null;
}

const NEW: Readonly<State> = {
  kind: 'query',
  isStatement: false,
  statementAt: 0,
  endsStatement: false,
  candidate: 'none',
  open: [],
  beyond: null,
  flushed: null,
};
const CLOSED: OpenEnd<SqlContext> = { contexts: ['code'], carry: '' };
const SEVERITY = 13;

function endOf(begin: SqlContext, text: string): SqlContext {
  return redactSqlFrom(begin, text).end;
}

export class SlowQueryReader implements LineReader {
  readonly #reading: Reading;
  readonly #lines: RecordLines;
  #state: State = { ...NEW };
  #header = new SlowQueryHeader();
  #candidateHeader = new SlowQueryHeader();
  /** What may be open after the last completed record. */
  #end: OpenEnd<SqlContext> = CLOSED;
  /** The context at the end of its statement, if it was read. */
  #statementEnd: SqlContext | null = null;
  /** Whether a comment in it has a bad `traceparent`. */
  #isBadTrace = false;

  constructor(reading: Reading, recordBytesMax: number) {
    this.#reading = reading;
    this.#lines = new RecordLines(recordBytesMax, reading.localTime);
  }

  push(line: RawLine): readonly ParsedRecord[] {
    const state = this.#state;
    if (this.#lines.isEmpty) {
      if (state.flushed?.isWithinLine === true) this.#beginRestOfLine(line, state.flushed);
      else this.#begin(line);
      return NO_RECORDS;
    }
    if (state.candidate !== 'none') return this.#follow(line);
    if (state.kind === 'banner') return this.#afterBanner(line);
    const bannerAt = findBanner(line.text);
    if (bannerAt >= 0) return this.#beginBanner(line, bannerAt);
    return state.isStatement ? this.#inStatement(line) : this.#inHeader(line);
  }

  flush(): readonly ParsedRecord[] {
    if (this.#lines.isEmpty) return NO_RECORDS;
    // Incomplete lines of the server do not end with a semicolon.
    if (this.#state.endsStatement) this.#giveUpCandidate();
    const { candidate } = this.#state;
    const records = candidate === 'none' ? NO_RECORDS : this.#accept(candidate, true);
    const { kind, isStatement, endsStatement: isEnd } = this.#state;
    const last = this.#complete(true);
    const isWithinLine = (last.marks & MARK.lineOpen) !== 0;
    const flushed: Flushed = {
      ...this.#end,
      mayEnd: isEnd || !isStatement || kind === 'orphan',
      isWithinLine,
      timeMs: Number.isNaN(last.timeMs) ? null : last.timeMs,
    };
    this.#state = { ...NEW, flushed };
    return [...records, last];
  }

  save(): string {
    const isNew = this.#lines.isEmpty && this.#state.flushed === null;
    return this.#lines.save(FORMAT, isNew ? null : this.#state);
  }

  restore(saved: string): void {
    this.#state = { ...NEW, ...this.#lines.restore<State>(FORMAT, saved) };
    const flushedBefore: Partial<Flushed> | null = this.#state.flushed;
    // An earlier version saved less.
    if (flushedBefore !== null && flushedBefore.contexts === undefined)
      this.#state.flushed = { ...CLOSED, mayEnd: true, isWithinLine: false, timeMs: null };
    // Earlier versions kept more segments open.
    if (this.#lines.segmentCount !== (this.#state.candidate === 'none' ? 1 : 2))
      this.#giveUpCandidate();
    const { kind, isStatement, statementAt } = this.#state;
    const raw = kind === 'banner' ? '' : this.#lines.textOf(0);
    this.#header = new SlowQueryHeader();
    takeLines(this.#header, isStatement ? raw.slice(0, statementAt) : raw);
    this.#candidateHeader = new SlowQueryHeader();
    takeLines(this.#candidateHeader, this.#lines.textOf(1));
  }

  /** Adds the candidate's lines to the text of the open record. */
  #giveUpCandidate(): void {
    this.#passBeyond(`${this.#lines.textOf(1)}\n`);
    while (this.#lines.segmentCount > 1) this.#lines.merge();
    this.#state.candidate = 'none';
  }

  /** The first line of a record. */
  #begin(line: RawLine, open: readonly SqlContext[] = []): void {
    const { text } = line;
    const { flushed } = this.#state;
    this.#header = new SlowQueryHeader();
    const next = { ...NEW, open: flushed?.contexts.filter(isOpen) ?? open };
    if (startsHeader(text) && (flushed === null || flushed.mayEnd)) {
      this.#lines.begin(line);
      this.#state = next;
      if (!isWithinLine(line)) this.#header.take(text);
    } else if (findBanner(text) === 0) {
      this.#lines.begin(line);
      this.#state = { ...next, kind: 'banner' };
    } else if (flushed === null) {
      this.#lines.begin(line, MARK.unparsed);
      this.#state = { ...next, kind: 'orphan', isStatement: true };
    } else this.#beginRest(line, flushed);
  }

  /** Begins the rest of the flushed record. */
  #beginRest(line: RawLine, flushed: Flushed): void {
    this.#lines.begin(line, MARK.continuation);
    this.#state = { ...NEW, kind: 'rest', isStatement: true, flushed };
    this.#noteEnd(line);
  }

  /** Nothing begins within a line. */
  #beginRestOfLine(line: RawLine, flushed: Flushed): void {
    if (line.text !== '' || isWithinLine(line)) return this.#beginRest(line, flushed);
    const end = openEnd(flushed.contexts, flushed.carry, false, endOf);
    this.#state.flushed = { ...flushed, ...end, isWithinLine: false };
  }

  #afterBanner(line: RawLine): readonly ParsedRecord[] {
    if (isBannerRest(line.text)) {
      this.#lines.add(line);
      return NO_RECORDS;
    }
    const banner = this.#complete(false);
    this.#begin(line, this.#open());
    return [banner];
  }

  /** Before the clock there is no SQL that could imitate a header. */
  #inHeader(line: RawLine): readonly ParsedRecord[] {
    const { text } = line;
    const { endsStatement: isEnd } = this.#state;
    const { hasUser, isConfirmed } = this.#header;
    const mayEnd = hasUser || isConfirmed || isEnd || !isUserLine(text);
    if (mayEnd && !isThreadLine(text) && startsHeader(text)) {
      const cutOff = this.#complete(true);
      this.#state.flushed = null;
      this.#begin(line, this.#open());
      return [cutOff];
    }
    const at = this.#lines.textOf(0).length + 1;
    this.#lines.add(line);
    if (!isWithinLine(line)) this.#takeHeaderLine(line, at);
    return NO_RECORDS;
  }

  /** Takes the line at index `at` of the text. The statement begins after the clock, or with a line that is no header. */
  #takeHeaderLine(line: RawLine, at: number): void {
    const state = this.#state;
    const isHeaderLine = this.#header.take(line.text);
    this.#noteEnd(line);
    if (isHeaderLine && !this.#header.isComplete) return;
    state.isStatement = true;
    state.statementAt = isHeaderLine ? at + line.text.length + 1 : at;
  }

  #inStatement(line: RawLine): readonly ParsedRecord[] {
    const { text } = line;
    const state = this.#state;
    const mayBegin = state.endsStatement || state.kind === 'orphan';
    if (mayBegin && startsHeader(text)) {
      this.#lines.begin(line);
      state.candidate = candidateOf(text);
      state.endsStatement = endsStatement(text);
      this.#candidateHeader = new SlowQueryHeader();
      if (!isWithinLine(line)) this.#candidateHeader.take(text);
      return NO_RECORDS;
    }
    if (this.#lines.wouldOverflow(text)) {
      if (state.kind !== 'query') return this.#goOn(line);
      state.beyond ??= this.#endOf(this.#lines.textOf(0), 0).contexts;
    }
    this.#lines.add(line);
    this.#passBeyond(`${text}\n`);
    this.#noteEnd(line);
    return NO_RECORDS;
  }

  /** Reads text that does not fit into the record, to know what is open after it. */
  #passBeyond(text: string): void {
    const { beyond } = this.#state;
    if (beyond !== null) this.#state.beyond = contextsAfter(beyond, text, endOf);
  }

  /** After a line without its end, a record may begin. */
  #noteEnd({ text, marks }: RawLine): void {
    this.#state.endsStatement = (marks & MARK.lineCut) !== 0 || endsStatement(text);
  }

  /** Text without a header is not cut at the limit, but split into several records: it may be a whole log. */
  #goOn(line: RawLine): readonly ParsedRecord[] {
    const isOrphan = this.#state.kind === 'orphan';
    const records = this.flush();
    if (isOrphan) this.#state.flushed = null;
    this.#begin(line);
    return records;
  }

  #beginBanner(line: RawLine, at: number): readonly ParsedRecord[] {
    const state = this.#state;
    if (!state.isStatement) {
      // It is no line of a header: if it is not a banner, it belongs to the statement.
      state.isStatement = true;
      state.statementAt = this.#lines.textOf(0).length + 1;
    }
    if (at > 0) this.#lines.add(line, line.text.slice(0, at));
    const bytesBefore = Buffer.byteLength(line.text.slice(0, at));
    this.#lines.begin(line, 0, { text: line.text.slice(at), bytesBefore });
    this.#candidateHeader = new SlowQueryHeader();
    state.candidate = 'version';
    state.endsStatement = false;
    return NO_RECORDS;
  }

  /** The next line of a possible header or banner. */
  #follow(line: RawLine): readonly ParsedRecord[] {
    const { text } = line;
    const state = this.#state;
    const { candidate } = state;
    let next = nextOfCandidate(candidate, text);
    const isName = next === null && candidate === 'user';
    if (isName && isRestOfName(this.#lines.textOf(1), text)) next = 'user';
    if (next === null) {
      // This line may itself begin a header.
      this.#giveUpCandidate();
      return this.push(line);
    }
    this.#lines.add(line, text, true);
    if (!isWithinLine(line)) this.#candidateHeader.take(text);
    state.candidate = next;
    state.endsStatement = endsStatement(text);
    return next === 'none' ? this.#accept(candidate, false) : NO_RECORDS;
  }

  /** Completes the open record, and opens the candidate as the next one. */
  #accept(candidate: Candidate, isCut: boolean): readonly ParsedRecord[] {
    const isBanner = candidate === 'version' || candidate === 'port';
    const record = this.#complete(isCut || isBanner);
    this.#header = this.#candidateHeader;
    this.#state = { ...NEW, kind: isBanner ? 'banner' : 'query', open: this.#open() };
    return [record];
  }

  /** What may be open where the next record begins. */
  #open(): readonly SqlContext[] {
    return this.#end.contexts.filter(isOpen);
  }

  /** `isCut`: more of the record may come, or was lost. */
  #complete(isCut: boolean): ParsedRecord {
    const { kind, open } = this.#state;
    const lines = this.#lines.complete();
    this.#statementEnd = null;
    this.#isBadTrace = false;
    const fields = this.#fields(lines, isCut);
    // What is open after a line whose end was dropped is unknown.
    const isLost = (lines.marks & MARK.lineCut) !== 0 || kind === 'orphan';
    this.#end = isLost ? CLOSED : this.#endOf(lines.raw, lines.marks);
    const marks =
      lines.marks | (open.length > 0 ? MARK.doubtful : 0) | (this.#isBadTrace ? MARK.badTrace : 0);
    return toParsedRecord({ ...lines, marks }, fields);
  }

  #endOf(raw: string, marks: number): OpenEnd<SqlContext> {
    const { kind, isStatement, statementAt, open, beyond, flushed } = this.#state;
    if (beyond !== null) return { contexts: beyond, carry: '' };
    const isPart = (marks & MARK.lineOpen) !== 0;
    if (kind === 'rest' && flushed !== null)
      return openEnd(flushed.contexts, flushed.carry + raw, isPart, endOf);
    const statement = isStatement ? raw.slice(statementAt) : '';
    const end = this.#endOfStatement(statement, isPart);
    if (open.length === 0) return end;
    const text = end.carry === '' ? `${raw}\n` : raw.slice(0, raw.length - end.carry.length);
    return {
      ...end,
      contexts: [...new Set([...end.contexts, ...contextsAfter(open, text, endOf)])],
    };
  }

  #endOfStatement(statement: string, isPart: boolean): OpenEnd<SqlContext> {
    const end = this.#statementEnd;
    if (end !== null) return isOpen(end) ? { contexts: [end], carry: '' } : CLOSED;
    if (!isPart && !OPENERS.test(statement)) return CLOSED;
    return openEnd(['code'], statement, isPart, endOf);
  }

  #fields({ raw, marks, wholeTo }: CompleteLines, isCut: boolean): LogRecord {
    const { kind, isStatement, flushed, open } = this.#state;
    const { isRedacting } = this.#reading;
    const isDoubtful = open.length > 0;
    if (kind === 'banner') {
      const text = isRedacting && isDoubtful ? PLACEHOLDER : raw;
      return { ...textRecord(text), severityNumber: INFO };
    }
    if (kind === 'query') {
      const text = {
        raw,
        header: this.#header,
        statementAt: isStatement ? Math.min(this.#state.statementAt, raw.length) : raw.length,
        wholeTo,
        isCut: isCut || (marks & CUT) !== 0,
        isWithinLine: (marks & MARK.lineOpen) !== 0,
        isDoubtful,
      };
      const { fields, end, isBadTrace } = readSlowQuery(text, this.#reading);
      this.#statementEnd = end;
      this.#isBadTrace = isBadTrace;
      return fields;
    }
    const text = textRecord(isRedacting ? redactUnknown(raw) : raw);
    if (kind === 'orphan') return text;
    return { ...text, timeMs: flushed?.timeMs ?? Number.NaN, severityNumber: SEVERITY };
  }
}

function isWithinLine({ marks }: RawLine): boolean {
  return (marks & MARK.lineOpen) !== 0;
}
