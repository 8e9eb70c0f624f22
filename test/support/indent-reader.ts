// A LineReader for tests of the code around the formats: a record is a line and the indented lines after it.

import {
  MARK,
  type CreateLineReader,
  type LineReader,
  type ParsedRecord,
  type RawLine,
} from '../../src/logs/record.ts';

interface Open {
  readonly lines: string[];
  readonly offset: number;
  readonly timeMs: number;
  readonly stream: string;
  marks: number;
}

/** Its saved state is JSON, or `flushed` if a record was returned before it was complete. */
export class IndentReader implements LineReader {
  #open: Open | null = null;
  #isFlushed = false;

  push(line: RawLine): readonly ParsedRecord[] {
    const isMore = line.text.startsWith(' ');
    if (isMore && this.#open !== null) {
      this.#open.lines.push(line.text);
      this.#open.marks |= line.marks;
      return [];
    }
    const { text, offset, timeMs, stream, marks } = line;
    const isContinuation = isMore && this.#isFlushed;
    const done = this.#close();
    this.#open = {
      lines: [text],
      offset,
      timeMs,
      stream,
      marks: marks | (isContinuation ? MARK.continuation : 0),
    };
    this.#isFlushed = false;
    return done;
  }

  flush(): readonly ParsedRecord[] {
    const done = this.#close();
    this.#isFlushed ||= done.length > 0;
    return done;
  }

  save(): string {
    if (this.#open === null) return this.#isFlushed ? 'flushed' : '';
    return JSON.stringify(this.#open);
  }

  restore(saved: string): void {
    this.#isFlushed = saved === 'flushed';
    this.#open = saved.startsWith('{') ? (JSON.parse(saved) as Open) : null;
  }

  #close(): readonly ParsedRecord[] {
    const open = this.#open;
    this.#open = null;
    if (open === null) return [];
    const raw = open.lines.join('\n');
    return [
      {
        timeMs: open.timeMs ?? Number.NaN,
        timeExtraNs: 0,
        severityNumber: 9,
        severityText: 'Note',
        body: raw,
        eventName: null,
        attributes: [],
        firstOffset: open.offset,
        lineCount: open.lines.length,
        raw,
        stream: open.stream,
        marks: open.marks,
      },
    ];
  }
}

export const createIndentReader: CreateLineReader = () => new IndentReader();
