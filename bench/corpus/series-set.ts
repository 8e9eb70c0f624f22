// What was served and what has arrived, as sets of series. Page and sink know a series by different names, so a series
// counts by its number of samples and a checksum over their values and times. A sample that is missing, invented,
// changed, late or under the labels of another series changes the set. No samples are kept, and no order matters.

/** The samples of one series. */
export interface SeriesTally {
  samples: number;
  /** 32 bits each: over all bits of the values, and over the bits that a fast, inexact parser of decimals keeps. */
  exact: number;
  rounded: number;
}

export function newSeries(): SeriesTally {
  return { samples: 0, exact: 0, rounded: 0 };
}

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);

/** `timeMs` is 0 for pages without timestamps. */
export function addSample(to: SeriesTally, value: number, timeMs: number): void {
  to.samples++;
  to.exact = (to.exact + checksum(value, timeMs)) | 0;
  // Times an odd number: whole numbers can lie in the middle of two floats, where the last bit decides.
  to.rounded = (to.rounded + checksum(Math.fround(value * Math.SQRT2), timeMs)) | 0;
}

function checksum(value: number, timeMs: number): number {
  double[0] = value;
  const [low = 0, high = 0] = words;
  return mixed(mixed(low ^ Math.imul(high, 0x85ebca6b)) ^ (timeMs | 0));
}

function mixed(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b);
  return twice ^ (twice >>> 16);
}

/** The series with one number of samples: how many, and the sums of their mixed checksums. */
interface Alike {
  series: number;
  exact: number;
  rounded: number;
}

/** By the number of samples of a series. */
export type SeriesSet = Map<number, Alike>;

export function addSeries(set: SeriesSet, { samples, exact, rounded }: SeriesTally): void {
  if (samples === 0) return;
  const alike = set.get(samples) ?? { series: 0, exact: 0, rounded: 0 };
  alike.series++;
  // Mixed again: else two series that swap their samples of one time would not change the sum.
  alike.exact = (alike.exact + mixed(exact)) | 0;
  alike.rounded = (alike.rounded + mixed(rounded)) | 0;
  set.set(samples, alike);
}

function samplesOf(set: SeriesSet): number {
  return [...set].reduce((sum, [samples, { series }]) => sum + samples * series, 0);
}

/** What differs, in words; [] when everything arrived. `isRounded` forgives the last bits of values. */
export function findLosses(served: SeriesSet, arrived: SeriesSet, isRounded: boolean): string[] {
  const [wanted, got] = [samplesOf(served), samplesOf(arrived)];
  if (wanted !== got) return [`${got} of ${wanted} samples arrived (${show(arrived)})`];
  if (show(served) !== show(arrived))
    return [`series by count: ${show(arrived)}, not ${show(served)}`];
  const which = isRounded ? 'rounded' : 'exact';
  return [...served]
    .filter(([samples, alike]) => alike[which] !== arrived.get(samples)?.[which])
    .map(
      ([samples, { series }]) =>
        `among ${series} series that came ${samples} times, some had other values, times or labels`,
    );
}

function show(set: SeriesSet): string {
  return [...set]
    .toSorted(([one], [other]) => one - other)
    .map(([samples, { series }]) => `${series} came ${samples} times`)
    .join(', ');
}
