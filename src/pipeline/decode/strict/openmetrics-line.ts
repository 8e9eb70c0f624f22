// The lines of OpenMetrics 1.0, each by itself, as the ABNF of the specification has them: single spaces, no blanks
// elsewhere, nothing at the end. Quoted names (`{"a.b"} 1`, `# TYPE "a.b" gauge`) are an extension of the
// ABNF that Prometheus writes and reads under the same content type.

import { decodeUtf8, type LineCursor, readMetricName, shownBytes } from './line-cursor.ts';
import {
  type BracedLabels,
  type LabelRules,
  numberOf,
  readLabels,
  secondsOf,
  type StrictExemplar,
  type StrictLabel,
  type StrictSample,
} from './sample-syntax.ts';

export interface OpenMetricsMetadata {
  readonly keyword: 'HELP' | 'TYPE' | 'UNIT';
  readonly name: string;
  /** The help text as it stands, the type or the unit. */
  readonly value: string;
  readonly valueOffset: number;
}

const TYPES = new Set([
  'counter',
  'gauge',
  'histogram',
  'gaugehistogram',
  'stateset',
  'info',
  'summary',
  'unknown',
]);
const EXEMPLAR_POINTS_MAX = 128;

/** A line that begins with `#`; null with a failure. EOF is the page's business. */
export function readOpenMetricsComment(cursor: LineCursor): OpenMetricsMetadata | null {
  const word = cursor.take(/# (?:HELP|TYPE|UNIT) /y);
  if (word === '')
    return cursor.fail('a line with # is `# TYPE `, `# UNIT ` or `# HELP `, or `# EOF` at the end');
  const keyword = word.slice(2, 6) as OpenMetricsMetadata['keyword'];
  const name = readMetricName(cursor, 'any');
  if (name === null) return null;
  if (!cursor.skip(' '))
    return cursor.fail(`expected one space after the metric name in a ${keyword} line`);
  const valueOffset = cursor.offset;
  const value = cursor.takeRest();
  if (keyword === 'TYPE' && !TYPES.has(value))
    return cursor.fail(`the type ${shownBytes(value)} is none of the format's`, valueOffset);
  if (keyword === 'UNIT' && !/^[A-Za-z0-9_:]*$/.test(value))
    return cursor.fail(`the unit ${shownBytes(value)} is no part of a name`, valueOffset);
  // The ABNF wants a backslash before every double quote of a HELP text, and nothing half at its end. The
  // conformance suites hold texts with either, and no parser minds.
  if (keyword === 'HELP' && decodeUtf8(value) === null)
    return cursor.fail('the help text is not valid UTF-8', valueOffset);
  return { keyword, name, value, valueOffset };
}

const LABELS_AFTER_NAME: LabelRules = { escapes: 'any', isLoose: false, holdsName: false };
const LABELS_WITH_NAME: LabelRules = { escapes: 'any', isLoose: false, holdsName: true };

/** A sample line; null with a failure. */
export function readOpenMetricsSample(cursor: LineCursor): StrictSample | null {
  const named = cursor.isAt('{') ? readLabels(cursor, LABELS_WITH_NAME) : readNamed(cursor);
  if (named === null || !checkLabelNames(cursor, named.labels)) return null;
  if (!cursor.skip(' ')) return cursor.fail('expected one space before the value');
  const valueOffset = cursor.offset;
  const value = readNumber(cursor, 'value');
  if (value === null) return null;
  let time: number | null = null;
  if (!cursor.isAt(' #') && cursor.skip(' ')) {
    time = readTime(cursor, 'timestamp');
    if (time === null) return null;
  }
  const exemplar = cursor.isAtEnd ? null : readExemplar(cursor);
  if (cursor.failure !== null) return null;
  return { ...named, value, valueOffset, time, exemplar };
}

function readNamed(cursor: LineCursor): BracedLabels | null {
  if (cursor.isAt('"')) return cursor.fail('a quoted name stands inside the braces');
  const name = readMetricName(cursor, 'any');
  if (name === null) return null;
  if (!cursor.isAt('{')) return { name, labels: [] };
  const braced = readLabels(cursor, LABELS_AFTER_NAME);
  return braced === null ? null : { name, labels: braced.labels };
}

function readExemplar(cursor: LineCursor): StrictExemplar | null {
  const start = cursor.offset;
  if (!cursor.skip(' # ')) return cursor.fail('unexpected text at the end of the sample');
  if (!cursor.isAt('{')) return cursor.fail('expected `{` at the start of the exemplar');
  const braced = readLabels(cursor, LABELS_AFTER_NAME);
  if (braced === null || !checkLabelNames(cursor, braced.labels)) return null;
  const points = braced.labels.reduce(
    (sum, { name, value }) => sum + length(name) + length(value),
    0,
  );
  if (points > EXEMPLAR_POINTS_MAX)
    return cursor.fail(
      `the exemplar's labels have ${points} characters, more than ${EXEMPLAR_POINTS_MAX}`,
      start,
    );
  if (!cursor.skip(' ')) return cursor.fail("expected one space before the exemplar's value");
  const value = readNumber(cursor, "exemplar's value");
  if (value === null) return null;
  if (cursor.skip(' ') && readTime(cursor, "exemplar's timestamp") === null) return null;
  if (!cursor.isAtEnd) return cursor.fail('unexpected text after the exemplar');
  return { labels: braced.labels, value, offset: start + 1 };
}

/** In code points, as the limit counts. */
function length(text: string): number {
  return Array.from(text).length;
}

function checkLabelNames(cursor: LineCursor, labels: readonly StrictLabel[]): boolean {
  const reserved = labels.find(({ name }) => name.startsWith('_'));
  if (reserved !== undefined)
    cursor.fail('label names that begin with an underscore are reserved', reserved.offset);
  return reserved === undefined;
}

function readNumber(cursor: LineCursor, what: string): number | null {
  const start = cursor.offset;
  const word = cursor.take(/[^ ]*/y);
  if (word === '') return cursor.fail(`the ${what} is missing`, start);
  return numberOf(word) ?? cursor.fail(`the ${what} ${shownBytes(word)} is no number`, start);
}

function readTime(cursor: LineCursor, what: string): number | null {
  const start = cursor.offset;
  const word = cursor.take(/[^ ]*/y);
  if (word === '') return cursor.fail(`the ${what} is missing`, start);
  return secondsOf(word) ?? cursor.fail(`the ${what} ${shownBytes(word)} is no time`, start);
}
