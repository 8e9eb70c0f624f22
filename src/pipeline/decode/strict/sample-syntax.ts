// A sample as the strict readers see it, and the parts of it that both formats share: the label set, which may also
// hold a quoted metric name, and numbers, as Go's ParseFloat and ParseInt and the grammar of OpenMetrics 1.0
// write them: no hex, no underscores, nothing out of range. In: a cursor. Out: tokens with their places, or a failure.

import { type LineCursor, readLabelName, readQuoted } from './line-cursor.ts';
import { shown } from './problem-list.ts';

export interface StrictLabel {
  readonly name: string;
  readonly value: string;
  /** Byte offset of the name in its line. */
  readonly offset: number;
}

/** Name and labels of a sample. The name is '' where the braces hold none. */
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
  /** In the unit of the format; null where the line has none. */
  readonly time: number | null;
  readonly exemplar: StrictExemplar | null;
}

/** How the two formats differ inside the braces. */
export interface LabelRules {
  readonly escapes: 'known' | 'any';
  /** Text 0.0.4: blanks anywhere between tokens, and a comma after the last label. */
  readonly isLoose: boolean;
  /** Whether a quoted text without `=` must stand there, for the metric's name. */
  readonly holdsName: boolean;
}

/** Reads from `{` to behind `}`; null with a failure. */
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
      if (labels.has(word)) return cursor.fail(`the label ${shown(word)} stands twice`, offset);
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
/** Beyond this many digits nothing fits 64 bits; leading zeros are not worth a larger limit. */
const INTEGER_LENGTH_MAX = 1000;

/** A value, or null when the word is no number of the formats or does not fit a double. */
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

/** A timestamp of OpenMetrics: seconds, a number that is neither NaN nor infinite. */
export function secondsOf(word: string): number | null {
  return REAL.test(word) ? numberOf(word) : null;
}

/** Whether the word is a timestamp of text 0.0.4: an integer of 64 bits. */
export function isMilliseconds(word: string): boolean {
  if (!INTEGER.test(word) || word.length > INTEGER_LENGTH_MAX) return false;
  const value = BigInt(word.replace(/^\+/, ''));
  return value <= INT64_MAX && value >= -INT64_MAX - 1n;
}
