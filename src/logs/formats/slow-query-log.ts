// The slow query log. In: lines. Out: one record for each statement, and one for each banner that a server
// writes when it starts. Where a statement ends is not told: a semicolon ends its last line, and lines that look
// like the next header may stand in its strings and comments, and in the body of a procedure. So:
//
//   1. A header begins behind a line that ends with a semicolon, and has its lines in their order: `# Time:`
//      (or not), `# User@Host:`, then `# Thread_id:` or `# Query_time:`.
//   2. It counts if the statement before it is closed there: no string and no comment is open.
//   3. Where one is open, the header is text, unless a second one follows and the same is still open: then the
//      quote was never closed, as in statements that failed. Headers older than the record are an excerpt.
//   4. A banner has three lines of its own, stands anywhere, even right behind the statement that the server
//      died in, and counts like a header.
//
// Of a record over its limit the end of the strings is not known: there a header counts where it stands.

import { type LineReader, MARK, type ParsedRecord, type RawLine } from '../record.ts';
import { type RecordFields, RecordLines, toParsedRecord } from './record-lines.ts';
import type { RedactedSql, SqlContext } from './redact.ts';
import { restoreState, saveState } from './saved-state.ts';
import {
  type Candidate,
  endsStatement,
  findBanner,
  isBannerRest,
  isUserLine,
  nextOfCandidate,
  startsHeader,
} from './slow-query-lines.ts';
import { readHeader, SlowQueryHeader } from './slow-query-header.ts';
import {
  isExcerpt,
  readBanner,
  readOrphan,
  readSlowQuery,
  type SlowQueryOptions,
} from './slow-query-record.ts';
import { type Scan, scanOn } from './statement-scan.ts';

const FORMAT = 'slow-query-log/1';
const NO_RECORDS: readonly ParsedRecord[] = [];
/** So many headers in an open string prove that it is none. */
const OPEN_HEADERS_MAX = 2;

/** What the oldest segment is: `rest` belongs to a record that was flushed, `orphan` to none. */
type Kind = 'query' | 'banner' | 'rest' | 'orphan';

interface State {
  kind: Kind;
  /** The statement of the oldest segment has begun. */
  isStatement: boolean;
  /** Where it begins in the text. */
  statementAt: number;
  /** The last line ends with a semicolon. */
  endsStatement: boolean;
  candidate: Candidate;
  /** Headers that stand in a string or comment, each a segment. */
  openHeaders: number;
  /** How far the oldest segment was looked through for strings and comments. */
  scan: Scan | null;
  /** For a rest, or before one: the same of the record that was flushed. */
  flushed: Flushed | null;
}

interface Flushed {
  readonly isStatement: boolean;
  /** What the end of its text stands in; null where nobody knows. */
  readonly context: SqlContext | null;
  /** null stands for NaN. */
  readonly timeMs: number | null;
}

const NEW: Readonly<State> = {
  kind: 'query',
  isStatement: false,
  statementAt: 0,
  endsStatement: false,
  candidate: 'none',
  openHeaders: 0,
  scan: null,
  flushed: null,
};

