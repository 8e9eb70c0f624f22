// OpenMetrics 1.0, read strictly: each line follows the specification's ABNF (single spaces, no
// other blanks), families are not interleaved, names of families and samples do not clash, no line
// is blank, and `# EOF` is the last line. Invalid lines are excluded from the rules of the page.
// Quoted names (`{"a.b"} 1`, `# TYPE "a.b" gauge`) extend the ABNF: Prometheus writes and reads
// them under this content type.

import { DECLARED_TYPES } from '../../../model/metric.ts';
import { OpenMetricsFamily, type OpenMetricsMetadata } from './openmetrics-family.ts';
import {
  decodeUtf8,
  LineCursor,
  type ProblemList,
  readLabels,
  readMetricName,
  readNumber,
  readSeries,
  secondsOf,
  shown,
  shownBytes,
  type StrictExemplar,
  type StrictLabel,
  type StrictSample,
} from './syntax.ts';

const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf';

/** Reads a page line by line; call `line` for each and `finish` at the end. */
export class OpenMetricsPage {
  readonly #problems: ProblemList;
  /** Each name that a family has or could use for a sample. */
  readonly #claims = new Map<string, OpenMetricsFamily>();
  #family: OpenMetricsFamily | null = null;
  #hasEnded = false;

  constructor(problems: ProblemList) {
    this.#problems = problems;
  }

  /** Reads the next line, without its newline. */
  line(text: string): void {
    if (this.#hasEnded) this.#problems.add(0, 'a line after # EOF');
    else if (text === '# EOF') this.#hasEnded = true;
    else if (text === '') this.#problems.add(0, 'a blank line');
    else if (text.endsWith('\r'))
      this.#problems.add(text.length - 1, 'a carriage return ends the line');
    else if (text.startsWith(BYTE_ORDER_MARK)) this.#problems.add(0, 'a byte order mark');
    else this.#readLine(text);
  }

  /** Reads the text after the last newline. */
  finish(rest: string): void {
    if (rest !== '') this.line(rest);
    this.#closeFamily();
    if (!this.#hasEnded) this.#problems.add(rest.length, 'unexpected end: # EOF is missing');
  }

  #readLine(text: string): void {
    const cursor = new LineCursor(text, 'openmetrics', this.#problems);
    if (cursor.isAt('#')) {
      const metadata = readOpenMetricsComment(cursor);
      if (metadata !== null) {
        if (this.#family?.name !== metadata.name) this.#startFamily(metadata.name);
        this.#family?.takeMetadata(metadata);
      }
    } else {
      const sample = readOpenMetricsSample(cursor);
      if (sample !== null) this.#takeSample(sample);
    }
  }

  #takeSample(sample: StrictSample): void {
    const suffix = this.#family?.suffixOf(sample.name) ?? null;
    if (suffix === null) this.#startFamily(sample.name);
    this.#family?.takeSample(sample, suffix ?? '');
  }

  #startFamily(name: string): void {
    this.#closeFamily();
    if (name.startsWith('_'))
      this.#problems.add(0, 'metric names that begin with an underscore are reserved');
    this.#family = new OpenMetricsFamily(name, this.#problems);
  }

  /** Claims the names once the family is complete: they depend on its TYPE. */
  #closeFamily(): void {
    const family = this.#family;
    if (family === null) return;
    family.finish();
    for (const name of family.claimedNames) {
      const other = this.#claims.get(name);
      if (other !== undefined) {
        const reason = `the name ${shown(name)} belongs to the family of line ${other.firstLine}`;
        this.#problems.add(0, reason, family.firstLine);
        break;
      }
    }
    for (const name of family.claimedNames)
      this.#claims.set(name, this.#claims.get(name) ?? family);
    this.#family = null;
  }
}

// The lines, each by itself.

const TYPES: ReadonlySet<string> = new Set(DECLARED_TYPES);
const EXEMPLAR_POINTS_MAX = 128;

function readOpenMetricsComment(cursor: LineCursor): OpenMetricsMetadata | null {
  const word = cursor.take(/# (?:HELP|TYPE|UNIT) /y);
  if (word === '')
    return cursor.fail('a line with # is `# TYPE `, `# UNIT ` or `# HELP `, or `# EOF` at the end');
  const keyword = word.slice(2, 6) as OpenMetricsMetadata['keyword'];
  const name = readMetricName(cursor);
  if (name === null) return null;
  if (!cursor.skip(' '))
    return cursor.fail(`expected one space after the metric name in a ${keyword} line`);
  const valueOffset = cursor.offset;
  const value = cursor.takeRest();
  if (keyword === 'TYPE' && !TYPES.has(value))
    return cursor.fail(`the format has no type ${shownBytes(value)}`, valueOffset);
  if (keyword === 'UNIT' && !/^[A-Za-z0-9_:]*$/.test(value))
    return cursor.fail(`the unit ${shownBytes(value)} cannot be part of a name`, valueOffset);
  // The ABNF requires a backslash before each double quote of a HELP text, and no lone backslash at
  // its end. The conformance suites contain both, and no parser objects.
  if (keyword === 'HELP' && decodeUtf8(value) === null)
    return cursor.fail('the help text is not valid UTF-8', valueOffset);
  return { keyword, name, value, valueOffset };
}

function readOpenMetricsSample(cursor: LineCursor): StrictSample | null {
  const series = readSeries(cursor);
  if (series === null || !checkLabelNames(cursor, series.labels)) return null;
  if (!cursor.skip(' ')) return cursor.fail('expected one space before the value');
  const valueOffset = cursor.offset;
  const value = readNumber(cursor, 'value');
  if (value === null) return null;
  let time: number | null = null;
  if (!cursor.isAt(' #') && cursor.skip(' ')) {
    time = readTime(cursor, 'timestamp');
    if (time === null) return null;
  }
  if (cursor.isAtEnd) return { ...series, value, valueOffset, time, exemplar: null };
  const exemplar = readExemplar(cursor);
  return exemplar === null ? null : { ...series, value, valueOffset, time, exemplar };
}

function readExemplar(cursor: LineCursor): StrictExemplar | null {
  const start = cursor.offset;
  if (!cursor.skip(' # ')) return cursor.fail('unexpected text at the end of the sample');
  if (!cursor.isAt('{')) return cursor.fail('expected `{` at the start of the exemplar');
  const braced = readLabels(cursor, '');
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
  return { value, offset: start + 1 };
}

/** In code points, like the limit. */
function length(text: string): number {
  return Array.from(text).length;
}

function checkLabelNames(cursor: LineCursor, labels: readonly StrictLabel[]): boolean {
  const reserved = labels.find(({ name }) => name.startsWith('_'));
  if (reserved !== undefined)
    cursor.fail('label names that begin with an underscore are reserved', reserved.offset);
  return reserved === undefined;
}

function readTime(cursor: LineCursor, what: string): number | null {
  const start = cursor.offset;
  const word = cursor.takeWord();
  if (word === '') return cursor.fail(`the ${what} is missing`, start);
  return secondsOf(word) ?? cursor.fail(`the ${what} ${shownBytes(word)} is no time`, start);
}
