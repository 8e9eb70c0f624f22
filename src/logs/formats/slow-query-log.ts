// The slow query log. In: lines. Out: one record for each statement, and one for each banner that a server
// writes when it starts. The end of a statement is not marked, and it may contain any line, even those of a header. So:
//
//   1. A header begins after a line that ends with a semicolon, since the server writes one after each statement. Its
//      lines have an order: optionally `# Time:`, then `# User@Host:`, then `# Thread_id:` or `# Query_time:`. Fewer
//      lines are text.
//   2. A whole header always begins a record, even if a string or comment of the statement before it is open: a text
//      that looks like a record becomes one, and no record can be hidden in a text. An open string only makes the
//      record doubtful (slow-query-record.ts).
//   3. A banner has three lines of its own and may begin anywhere, even right after the statement during which the
//      server died.

import {
  type LineReader,
  type LogRecord,
  MARK,
  type ParsedRecord,
  type RawLine,
} from '../record.ts';
import {
  type CompleteLines,
  type ReaderParts,
  RecordLines,
  restoreState,
  saveState,
  toParsedRecord,
} from './record-lines.ts';
import type { SqlContext } from './redact.ts';
import {
  type Candidate,
  endsStatement,
  findBanner,
  isBannerRest,
  isRestOfName,
  isUserLine,
  nextOfCandidate,
  PairReader,
  SlowQueryHeader,
  startsHeader,
  takeLines,
} from './slow-query-header.ts';
import {
  type Aftermath,
  type Doubt,
  readBanner,
  readOrphan,
  readSlowQuery,
  type SlowQueryOptions,
} from './slow-query-record.ts';

const FORMAT = 'slow-query-log/1';
const NO_RECORDS: readonly ParsedRecord[] = [];
const CUT = MARK.recordCut | MARK.lineCut;

/** Kinds of the open record: `rest` belongs to a record that was flushed, `orphan` to none. */
type Kind = 'query' | 'banner' | 'rest' | 'orphan';

interface State {
  kind: Kind;
  /** The statement has begun. */
  isStatement: boolean;
  /** Where it begins in the text. */
  statementAt: number;
  /** A statement may end with the last line. */
  endsStatement: boolean;
  /** The newest lines may be the beginning of the next record: they are a segment of their own. */
  candidate: Candidate;
  /** Where the rest of a line is missing; null while none is. */
  wholeTo: number | null;
  doubt: Doubt | null;
  /** For a rest, or before one: the state of the flushed record. */
  flushed: Flushed | null;
}

interface Flushed {
  readonly isStatement: boolean;
  /** Its last line may have been the last of the record. */
  readonly mayEnd: boolean;
  readonly hasHeader: boolean;
  /** The context of the end of its text; null where it is unknown. */
  readonly context: SqlContext | null;
  /** null means NaN. */
  readonly timeMs: number | null;
  /** For the rest of it, and for the record after it. */
  readonly restDoubt: Doubt | null;
  readonly nextDoubt: Doubt | null;
}

const NEW: Readonly<State> = {
  kind: 'query',
  isStatement: false,
  statementAt: 0,
  endsStatement: false,
  candidate: 'none',
  wholeTo: null,
  doubt: null,
  flushed: null,
};
const NOT_IN_DOUBT: Aftermath = { context: null, doubt: null };

export class SlowQueryReader implements LineReader {
  readonly #options: SlowQueryOptions;
  readonly #lines: RecordLines;
  #state: State = { ...NEW };
  readonly #pairs = new PairReader();
  #header = new SlowQueryHeader(this.#pairs);
  #candidateHeader = new SlowQueryHeader(this.#pairs);
  /** After the record that was completed last. */
  #aftermath: Aftermath = NOT_IN_DOUBT;

  constructor(options: SlowQueryOptions, recordBytesMax: number) {
    this.#options = options;
    this.#lines = new RecordLines(recordBytesMax);
  }

