// Tallies of samples: the page server tallies each page, and the sink tallies the samples that arrive. The two are
// compared without keeping any samples, and the order of the samples does not matter. The checksum is over the values'
// bits, so it shows any value that changed on its way; the sum is for contenders that round the last digit of a value.

/** The tally of all samples with one timestamp, or of a whole page. */
export interface Tally {
  samples: number;
  /** 32 bits. */
  checksum: number;
  sum: number;
  /** Sum of the absolute values, which a rounding error is compared with. */
  size: number;
}

export function newTally(): Tally {
  return { samples: 0, checksum: 0, sum: 0, size: 0 };
}

const bits = new Float64Array(1);
const words = new Uint32Array(bits.buffer);

export function addValue(tally: Tally, value: number): void {
  bits[0] = value;
  const low = words[0] ?? 0;
  const high = words[1] ?? 0;
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0xc2b2ae35);
  tally.checksum = (tally.checksum + (mixed ^ (mixed >>> 15))) | 0;
  tally.samples++;
  tally.sum += value;
  tally.size += Math.abs(value);
}

export function addTally(to: Tally, from: Tally): void {
  to.samples += from.samples;
  to.checksum = (to.checksum + from.checksum) | 0;
  to.sum += from.sum;
  to.size += from.size;
}

/** Sums of doubles depend a little on their order; a fast, inexact parser gets the last bits of a decimal wrong. */
const ROUNDING = 1e-12;

/** Whether two tallies are of the same samples; `isRounded` forgives the last bits of values. */
export function isSameTally(one: Tally, other: Tally, isRounded: boolean): boolean {
  if (one.samples !== other.samples) return false;
  if (!isRounded && one.checksum !== other.checksum) return false;
  return Math.abs(one.sum - other.sum) <= ROUNDING * (one.size + other.size);
}
