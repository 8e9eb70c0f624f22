// A place in one line of a page, for the strict readers. The line is held as latin1, so that an index is a byte and
// columns need no counting; what leaves the cursor as a name or a value has been decoded as UTF-8. The functions
// here return null after they have noted in `failure` what is wrong, and where.

import { isUtf8 } from 'node:buffer';
import { shown } from './problem-list.ts';

export interface LineFailure {
  readonly offset: number;
  readonly reason: string;
}

/** Which escapes a quoted text may have: those of text 0.0.4 only, or a backslash before anything (OpenMetrics). */
export type EscapeRule = 'known' | 'any';

export class LineCursor {
  readonly text: string;
  offset = 0;
  failure: LineFailure | null = null;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.offset >= this.text.length;
  }

  /** The character here; '' at the end. */
  get here(): string {
    return this.text[this.offset] ?? '';
  }

  isAt(word: string): boolean {
    return this.text.startsWith(word, this.offset);
  }

  /** Steps over `word` when it stands here. */
  skip(word: string): boolean {
    if (!this.isAt(word)) return false;
    this.offset += word.length;
    return true;
  }

  /** Steps over blanks and tabs. */
  skipBlanks(): void {
    while (this.isAt(' ') || this.isAt('\t')) this.offset++;
  }

  /** What a sticky expression matches here, or '' when it does not. */
  take(pattern: RegExp): string {
    pattern.lastIndex = this.offset;
    const word = pattern.exec(this.text)?.[0] ?? '';
    this.offset += word.length;
    return word;
  }

  /** Everything up to the next blank, tab or the end. */
  takeWord(): string {
    return this.take(/[^ \t]*/y);
  }

  /** Everything that is left. */
  takeRest(): string {
    const rest = this.text.slice(this.offset);
    this.offset = this.text.length;
    return rest;
  }

  /** Notes the first thing that is wrong; null, so that a caller can return it. */
  fail(reason: string, offset: number = this.offset): null {
    this.failure ??= { offset, reason };
    return null;
  }
}

const METRIC_NAME = /[A-Za-z_:][A-Za-z0-9_:]*/y;
const LABEL_NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

/** A metric name, bare or in quotes; null with a failure. */
export function readMetricName(cursor: LineCursor, escapes: EscapeRule): string | null {
  if (cursor.isAt('"')) return readQuotedName(cursor, escapes);
  const name = cursor.take(METRIC_NAME);
  return name === '' ? cursor.fail('expected a metric name') : name;
}

/** A label name, bare or in quotes; null with a failure. */
export function readLabelName(cursor: LineCursor, escapes: EscapeRule): string | null {
  if (cursor.isAt('"')) return readQuotedName(cursor, escapes);
  const name = cursor.take(LABEL_NAME);
  return name === '' ? cursor.fail('expected a label name') : name;
}

function readQuotedName(cursor: LineCursor, escapes: EscapeRule): string | null {
  const start = cursor.offset;
  const name = readQuoted(cursor, escapes);
  return name === '' ? cursor.fail('the name is empty', start) : name;
}

/** A text in double quotes, unescaped; null with a failure when it is none, or no UTF-8. */
export function readQuoted(cursor: LineCursor, escapes: EscapeRule): string | null {
  const start = cursor.offset;
  if (!cursor.skip('"')) return cursor.fail('expected a double quote');
  while (!cursor.isAt('"')) {
    if (cursor.isAtEnd) return cursor.fail('a quoted text has no end', start);
    if (cursor.isAt('\\')) {
      const escaped = cursor.text[cursor.offset + 1] ?? '';
      if (escapes === 'known' && escaped !== '' && !'\\"n'.includes(escaped))
        return cursor.fail('a backslash before something else than \\, " or n');
      cursor.offset++;
      if (cursor.isAtEnd) return cursor.fail('a quoted text has no end', start);
    }
    cursor.offset++;
  }
  cursor.offset++;
  const text = decodeUtf8(cursor.text.slice(start + 1, cursor.offset - 1));
  if (text === null) return cursor.fail('a quoted text is not valid UTF-8', start);
  return text.replace(/\\([\\"n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}

/** The text of latin1 characters that are bytes of UTF-8; null when they are not. */
export function decodeUtf8(latin1: string): string | null {
  const bytes = Buffer.from(latin1, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}

/** Latin1 characters of a line as a message can show them. */
export function shownBytes(latin1: string): string {
  return shown(decodeUtf8(latin1) ?? latin1);
}
