// The syntax shared by both strict readers: a line cursor, names, quoted texts, label sets, numbers
// as in Go's ParseFloat and ParseInt and the grammar of OpenMetrics 1.0 (no hex, no underscores,
// nothing out of range), and the list of problems. Lines are latin1 strings, so an index is a byte
// offset; names and values are decoded as UTF-8. Readers return null after they have noted a
// problem.

import { isUtf8 } from 'node:buffer';
import { type ExpositionFormat, type Problem, PROBLEMS_MAX } from '../../../model/page.ts';
import { unescapeText } from '../series-key.ts';

/** Collects at most PROBLEMS_MAX problems, in the order found. */
export class ProblemList {
  readonly problems: Problem[] = [];
  /** The number of the current line, from 1. */
  line = 0;

  /** True when no more are accepted. */
  get isFull(): boolean {
    return this.problems.length >= PROBLEMS_MAX;
  }

  /** Notes a problem at a byte offset within the line; returns null for readers to return. */
  add(offset: number, reason: string, line: number = this.line): null {
    if (!this.isFull) this.problems.push({ line, column: offset + 1, reason });
    return null;
  }
}

/** A word of the page for a message: quoted and shortened. */
export function shown(word: string): string {
  return JSON.stringify(word.length > 40 ? `${word.slice(0, 40)}…` : word);
}

export class LineCursor {
  readonly text: string;
  readonly format: ExpositionFormat;
  offset = 0;
  readonly #problems: ProblemList;

  constructor(text: string, format: ExpositionFormat, problems: ProblemList) {
    this.text = text;
    this.format = format;
    this.#problems = problems;
  }

  get isAtEnd(): boolean {
    return this.offset >= this.text.length;
  }

  isAt(word: string): boolean {
    return this.text.startsWith(word, this.offset);
  }

  /** Skips `word` if it is here. */
  skip(word: string): boolean {
    if (!this.isAt(word)) return false;
    this.offset += word.length;
    return true;
  }

  /** Skips blanks and tabs. */
  skipBlanks(): void {
    while (this.isAt(' ') || this.isAt('\t')) this.offset++;
  }

  /** Takes the text that a sticky expression matches here, or ''. */
  take(pattern: RegExp): string {
    pattern.lastIndex = this.offset;
    const word = pattern.exec(this.text)?.[0] ?? '';
    this.offset += word.length;
    return word;
  }

  /** Takes everything up to the next blank or the end; a tab is a blank in text 0.0.4. */
  takeWord(): string {
    return this.take(this.format === 'text' ? /[^ \t]*/y : /[^ ]*/y);
  }

  takeRest(): string {
    return this.take(/[^]*/y);
  }

  /** Notes a problem; returns null for the caller to return. */
  fail(reason: string, offset: number = this.offset): null {
    return this.#problems.add(offset, reason);
  }
}

const METRIC_NAME = /[A-Za-z_:][A-Za-z0-9_:]*/y;
const LABEL_NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

/** A metric name, bare or in quotes. */
export function readMetricName(cursor: LineCursor): string | null {
  return readName(cursor, METRIC_NAME, 'expected a metric name');
}

function readName(cursor: LineCursor, bare: RegExp, expected: string): string | null {
  const start = cursor.offset;
  const isQuoted = cursor.isAt('"');
  const name = isQuoted ? readQuoted(cursor) : cursor.take(bare);
  return name === '' ? cursor.fail(isQuoted ? 'the name is empty' : expected, start) : name;
}

/** A text in double quotes, unescaped; null if it is malformed or not UTF-8. */
function readQuoted(cursor: LineCursor): string | null {
  const start = cursor.offset;
  cursor.skip('"');
  while (!cursor.isAt('"')) {
    if (cursor.isAtEnd) return cursor.fail('a quoted text has no end', start);
    if (cursor.isAt('\\')) {
      const escaped = cursor.text[cursor.offset + 1] ?? '';
      // OpenMetrics allows a backslash before anything.
      if (cursor.format === 'text' && escaped !== '' && !'\\"n'.includes(escaped))
        return cursor.fail('a backslash before something else than \\, " or n');
      cursor.offset++;
      if (cursor.isAtEnd) return cursor.fail('a quoted text has no end', start);
    }
    cursor.offset++;
  }
  cursor.offset++;
  const text = decodeUtf8(cursor.text.slice(start + 1, cursor.offset - 1));
  if (text === null) return cursor.fail('a quoted text is not valid UTF-8', start);
  return unescapeText(text);
}

