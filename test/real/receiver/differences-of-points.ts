// Known differences in the points that are made from samples: histograms and summaries, times, markers, exemplars.

import { type ComparablePoint, type Difference, seriesOf } from './comparable-points.ts';
import { isMarker, isOnly, type KnownDifference, pointOf } from './known-difference.ts';
import type { ComparedStep } from './strict-bridge.ts';

const isCompound = ({ type }: ComparablePoint): boolean =>
  type === 'histogram' || type === 'summary';

/** The last point of a series that the bridge had sent before this page. */
const oursBefore = (point: ComparablePoint, step: ComparedStep): ComparablePoint | undefined =>
  step.oursBefore.get(seriesOf(point));

/** The time from the bridge's last point to a point that only the receiver has; NaN if either is missing. */
function nanosecondsLater(difference: Difference, step: ComparedStep): number {
  const { theirs } = difference;
  const last = theirs === null ? undefined : oursBefore(theirs, step);
  if (theirs === null || last === undefined || !isOnly(difference, 'theirs')) return Number.NaN;
  return Number(BigInt(theirs.timeNs) - BigInt(last.timeNs));
}

/** True if the receiver's point repeats the value that the bridge has sent last. */
function isRepeat(difference: Difference, step: ComparedStep): boolean {
  const { theirs } = difference;
  const last = theirs === null ? undefined : oursBefore(theirs, step);
  return Object.is(theirs?.value, last?.value) && theirs?.distribution === last?.distribution;
}

