// One point of an OpenMetrics histogram or gauge histogram: all samples with one label set and one time. Takes them
// one by one and says, at the end of the point, which rules between them are broken.

import { labelOf, numberOf, type StrictSample } from './sample-syntax.ts';

/** Give it every sample of the point with `add`, then ask `finish`. */
export class HistogramPoint {
  /** Where the last sample of the point stands. */
  line = 0;
  #threshold = Number.NaN;
  #bucketCount = 0;
  #count: number | null = null;
  #sum: number | null = null;
  #isGauge = false;
  #hasNegativeThreshold = false;
  #problem: string | null = null;
  #isSpoilt = false;

  /** Takes a sample that has passed the rules of its type; `suffix` is what follows the family's name. */
  add(sample: StrictSample, suffix: string, line: number): void {
    this.line = line;
    this.#isGauge ||= suffix.startsWith('_g');
    if (suffix === '_bucket') this.#addBucket(sample);
    else if (suffix === '_count' || suffix === '_gcount') this.#count = sample.value;
    else if (suffix === '_sum' || suffix === '_gsum') this.#sum = sample.value;
  }

  /** A sample of the point was wrong by itself: what is missing now is no news. */
  spoil(): void {
    this.#isSpoilt = true;
  }

  #addBucket(sample: StrictSample): void {
    const threshold = numberOf(labelOf(sample.labels, 'le')?.value ?? '') ?? Number.NaN;
    if (threshold < 0) this.#hasNegativeThreshold = true;
    if (threshold <= this.#threshold)
      this.#problem ??= 'buckets are not in order of their thresholds';
    else if (sample.value < this.#bucketCount)
      this.#problem ??= 'a bucket counts less than the one before';
    this.#threshold = threshold;
    this.#bucketCount = sample.value;
  }

  /** The first rule between the samples that is broken, or null. */
  finish(): string | null {
    if (this.#isSpoilt) return null;
    if (this.#problem !== null) return this.#problem;
    if (this.#threshold !== Infinity) return 'the bucket with le="+Inf" is missing';
    if (this.#count !== null && this.#count !== this.#bucketCount)
      return 'the count is not that of the bucket with le="+Inf"';
    if ((this.#count === null) !== (this.#sum === null))
      return 'count and sum stand together or not at all';
    if (this.#sum === null) return null;
    if (this.#hasNegativeThreshold && !this.#isGauge)
      return 'a histogram with negative thresholds has no sum';
    if (!this.#hasNegativeThreshold && this.#sum < 0)
      return 'the sum is negative where no threshold is';
    return null;
  }
}
