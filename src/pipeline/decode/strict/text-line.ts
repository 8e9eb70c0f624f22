// The lines of text 0.0.4, each by itself: a sample, a HELP or TYPE line, or nothing that counts. The grammar is that of
// the format's documentation; where that is silent or the reference parser's own tests say otherwise, a comment
// below says so.

import { decodeUtf8, type LineCursor, readMetricName, shownBytes } from './line-cursor.ts';
import {
  type BracedLabels,
  isMilliseconds,
  type LabelRules,
  numberOf,
  readLabels,
  type StrictSample,
} from './sample-syntax.ts';

export interface TextMetadata {
  readonly keyword: 'HELP' | 'TYPE';
  readonly name: string;
  /** The docstring as it stands, or the type in lower case. */
  readonly value: string;
  readonly offset: number;
}

const TYPES = new Set([
  'counter',
  'gauge',
  'histogram',
  'summary',
  'untyped',
  // The documentation has the five above; the reference parser's tests also want these two.
  'gaugehistogram',
  'gauge_histogram',
]);

/** A comment line from its `#`; null when it says nothing, or with a failure. */
export function readTextComment(cursor: LineCursor): TextMetadata | null {
  cursor.skip('#');
  cursor.skipBlanks();
  const offset = cursor.offset;
  const keyword = cursor.takeWord();
  if (keyword !== 'HELP' && keyword !== 'TYPE') return null;
  cursor.skipBlanks();
  // A keyword alone is a comment like any other: the reference parser's tests have `# HELP` so.
  if (cursor.isAtEnd) return null;
  const name = readMetricName(cursor, 'known');
  if (name === null) return null;
  if (!cursor.isAtEnd && !cursor.isAt(' ') && !cursor.isAt('\t'))
    return cursor.fail(`expected a blank after the metric name in a ${keyword} line`);
  cursor.skipBlanks();
  return keyword === 'HELP' ? readHelp(cursor, name, offset) : readType(cursor, name, offset);
}

function readHelp(cursor: LineCursor, name: string, offset: number): TextMetadata | null {
  const start = cursor.offset;
  const value = cursor.takeRest();
  if (decodeUtf8(value) === null) return cursor.fail('the help text is not valid UTF-8', start);
  const bad = badEscape(value);
  if (bad >= 0) return cursor.fail('a backslash before something else than \\ or n', start + bad);
  return { keyword: 'HELP', name, value, offset };
}

/** Where a backslash stands that escapes nothing, or -1. `\"` is not in the documentation, but the reference parser reads it. */
function badEscape(text: string): number {
  let at = text.indexOf('\\');
  while (at >= 0 && /[\\n"]/.test(text[at + 1] ?? '')) at = text.indexOf('\\', at + 2);
  return at;
}

function readType(cursor: LineCursor, name: string, offset: number): TextMetadata | null {
  const start = cursor.offset;
  const value = cursor.takeWord();
  cursor.skipBlanks();
  if (!cursor.isAtEnd) return cursor.fail('unexpected text after the type');
  if (value === '') return cursor.fail('expected a type after the metric name');
  // The documentation writes types in lower case; the reference parser does not mind.
  const type = value.toLowerCase();
  if (!TYPES.has(type))
    return cursor.fail(`the type ${shownBytes(value)} is none of the format's`, start);
  return { keyword: 'TYPE', name, value: type.replace('_', ''), offset };
}

const LABELS_AFTER_NAME: LabelRules = { escapes: 'known', isLoose: true, holdsName: false };
const LABELS_WITH_NAME: LabelRules = { escapes: 'known', isLoose: true, holdsName: true };

/** A sample line, without the blanks before it; null with a failure. */
export function readTextSample(cursor: LineCursor): StrictSample | null {
  const named = cursor.isAt('{') ? readLabels(cursor, LABELS_WITH_NAME) : readNamed(cursor);
  if (named === null) return null;
  const reserved = named.labels.find(({ name }) => name === '__name__');
  if (reserved !== undefined)
    return cursor.fail('the label name "__name__" is reserved', reserved.offset);
  return readTextNumbers(cursor, named);
}

function readNamed(cursor: LineCursor): BracedLabels | null {
  if (cursor.isAt('"')) return cursor.fail('a quoted name stands inside the braces');
  const name = readMetricName(cursor, 'known');
  if (name === null) return null;
  // Blanks are needed only where two tokens would merge, which a sign or a brace prevents.
  if (!cursor.isAtEnd && !' \t{+-'.includes(cursor.here))
    return cursor.fail('expected a blank after the metric name');
  cursor.skipBlanks();
  if (!cursor.isAt('{')) return { name, labels: [] };
  const braced = readLabels(cursor, LABELS_AFTER_NAME);
  return braced === null ? null : { name, labels: braced.labels };
}

function readTextNumbers(cursor: LineCursor, { name, labels }: BracedLabels): StrictSample | null {
  cursor.skipBlanks();
  const valueOffset = cursor.offset;
  const word = cursor.takeWord();
  if (word === '') return cursor.fail('the value is missing');
  const value = numberOf(word);
  if (value === null) return cursor.fail(`the value ${shownBytes(word)} is no number`, valueOffset);
  cursor.skipBlanks();
  const timeOffset = cursor.offset;
  const time = cursor.takeWord();
  if (time !== '' && !isMilliseconds(time))
    return cursor.fail(`the timestamp ${shownBytes(time)} is no integer of 64 bits`, timeOffset);
  cursor.skipBlanks();
  if (!cursor.isAtEnd) return cursor.fail('unexpected text after the timestamp');
  return {
    name,
    labels,
    value,
    valueOffset,
    time: time === '' ? null : Number(time),
    exemplar: null,
  };
}
