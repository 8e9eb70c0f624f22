// One generated page over time: its text at each poll, and the samples of each of its series that were served.

import { formatGoFloat } from '../../src/lib/format.ts';
import type { CorpusPage } from './corpora.ts';
import type { CorpusLine } from './line.ts';
import { addSample, addSeries, newSeries, type SeriesSet, type SeriesTally } from './series-set.ts';

const STARTED_AGO_MS = 3 * 86_400_000;
/** At each poll, one of ten short-lived series is replaced by a new one. */
const CHURN_EVERY = 10;
const CHURN_FIRST = 10_000;

export class PageSource {
  readonly sampleCount: number;
  readonly #isTimed: boolean;
  readonly #lines: readonly CorpusLine[];
  /** Of each line: its text before the value, its value at the last poll, the samples of its series. */
  readonly #befores: string[];
  readonly #values: Float64Array;
  readonly #series: SeriesTally[];
  readonly #churning: readonly number[];
  readonly #ended: SeriesTally[] = [];
  readonly #startedMs = Date.now() - STARTED_AGO_MS;
  #timeMs = 0;
  #poll = 0;
  #churned = 0;

  constructor({ lines, isTimed }: CorpusPage) {
    this.sampleCount = lines.length;
    this.#isTimed = isTimed;
    this.#lines = lines;
    this.#befores = lines.map(({ before }) => before);
    this.#values = new Float64Array(lines.length);
    this.#series = lines.map(newSeries);
    this.#churning = [...lines.keys()].filter(index => (lines[index]?.churnAt ?? -1) >= 0);
  }

  /** The page as of now; its time is later than that of the page before. */
  render(timeMs: number): Buffer {
    this.#timeMs = timeMs;
    if (this.#poll > 0) this.#churn();
    const uptime = Math.floor((timeMs - this.#startedMs) / 1000);
    const end = this.#isTimed ? ` ${timeMs}\n` : '\n';
    let text = '';
    for (const [index, line] of this.#lines.entries()) {
      const { first, step, span, divisor, isUptime } = line;
      const value = isUptime ? uptime : (first + ((this.#poll * step) % span)) / divisor;
      this.#values[index] = value;
      text += this.#befores[index] + formatGoFloat(value) + end;
    }
    this.#poll++;
    return Buffer.from(text);
  }

  /** Counts the samples of the last page as served. */
  count(): void {
    const timeMs = this.#isTimed ? this.#timeMs : 0;
    for (const [index, series] of this.#series.entries())
      addSample(series, this.#values[index] ?? 0, timeMs);
  }

  /** Adds the series of this page with their served samples. */
  addServed(to: SeriesSet): void {
    for (const series of this.#ended) addSeries(to, series);
    for (const series of this.#series) addSeries(to, series);
  }

  #churn(): void {
    for (let i = this.#poll % CHURN_EVERY; i < this.#churning.length; i += CHURN_EVERY) {
      const index = this.#churning[i] ?? 0;
      const { before = '', churnAt = 0 } = this.#lines[index] ?? {};
      const number = CHURN_FIRST + (this.#churned++ % (100_000 - CHURN_FIRST));
      this.#befores[index] = `${before.slice(0, churnAt)}${number}${before.slice(churnAt + 5)}`;
      this.#ended.push(this.#series[index] ?? newSeries());
      this.#series[index] = newSeries();
    }
  }
}
