// One family of an OpenMetrics page: its metadata, the rules of its type for each sample, the rules
// between the samples of a histogram point, and the order of its samples: points of one metric are
// adjacent, their times do not go back, and either all of them have a time or none.

import type { DeclaredType } from '../../../model/metric.ts';
import {
  labelOf,
  numberOf,
  type ProblemList,
  shown,
  type StrictLabel,
  type StrictSample,
} from './syntax.ts';

export interface OpenMetricsMetadata {
  readonly keyword: 'HELP' | 'TYPE' | 'UNIT';
  readonly name: string;
  /** The help text with its escapes, the type or the unit. */
  readonly value: string;
  readonly valueOffset: number;
}

/** Call takeMetadata() first, then takeSample() in page order, then finish(). */
export class OpenMetricsFamily {
  readonly name: string;
  readonly firstLine: number;
  #type: DeclaredType | null = null;
  #unit: { readonly text: string; readonly line: number; readonly offset: number } | null = null;
  #hasHelp = false;
  #hasSamples = false;
  readonly #problems: ProblemList;
  /** The metrics seen so far, the current one, and the series of its current point. */
  readonly #metrics = new Set<string>();
  #metric: string | null = null;
  #metricLine = 0;
  #hasTotal = false;
  /** Undefined before the first sample of the metric. */
  #time: number | null | undefined = undefined;
  readonly #series = new Set<string>();
  /** Samples of the current histogram point; null if one was invalid: then it is not checked. */
  #parts: HistogramPart[] | null = [];

  constructor(name: string, problems: ProblemList) {
    this.name = name;
    this.firstLine = problems.line;
    this.#problems = problems;
  }

  /** Unknown until a TYPE line says otherwise. */
  get type(): DeclaredType {
    return this.#type ?? 'unknown';
  }

  /** Every sample name that the family could use, including its own. */
  get claimedNames(): string[] {
    return [...new Set(['', ...SAMPLE_SUFFIXES[this.type]])].map(suffix => this.name + suffix);
  }

  /** The rest of a sample name after the family's, or null if the sample is not the family's. */
  suffixOf(sampleName: string): string | null {
    if (!sampleName.startsWith(this.name)) return null;
    const suffix = sampleName.slice(this.name.length);
    return SAMPLE_SUFFIXES[this.type].includes(suffix) ? suffix : null;
  }

