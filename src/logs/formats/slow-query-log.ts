// The slow query log. In: lines. Out: one record for each statement, and one for each banner that a server writes when
// it starts. The end of a statement is not marked, and a statement may contain any line, even those of a header. So:
//
//   1. A header begins after a line that ends with a semicolon, because the server writes one after each statement. Its
//      lines have an order: optionally `# Time:`, then `# User@Host:`, then `# Thread_id:` or `# Query_time:`. An
//      incomplete header is text.
//   2. A whole header always begins a record, even if a string or comment of the previous statement is open: text that
//      looks like a record becomes one, and no record can be hidden in text. An open string only makes the record
//      doubtful (slow-query-record.ts).
//   3. A banner has three lines and may begin anywhere, even directly after the statement during which the server died.

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
import { redactUnknown, type SqlContext } from './redact.ts';
import {
  type Candidate,
  endsStatement,
  findBanner,
  isBannerRest,
  isRestOfName,
  isUserLine,
  nextOfCandidate,
  SlowQueryHeader,
  startsHeader,
  takeLines,
} from './slow-query-header.ts';
import { type Aftermath, type Doubt, readSlowQuery } from './slow-query-record.ts';

const FORMAT = 'slow-query-log/1';
const NO_RECORDS: readonly ParsedRecord[] = [];
/** The severity of the server's message at its start. */
const INFO = 9;
const CUT = MARK.recordCut | MARK.lineCut;

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
  doubt: Doubt | null;
  /** For a rest, or before one: the state after the flushed record. */
  flushed: Flushed | null;
}

interface Flushed {
  readonly isStatement: boolean;
  /** The record may have ended with its last line. */
  readonly mayEnd: boolean;
  readonly hasHeader: boolean;
  /** The context at the end of its text; null if unknown. */
  readonly context: SqlContext | null;
  /** Null means NaN. */
  readonly timeMs: number | null;
  /** For its rest, and for the next record. */
  readonly restDoubt: Doubt | null;
  readonly nextDoubt: Doubt | null;
}

const NEW: Readonly<State> = {
  kind: 'query',
  isStatement: false,
  statementAt: 0,
  endsStatement: false,
  candidate: 'none',
  doubt: null,
  flushed: null,
};
const NOT_IN_DOUBT: Aftermath = { context: null, doubt: null };

export class SlowQueryReader implements LineReader {
  readonly #reading: Reading;
  readonly #lines: RecordLines;
  #state: State = { ...NEW };
  #header = new SlowQueryHeader();
  #candidateHeader = new SlowQueryHeader();
  /** The context after the last completed record. */
  #aftermath: Aftermath = NOT_IN_DOUBT;

  constructor(reading: Reading, recordBytesMax: number) {
    this.#reading = reading;
    this.#lines = new RecordLines(recordBytesMax, reading.localTime);
  }

