// What passes between the puller and the line formats. In: physical lines of one entry, unwrapped and in order.
// Out: records, each with an id that is the same whenever and however often it is read. One LineReader reads one
// entry; it does no IO, never throws on input, and drops nothing: a line that fits no format becomes a record of
// its own, marked, or belongs to the record before it.
//
//   entry ─▶ unwrap ──RawLine──▶ LineReader ──ParsedRecord──▶ chunk ─▶ encode/logs.ts

import { hash } from 'node:crypto';
import type { LogRecord } from '../pipeline/encode/logs.ts';

export type { LogAttribute, LogRecord } from '../pipeline/encode/logs.ts';

/**
 * Unusual properties of a line or record, as bits; a record carries those of all its lines and its own. The chunk
 * makes attributes of them, so that readers need not.
 */
export const MARK = {
  /** Bytes that are not UTF-8 were replaced by U+FFFD. Set on lines. */
  badUtf8: 1,
  /** Over limits.line: the rest of the line is gone. Set on lines. */
  lineCut: 2,
  /** Over limits.record: the rest of the record is gone. Set by the reader. */
  recordCut: 4,
  /** It fits no format of its type: the body is the raw text. Set by the reader. */
  unparsed: 8,
  /** It belongs to a record that was flushed before it was complete. Set by the reader. */
  continuation: 16,
  /** It may be text of a statement before it that looks like a record. Set by the reader. */
  doubtful: 32,
} as const;

/** Prefix of attributes that no semantic convention names. */
export const OWN_PREFIX = 'prom2otlp.';

/** Each mark with its name in the counters, and the attribute that a record with it has. */
export const MARKS: readonly (readonly [mark: number, name: string, attribute: string])[] = [
  [MARK.badUtf8, 'bad_utf8', `${OWN_PREFIX}log.bad_utf8`],
  [MARK.lineCut, 'line_cut', `${OWN_PREFIX}log.cut`],
  [MARK.recordCut, 'record_cut', `${OWN_PREFIX}log.cut`],
  [MARK.unparsed, 'unparsed', `${OWN_PREFIX}log.unparsed`],
  [MARK.continuation, 'continuation', `${OWN_PREFIX}log.continuation`],
  [MARK.doubtful, 'doubtful', `${OWN_PREFIX}log.doubtful`],
];

/**
 * One physical line without its line end (and without a trailing CR). The object is the caller's and is
 * filled anew for the next line: a reader keeps what it needs.
 */
export interface RawLine {
  text: string;
  /** Where the line begins in its entry, in bytes: it distinguishes equal lines. */
  offset: number;
  /** The wrapper's time in whole milliseconds since the epoch; NaN where there is none. */
  timeMs: number;
  /** What the wrapper's time has beyond whole milliseconds, 0 to 999,999. */
  timeExtraNs: number;
  /** `stdout` or `stderr`, from the wrapper; '' where it has none. */
  stream: string;
  /** Bits of MARK. */
  marks: number;
}

/** A record with its identity and its origin. */
export interface ParsedRecord extends LogRecord {
  /** RawLine.offset of its first line. */
  readonly firstOffset: number;
  /** Lines that begin in it: one that holds the beginnings of two records counts for the first. */
  readonly lineCount: number;
  /** Its lines as they came, joined by `\n`, before redaction: the uid is computed of it. Cut at limits.record. */
  readonly raw: string;
  /** RawLine.stream of its first line. */
  readonly stream: string;
  /** Bits of MARK. */
  readonly marks: number;
}

export interface LineReaderOptions {
  /** The log's type; an unknown one is read line by line, without a format. */
  readonly type: string;
  /** IANA name: the zone of times within the lines. */
  readonly timezone: string;
  /** Replace the literals of SQL by `?` in body and attributes, of records that do not parse, too. */
  readonly isRedacting: boolean;
  /** Of a record's raw text, in UTF-8. */
  readonly recordBytesMax: number;
}

/** Reads the lines of one entry in order. */
export interface LineReader {
  /** Takes a line; returns the records that are complete now, in the order of their first lines. */
  push(line: RawLine): readonly ParsedRecord[];
  /**
   * Gives the open record although more of it may come (none: []). A line that belongs to it and comes later
   * becomes a record marked as continuation.
   */
  flush(): readonly ParsedRecord[];
  /** True while the reader holds lines that no returned record contains. */
  readonly isOpen: boolean;
  /**
   * Everything a new reader needs to go on as this one would, the open record's lines included; it is stored
   * with the cursor. Opaque, at most limits.record and a few KiB long; '' for a reader that is as new.
   */
  save(): string;
  /**
   * Takes over what `save` gave; '' makes it as new. A text that it cannot read (from another version) leaves
   * it as new.
   */
  restore(saved: string): void;
}

/** How the puller gets its readers. */
export type CreateLineReader = (options: LineReaderOptions) => LineReader;

/** Raised when the same line would get another id. */
const UID_VERSION = 1;
const UID_LENGTH = 32;
const SEPARATOR = '\u0000';

/** Where records come from: what all records of one entry (or of one partition) share. */
export function uidPlace(parts: readonly string[]): string {
  return JSON.stringify([UID_VERSION, ...parts]);
}

/** The id of a record of our own, which is no line of the service. */
export function textUid(parts: readonly string[]): string {
  return hash('sha256', uidPlace(parts), 'hex').slice(0, UID_LENGTH);
}

/**
 * The first 128 bits of SHA-256, in hex. `position` distinguishes equal lines: the offset in an entry, or the
 * number among equals.
 */
export function recordUid(place: string, position: number | string, record: ParsedRecord): string {
  const { timeMs, timeExtraNs, raw } = record;
  const time = Number.isNaN(timeMs) ? '' : `${timeMs}.${timeExtraNs}`;
  const identity = [place, position, time, raw].join(SEPARATOR);
  return hash('sha256', identity, 'hex').slice(0, UID_LENGTH);
}