export class SlowQueryReader implements LineReader {
  readonly #options: SlowQueryOptions;
  readonly #lines: RecordLines;
  #state: State = { ...NEW };
  /** Of the oldest segment. */
  #header = new SlowQueryHeader();
  /** Of the newest segment, as long as it is a candidate. */
  #candidateHeader = new SlowQueryHeader();
  /** The statement of the oldest segment up to an offset of its text, from when it was looked through. */
  #reading: { readonly sql: RedactedSql; readonly end: number } | null = null;

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
    if (state.kind === 'banner') return this.#behindBanner(line);
    const bannerAt = findBanner(line.text);
    if (bannerAt >= 0) return this.#beginBanner(line, bannerAt);
    return state.isStatement ? this.#inStatement(line) : this.#inHeader(line);
  }

  flush(): readonly ParsedRecord[] {
    if (this.#lines.isEmpty) return NO_RECORDS;
    const records: ParsedRecord[] = [];
    const { candidate } = this.#state;
    if (candidate !== 'none') {
      this.#state.candidate = 'none';
      if (this.#isInString()) this.#lines.merge();
      else records.push(...this.#accept(candidate));
    }
    if (this.#lines.segmentCount > 1) {
      const isClosed = this.#state.endsStatement && this.#contextAtEnd() === 'code';
      records.push(...(isClosed ? this.#mergeAll() : this.#resolve()));
    }
    const { kind, isStatement } = this.#state;
    const context = kind === 'orphan' || this.#isCut() ? null : this.#contextAtEnd();
    const last = this.#complete();
    const timeMs = Number.isNaN(last.timeMs) ? null : last.timeMs;
    const flushed = { isStatement: isStatement || kind === 'orphan', context, timeMs };
    this.#state = { ...NEW, flushed };
    return [...records, last];
  }

  save(): string {
    const isNew = this.#lines.isEmpty && this.#state.flushed === null;
    return saveState(FORMAT, isNew ? null : this.#state, this.#lines);
  }

  restore(saved: string): void {
    this.#state = { ...NEW, ...restoreState<State>(FORMAT, saved, this.#lines) };
    this.#reading = null;
    const { kind, isStatement, statementAt } = this.#state;
    const raw = kind === 'banner' ? '' : this.#lines.textOf(0);
    this.#header = readHeader(isStatement ? raw.slice(0, statementAt) : raw).header;
    this.#header.hasUser ||= kind === 'rest';
    this.#candidateHeader = readHeader(this.#lines.textOf(this.#lines.segmentCount - 1)).header;
  }

  /** The first line of a record. */
  #begin(line: RawLine): void {
    const { text } = line;
    const { flushed } = this.#state;
    this.#header = new SlowQueryHeader();
    if (startsHeader(text)) {
      this.#lines.begin(line);
      this.#state = { ...NEW };
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
    const { isStatement } = flushed;
    this.#lines.begin(line, MARK.continuation);
    this.#state = { ...NEW, kind: 'rest', isStatement, flushed };
    this.#header.hasUser = true;
    if (isStatement) this.#state.endsStatement = endsStatement(line.text);
    else this.#takeHeaderLine(line.text, 0);
  }

  #behindBanner(line: RawLine): readonly ParsedRecord[] {
    if (isBannerRest(line.text)) {
      this.#lines.add(line);
      return NO_RECORDS;
    }
    const banner = this.#complete();
    this.#begin(line);
    return [banner];
  }

  /** Before the clock no SQL stands that a header could be faked in. */
  #inHeader(line: RawLine): readonly ParsedRecord[] {
    const { text } = line;
    if (startsHeader(text) && (this.#header.hasUser || !isUserLine(text))) {
      const cutOff = this.#complete();
      this.#begin(line);
      return [cutOff];
    }
    const at = this.#lines.raw.length + 1;
    this.#lines.add(line);
    this.#takeHeaderLine(text, at);
    return NO_RECORDS;
  }

  /** Takes a line that stands at `at` of the text; the statement begins behind the clock, or without one. */
  #takeHeaderLine(text: string, at: number): void {
    const state = this.#state;
    const isHeaderLine = this.#header.take(text);
    if (isHeaderLine && !this.#header.isComplete) return;
    state.isStatement = true;
    state.statementAt = isHeaderLine ? at + text.length + 1 : at;
    state.endsStatement = !isHeaderLine && endsStatement(text);
  }

  #inStatement(line: RawLine): readonly ParsedRecord[] {
    const { text } = line;
    const state = this.#state;
    if (startsHeader(text) && (state.endsStatement || this.#isContextUnknown())) {
      this.#lines.begin(line);
      state.candidate = isUserLine(text) ? 'user' : 'time';
      this.#candidateHeader = new SlowQueryHeader();
      this.#candidateHeader.take(text);
      state.endsStatement = false;
      return NO_RECORDS;
    }
    if (this.#lines.wouldOverflow(text)) {
      if (this.#lines.segmentCount > 1) return [...this.#resolve(), ...this.push(line)];
      if (state.kind !== 'query') return this.#goOn(line);
    }
    this.#lines.add(line);
    state.endsStatement = endsStatement(text);
    return NO_RECORDS;
  }

  /** What follows no header is not cut at the limit, but makes several records: it may be a whole log. */
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
      // Nothing like it stands in a header: if it is no banner, it is the statement.
      state.isStatement = true;
      state.statementAt = this.#lines.raw.length + 1;
    }
    if (at > 0) this.#lines.add(line, line.text.slice(0, at));
    this.#lines.beginPart(line, { text: line.text.slice(at), at });
    state.candidate = 'version';
    state.endsStatement = false;
    return NO_RECORDS;
  }

  /** The next line of what may be a header or a banner. */
  #follow(line: RawLine): readonly ParsedRecord[] {
    const { text } = line;
    const state = this.#state;
    const { candidate } = state;
    const next = nextOfCandidate(candidate, text);
    if (next === null) {
      this.#lines.merge();
      state.candidate = 'none';
      return this.push(line);
    }
    this.#lines.addAlways(line);
    this.#candidateHeader.take(text);
    state.candidate = next;
    if (next !== 'none') return NO_RECORDS;
    if (!this.#isInString()) return this.#accept(candidate);
    if (candidate === 'user') state.openHeaders++;
    else state.endsStatement = true; // a header may follow the banner at once
    return state.openHeaders < OPEN_HEADERS_MAX ? NO_RECORDS : this.#resolve();
  }

  /** The newest segment is a record, and all before it another. */
  #accept(candidate: Candidate): readonly ParsedRecord[] {
    this.#lines.mergeOlder();
    const record = this.#complete();
    this.#header = this.#candidateHeader;
    const isBanner = candidate === 'version' || candidate === 'port';
    this.#state = { ...NEW, kind: isBanner ? 'banner' : 'query' };
    return [record];
  }

  /** A string was open all along: the segments are records each, or an excerpt of an older log. */
  #resolve(): readonly ParsedRecord[] {
    const texts = Array.from({ length: this.#lines.segmentCount }, (_, index) =>
      this.#lines.textOf(index),
    );
    if (isExcerpt(texts)) return this.#mergeAll();
    const records: ParsedRecord[] = [];
    while (this.#lines.segmentCount > 1) {
      records.push(this.#complete());
      this.#adopt();
    }
    return records;
  }

  #mergeAll(): readonly ParsedRecord[] {
    this.#lines.mergeAll();
    this.#state.openHeaders = 0;
    return NO_RECORDS;
  }

  /** The oldest segment, which was no record so far, becomes the open one; its statement may have begun. */
  #adopt(): void {
    const raw = this.#lines.textOf(0);
    const isQuery = startsHeader(raw);
    const { header, statementAt } = readHeader(isQuery ? raw : '');
    const isStatement = isQuery && (header.isComplete || statementAt <= raw.length);
    const ends = isStatement && this.#state.endsStatement;
    const kind = isQuery ? 'query' : 'banner';
    this.#header = header;
    this.#state = { ...NEW, kind, isStatement, statementAt, endsStatement: ends };
  }

  #complete(): ParsedRecord {
    const isRead = this.#reading?.end === this.#lines.endOf(0);
    const reading = isRead ? (this.#reading?.sql ?? null) : null;
    this.#reading = null;
    const lines = this.#lines.complete();
    return toParsedRecord(lines, this.#fields(lines.raw, reading));
  }

  #fields(raw: string, reading: RedactedSql | null): RecordFields {
    const { kind, isStatement, flushed } = this.#state;
    if (kind === 'banner') return readBanner(raw);
    if (kind === 'orphan') return readOrphan(raw, this.#options);
    const statementAt = isStatement ? this.#state.statementAt : raw.length;
    const context = kind === 'rest' && flushed !== null ? flushed.context : 'code';
    const text = { raw, header: this.#header, statementAt, context, reading };
    const fields = readSlowQuery(text, this.#options);
    if (kind === 'query' || flushed === null) return fields;
    const timeMs = Number.isNaN(fields.timeMs) ? (flushed.timeMs ?? Number.NaN) : fields.timeMs;
    return { ...fields, timeMs, eventName: null };
  }

  /** Whether the newest segment begins inside of a string or comment. */
  #isInString(): boolean {
    if (this.#isContextUnknown()) return false;
    const { context, isMisread } = this.#scanTo(this.#lines.endOf(this.#lines.segmentCount - 2));
    return context !== 'code' && !isMisread;
  }

  #contextAtEnd(): SqlContext {
    if (this.#state.kind === 'banner') return 'code';
    const { context } = this.#scanTo(this.#lines.raw.length);
    return context === '`' ? 'code' : context;
  }

  #scanTo(end: number): Scan {
    const { raw } = this.#lines;
    const isFirst = this.#state.scan === null;
    const { scan, sql } = scanOn(this.#state.scan ?? this.#scanStart(raw), raw, end);
    if (isFirst && sql !== null) this.#reading = { sql, end };
    this.#state.scan = scan;
    return scan;
  }

  #scanStart(raw: string): Scan {
    const { kind, isStatement, statementAt, flushed } = this.#state;
    const at = isStatement ? Math.min(statementAt, raw.length) : raw.length;
    const context = kind === 'rest' ? (flushed?.context ?? 'code') : 'code';
    return { at, context, isMisread: false };
  }

  #isCut(): boolean {
    return (this.#lines.marks & (MARK.recordCut | MARK.lineCut)) !== 0;
  }

  #isContextUnknown(): boolean {
    const { kind, flushed } = this.#state;
    return kind === 'orphan' || flushed?.context === null || this.#isCut();
  }
}
