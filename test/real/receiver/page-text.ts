// Reads a page line by line, just enough to find its series and the lines of its metadata. Keeps indexes, because it is
// used for every difference between two readings of the page.

/** A sample line. */
export interface SampleLine {
  readonly name: string;
  /** As `a=1,b=x`, sorted by name, like the attributes of a point. */
  readonly labels: string;
  /** The number of the line, from 0. */
  readonly line: number;
}

const SAMPLE = /^([\w:]+)\s*(?:\{(.*)\})?\s+\S/;
const LABEL = /([\w.]+)\s*=\s*"((?:[^"\\]|\\.)*)"/g;

export class PageText {
  readonly text: string;
  /** The lines that are samples with unquoted names, even on a page with errors. */
  readonly samples: readonly SampleLine[];
  readonly #lines: readonly string[];
  readonly #firstWords: ReadonlySet<string>;
  readonly #bySeries: ReadonlyMap<string, readonly SampleLine[]>;
  readonly #byMetadata: ReadonlyMap<string, readonly number[]>;

  constructor(text: string) {
    this.text = text;
    this.#lines = text.split('\n');
    this.samples = this.#lines.flatMap(readSample);
    this.#bySeries = Map.groupBy(this.samples, ({ name, labels }) => `${name}{${labels}}`);
    this.#firstWords = new Set(this.#lines.map(line => line.replace(/(?<=[{ ]).*/, '')));
    const numbers = [...this.#lines.keys()].filter(
      at => this.#lines[at]?.startsWith('# ') === true,
    );
    this.#byMetadata = Map.groupBy(numbers, at => {
      const [, word = '', family = ''] = (this.#lines[at] ?? '').split(' ', 3);
      return `${word} ${family}`;
    });
  }

  /** The lines with a series' name and labels. */
  samplesOf(series: {
    readonly metric: string;
    readonly attributes: string;
  }): readonly SampleLine[] {
    return this.#bySeries.get(`${series.metric}{${series.attributes}}`) ?? [];
  }

  /** The numbers of the TYPE or HELP lines of a family. */
  metadataOf(word: 'TYPE' | 'HELP', family: string): readonly number[] {
    return this.#byMetadata.get(`${word} ${family}`) ?? [];
  }

  /** True for the name of a sample, whether it can be read or not. */
  hasSample(name: string): boolean {
    return this.#firstWords.has(`${name}{`) || this.#firstWords.has(`${name} `);
  }

  hasLine(pattern: RegExp): boolean {
    return this.#lines.some(line => pattern.test(line));
  }
}

function readSample(text: string, line: number): SampleLine[] {
  const match = SAMPLE.exec(text);
  if (match === null) return [];
  const labels = [...(match[2] ?? '').matchAll(LABEL)].map(
    ([, label, value]) => `${label}=${value}`,
  );
  return [{ name: match[1] ?? '', labels: labels.sort().join(','), line }];
}