export const pointDifferences: readonly KnownDifference[] = [
  {
    rule: 'D, E',
    receiver:
      'leaves out a bound that is missing or not a number, and a part with another time than the first; accepts a duplicate bound; cuts fractions off counts; turns NaN into an arbitrary number',
    bridge: 'drops the whole point, as `histogram_invalid` or `summary_invalid`',
    why: 'half a distribution is useless, and OTLP forbids most of these',
    explains: (difference, { reads }) =>
      isOnly(difference, 'theirs') &&
      isCompound(pointOf(difference)) &&
      (reads['histogram_invalid'] ?? 0) + (reads['summary_invalid'] ?? 0) > 0,
  },
  {
    rule: 'E',
    receiver: 'sends a quantile outside 0 to 1',
    bridge: 'drops that quantile alone, as `summary_invalid`',
    why: 'OTLP does not allow it ([decision 54](decisions/0054-what-a-page-says-alone.md))',
    explains: ({ field, ours, theirs }) =>
      field === 'distribution' &&
      theirs.type === 'summary' &&
      withoutOddQuantiles(theirs.distribution) === ours.distribution,
  },
  {
    rule: 'A4',
    receiver: 'loses the quantiles of a summary whose own name ends in `_sum` or `_count`',
    bridge: 'follows the TYPE line',
    why: 'the name of a family may have any ending',
    explains: ({ field, ours }) =>
      field === 'distribution' && ours.type === 'summary' && /_(?:sum|count)$/.test(ours.metric),
  },
  {
    rule: 'D',
    receiver:
      'loses the next point of a histogram after its bounds changed: the end of the old buckets spoils it',
    bridge: 'sends the point',
    why: 'the point is valid',
    explains: (difference, step) => {
      const point = pointOf(difference);
      const before = oursBefore(point, step)?.distribution;
      const hasChanged = before !== undefined && boundsOf(before) !== boundsOf(point.distribution);
      return isOnly(difference, 'ours') && point.type === 'histogram' && hasChanged;
    },
  },
  {
    rule: 'G1',
    receiver: 'sends markers also for series without a sent point',
    bridge: 'sends markers only for series with a sent point',
    why: 'a series that the back end never received cannot end',
    explains: (difference, step) => {
      const point = pointOf(difference);
      const isUnsent = oursBefore(point, step) === undefined;
      return isOnly(difference, 'theirs') && isMarker(point) && isUnsent;
    },
  },
  {
    rule: 'G1',
    receiver: 'sends markers of histograms with bounds and zero counts, without a sum',
    bridge: 'adds a sum of zero, if the histogram had a sum',
    why: 'back ends end the series that a marker contains ([decision 15](decisions/0015-histograms-and-summaries.md))',
    explains: ({ field, ours, theirs }) =>
      field === 'distribution' &&
      ours.type === 'histogram' &&
      isMarker(ours) &&
      isMarker(theirs) &&
      ours.distribution.replace(' sum=0', '') === theirs.distribution,
  },
  {
    rule: 'F2',
    receiver: 'sends times that go back',
    bridge: 'drops the sample and counts it as `time_backwards`',
    why: 'a back end that refuses older samples answers 400 to the whole request',
    explains: (difference, step) => nanosecondsLater(difference, step) < 0,
  },
  {
    rule: 'F2',
    receiver: 'sends another value for a time that it sent before',
    bridge: 'drops the sample and counts it as `time_conflict`',
    why: 'for the same reason',
    explains: (difference, step) =>
      nanosecondsLater(difference, step) === 0 && !isRepeat(difference, step),
  },
  {
    rule: 'F3',
    receiver: 'sends an unchanged sample again with every scrape',
    bridge: 'sends it once',
    why: 'it is not a new observation ([decision 10](decisions/0010-repeats-never-go-out.md))',
    explains: (difference, step) =>
      nanosecondsLater(difference, step) === 0 && isRepeat(difference, step),
  },
  {
    rule: 'F2',
    receiver: 'sends the time 0',
    bridge: 'drops the sample and counts it as `time_backwards`',
    why: 'in OTLP it means an unknown time',
    explains: difference => isOnly(difference, 'theirs') && difference.theirs?.timeNs === '0',
  },
  {
    rule: 'G2',
    receiver: 'never marks series with timestamps as ended',
    bridge: 'marks them after `stale_after`, 1 ms after the last point',
    why: 'the service stamps every sample: without markers its ended series would stay on dashboards for minutes',
    explains: ({ ours, theirs }, step) => {
      if (!isMarker(ours) || isMarker(theirs) || ours === null) return false;
      const lastNs = BigInt(oursBefore(ours, step)?.timeNs ?? '0');
      return BigInt(ours.timeNs) - lastNs === 1_000_000n;
    },
  },
  {
    rule: 'G2',
    receiver: 'with `track_timestamps_staleness`, marks them at once, with the time of the scrape',
    bridge: 'has no such setting',
    why: 'after such a marker the back end refuses late samples',
    explains: (difference, { sequence, timeMs }) =>
      sequence.scrape['track_timestamps_staleness'] === true &&
      isOnly(difference, 'theirs') &&
      isMarker(difference.theirs) &&
      difference.theirs?.timeNs === `${timeMs}000000`,
  },
  {
    rule: 'A1',
    receiver: 'cuts OpenMetrics timestamps off after the milliseconds',
    bridge: 'rounds them to the nearest millisecond',
    why: 'rounding has the smaller error ([decision 4](decisions/0004-times-in-milliseconds.md))',
    explains: ({ field, ours, theirs }, { format }) =>
      field === 'timeNs' &&
      format === 'openmetrics' &&
      BigInt(ours.timeNs) - BigInt(theirs.timeNs) === 1_000_000n,
  },
  {
    rule: 'F4',
    receiver: 'computes a creation time in floating point, with an error of some 100 ns',
    bridge: 'rounds it to the millisecond',
    why: 'decision 4 as well; a start must be the same number each time',
    explains: ({ field, ours, theirs }) =>
      field === 'startNs' && Math.abs(Number(BigInt(ours.startNs) - BigInt(theirs.startNs))) <= 250,
  },
  {
    rule: 'F4',
    receiver:
      'sends a creation time as the start even if it is later than its sample, before 1970 or not a number',
    bridge: 'sends no start',
    why: 'no back end accepts a point that ends before it starts',
    explains: ({ field, ours, theirs }) =>
      field === 'startNs' && ours.startNs === '0' && BigInt(theirs.startNs) > BigInt(theirs.timeNs),
  },
  {
    rule: 'F4',
    receiver: 'follows a creation time that goes back, or lies before the last point',
    bridge: 'never moves a start back, or before the last point',
    why: 'otherwise two streams of one series overlap',
    explains: ({ field, ours, theirs }) =>
      field === 'startNs' &&
      BigInt(theirs.startNs) > 0n &&
      BigInt(theirs.startNs) + 1_000_000n < BigInt(ours.startNs),
  },
  {
    rule: 'H',
    receiver: 'accepts `trace_id` and `span_id` of an exemplar in upper and lower case',
    bridge: 'accepts them only in lower case',
    why: 'the specification says so',
    explains: ({ field, ours }) => field === 'exemplars' && /\bTrace_ID=/.test(ours.exemplars),
  },
  {
    rule: 'H',
    receiver: "keeps an exemplar's label with an empty value, unless it is an id",
    bridge: 'treats it as absent, as on samples',
    why: 'the formats define the two as equal',
    explains: ({ field, ours, theirs }) =>
      field === 'exemplars' && theirs.exemplars.replaceAll(/\w+=(?=[,}])/g, '') === ours.exemplars,
  },
];

/** A distribution as text without its quantiles outside 0 to 1. */
function withoutOddQuantiles(distribution: string): string {
  return distribution.replaceAll(/ q(\S+):\S+/g, (text, quantile: string) =>
    Number(quantile) < 0 || Number(quantile) > 1 ? '' : text,
  );
}

/** The bounds and quantiles in a distribution as text. */
function boundsOf(distribution: string): string {
  return [...distribution.matchAll(/\b(?:le|q)(\S+):/g)].map(([, bound]) => bound).join(' ');
}