  get isOpen(): boolean {
    return !this.#lines.isEmpty;
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
    // The server's own lines, of which more is to come, do not end with a semicolon.
    if (this.#state.endsStatement) this.#giveUpCandidate();
    const { candidate } = this.#state;
    const records = candidate === 'none' ? NO_RECORDS : this.#accept(candidate, true);
    const { kind, isStatement, doubt, endsStatement: isEnd } = this.#state;
    const { isProven } = this.#header;
    const last = this.#complete(true);
    const { context, doubt: nextDoubt } = this.#aftermath;
    const flushed: Flushed = {
      isStatement,
      mayEnd: isEnd || !isStatement || kind === 'orphan',
      hasHeader: isProven,
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
    return saveState(FORMAT, isNew ? null : this.#state, this.#parts());
  }

  restore(saved: string): void {
    this.#state = { ...NEW, ...restoreState<State>(FORMAT, saved, this.#parts()) };
    // Earlier versions held more than one open.
    const segmentsMax = this.#state.candidate === 'none' ? 1 : 2;
    if (this.#lines.segmentCount > segmentsMax) this.#giveUpCandidate();
    const { kind, isStatement, statementAt, flushed } = this.#state;
    const raw = kind === 'banner' ? '' : this.#lines.textOf(0);
    this.#header = new SlowQueryHeader(this.#pairs);
    if (kind === 'rest') this.#continueHeader(flushed);
    takeLines(this.#header, isStatement ? raw.slice(0, statementAt) : raw);
    this.#candidateHeader = new SlowQueryHeader(this.#pairs);
    takeLines(this.#candidateHeader, this.#lines.textOf(1));
  }

  /** The lines that might have been another record are text of the open one. */
  #giveUpCandidate(): void {
    while (this.#lines.segmentCount > 1) this.#lines.merge();
    this.#state.candidate = 'none';
  }

  #parts(): ReaderParts {
    return { lines: this.#lines, localTime: this.#options.localTime };
  }

  /** The first line of a record. */
  #begin(line: RawLine, doubt: Doubt | null = null): void {
    const { text } = line;
    const { flushed } = this.#state;
    this.#header = new SlowQueryHeader(this.#pairs);
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

  /** A line that belongs to the record that was flushed. */
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

  /** Before the clock there is no SQL in which a header could be faked. */
  #inHeader(line: RawLine): readonly ParsedRecord[] {
    const { text } = line;
    const { doubt, endsStatement: isEnd } = this.#state;
    if (startsHeader(text) && (this.#header.hasUser || isEnd || !isUserLine(text))) {
      const cutOff = this.#complete(true);
      this.#state.flushed = null;
      this.#begin(line, doubt);
      return [cutOff];
    }
    const at = this.#lines.raw.length + 1;
    this.#lines.add(line);
    this.#takeHeaderLine(line, at);
    return NO_RECORDS;
  }

  /** Takes the line at offset `at` of the text. The statement begins after the clock, or with a line of no header. */
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
      this.#candidateHeader = new SlowQueryHeader(this.#pairs);
      this.#candidateHeader.take(text);
      return NO_RECORDS;
    }
    if (state.kind !== 'query' && this.#lines.wouldOverflow(text)) return this.#goOn(line);
    this.#lines.add(line);
    this.#noteEnd(line);
    return NO_RECORDS;
  }

  /** After a line whose end is missing, a record may begin or not. */
  #noteEnd({ text, marks }: RawLine): void {
    const isCut = (marks & MARK.lineCut) !== 0;
    this.#state.endsStatement = isCut || endsStatement(text);
    if (isCut) this.#state.wholeTo ??= this.#lines.raw.length;
  }

  /** A text without header is not cut at the limit, but makes several records: it may be a whole log. */
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
      // No line of a header looks like it: if it is no banner, it belongs to the statement.
      state.isStatement = true;
      state.statementAt = this.#lines.raw.length + 1;
    }
    if (at > 0) this.#lines.add(line, line.text.slice(0, at));
    this.#lines.beginPart(line, { text: line.text.slice(at), at });
    this.#candidateHeader = new SlowQueryHeader(this.#pairs);
    state.candidate = 'version';
    state.endsStatement = false;
    return NO_RECORDS;
  }

  /** The next line of what may be a header or a banner. */
  #follow(line: RawLine): readonly ParsedRecord[] {
    const { text } = line;
    const state = this.#state;
    const { candidate } = state;
    let next = nextOfCandidate(candidate, text);
    const isName = next === null && candidate === 'user';
    if (isName && isRestOfName(this.#lines.textOf(1), text)) next = 'user';
    if (next === null) {
      // The line itself may be the first of a header.
      this.#giveUpCandidate();
      return this.push(line);
    }
    this.#lines.addAlways(line);
    this.#candidateHeader.take(text);
    state.candidate = next;
    state.endsStatement = endsStatement(text);
    return next === 'none' ? this.#accept(candidate, false) : NO_RECORDS;
  }

  /** The newest segment is a record, and all before it another. */
  #accept(candidate: Candidate, isCut: boolean): readonly ParsedRecord[] {
    const isBanner = candidate === 'version' || candidate === 'port';
    const record = this.#complete(isCut || isBanner);
    this.#header = this.#candidateHeader;
    this.#state = isBanner ? { ...NEW, kind: 'banner' } : { ...NEW, doubt: this.#aftermath.doubt };
    return [record];
  }

  /** `isCut`: more of the record may come, or is gone. */
  #complete(isCut: boolean): ParsedRecord {
    const lines = this.#lines.complete();
    const fields = this.#fields(lines, isCut);
    if (this.#state.doubt === null) return toParsedRecord(lines, fields);
    return toParsedRecord({ ...lines, marks: lines.marks | MARK.doubtful }, fields);
  }

  #fields({ raw, marks }: CompleteLines, isCut: boolean): LogRecord {
    const { kind, isStatement, flushed, doubt, wholeTo } = this.#state;
    this.#aftermath = NOT_IN_DOUBT;
    if (kind === 'banner') return readBanner(raw);
    if (kind === 'orphan') return readOrphan(raw, this.#options);
    const text = {
      raw,
      header: this.#header,
      statementAt: isStatement ? Math.min(this.#state.statementAt, raw.length) : raw.length,
      context: kind === 'rest' && flushed !== null ? flushed.context : 'code',
      wholeTo: wholeTo ?? raw.length,
      isCut: isCut || (marks & CUT) !== 0,
      doubt,
    } as const;
    const { fields, aftermath } = readSlowQuery(text, this.#options);
    this.#aftermath = (marks & CUT) === 0 ? aftermath : NOT_IN_DOUBT;
    if (kind === 'query' || flushed === null) return fields;
    const timeMs = Number.isNaN(fields.timeMs) ? (flushed.timeMs ?? Number.NaN) : fields.timeMs;
    return { ...fields, timeMs, eventName: null };
  }
}
