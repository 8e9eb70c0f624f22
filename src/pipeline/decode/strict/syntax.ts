// The syntax shared by both strict readers: a line cursor, names, quoted texts, label sets, numbers
// as in Go's ParseFloat and ParseInt and the grammar of OpenMetrics 1.0 (no hex, no underscores,
// nothing out of range), and the list of problems. Lines are latin1 strings, so an index is a byte
// offset; names and values are decoded as UTF-8. Readers return null after they have noted a
// failure.

import { isUtf8 } from 'node:buffer';
import { type Problem, PROBLEMS_MAX } from '../../../model/page.ts';
import { unescapeText } from '../series-key.ts';

/**
 * Collects at most PROBLEMS_MAX problems, in the order found. `add` counts lines from 1 and expects
 * byte offsets within the line.
 */
export class ProblemList {
  readonly problems: Problem[] = [];

  /** True when no more are accepted. */
  get isFull(): boolean {
    return this.problems.length >= PROBLEMS_MAX;
  }

  add(line: number, offset: number, reason: string): void {
    if (!this.isFull) this.problems.push({ line, column: offset + 1, reason });
  }
}

/** A word of the page for a message: quoted and shortened. */
export function shown(word: string): string {
  return JSON.stringify(word.length > 40 ? `${word.slice(0, 40)}…` : word);
}

export interface LineFailure {
  readonly offset: number;
  readonly reason: string;
}

/**
 * The allowed escapes of a quoted text: those of text 0.0.4, or a backslash before anything
 * (OpenMetrics).
 */
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

  /** Takes everything up to the next blank, tab or the end. */
  takeWord(): string {
    return this.take(/[^ \t]*/y);
  }

  takeRest(): string {
    const rest = this.text.slice(this.offset);
    this.offset = this.text.length;
    return rest;
  }

  /** Notes the first failure; returns null for the caller to return. */
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
function readLabelName(cursor: LineCursor, escapes: EscapeRule): string | null {
  if (cursor.isAt('"')) return readQuotedName(cursor, escapes);
  const name = cursor.take(LABEL_NAME);
  return name === '' ? cursor.fail('expected a label name') : name;
}

function readQuotedName(cursor: LineCursor, escapes: EscapeRule): string | null {
  const start = cursor.offset;
  const name = readQuoted(cursor, escapes);
  return name === '' ? cursor.fail('the name is empty', start) : name;
}

/** A text in double quotes, unescaped; null with a failure if it is malformed or not UTF-8. */
function readQuoted(cursor: LineCursor, escapes: EscapeRule): string | null {
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

/** Name and labels of a sample. The name is '' if the braces contain none. */
export interface BracedLabels {
  readonly name: string;
  readonly labels: readonly StrictLabel[];
}

export interface StrictExemplar {
  readonly labels: readonly StrictLabel[];
  readonly value: number;
  readonly offset: number;
}

export interface StrictSample extends BracedLabels {
  readonly value: number;
  readonly valueOffset: number;
  /** In the unit of the format; null without a timestamp. */
  readonly time: number | null;
  readonly exemplar: StrictExemplar | null;
}

/** How the two formats differ inside the braces. */
export interface LabelRules {
  readonly escapes: 'known' | 'any';
  /** Text 0.0.4: blanks anywhere between tokens, and a comma after the last label. */
  readonly isLoose: boolean;
  /** Whether a quoted text without `=` is required: the metric's name. */
  readonly holdsName: boolean;
}

/** Reads from `{` to after `}`; null with a failure. */
export function readLabels(cursor: LineCursor, rules: LabelRules): BracedLabels | null {
  const start = cursor.offset;
  const skipBlanks = (): void => {
    if (rules.isLoose) cursor.skipBlanks();
  };
  let name = '';
  const labels = new Map<string, StrictLabel>();
  cursor.skip('{');
  skipBlanks();
  while (!cursor.skip('}')) {
    const offset = cursor.offset;
    const isQuoted = cursor.isAt('"');
    const word = readLabelName(cursor, rules.escapes);
    if (word === null) return null;
    skipBlanks();
    if (isQuoted && rules.holdsName && !cursor.isAt('=')) {
      if (name !== '') return cursor.fail('a second metric name', offset);
      name = word;
    } else {
      const value = readLabelValue(cursor, rules);
      if (value === null) return null;
      if (labels.has(word)) return cursor.fail(`the label ${shown(word)} occurs twice`, offset);
      labels.set(word, { name: word, value, offset });
    }
    skipBlanks();
    if (cursor.isAt('}')) continue;
    if (!cursor.skip(',')) return cursor.fail('expected `,` or `}` after a label');
    skipBlanks();
    if (cursor.isAt('}') && !rules.isLoose) return cursor.fail('expected a label name');
  }
  if (rules.holdsName && name === '') return cursor.fail('the sample has no name', start);
  return { name, labels: [...labels.values()] };
}

function readLabelValue(cursor: LineCursor, rules: LabelRules): string | null {
  if (!cursor.skip('=')) return cursor.fail('expected `=` after a label name');
  if (rules.isLoose) cursor.skipBlanks();
  if (!cursor.isAt('"')) return cursor.fail('expected a quoted label value');
  return readQuoted(cursor, rules.escapes);
}

/** The value of one label, or null. */
export function labelOf(labels: readonly StrictLabel[], name: string): StrictLabel | null {
  return labels.find(label => label.name === name) ?? null;
}

const REAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;
const INTEGER = /^[+-]?\d+$/;
const INT64_MAX = 2n ** 63n - 1n;
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
  return value <= INT64_MAX && value >= -INT64_MAX - 1n;
}
