// Known differences in the points that are made of the samples: histograms and summaries, times, markers, exemplars.

import { type ComparablePoint, type Difference, seriesOf } from './comparable-points.ts';
import { isMarker, isOnly, type KnownDifference, pointOf } from './known-difference.ts';
import type { ComparedStep } from './strict-bridge.ts';

const isCompound = ({ type }: ComparablePoint): boolean =>
  type === 'histogram' || type === 'summary';

/** What the bridge had sent of a series before this page. */
const oursBefore = (point: ComparablePoint, step: ComparedStep): ComparablePoint | undefined =>
  step.oursBefore.get(seriesOf(point));

/** A point of the receiver alone, that follows one which the bridge has sent; NaN where there is none. */
function nanosecondsLater(difference: Difference, step: ComparedStep): number {
  const { theirs } = difference;
  const last = theirs === null ? undefined : oursBefore(theirs, step);
  if (theirs === null || last === undefined || !isOnly(difference, 'theirs')) return Number.NaN;
  return Number(BigInt(theirs.timeNs) - BigInt(last.timeNs));
}

/** It says what the bridge has said last. */
function isRepeat(difference: Difference, step: ComparedStep): boolean {
  const { theirs } = difference;
  const last = theirs === null ? undefined : oursBefore(theirs, step);
  return Object.is(theirs?.value, last?.value) && theirs?.distribution === last?.distribution;
}

