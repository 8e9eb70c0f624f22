// The interface between the puller and the line formats. In: physical lines of one entry, unwrapped and in order. Out:
// records, each with an id that is the same every time it is read. One LineReader reads one entry; it does no IO, never
// throws on input, and drops nothing: a line that fits no format becomes a separate, marked record, or belongs to the
// previous record.
//
//   entry ─▶ unwrap ──RawLine──▶ LineReader ──ParsedRecord──▶ chunk ─▶ encode/logs.ts

import { hash } from 'node:crypto';
import type { LogRecord } from '../pipeline/encode/logs.ts';

export type { LogAttribute, LogRecord } from '../pipeline/encode/logs.ts';

/** Unusual properties of a line or record, as bits; a record has its own and those of its lines. See MARKS. */
export const MARK = {
  /** Bytes that are not UTF-8 were replaced by U+FFFD. Set on lines. */
  badUtf8: 1,
  /** Over limits.line: the rest of the line was dropped. Set on lines. */
  lineCut: 2,
  /** Over limits.record: the rest of the record was dropped. Set by the reader. */
  recordCut: 4,
  /** It fits no format of its type: the body is the raw text. Set by the reader. */
  unparsed: 8,
  /** It belongs to a record that was flushed before it was complete. Set by the reader. */
  continuation: 16,
  /** It may be text of the previous statement that looks like a record. Set by the reader. */
  doubtful: 32,
  /** Its time is written in a form that cannot be read. Set by the reader. */
  timeUnknown: 64,
  /** The entry ends within it, and may grow. Set on lines; not shown. */
  lineOpen: 128,
  /** A comment in its statement names no span, although it has a `traceparent`. Set by the reader. */
  badTrace: 256,
} as const;

/** Prefix of attributes without a semantic convention. */
export const OWN_PREFIX = 'prom2otlp.';

/** Each mark that is shown, with its name in the counters, and its attribute on a record. */
export const MARKS: readonly (readonly [mark: number, name: string, attribute: string])[] = [
  [MARK.badUtf8, 'bad_utf8', `${OWN_PREFIX}log.bad_utf8`],
  [MARK.lineCut, 'line_cut', `${OWN_PREFIX}log.cut`],
  [MARK.recordCut, 'record_cut', `${OWN_PREFIX}log.cut`],
  [MARK.unparsed, 'unparsed', `${OWN_PREFIX}log.unparsed`],
  [MARK.continuation, 'continuation', `${OWN_PREFIX}log.continuation`],
  [MARK.doubtful, 'doubtful', `${OWN_PREFIX}log.doubtful`],
  [MARK.timeUnknown, 'time_unknown', `${OWN_PREFIX}log.time_unknown`],
  [MARK.badTrace, 'bad_trace', `${OWN_PREFIX}log.bad_trace`],
];

/**
 * One physical line without its line end (and without a trailing CR). The caller reuses the object for the next line: a
 * reader copies the fields that it needs.
 */
export interface RawLine {
  text: string;
  /** The byte offset of the line in its entry, which distinguishes equal lines. */
  offset: number;
  /** The wrapper's time in whole milliseconds since the epoch; NaN if it has none. */
  timeMs: number;
  /** The rest of the wrapper's time in nanoseconds, 0 to 999,999. */
  timeExtraNs: number;
  /** `stdout` or `stderr`, from the wrapper; '' if it has none. */
  stream: string;
  /** Bits of MARK. */
  marks: number;
}

/** A record with its identity and its origin. */
export interface ParsedRecord extends LogRecord {
  /** RawLine.offset of its first line. */
  readonly firstOffset: number;
  /** The number of its lines: a line that contains the beginnings of two records counts for the first. */
  readonly lineCount: number;
  /** Its original lines, joined by `\n`, before redaction: input of the uid. Cut at limits.record. */
  readonly raw: string;
  /** RawLine.stream of its first line. */
  readonly stream: string;
  /** Bits of MARK. */
  readonly marks: number;
}

/** What is sent of the comments in a statement. */
export interface CommentOptions {
  /** The ids of the trace. */
  readonly isTracing: boolean;
  /** The keys whose values become attributes. Values may be data of users. */
  readonly keys: readonly string[];
}

export interface LineReaderOptions {
  /** The log's type; an unknown type is read line by line, without a format. */
  readonly type: string;
  /** The IANA name of the zone of times within the lines. */
  readonly timezone: string;
  /** Replace SQL literals by `?` in body and attributes, even of records that do not parse. */
  readonly isRedacting: boolean;
  /** What is sent of the comments in statements of the slow query log. */
  readonly comments: CommentOptions;
  /** The limit of a record's raw text, in UTF-8. */
  readonly recordBytesMax: number;
}

export interface LineReader {
  /** Takes a line; returns the records that it completes, in the order of their first lines. */
  push(line: RawLine): readonly ParsedRecord[];
  /**
   * Returns the open record although more of it may come; [] if there is none. A later line that belongs to it becomes
   * a record marked as continuation.
   */
  flush(): readonly ParsedRecord[];
  /**
   * Everything that a new reader needs to continue, including the open record's lines; stored with the cursor. Opaque,
   * at most limits.record and a few KiB long; '' for a reader in its initial state.
   */
  save(): string;
  /**
   * Restores a result of `save`; '' or the text of another version resets the reader.
   */
  restore(saved: string): void;
}

export type CreateLineReader = (options: LineReaderOptions) => LineReader;

/** Increased when the same line would get another id. */
const UID_VERSION = 1;
const UID_LENGTH = 32;
const SEPARATOR = '\u0000';

/** The origin that all records of one entry (or of one partition) share. */
export function uidPlace(parts: readonly string[]): string {
  return JSON.stringify([UID_VERSION, ...parts]);
}

/** The id of a record that we create, such as a gap. */
export function textUid(parts: readonly string[]): string {
  return hash('sha256', uidPlace(parts)).slice(0, UID_LENGTH);
}

/** The first 128 bits of SHA-256, in hex. The offset distinguishes equal lines. */
export function recordUid(place: string, offset: number, record: ParsedRecord): string {
  const { timeMs, timeExtraNs, raw } = record;
  const time = Number.isNaN(timeMs) ? '' : `${timeMs}.${timeExtraNs}`;
  const identity = [place, offset, time, raw].join(SEPARATOR);
  return hash('sha256', identity).slice(0, UID_LENGTH);
}