  push(line: RawLine): readonly ParsedRecord[] {
    const state = this.#state;
    if (this.#lines.isEmpty) {
      this.#begin(line);
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
    const { kind, isStatement, doubt, endsStatement: isEnd } = this.#state;
    const { isProven, hasWarning } = this.#header;
    const last = this.#complete(true);
    const { context, doubt: nextDoubt } = this.#aftermath;
    const flushed: Flushed = {
      isStatement,
      mayEnd: isEnd || !isStatement || kind === 'orphan',
      hasHeader: isProven && (isStatement || !hasWarning),
      context: isStatement ? context : 'code',
      timeMs: Number.isNaN(last.timeMs) ? null : last.timeMs,
      restDoubt: doubt === null ? null : nextDoubt,
      nextDoubt,
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
    // Earlier versions kept more segments open.
    if (this.#lines.segmentCount !== (this.#state.candidate === 'none' ? 1 : 2))
      this.#giveUpCandidate();
    const { kind, isStatement, statementAt, flushed } = this.#state;
    const raw = kind === 'banner' ? '' : this.#lines.textOf(0);
    this.#header = new SlowQueryHeader();
    if (kind === 'rest') this.#continueHeader(flushed);
    takeLines(this.#header, isStatement ? raw.slice(0, statementAt) : raw);
    this.#candidateHeader = new SlowQueryHeader();
    takeLines(this.#candidateHeader, this.#lines.textOf(1));
  }

  /** Adds the candidate's lines to the text of the open record. */
  #giveUpCandidate(): void {
    while (this.#lines.segmentCount > 1) this.#lines.merge();
    this.#state.candidate = 'none';
  }

  /** The first line of a record. */
  #begin(line: RawLine, doubt: Doubt | null = null): void {
    const { text } = line;
    const { flushed } = this.#state;
    this.#header = new SlowQueryHeader();
    if (startsHeader(text) && (flushed === null || flushed.mayEnd)) {
      this.#lines.begin(line);
      this.#state = { ...NEW, doubt: flushed?.nextDoubt ?? doubt };
      this.#header.take(text);
    } else if (findBanner(text) === 0) {
      this.#lines.begin(line);
      this.#state = { ...NEW, kind: 'banner' };
    } else if (flushed === null) {
      this.#lines.begin(line, MARK.unparsed);
      this.#state = { ...NEW, kind: 'orphan', isStatement: true };
    } else {
      this.#beginRest(line, flushed);
    }
  }

  /** Begins the rest of the flushed record. */
  #beginRest(line: RawLine, flushed: Flushed): void {
    const { isStatement, restDoubt: doubt } = flushed;
    this.#lines.begin(line, MARK.continuation);
    this.#state = { ...NEW, kind: 'rest', isStatement, flushed, doubt };
    this.#continueHeader(flushed);
    if (isStatement) this.#noteEnd(line);
    else this.#takeHeaderLine(line, 0);
  }

  #continueHeader(flushed: Flushed | null): void {
    this.#header.hasUser = true;
    this.#header.isProven = flushed?.hasHeader !== false;
  }

  #afterBanner(line: RawLine): readonly ParsedRecord[] {
    if (isBannerRest(line.text)) {
      this.#lines.add(line);
      return NO_RECORDS;
    }
    const banner = this.#complete(false);
    this.#begin(line);
    return [banner];
  }

  /** Before the clock there is no SQL that could imitate a header. */
  #inHeader(line: RawLine): readonly ParsedRecord[] {
    const { text } = line;
    const { doubt, endsStatement: isEnd } = this.#state;
    if (startsHeader(text) && (this.#header.hasUser || isEnd || !isUserLine(text))) {
      const cutOff = this.#complete(true);
      this.#state.flushed = null;
      this.#begin(line, doubt);
      return [cutOff];
    }
    const at = this.#lines.textOf(0).length + 1;
    this.#lines.add(line);
    this.#takeHeaderLine(line, at);
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
    const isUnknown = state.kind === 'orphan' || state.flushed?.context === null;
    const mayBegin = state.endsStatement || isUnknown;
    if (mayBegin && startsHeader(text)) {
      this.#lines.begin(line);
      state.candidate = isUserLine(text) ? 'user' : 'time';
      state.endsStatement = endsStatement(text);
      this.#candidateHeader = new SlowQueryHeader();
      this.#candidateHeader.take(text);
      return NO_RECORDS;
    }
    if (state.kind !== 'query' && this.#lines.wouldOverflow(text)) return this.#goOn(line);
    this.#lines.add(line);
    this.#noteEnd(line);
    return NO_RECORDS;
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
    this.#candidateHeader.take(text);
    state.candidate = next;
    state.endsStatement = endsStatement(text);
    return next === 'none' ? this.#accept(candidate, false) : NO_RECORDS;
  }

  /** Completes the open record, and opens the candidate as the next one. */
  #accept(candidate: Candidate, isCut: boolean): readonly ParsedRecord[] {
    const isBanner = candidate === 'version' || candidate === 'port';
    const record = this.#complete(isCut || isBanner);
    this.#header = this.#candidateHeader;
    this.#state = isBanner ? { ...NEW, kind: 'banner' } : { ...NEW, doubt: this.#aftermath.doubt };
    return [record];
  }

  /** `isCut`: more of the record may come, or was lost. */
  #complete(isCut: boolean): ParsedRecord {
    const lines = this.#lines.complete();
    const fields = this.#fields(lines, isCut);
    if (this.#state.doubt === null) return toParsedRecord(lines, fields);
    return toParsedRecord({ ...lines, marks: lines.marks | MARK.doubtful }, fields);
  }

  #fields({ raw, marks, wholeTo }: CompleteLines, isCut: boolean): LogRecord {
    const { kind, isStatement, flushed, doubt } = this.#state;
    this.#aftermath = NOT_IN_DOUBT;
    if (kind === 'banner') return { ...textRecord(raw), severityNumber: INFO };
    if (kind === 'orphan') return textRecord(this.#reading.isRedacting ? redactUnknown(raw) : raw);
    const text = {
      raw,
      header: this.#header,
      statementAt: isStatement ? Math.min(this.#state.statementAt, raw.length) : raw.length,
      context: kind === 'rest' && flushed !== null ? flushed.context : 'code',
      wholeTo,
      isCut: isCut || (marks & CUT) !== 0,
      doubt,
    } as const;
    const { fields, aftermath } = readSlowQuery(text, this.#reading);
    this.#aftermath = (marks & CUT) === 0 ? aftermath : NOT_IN_DOUBT;
    if (kind === 'query' || flushed === null) return fields;
    const timeMs = Number.isNaN(fields.timeMs) ? (flushed.timeMs ?? Number.NaN) : fields.timeMs;
    return { ...fields, timeMs, eventName: null };
  }
}
