// Text 0.0.4, read strictly: the grammar of lines, and the rules of a page: one HELP and one TYPE
// per name, TYPE before the samples, numbers in `le` and `quantile`, no negative counts, a newline
// at the end. The grammar is that of the format's documentation; comments mark where it is silent
// or the reference parser's tests differ. As in those tests, a series may occur twice, families may
// be interleaved, and histograms may be incomplete.

import { TEXT_TYPES } from '../metadata.ts';
import {
  decodeUtf8,
  isMilliseconds,
  labelOf,
  LineCursor,
  numberOf,
  type ProblemList,
  readMetricName,
  readNumber,
  readSeries,
  shown,
  shownBytes,
  type StrictSample,
} from './syntax.ts';

type TextSample = Omit<StrictSample, 'time' | 'exemplar'>;

interface TextFamily {
  type: string | null;
  hasHelp: boolean;
  hasSamples: boolean;
}

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  summary: ['_count', '_sum'],
  histogram: ['_count', '_sum', '_bucket'],
  gaugehistogram: ['_count', '_sum', '_bucket'],
};

/** Reads a page line by line; call `line` for each and `finish` at the end. */
export class TextPage {
  readonly #problems: ProblemList;
  readonly #families = new Map<string, TextFamily>();

  constructor(problems: ProblemList) {
    this.#problems = problems;
  }

  /** Reads the next line, without its newline. */
  line(text: string): void {
    const cursor = new LineCursor(text, 'text', this.#problems);
    cursor.skipBlanks();
    if (cursor.isAtEnd) return;
    if (cursor.isAt('#')) {
      this.#readComment(cursor);
    } else {
      const sample = readTextSample(cursor);
      if (sample !== null) this.#takeSample(sample);
    }
  }

  /** Reads the text after the last newline. */
  finish(rest: string): void {
    if (rest === '') return;
    this.line(rest);
    if (/[^ \t]/.test(rest))
      this.#problems.add(rest.length, 'unexpected end: the last line has no newline');
  }

  /** Reads a comment from its `#`; only HELP and TYPE mean something. */
  #readComment(cursor: LineCursor): void {
    cursor.skip('#');
    cursor.skipBlanks();
    const { offset } = cursor;
    const keyword = cursor.takeWord();
    cursor.skipBlanks();
    // A keyword without a name is an ordinary comment: the reference parser's tests have such a `# HELP`.
    if ((keyword !== 'HELP' && keyword !== 'TYPE') || cursor.isAtEnd) return;
    const name = readMetricName(cursor);
    if (name === null) return;
    if (!cursor.isAtEnd && !cursor.isAt(' ') && !cursor.isAt('\t'))
      return void cursor.fail(`expected a blank after the metric name in a ${keyword} line`);
    cursor.skipBlanks();
    if (keyword === 'HELP') this.#readHelp(cursor, name, offset);
    else this.#readType(cursor, name, offset);
  }

  #readHelp(cursor: LineCursor, name: string, offset: number): void {
    const start = cursor.offset;
    const text = cursor.takeRest();
    const bad = badEscape(text);
    if (decodeUtf8(text) === null)
      return void cursor.fail('the help text is not valid UTF-8', start);
    if (bad >= 0)
      return void cursor.fail('a backslash before something else than \\ or n', start + bad);
    const family = this.#family(name);
    // An empty HELP does not count: another may follow.
    if (text === '') return;
    if (family.hasHelp) this.#problems.add(offset, `a second HELP line for ${shown(name)}`);
    family.hasHelp = true;
  }

  #readType(cursor: LineCursor, name: string, offset: number): void {
    const start = cursor.offset;
    const word = cursor.takeWord();
    cursor.skipBlanks();
    if (!cursor.isAtEnd) return void cursor.fail('unexpected text after the type');
    if (word === '') return void cursor.fail('expected a type after the metric name');
    // Types are documented in lower case; the reference parser accepts any.
    const type = TEXT_TYPES.get(word.toLowerCase());
    if (type === undefined)
      return void cursor.fail(`the format has no type ${shownBytes(word)}`, start);
    const family = this.#family(name);
    if (family.type !== null) this.#problems.add(offset, `a second TYPE line for ${shown(name)}`);
    else if (family.hasSamples)
      this.#problems.add(offset, `TYPE of ${shown(name)} after its samples`);
    family.type ??= type;
  }

  #takeSample(sample: TextSample): void {
    const [family, suffix] = this.#familyOf(sample.name);
    family.hasSamples = true;
    if (family.type === 'summary') this.#checkBound(sample, 'quantile');
    if (family.type !== 'histogram' && family.type !== 'gaugehistogram') return;
    this.#checkBound(sample, 'le');
    const isBucket = suffix === '_bucket' || labelOf(sample.labels, 'le') !== null;
    if (sample.value < 0 && (suffix === '_count' || (suffix !== '_sum' && isBucket)))
      this.#problems.add(sample.valueOffset, 'a count of a histogram is negative');
  }

  #checkBound({ labels }: TextSample, name: 'le' | 'quantile'): void {
    const label = labelOf(labels, name);
    if (label !== null && numberOf(label.value) === null)
      this.#problems.add(
        label.offset,
        `the label ${name} holds ${shown(label.value)}, which is no number`,
      );
  }

  /** The family of a sample name, and the suffix. */
  #familyOf(name: string): [TextFamily, suffix: string] {
    const at = Math.max(name.lastIndexOf('_'), 0);
    const suffix = name.slice(at);
    const family = this.#families.get(name.slice(0, at));
    const isPart = SUFFIXES[family?.type ?? '']?.includes(suffix) === true;
    if (family === undefined || !isPart || this.#families.has(name))
      return [this.#family(name), ''];
    return [family, suffix];
  }

  #family(name: string): TextFamily {
    const family = this.#families.get(name) ?? { type: null, hasHelp: false, hasSamples: false };
    this.#families.set(name, family);
    return family;
  }
}

/**
 * The offset of an invalid backslash, or -1. `\"` is undocumented, but the reference parser reads
 * it.
 */
function badEscape(text: string): number {
  let at = text.indexOf('\\');
  while (at >= 0 && /[\\n"]/.test(text[at + 1] ?? '')) at = text.indexOf('\\', at + 2);
  return at;
}

/** Reads a sample line without leading blanks. */
function readTextSample(cursor: LineCursor): TextSample | null {
  const series = readSeries(cursor);
  if (series === null) return null;
  const reserved = series.labels.find(({ name }) => name === '__name__');
  if (reserved !== undefined)
    return cursor.fail('the label name "__name__" is reserved', reserved.offset);
  cursor.skipBlanks();
  const valueOffset = cursor.offset;
  const value = readNumber(cursor, 'value');
  if (value === null) return null;
  cursor.skipBlanks();
  const timeOffset = cursor.offset;
  const time = cursor.takeWord();
  if (time !== '' && !isMilliseconds(time))
    return cursor.fail(`the timestamp ${shownBytes(time)} is no integer of 64 bits`, timeOffset);
  cursor.skipBlanks();
  if (!cursor.isAtEnd) return cursor.fail('unexpected text after the timestamp');
  return { ...series, value, valueOffset };
}
