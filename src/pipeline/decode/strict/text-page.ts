// What text 0.0.4 asks of a page beyond the grammar of its lines: one HELP and one TYPE per name, TYPE before the
// samples, numbers in `le` and `quantile`, no negative counts, a newline at the end. As the reference parser and its
// tests have it, a page may hold a series twice, families may be interleaved, and a histogram may lack its parts.

import { LineCursor } from './line-cursor.ts';
import { type ProblemList, shown } from './problem-list.ts';
import { labelOf, numberOf, type StrictSample } from './sample-syntax.ts';
import { readTextComment, readTextSample, type TextMetadata } from './text-line.ts';

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

  /** Takes the next line, without its newline. */
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

  /** Takes what stands behind the last newline. */
  finish(rest: string): void {
    if (rest === '') return;
    this.line(rest);
    if (/[^ \t]/.test(rest)) this.#add(rest.length, 'unexpected end: the last line has no newline');
  }

  #takeMetadata({ keyword, name, value, offset }: TextMetadata): void {
    const family = this.#family(name);
    if (keyword === 'HELP') {
      // An empty docstring is none, so that another may follow.
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

  /** The family that a sample name belongs to, and the rest of the name. */
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
