// The lines of the open record, and of a possible next record. In: lines. Out: the raw text of a record and its
// identity. Guarantees that a record's text stays within its limit, counted in UTF-8: text over the limit is cut off,
// and the record is marked.
//
// A reader stores them with the cursor as text: the name of the format, the reader's state as JSON on one line, then the
// raw text of the open record, so that escaping cannot enlarge it. Reading that text never throws: the state of another
// version is ignored.

import { bug } from '../../errors.ts';
import {
  type CommentOptions,
  type LogRecord,
  MARK,
  type ParsedRecord,
  type RawLine,
} from '../record.ts';
import type { RedactedMessage } from './redact-message.ts';
import type { LocalTime } from './time.ts';

export type CompleteLines = Pick<
  ParsedRecord,
  'raw' | 'firstOffset' | 'lineCount' | 'timeMs' | 'timeExtraNs' | 'stream' | 'marks'
> & {
  /** The end of the part of `raw` from which nothing is missing. */
  readonly wholeTo: number;
};

/** How one entry is read. */
export interface Reading {
  readonly localTime: LocalTime;
  readonly isRedacting: boolean;
  /** What is sent of the comments in statements of the slow query log. */
  readonly comments: CommentOptions;
}

/** The format of a log in which each line is a record. */
export interface LineFormat {
  /** Contains the version of the saved state; other versions are ignored. */
  readonly name: string;
  /** Reads the text of a record; null when it does not parse. */
  readonly read: (raw: string, reading: Reading) => LogRecord | null;
  /** Redacts a text that does not parse. */
  readonly redact: (raw: string) => string;
}

/** The format of a log in which each record begins with a header. */
export interface HeaderFormat {
  /** Contains the version of the saved state; other versions are ignored. */
  readonly name: string;
  /** Reads the text of a record that begins with a header; `body` is the text to send. */
  readonly read: (raw: string, body: string, reading: Reading) => LogRecord;
  /** Removes the literals. `isCut`: the end may be missing. */
  readonly redact: (raw: string, isCut: boolean) => RedactedMessage;
  /** Whether a record begins with this line or part of a line. */
  readonly startsRecord: (text: string) => boolean;
  /** The length of the header if it has the log's own form, which says nothing but time, level and thread; else 0. */
  readonly plainHeader: (text: string) => number;
  /** Where more records begin within the line, after a message without a line end. */
  readonly furtherStarts?: (text: string) => readonly number[];
}

const SEVERITIES: ReadonlyMap<string, number> = new Map([
  ['trace', 1],
  ['debug', 5],
  ['note', 9],
  ['info', 9],
  ['information', 9],
  ['system', 9],
  ['notice', 10],
  ['warn', 13],
  ['warning', 13],
  ['err', 17],
  ['error', 17],
  ['crit', 18],
  ['critical', 18],
  ['alert', 19],
  ['emerg', 21],
  ['fatal', 21],
  ['panic', 21],
]);

/** The severity of a level; 0 if it is unknown. */
export function severityOf(level: string): number {
  return SEVERITIES.get(level.toLowerCase()) ?? 0;
}

/** A record of which only the text is known. */
export function textRecord(body: string): LogRecord {
  return {
    timeMs: Number.NaN,
    timeExtraNs: 0,
    severityNumber: 0,
    severityText: '',
    body,
    eventName: null,
    attributes: [],
  };
}

/** The record that the reader returns; the wrapper's time takes precedence over the time in the text. */
export function toParsedRecord(
  lines: Omit<CompleteLines, 'wholeTo'>,
  fields: LogRecord,
): ParsedRecord {
  const { timeMs, timeExtraNs } = Number.isNaN(lines.timeMs) ? fields : lines;
  // Named one by one: a spread of both takes a tenth of the time of a record.
  return {
    timeMs,
    timeExtraNs,
    severityNumber: fields.severityNumber,
    severityText: fields.severityText,
    body: fields.body,
    eventName: fields.eventName,
    attributes: fields.attributes,
    span: fields.span,
    firstOffset: lines.firstOffset,
    lineCount: lines.lineCount,
    raw: lines.raw,
    stream: lines.stream,
    marks: lines.marks,
  };
}

interface Segment {
  /** Separate from the other segments' text, so that the cost of a line does not depend on the text before it. */
  text: string;
  /** The size of the text in UTF-8; -1 while it is not counted. */
  bytes: number;
  readonly firstOffset: number;
  lineCount: number;
  /** Null means NaN, which JSON lacks. */
  readonly timeMs: number | null;
  readonly timeExtraNs: number;
  readonly stream: string;
  marks: number;
  /** Where the end of a line is missing; null if no end is. Undefined in a segment of an earlier version. */
  wholeTo?: number | null;
  /** It begins within a line. */
  readonly isPart: boolean;
}

/** The stored form of a segment. Its text begins at `rawStart` in the joined text of all segments. */
type SavedSegment = Omit<Segment, 'text'> & { readonly rawStart: number };

/** A part of a line with which a record begins. */
export interface LinePart {
  readonly text: string;
  /** The bytes of the line before it. */
  readonly bytesBefore: number;
}

/** A UTF-16 code unit becomes at most three bytes. */
const BYTES_PER_UNIT_MAX = 3;

export class RecordLines {
  /** The open record, and after it lines that may be the next one. */
  #segments: Segment[] = [];
  readonly #bytesMax: number;
  readonly #localTime: LocalTime;

