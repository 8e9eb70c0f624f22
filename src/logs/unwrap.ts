// Removes the wrappers of a line: the JSON object around each line in archives of format json, and the prefix of a
// container runtime, whose partial lines (`P`) are joined up to the last (`F`). In: lines of an entry. Out: the lines as
// the server wrote them, with the wrapper's time and stream. A line without a wrapper stays unchanged.
//
//   {"log":"2026-03-04T09:05:33.1Z stderr F message\n","time":"2026-03-04T09:05:33.120394Z","stream":"stderr"}

import { follow, parseJson } from '../lib/json.ts';
import type { LogPointers } from '../service/logs-api.ts';
import { MARK, type RawLine } from './record.ts';
import { readInstant } from './formats/time.ts';

export interface UnwrapOptions {
  readonly format: 'json' | 'raw';
  readonly pointers: Pick<LogPointers, 'message' | 'time' | 'stream'>;
  /** The limit of an unwrapped or joined line, in characters. */
  readonly lineBytesMax: number;
}

const PREFIX = /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([FP])(?:[:\w]*) /;

export class Unwrapper {
  readonly #options: UnwrapOptions;
  readonly #take: (line: RawLine) => void;
  readonly #line: RawLine = {
    text: '',
    offset: 0,
    timeMs: Number.NaN,
    timeExtraNs: 0,
    stream: '',
    marks: 0,
  };
  /** An incomplete line, joined from its parts so far. */
  #pending: RawLine | null = null;

  /** `take` is called with each line; the object is reused for the next one. */
  constructor(options: UnwrapOptions, take: (line: RawLine) => void) {
    this.#options = options;
    this.#take = take;
  }

  /** The offset of the incomplete line; -1 if there is none. */
  get pendingOffset(): number {
    return this.#pending?.offset ?? -1;
  }

  push(text: string, offset: number, marks: number): void {
    const line = this.#line;
    line.text = text;
    line.offset = offset;
    line.timeMs = Number.NaN;
    line.timeExtraNs = 0;
    line.stream = '';
    line.marks = marks;
    const isObject = this.#options.format === 'json' && text.startsWith('{');
    if (isObject) this.#openObject(line);
    if (!line.text.includes('\n')) return this.#openPrefix(line);
    // One object may contain several lines; each gets a different offset within the object.
    let within = 0;
    for (const piece of line.text.split('\n')) {
      line.text = piece;
      line.offset = offset + within;
      within += piece.length + 1;
      this.#openPrefix(line);
    }
  }

  /** Passes the incomplete line to `take` as it is, with these marks. */
  flush(marks = 0): void {
    const pending = this.#pending;
    this.#pending = null;
    if (pending === null) return;
    pending.marks |= marks;
    this.#take(pending);
  }

  #openObject(line: RawLine): void {
    const { message, time, stream } = this.#options.pointers;
    const json = parseJson(line.text);
    const text = follow(message, json);
    if (typeof text !== 'string') return;
    line.text = withoutLineEnd(text);
    line.marks &= ~MARK.lineOpen;
    // A lone surrogate cannot be encoded in UTF-8.
    if (!line.text.isWellFormed()) {
      line.text = line.text.toWellFormed();
      line.marks |= MARK.badUtf8;
    }
    const at = follow(time, json);
    if (typeof at === 'string') Object.assign(line, readInstant(at));
    const from = follow(stream, json);
    if (typeof from === 'string') line.stream = from;
  }

  #openPrefix(line: RawLine): void {
    // A cheap check for `2026-03-04T`: most lines have no prefix.
    const isLikely = line.text.charCodeAt(10) === 84 && line.text.charCodeAt(4) === 45;
    const match = isLikely ? PREFIX.exec(line.text) : null;
    const [prefix = '', at = '', stream = '', part = 'F'] = match ?? [];
    if (match !== null) {
      line.text = line.text.slice(prefix.length);
      line.stream = stream;
      // The runtime's time is closer to the event than the collector's in the JSON object.
      Object.assign(line, readInstant(at));
    }
    if (line.text.length > this.#options.lineBytesMax) {
      line.text = line.text.slice(0, this.#options.lineBytesMax);
      line.marks |= MARK.lineCut;
    }
    this.#join(line, part === 'P', match !== null);
  }

  /** A partial line continues in the next line with a prefix of the same stream; any other line ends it. */
  #join(line: RawLine, isPart: boolean, hasPrefix: boolean): void {
    const pending = this.#pending;
    if (pending !== null && hasPrefix && pending.stream === line.stream) {
      this.#append(pending, line);
      if (!isPart) this.flush();
      return;
    }
    this.flush();
    if (isPart) this.#pending = { ...line };
    else this.#take(line);
  }

  #append(pending: RawLine, line: RawLine): void {
    const room = this.#options.lineBytesMax - pending.text.length;
    pending.marks |= line.marks;
    if (line.text.length > room) pending.marks |= MARK.lineCut;
    pending.text += line.text.slice(0, Math.max(room, 0));
  }
}

function withoutLineEnd(text: string): string {
  if (text.endsWith('\r\n')) return text.slice(0, -2);
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}
