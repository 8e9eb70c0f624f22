// Text 0.0.4, read strictly: the grammar of lines, and the rules of a page: one HELP and one TYPE
// per name, TYPE before the samples, numbers in `le` and `quantile`, no negative counts, a newline
// at the end. The grammar is that of the format's documentation; comments mark where it is silent
// or the reference parser's tests differ. As in those tests, a series may occur twice, families may
// be interleaved, and histograms may be incomplete.

import {
  type BracedLabels,
  decodeUtf8,
  isMilliseconds,
  type LabelRules,
  labelOf,
  LineCursor,
  numberOf,
  type ProblemList,
  readLabels,
  readMetricName,
  shown,
  shownBytes,
  type StrictSample,
} from './syntax.ts';

interface TextFamily {
  type: string | null;
  hasHelp: boolean;
  hasSamples: boolean;
}

const SUFFIXES: Readonly<Record<string, RegExp>> = {
  summary: /_(?:count|sum)$/,
  histogram: /_(?:count|sum|bucket)$/,
  gaugehistogram: /_(?:count|sum|bucket)$/,
};

/** Reads a page line by line; call `line` for each and `finish` at the end. */
export class TextPage {
  readonly #problems: ProblemList;
  readonly #families = new Map<string, TextFamily>();
  #line = 0;

  constructor(problems: ProblemList) {
    this.#problems = problems;
  }

  /** Reads the next line, without its newline. */
  line(text: string): void {
    this.#line++;
    const cursor = new LineCursor(text);
    cursor.skipBlanks();
    if (cursor.isAtEnd) return;
    if (cursor.isAt('#')) {
      const metadata = readTextComment(cursor);
      if (metadata !== null) this.#takeMetadata(metadata);
    } else {
      const sample = readTextSample(cursor);
      if (sample !== null) this.#takeSample(sample);
    }
    if (cursor.failure !== null) this.#add(cursor.failure.offset, cursor.failure.reason);
  }

  /** Reads the text after the last newline. */
  finish(rest: string): void {
    if (rest === '') return;
    this.line(rest);
    if (/[^ \t]/.test(rest)) this.#add(rest.length, 'unexpected end: the last line has no newline');
  }

  #takeMetadata({ keyword, name, value, offset }: TextMetadata): void {
    const family = this.#family(name);
    if (keyword === 'HELP') {
      // An empty HELP does not count: another may follow.
      if (value === '') return;
      if (family.hasHelp) this.#add(offset, `a second HELP line for ${shown(name)}`);
      family.hasHelp = true;
      return;
    }
    if (family.type !== null) this.#add(offset, `a second TYPE line for ${shown(name)}`);
    else if (family.hasSamples) this.#add(offset, `TYPE of ${shown(name)} after its samples`);
    family.type ??= value;
  }

  #takeSample(sample: StrictSample): void {
    const [family, suffix] = this.#familyOf(sample.name);
    family.hasSamples = true;
    if (family.type === 'summary') this.#checkBound(sample, 'quantile');
    if (family.type !== 'histogram' && family.type !== 'gaugehistogram') return;
    this.#checkBound(sample, 'le');
    const isBucket = suffix === '_bucket' || labelOf(sample.labels, 'le') !== null;
    if (sample.value < 0 && (suffix === '_count' || (suffix !== '_sum' && isBucket)))
      this.#add(sample.valueOffset, 'a count of a histogram is negative');
  }

  #checkBound({ labels }: StrictSample, name: 'le' | 'quantile'): void {
    const label = labelOf(labels, name);
    if (label !== null && numberOf(label.value) === null)
      this.#add(label.offset, `the label ${name} holds ${shown(label.value)}, which is no number`);
  }

  /** The family of a sample name, and the suffix. */
  #familyOf(name: string): [TextFamily, suffix: string] {
    const own = this.#families.get(name);
    if (own !== undefined) return [own, ''];
    for (const [type, pattern] of Object.entries(SUFFIXES)) {
      const suffix = pattern.exec(name)?.[0] ?? '';
      const family = suffix === '' ? undefined : this.#families.get(name.slice(0, -suffix.length));
      if (family?.type === type) return [family, suffix];
    }
    return [this.#family(name), ''];
  }

  #family(name: string): TextFamily {
    let family = this.#families.get(name);
    if (family === undefined) {
      family = { type: null, hasHelp: false, hasSamples: false };
      this.#families.set(name, family);
    }
    return family;
  }

  #add(offset: number, reason: string): void {
    this.#problems.add(this.#line, offset, reason);
  }
}

// The lines, each by itself: a sample, a HELP or TYPE line, or a comment.

interface TextMetadata {
  readonly keyword: 'HELP' | 'TYPE';
  readonly name: string;
  /** The docstring with its escapes, or the type in lower case. */
  readonly value: string;
  readonly offset: number;
}

const TYPES = new Set([
  'counter',
  'gauge',
  'histogram',
  'summary',
  'untyped',
  // The five above are documented; the reference parser's tests also require these.
  'gaugehistogram',
  'gauge_histogram',
]);

/** Reads a comment from its `#`; null if it is not metadata, or with a failure. */
function readTextComment(cursor: LineCursor): TextMetadata | null {
  cursor.skip('#');
  cursor.skipBlanks();
  const offset = cursor.offset;
  const keyword = cursor.takeWord();
  if (keyword !== 'HELP' && keyword !== 'TYPE') return null;
  cursor.skipBlanks();
  // A keyword without a name is an ordinary comment: the reference parser's tests have such a `#
  // HELP`.
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

/**
 * The offset of an invalid backslash, or -1. `\"` is undocumented, but the reference parser reads
 * it.
 */
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
  // Types are documented in lower case; the reference parser accepts any.
  const type = value.toLowerCase();
  if (!TYPES.has(type)) return cursor.fail(`the format has no type ${shownBytes(value)}`, start);
  return { keyword: 'TYPE', name, value: type.replace('_', ''), offset };
}

const LABELS_AFTER_NAME: LabelRules = { escapes: 'known', isLoose: true, holdsName: false };
const LABELS_WITH_NAME: LabelRules = { escapes: 'known', isLoose: true, holdsName: true };

/** Reads a sample line without leading blanks; null with a failure. */
function readTextSample(cursor: LineCursor): StrictSample | null {
  const named = cursor.isAt('{') ? readLabels(cursor, LABELS_WITH_NAME) : readNamed(cursor);
  if (named === null) return null;
  const reserved = named.labels.find(({ name }) => name === '__name__');
  if (reserved !== undefined)
    return cursor.fail('the label name "__name__" is reserved', reserved.offset);
  return readTextNumbers(cursor, named);
}

function readNamed(cursor: LineCursor): BracedLabels | null {
  if (cursor.isAt('"')) return cursor.fail('a quoted name must be inside the braces');
  const name = readMetricName(cursor, 'known');
  if (name === null) return null;
  // Blanks are required only where two tokens would merge; a sign or a brace prevents that.
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