/** Decodes latin1 characters as bytes of UTF-8; null if they are not valid. */
export function decodeUtf8(latin1: string): string | null {
  const bytes = Buffer.from(latin1, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}

/** Latin1 characters of a line for a message. */
export function shownBytes(latin1: string): string {
  return shown(decodeUtf8(latin1) ?? latin1);
}

export interface StrictLabel {
  readonly name: string;
  readonly value: string;
  /** Byte offset of the name in its line. */
  readonly offset: number;
}

export interface StrictSeries {
  readonly name: string;
  readonly labels: readonly StrictLabel[];
}

export interface StrictExemplar {
  readonly value: number;
  readonly offset: number;
}

export interface StrictSample extends StrictSeries {
  readonly value: number;
  readonly valueOffset: number;
  /** In seconds; null without a timestamp. */
  readonly time: number | null;
  readonly exemplar: StrictExemplar | null;
}

/** The name and labels at the beginning of a sample. */
export function readSeries(cursor: LineCursor): StrictSeries | null {
  if (cursor.isAt('{')) return readLabels(cursor, null);
  if (cursor.isAt('"')) return cursor.fail('a quoted name must be inside the braces');
  const name = readMetricName(cursor);
  if (name === null) return null;
  if (cursor.format === 'text') {
    // Blanks are required only where two tokens would merge; a sign or a brace prevents that.
    if (!cursor.isAtEnd && !' \t{+-'.includes(cursor.text[cursor.offset]!))
      return cursor.fail('expected a blank after the metric name');
    cursor.skipBlanks();
  }
  return cursor.isAt('{') ? readLabels(cursor, name) : { name, labels: [] };
}

/**
 * Reads from `{` to after `}`. If the name is null, a quoted text without `=` is required: the name.
 * Text 0.0.4 allows blanks anywhere between tokens, and a comma after the last label.
 */
export function readLabels(cursor: LineCursor, given: string | null): StrictSeries | null {
  const start = cursor.offset;
  const isLoose = cursor.format === 'text';
  const skipBlanks = (): void => {
    if (isLoose) cursor.skipBlanks();
  };
  let name = given;
  const labels = new Map<string, StrictLabel>();
  cursor.skip('{');
  skipBlanks();
  while (!cursor.skip('}')) {
    const offset = cursor.offset;
    const isQuoted = cursor.isAt('"');
    const word = readName(cursor, LABEL_NAME, 'expected a label name');
    if (word === null) return null;
    skipBlanks();
    if (isQuoted && given === null && !cursor.isAt('=')) {
      if (name !== null) return cursor.fail('a second metric name', offset);
      name = word;
    } else {
      if (!cursor.skip('=')) return cursor.fail('expected `=` after a label name');
      skipBlanks();
      if (!cursor.isAt('"')) return cursor.fail('expected a quoted label value');
      const value = readQuoted(cursor);
      if (value === null) return null;
      if (labels.has(word)) return cursor.fail(`the label ${shown(word)} occurs twice`, offset);
      labels.set(word, { name: word, value, offset });
    }
    skipBlanks();
    if (cursor.isAt('}')) continue;
    if (!cursor.skip(',')) return cursor.fail('expected `,` or `}` after a label');
    skipBlanks();
    if (cursor.isAt('}') && !isLoose) return cursor.fail('expected a label name');
  }
  if (name === null) return cursor.fail('the sample has no name', start);
  return { name, labels: [...labels.values()] };
}

/** A value; `what` names it in problems. */
export function readNumber(cursor: LineCursor, what: string): number | null {
  const start = cursor.offset;
  const word = cursor.takeWord();
  if (word === '') return cursor.fail(`the ${what} is missing`, start);
  return numberOf(word) ?? cursor.fail(`the ${what} ${shownBytes(word)} is no number`, start);
}

/** The value of one label, or null. */
export function labelOf(labels: readonly StrictLabel[], name: string): StrictLabel | null {
  return labels.find(label => label.name === name) ?? null;
}

const REAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;
const INTEGER = /^[+-]?\d+$/;
/** Longer words cannot be 64-bit integers, except by leading zeros. */
const INTEGER_LENGTH_MAX = 1000;

/** A value; null if the word is not a number of the formats or is out of range. */
export function numberOf(word: string): number | null {
  if (REAL.test(word)) {
    const value = Number(word);
    return Number.isFinite(value) ? value : null;
  }
  if (word.toLowerCase() === 'nan') return Number.NaN;
  const infinite = INFINITE.exec(word);
  if (infinite === null) return null;
  return infinite[1] === '-' ? -Infinity : Infinity;
}

/** An OpenMetrics timestamp: finite seconds. */
export function secondsOf(word: string): number | null {
  return REAL.test(word) ? numberOf(word) : null;
}

/** Whether the word is a timestamp of text 0.0.4: a 64-bit integer. */
export function isMilliseconds(word: string): boolean {
  if (!INTEGER.test(word) || word.length > INTEGER_LENGTH_MAX) return false;
  const value = BigInt(word.replace(/^\+/, ''));
  return BigInt.asIntN(64, value) === value;
}