  /** `localTime` reads the times in the lines: it is saved with them. */
  constructor(bytesMax: number, localTime: LocalTime) {
    this.#bytesMax = bytesMax;
    this.#localTime = localTime;
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  get segmentCount(): number {
    return this.#segments.length;
  }

  get marks(): number {
    return this.#segments.reduce((marks, segment) => marks | segment.marks, 0);
  }

  /** The text of a segment; '' if there is none. */
  textOf(index: number): string {
    return this.#segments[index]?.text ?? '';
  }

  /**
   * Begins a segment with a line or a part of it, even if the segments before it have reached the limit. A line counts for
   * the record of its first part.
   */
  begin(line: RawLine, marks = 0, part: LinePart = { text: line.text, bytesBefore: 0 }): void {
    const text = cutToBytes(part.text, this.#bytesMax);
    const cut = text.length < part.text.length ? MARK.recordCut : 0;
    const isPart = part.bytesBefore > 0;
    this.#segments.push({
      text,
      bytes: -1,
      firstOffset: line.offset + part.bytesBefore,
      lineCount: isPart ? 0 : 1,
      timeMs: Number.isNaN(line.timeMs) ? null : line.timeMs,
      timeExtraNs: line.timeExtraNs,
      stream: line.stream,
      marks: line.marks | marks | cut,
      wholeTo: isCut(line) ? text.length : null,
      isPart,
    });
  }

  /** Whether another line would take all segments together over the limit. */
  wouldOverflow(text: string): boolean {
    const units = this.#sum(segment => segment.text.length) + text.length;
    if (units * BYTES_PER_UNIT_MAX <= this.#bytesMax) return false;
    return this.#sum(countedBytes) + Buffer.byteLength(text) > this.#bytesMax;
  }

  /**
   * Adds a line, or the first part of one, to the newest segment; text over the limit is cut off, and the segment is marked.
   * `isShort`: it is added even over the limit.
   */
  add(line: RawLine, text: string = line.text, isShort = false): void {
    const segment = this.#segments.at(-1) ?? bug('there is no open record');
    segment.lineCount++;
    segment.marks |= line.marks;
    if ((segment.marks & MARK.recordCut) !== 0 && !isShort) return;
    const isOver = !isShort && this.wouldOverflow(text);
    const room = isOver ? this.#bytesMax - this.#sum(countedBytes) : Infinity;
    if (room !== Infinity) segment.marks |= MARK.recordCut;
    if (room >= 0) append(segment, `\n${cutToBytes(text, room)}`);
    if (isCut(line)) segment.wholeTo ??= segment.text.length;
  }

  merge(): void {
    const newest = this.#segments.pop();
    const before = this.#segments.at(-1);
    if (newest === undefined || before === undefined) return;
    before.lineCount += newest.lineCount;
    const wasCut = (before.marks & MARK.recordCut) !== 0;
    before.marks |= newest.marks;
    if (!wasCut) append(before, newest.isPart ? newest.text : `\n${newest.text}`);
    const missing = newest.text.length - (newest.wholeTo ?? Number.NaN);
    if (missing >= 0) before.wholeTo ??= before.text.length - (wasCut ? 0 : missing);
  }

  /** Removes and returns the first segment. */
  complete(): CompleteLines {
    const segment = this.#segments.shift() ?? bug('there is no open record');
    const { text: raw, firstOffset, lineCount, timeExtraNs, stream, marks } = segment;
    const timeMs = segment.timeMs ?? Number.NaN;
    const wholeTo = segment.wholeTo ?? raw.length;
    return { raw, firstOffset, lineCount, timeMs, timeExtraNs, stream, marks, wholeTo };
  }

  /** Saves them with the last time and the reader's state; '' when there is nothing to save. */
  save(format: string, state: object | null): string {
    const { lastMs } = this.#localTime;
    if (state === null && this.isEmpty && Number.isNaN(lastMs)) return '';
    const order = Number.isNaN(lastMs) ? [] : [lastMs];
    let rawStart = 0;
    const segments = this.#segments.map(({ text, ...rest }): SavedSegment => {
      const saved = { rawStart, ...rest };
      rawStart += text.length + 1;
      return saved;
    });
    const raw = this.#segments.map(({ text }) => text).join('\n');
    return `${format} ${JSON.stringify([state, segments, ...order])}\n${raw}`;
  }

  /** Restores a result of save(); returns the reader's state, or null if there is none. */
  restore<State extends object>(format: string, saved: string): State | null {
    this.#segments = [];
    this.#localTime.lastMs = Number.NaN;
    const lineEnd = saved.indexOf('\n');
    if (lineEnd < 0 || !saved.startsWith(`${format} `)) return null;
    try {
      const [state, segments, lastMs] = JSON.parse(saved.slice(format.length + 1, lineEnd));
      const raw = saved.slice(lineEnd + 1);
      const ends = segments.slice(1).map((later: SavedSegment) => later.rawStart - 1);
      this.#segments = segments.map(({ rawStart, ...rest }: SavedSegment, index: number) => {
        return { ...rest, text: raw.slice(rawStart, ends[index]), bytes: -1 };
      });
      if (typeof lastMs === 'number') this.#localTime.lastMs = lastMs;
      return state;
    } catch {
      return null;
    }
  }

  /** The sum over all segments, and one for the newline after each. */
  #sum(sizeOf: (segment: Segment) => number): number {
    return this.#segments.reduce((sum, segment) => sum + sizeOf(segment) + 1, 0);
  }
}

function isCut({ marks }: RawLine): boolean {
  return (marks & MARK.lineCut) !== 0;
}

function append(segment: Segment, text: string): void {
  segment.text += text;
  if (segment.bytes >= 0) segment.bytes += Buffer.byteLength(text);
}

function countedBytes(segment: Segment): number {
  if (segment.bytes < 0) segment.bytes = Buffer.byteLength(segment.text);
  return segment.bytes;
}

/** The longest prefix of a text that fits into a number of bytes and ends with a whole character. */
export function cutToBytes(text: string, bytesMax: number): string {
  if (text.length * BYTES_PER_UNIT_MAX <= bytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