export const pointDifferences: readonly KnownDifference[] = [
  {
    rule: 'D, E',
    receiver:
      'a bound that is missing or no number, or a part with another time than the first, is left out; a bound may come twice; fractions in counts are cut off, NaN becomes some number',
    bridge: 'the point is dropped whole, as `histogram_invalid` or `summary_invalid`',
    why: 'half a distribution is none, and OTLP forbids most of these',
    explains: (difference, { reads }) =>
      isOnly(difference, 'theirs') &&
      isCompound(pointOf(difference)) &&
      (reads['histogram_invalid'] ?? 0) + (reads['summary_invalid'] ?? 0) > 0,
  },
  {
    rule: 'E',
    receiver: 'a quantile outside 0 to 1 is sent',
    bridge: 'it alone is dropped, as `summary_invalid`',
    why: 'OTLP has none ([decision 65](decisions/0065-what-a-page-says-alone.md))',
    explains: ({ field, ours, theirs }) =>
      field === 'distribution' &&
      theirs.type === 'summary' &&
      withoutOddQuantiles(theirs.distribution) === ours.distribution,
  },
  {
    rule: 'A4',
    receiver: 'a summary whose own name ends in `_sum` or `_count` loses its quantiles',
    bridge: 'the TYPE line decides what its samples are',
    why: 'the name of a family may end in anything',
    explains: ({ field, ours }) =>
      field === 'distribution' && ours.type === 'summary' && /_(?:sum|count)$/.test(ours.metric),
  },
  {
    rule: 'D',
    receiver:
      'a histogram whose bounds have changed loses its next point, which the end of its old buckets spoils',
    bridge: 'it is sent',
    why: 'the point is good',
    explains: (difference, step) => {
      const point = pointOf(difference);
      const before = oursBefore(point, step)?.distribution;
      const hasChanged = before !== undefined && boundsOf(before) !== boundsOf(point.distribution);
      return isOnly(difference, 'ours') && point.type === 'histogram' && hasChanged;
    },
  },
  {
    rule: 'G1',
    receiver: 'markers end series of which no point was sent, too',
    bridge: 'what was sent is ended',
    why: 'what was not there does not end',
    explains: (difference, step) => {
      const point = pointOf(difference);
      const isUnsent = oursBefore(point, step) === undefined;
      return isOnly(difference, 'theirs') && isMarker(point) && isUnsent;
    },
  },
  {
    rule: 'G1',
    receiver: 'markers of histograms: bounds, zero counts, no sum',
    bridge: 'also a sum of zero, if there was one',
    why: 'back ends end the series that they find in a marker ([decision 16](decisions/0016-histograms-and-summaries.md))',
    explains: ({ field, ours, theirs }) =>
      field === 'distribution' &&
      ours.type === 'histogram' &&
      isMarker(ours) &&
      isMarker(theirs) &&
      ours.distribution.replace(' sum=0', '') === theirs.distribution,
  },
  {
    rule: 'F2',
    receiver: 'times that go back are sent',
    bridge: 'dropped and counted as `time_backwards`',
    why: 'a back end that takes no older samples answers 400 to the whole request',
    explains: (difference, step) => nanosecondsLater(difference, step) < 0,
  },
  {
    rule: 'F2',
    receiver: 'another value for a time that was sent is sent, too',
    bridge: 'dropped and counted as `time_conflict`',
    why: 'likewise',
    explains: (difference, step) =>
      nanosecondsLater(difference, step) === 0 && !isRepeat(difference, step),
  },
  {
    rule: 'F3',
    receiver: 'a sample that has not changed is sent again with every scrape',
    bridge: 'sent once',
    why: 'it is no new observation ([decision 11](decisions/0011-repeats-never-go-out.md))',
    explains: (difference, step) =>
      nanosecondsLater(difference, step) === 0 && isRepeat(difference, step),
  },
  {
    rule: 'F2',
    receiver: 'the time 0 is sent',
    bridge: 'dropped and counted as `time_backwards`',
    why: 'in OTLP it means that the time is not known',
    explains: difference => isOnly(difference, 'theirs') && difference.theirs?.timeNs === '0',
  },
  {
    rule: 'G2',
    receiver: 'series with timestamps are never marked as ended',
    bridge: 'marked after `stale_after`, 1 ms behind the last point',
    why: 'the service stamps every sample: its ended series would stay on the dashboards for minutes',
    explains: ({ ours, theirs }, step) => {
      if (!isMarker(ours) || isMarker(theirs) || ours === null) return false;
      const lastNs = BigInt(oursBefore(ours, step)?.timeNs ?? '0');
      return BigInt(ours.timeNs) - lastNs === 1_000_000n;
    },
  },
  {
    rule: 'G2',
    receiver:
      'with `track_timestamps_staleness` they are marked at once, with the time of the scrape',
    bridge: 'there is no such setting',
    why: 'such a marker would lock out samples that come late',
    explains: (difference, { sequence, timeMs }) =>
      sequence.scrape['track_timestamps_staleness'] === true &&
      isOnly(difference, 'theirs') &&
      isMarker(difference.theirs) &&
      difference.theirs?.timeNs === `${timeMs}000000`,
  },
  {
    rule: 'A1',
    receiver: 'OpenMetrics timestamps are cut off after the milliseconds',
    bridge: 'rounded to the nearest',
    why: 'the nearest is nearer ([decision 4](decisions/0004-times-in-milliseconds.md))',
    explains: ({ field, ours, theirs }, { format }) =>
      field === 'timeNs' &&
      format === 'openmetrics' &&
      BigInt(ours.timeNs) - BigInt(theirs.timeNs) === 1_000_000n,
  },
  {
    rule: 'F4',
    receiver: 'a creation time is calculated in floating point, some 100 ns off',
    bridge: 'rounded to the millisecond',
    why: 'decision 4, too; a start must be the same number each time',
    explains: ({ field, ours, theirs }) =>
      field === 'startNs' && Math.abs(Number(BigInt(ours.startNs) - BigInt(theirs.startNs))) <= 250,
  },
  {
    rule: 'F4',
    receiver:
      'a creation time later than its sample, before 1970 or not a number is sent as the start',
    bridge: 'there is no start',
    why: 'no back end takes a point that ends before it starts',
    explains: ({ field, ours, theirs }) =>
      field === 'startNs' && ours.startNs === '0' && BigInt(theirs.startNs) > BigInt(theirs.timeNs),
  },
  {
    rule: 'F4',
    receiver: 'a creation time that goes back, or lies before the last point, is followed',
    bridge: 'a start never goes back, nor before the last point',
    why: 'two streams of one series would overlap',
    explains: ({ field, ours, theirs }) =>
      field === 'startNs' &&
      BigInt(theirs.startNs) > 0n &&
      BigInt(theirs.startNs) + 1_000_000n < BigInt(ours.startNs),
  },
  {
    rule: 'H',
    receiver: 'the ids of an exemplar are known as `trace_id` and `span_id` in any case',
    bridge: 'in small letters alone',
    why: 'so the specification has them',
    explains: ({ field, ours }) => field === 'exemplars' && /\bTrace_ID=/.test(ours.exemplars),
  },
  {
    rule: 'H',
    receiver: "an exemplar's label with an empty value stays, unless it is an id",
    bridge: 'it is an absent label, as on samples',
    why: 'the formats say that the two are the same',
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
