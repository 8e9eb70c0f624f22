// One family of an OpenMetrics page while it is read: its metadata, the rules of its type, and the order of its
// samples: points of one metric stand together, their times do not go back, all of them have a time or none.

import { HistogramPoint } from './histogram-point.ts';
import type { OpenMetricsMetadata } from './openmetrics-line.ts';
import {
  isHistogram,
  type OpenMetricsType,
  pointLabelOf,
  SAMPLE_SUFFIXES,
  sampleFailure,
} from './openmetrics-types.ts';
import { type ProblemList, shown } from './problem-list.ts';
import type { StrictLabel, StrictSample } from './sample-syntax.ts';

/** Metadata first, then samples in page order, then `finish`; whatever is wrong goes to the list of problems. */
export class OpenMetricsFamily {
  readonly name: string;
  readonly firstLine: number;
  #type: OpenMetricsType | null = null;
  #unit: { readonly text: string; readonly line: number; readonly offset: number } | null = null;
  #hasHelp = false;
  #hasSamples = false;
  readonly #problems: ProblemList;
  /** Metrics that have been seen, the current one, and the series of its current point. */
  readonly #metrics = new Set<string>();
  #metric: string | null = null;
  #metricLine = 0;
  #hasTotal = false;
  /** Undefined until a sample of the metric has said. */
  #time: number | null | undefined = undefined;
  readonly #series = new Set<string>();
  #point: HistogramPoint | null = null;

  constructor(name: string, line: number, problems: ProblemList) {
    this.name = name;
    this.firstLine = line;
    this.#problems = problems;
  }

  /** Unknown until a TYPE line says otherwise. */
  get type(): OpenMetricsType {
    return this.#type ?? 'unknown';
  }

  /** Every sample name that the family could use, its own name included. */
  get claimedNames(): string[] {
    return [...new Set(['', ...SAMPLE_SUFFIXES[this.type]])].map(suffix => this.name + suffix);
  }

  /** What follows the family's name when the sample is one of the family's, or null. */
  suffixOf(sampleName: string): string | null {
    if (!sampleName.startsWith(this.name)) return null;
    const suffix = sampleName.slice(this.name.length);
    return SAMPLE_SUFFIXES[this.type].includes(suffix) ? suffix : null;
  }

  /** Takes a metadata line that names the family. */
  takeMetadata(metadata: OpenMetricsMetadata, line: number): void {
    const { keyword, value, valueOffset: offset } = metadata;
    const add = (reason: string): void => this.#problems.add(line, 0, reason);
    if (this.#hasSamples) add(`${keyword} of ${shown(this.name)} after its samples`);
    if (keyword === 'TYPE') {
      if (this.#type !== null) add(`a second TYPE line for ${shown(this.name)}`);
      this.#type ??= value as OpenMetricsType;
    } else if (keyword === 'UNIT') {
      if (this.#unit !== null) add(`a second UNIT line for ${shown(this.name)}`);
      this.#unit ??= { text: value, line, offset };
    } else {
      if (this.#hasHelp) add(`a second HELP line for ${shown(this.name)}`);
      this.#hasHelp = true;
    }
  }

  /** Takes a sample of the family; `suffix` is what suffixOf() said of its name. */
  takeSample(sample: StrictSample, suffix: string, line: number): void {
    this.#hasSamples = true;
    const failure = sampleFailure(this.type, this.name, suffix, sample);
    const reason = this.#orderProblem(sample, suffix);
    if (failure !== null) this.#problems.add(line, failure.offset, failure.reason);
    else if (reason !== null) this.#problems.add(line, 0, reason);
    this.#metricLine = line;
    this.#hasTotal ||= suffix === '_total';
    if (!isHistogram(this.type)) return;
    this.#point ??= new HistogramPoint();
    if (failure === null) this.#point.add(sample, suffix, line);
    else this.#point.spoil();
  }

  /** Closes the family: what can be said only when all of it has been read. */
  finish(): void {
    this.#finishMetric();
    if (this.#unit === null || this.#unit.text === '') return;
    const { text, line, offset } = this.#unit;
    if (!this.name.endsWith(`_${text}`))
      this.#problems.add(line, offset, `the unit ${shown(text)} is no suffix of the name`);
    else if (this.type === 'info' || this.type === 'stateset')
      this.#problems.add(line, offset, `a family of type ${this.type} has no unit`);
  }

  /** Moves on to the metric and point of this sample; what is wrong with its place, or null. */
  #orderProblem({ labels, time }: StrictSample, suffix: string): string | null {
    // The labels of an info belong to its point: which metric it is of cannot be told.
    const metric = this.type === 'info' ? '' : labelKey(labels, pointLabelOf(this.type, this.name));
    let reason: string | null = null;
    if (metric !== this.#metric) {
      this.#finishMetric();
      if (this.#metrics.has(metric)) reason = 'the samples of a metric do not stand together';
      this.#metrics.add(metric);
      this.#metric = metric;
    }
    // The suites have creation times without a timestamp beside totals with one.
    const timeReason = suffix === '_created' && time === null ? null : this.#moveTo(time);
    const series = `${suffix}${labelKey(labels, null)}`;
    const isTwice = time === null && this.#series.has(series);
    this.#series.add(series);
    return (
      reason ??
      timeReason ??
      (isTwice ? 'the same series stands here twice, without timestamps' : null)
    );
  }

  /** Moves on to the point at `time`; what is wrong with that, or null. Points of infos are metrics of their own. */
  #moveTo(time: number | null): string | null {
    const last = this.#time;
    this.#time = time;
    if (last === undefined || last === time || this.type === 'info') return null;
    this.#finishPoint();
    if (last === null || time === null) return 'samples of one metric with and without a timestamp';
    return time < last ? 'the timestamp goes back' : null;
  }

  #finishMetric(): void {
    this.#finishPoint();
    if (this.#metric !== null && this.type === 'counter' && !this.#hasTotal)
      this.#problems.add(this.#metricLine, 0, 'a counter without its _total');
    this.#hasTotal = false;
    this.#time = undefined;
  }

  #finishPoint(): void {
    const reason = this.#point?.finish() ?? null;
    if (this.#point !== null && reason !== null) this.#problems.add(this.#point.line, 0, reason);
    this.#point = null;
    this.#series.clear();
  }
}

/** Labels as one text that does not depend on their order; empty values count as absent. */
function labelKey(labels: readonly StrictLabel[], without: string | null): string {
  const pairs = labels
    .filter(({ name, value }) => name !== without && value !== '')
    .map(({ name, value }) => [name, value] as const);
  return JSON.stringify(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}
