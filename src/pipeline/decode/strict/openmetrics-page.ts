// What OpenMetrics 1.0 asks of a page as a whole: families follow each other without interleaving, their names and
// those of their samples do not clash, no line is blank, and `# EOF` is the last. Lines that are wrong by
// themselves are left out of the rest.

import { LineCursor } from './line-cursor.ts';
import { OpenMetricsFamily } from './openmetrics-family.ts';
import { readOpenMetricsComment, readOpenMetricsSample } from './openmetrics-line.ts';
import { type ProblemList, shown } from './problem-list.ts';
import type { StrictSample } from './sample-syntax.ts';

const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf';

/** Reads a page line by line; call `line` for each and `finish` at the end. */
export class OpenMetricsPage {
  readonly #problems: ProblemList;
  /** Every name that a family has or could use for a sample, and the family. */
  readonly #claims = new Map<string, OpenMetricsFamily>();
  #family: OpenMetricsFamily | null = null;
  #line = 0;
  #hasEnded = false;

  constructor(problems: ProblemList) {
    this.#problems = problems;
  }

  /** Takes the next line, without its newline. */
  line(text: string): void {
    this.#line++;
    if (this.#hasEnded) this.#add(0, 'a line after # EOF');
    else if (text === '# EOF') this.#hasEnded = true;
    else if (text === '') this.#add(0, 'a blank line');
    else if (text.endsWith('\r')) this.#add(text.length - 1, 'a carriage return ends the line');
    else if (text.startsWith(BYTE_ORDER_MARK)) this.#add(0, 'a byte order mark');
    else this.#readLine(text);
  }

  /** Takes what stands behind the last newline. */
  finish(rest: string): void {
    if (rest !== '') this.line(rest);
    this.#closeFamily();
    if (!this.#hasEnded) this.#add(rest.length, 'unexpected end: # EOF is missing');
  }

  #readLine(text: string): void {
    const cursor = new LineCursor(text);
    if (cursor.isAt('#')) {
      const metadata = readOpenMetricsComment(cursor);
      if (metadata !== null) {
        if (this.#family?.name !== metadata.name) this.#startFamily(metadata.name);
        this.#family?.takeMetadata(metadata, this.#line);
      }
    } else {
      const sample = readOpenMetricsSample(cursor);
      if (sample !== null) this.#takeSample(sample);
    }
    if (cursor.failure !== null) this.#add(cursor.failure.offset, cursor.failure.reason);
  }

  #takeSample(sample: StrictSample): void {
    const suffix = this.#family?.suffixOf(sample.name) ?? null;
    if (suffix === null) this.#startFamily(sample.name);
    this.#family?.takeSample(sample, suffix ?? '', this.#line);
  }

  #startFamily(name: string): void {
    this.#closeFamily();
    if (name.startsWith('_'))
      this.#add(0, 'metric names that begin with an underscore are reserved');
    this.#family = new OpenMetricsFamily(name, this.#line, this.#problems);
  }

  /** Names are claimed when a family is complete: its TYPE says which. */
  #closeFamily(): void {
    const family = this.#family;
    if (family === null) return;
    family.finish();
    for (const name of family.claimedNames) {
      const other = this.#claims.get(name);
      if (other !== undefined) {
        this.#problems.add(
          family.firstLine,
          0,
          `the name ${shown(name)} belongs to the family of line ${other.firstLine}`,
        );
        break;
      }
    }
    for (const name of family.claimedNames)
      this.#claims.set(name, this.#claims.get(name) ?? family);
    this.#family = null;
  }

  #add(offset: number, reason: string): void {
    this.#problems.add(this.#line, offset, reason);
  }
}