  /** Accepts a metadata line of the family. */
  takeMetadata(metadata: OpenMetricsMetadata): void {
    const { keyword, value, valueOffset: offset } = metadata;
    const add = (reason: string): null => this.#problems.add(0, reason);
    if (this.#hasSamples) add(`${keyword} of ${shown(this.name)} after its samples`);
    if (keyword === 'TYPE') {
      if (this.#type !== null) add(`a second TYPE line for ${shown(this.name)}`);
      this.#type ??= value as DeclaredType;
    } else if (keyword === 'UNIT') {
      if (this.#unit !== null) add(`a second UNIT line for ${shown(this.name)}`);
      this.#unit ??= { text: value, line: this.#problems.line, offset };
    } else {
      if (this.#hasHelp) add(`a second HELP line for ${shown(this.name)}`);
      this.#hasHelp = true;
    }
  }

  /** Accepts a sample of the family; `suffix` comes from suffixOf(). */
  takeSample(sample: StrictSample, suffix: string): void {
    this.#hasSamples = true;
    const [failure] = failuresOf(this.type, this.name, suffix, sample);
    const reason = this.#orderProblem(sample, suffix);
    if (failure !== undefined) this.#problems.add(...failure);
    else if (reason !== null) this.#problems.add(0, reason);
    this.#metricLine = this.#problems.line;
    this.#hasTotal ||= suffix === '_total';
    if (!isHistogram(this.type)) return;
    if (failure === undefined) this.#parts?.push({ suffix, sample, line: this.#problems.line });
    else this.#parts = null;
  }

  /** Ends the family and checks the rules that need all of its samples. */
  finish(): void {
    this.#finishMetric();
    if (this.#unit === null || this.#unit.text === '') return;
    const { text, line, offset } = this.#unit;
    if (!this.name.endsWith(`_${text}`))
      this.#problems.add(offset, `the unit ${shown(text)} is no suffix of the name`, line);
    else if (this.type === 'info' || this.type === 'stateset')
      this.#problems.add(offset, `a family of type ${this.type} has no unit`, line);
  }

  /** Moves on to this sample's metric and point; returns an order problem or null. */
  #orderProblem({ labels, time }: StrictSample, suffix: string): string | null {
    // The labels of an info belong to its point, not to its metric.
    const metric = this.type === 'info' ? '' : labelKey(labels, pointLabelOf(this.type, this.name));
    let reason: string | null = null;
    if (metric !== this.#metric) {
      this.#finishMetric();
      if (this.#metrics.has(metric)) reason = 'the samples of a metric are not adjacent';
      this.#metrics.add(metric);
      this.#metric = metric;
    }
    // The conformance suites have creation times without a timestamp next to totals with one.
    const timeReason = suffix === '_created' && time === null ? null : this.#moveTo(time);
    const series = `${suffix}${labelKey(labels, null)}`;
    const isTwice = time === null && this.#series.has(series);
    this.#series.add(series);
    return (
      reason ?? timeReason ?? (isTwice ? 'the same series occurs twice, without timestamps' : null)
    );
  }

  /**
   * Moves on to the point at `time`; returns a problem or null. Each point of an info is its own
   * metric.
   */
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
      this.#problems.add(0, 'a counter without its _total', this.#metricLine);
    this.#hasTotal = false;
    this.#time = undefined;
  }

  #finishPoint(): void {
    const line = this.#parts?.at(-1)?.line;
    const reason = histogramProblem(this.#parts ?? []);
    if (line !== undefined && reason !== null) this.#problems.add(0, reason, line);
    this.#parts = [];
    this.#series.clear();
  }
}

/** The labels as one text that does not depend on their order; empty values count as absent. */
function labelKey(labels: readonly StrictLabel[], without: string | null): string {
  const pairs = labels
    .filter(({ name, value }) => name !== without && value !== '')
    .map(({ name, value }) => [name, value] as const);
  return JSON.stringify(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

// The rules of each type for a single sample: its suffix, its special label, its value, its
// exemplar.

/** The suffixes of each type's sample names. */
const SAMPLE_SUFFIXES: Readonly<Record<DeclaredType, readonly string[]>> = {
  counter: ['_total', '_created'],
  summary: ['', '_count', '_sum', '_created'],
  histogram: ['_bucket', '_count', '_sum', '_created'],
  gaugehistogram: ['_bucket', '_gcount', '_gsum'],
  info: ['_info'],
  gauge: [''],
  stateset: [''],
  unknown: [''],
};

const NOT_NAN = new Set(['_total', '_count', '_sum', '_bucket', '_gcount', '_gsum']);
const NOT_NEGATIVE = new Set(['_total', '_count', '_sum', '_bucket', '_gcount']);
const INTEGERS = new Set(['_count', '_bucket', '_gcount']);

/**
 * The label that distinguishes the samples of one point, and so is no label of the metric; or null.
 */
function pointLabelOf(type: DeclaredType, family: string): string | null {
  if (type === 'stateset') return family;
  if (type === 'summary') return 'quantile';
  return isHistogram(type) ? 'le' : null;
}

type Failure = readonly [offset: number, reason: string];

/** The rules of its type that a sample breaks; only the first is reported. */
function* failuresOf(
  type: DeclaredType,
  family: string,
  suffix: string,
  sample: StrictSample,
): Generator<Failure> {
  yield* labelFailures(type, family, suffix, sample);
  const { value, valueOffset: at, exemplar, labels } = sample;
  if (type === 'stateset' && value !== 0 && value !== 1)
    yield [at, 'the value of a state is 0 or 1'];
  if (type === 'info' && value !== 1) yield [at, 'the value of an info is 1'];
  if (type === 'summary' && suffix === '' && value < 0)
    yield [at, 'the value of a quantile is negative'];
  if (suffix === '_created' && !Number.isFinite(value)) yield [at, 'the creation time is no time'];
  if (NOT_NAN.has(suffix) && Number.isNaN(value)) yield [at, `the value of ${suffix} is NaN`];
  if (NOT_NEGATIVE.has(suffix) && value < 0) yield [at, `the value of ${suffix} is negative`];
  if (INTEGERS.has(suffix) && !Number.isInteger(value))
    yield [at, `the value of ${suffix} is no integer`];
  if (exemplar === null) return;
  const isBucket = isHistogram(type) && suffix === '_bucket';
  if (!isBucket && !(type === 'counter' && suffix === '_total'))
    yield [exemplar.offset, 'only counters and buckets may have an exemplar'];
  if (isBucket && exemplar.value > thresholdOf(labels))
    yield [exemplar.offset, "the exemplar's value is above the bucket's threshold"];
}

function* labelFailures(
  type: DeclaredType,
  family: string,
  suffix: string,
  { labels }: StrictSample,
): Generator<Failure> {
  const name = pointLabelOf(type, family);
  if (name === null) return;
  const label = labelOf(labels, name);
  const isNeeded = suffix === (isHistogram(type) ? '_bucket' : '');
  if (label === null) {
    if (isNeeded) yield [0, `the label ${shown(name)} is missing`];
    return;
  }
  const { value, offset } = label;
  const number = numberOf(value) ?? Number.NaN;
  if (!isNeeded) yield [offset, `the label ${name} does not belong here`];
  if (type === 'summary' && !(number >= 0 && number <= 1))
    yield [offset, `the quantile ${shown(value)} is not between 0 and 1`];
  if (isHistogram(type) && Number.isNaN(number))
    yield [offset, `the threshold ${shown(value)} is no number`];
  // Other numbers have several spellings; infinity must have this one.
  if (isHistogram(type) && number === Infinity && value !== '+Inf')
    yield [offset, `the threshold ${shown(value)} must be written "+Inf"`];
}

/** The two types that have buckets. */
function isHistogram(type: DeclaredType): boolean {
  return type === 'histogram' || type === 'gaugehistogram';
}

/** The threshold of a bucket; Infinity if its labels have none. */
function thresholdOf(labels: readonly StrictLabel[]): number {
  return numberOf(labelOf(labels, 'le')?.value ?? '') ?? Infinity;
}

interface HistogramPart {
  readonly suffix: string;
  readonly sample: StrictSample;
  readonly line: number;
}

/** The first broken rule between all samples with one label set and one time, each valid by itself; or null. */
function histogramProblem(parts: readonly HistogramPart[]): string | null {
  let threshold = Number.NaN;
  let bucketCount = 0;
  let hasNegative = false;
  for (const { sample } of parts.filter(({ suffix }) => suffix === '_bucket')) {
    const next = thresholdOf(sample.labels);
    if (next <= threshold) return 'buckets are not in order of their thresholds';
    if (sample.value < bucketCount) return 'a bucket counts less than the one before';
    hasNegative ||= next < 0;
    threshold = next;
    bucketCount = sample.value;
  }
  const valueOf = (...suffixes: readonly string[]): number | null =>
    parts.findLast(({ suffix }) => suffixes.includes(suffix))?.sample.value ?? null;
  const count = valueOf('_count', '_gcount');
  const sum = valueOf('_sum', '_gsum');
  if (threshold !== Infinity) return 'the bucket with le="+Inf" is missing';
  if (count !== null && count !== bucketCount)
    return 'the count is not that of the bucket with le="+Inf"';
  if ((count === null) !== (sum === null)) return 'count and sum occur together or not at all';
  if (sum === null) return null;
  if (hasNegative && !parts.some(({ suffix }) => suffix.startsWith('_g')))
    return 'a histogram with negative thresholds has no sum';
  return !hasNegative && sum < 0 ? 'the sum is negative where no threshold is' : null;
}
