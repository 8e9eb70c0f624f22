// Known differences in what is read of a page: which lines, with which metadata, as which series.

import { type Difference, seriesOf } from './comparable-points.ts';
import { isMarker, isOnly, type KnownDifference, ownValue, pointOf } from './known-difference.ts';
import type { ComparedStep } from './strict-bridge.ts';

const METADATA_FIELDS = ['type', 'metadata', 'temporality', 'isMonotonic', 'description', 'unit'];
const PART_SUFFIXES = ['_total', '_created', '_bucket', '_count', '_sum', '_info'];
const SUFFIX = new RegExp(`(?:${PART_SUFFIXES.join('|')})$`);

/** The receiver gave up the page, the bridge did not. */
const isRefused = ({ ours, theirs }: ComparedStep): boolean =>
  ownValue(theirs, 'up') === 0 && ownValue(ours, 'up') === 1;

const isMetadata = ({ field }: Difference): boolean => METADATA_FIELDS.includes(field);

export const pageDifferences: readonly KnownDifference[] = [
  {
    rule: 'A6',
    receiver: 'one line that the format forbids: the whole scrape fails, `up` is 0, all series end',
    bridge: 'that line is dropped and named, the rest of the page is used',
    why: "one service's broken exporter must not cost the others on the page their data",
    explains: (difference, step) => {
      if (isRefused(step)) return !step.isAllowed;
      // What the bridge alone has read of such a page ends on a later one, for the bridge alone.
      const { ours } = difference;
      const isEnd = isOnly(difference, 'ours') && isMarker(ours);
      return isEnd && ours !== null && !step.theirsBefore.has(seriesOf(ours));
    },
  },
  {
    rule: 'A2',
    receiver:
      'a number beyond the largest double, or a timestamp before 1970: the whole scrape fails',
    bridge: 'the number is infinity; the sample with the timestamp is dropped',
    why: 'the formats allow both; infinity is the nearest double',
    explains: (_, step) =>
      isRefused(step) && step.isAllowed && step.page.hasLine(/ (?:1e400|-\d+)$/),
  },
  {
    rule: 'G3',
    receiver: 'an answer without any sample is a good one: `up` is 1',
    bridge: '`up` is 0, with the reason `empty` or `absent`',
    why: 'a configured service of which nothing is said is not known to be up',
    explains: ({ field, ours }, { page }) =>
      field === 'value' && ours.metric === 'up' && page.samples.length === 0,
  },
  {
    rule: 'A6',
    receiver:
      'TYPE and HELP hold from their line on, and on the next ten pages that do not say them',
    bridge: 'they hold for the page on which they stand, wherever they stand on it',
    why: 'a page means the same whatever came before it',
    explains: (difference, step) => isMetadata(difference) && isMisplaced(difference, step),
  },
  {
    rule: 'A6',
    receiver: 'of several TYPE or HELP lines of a family the last one holds',
    bridge: 'the first one',
    why: 'samples between them have one type',
    explains: (difference, { page }) => {
      const { metric } = pointOf(difference);
      const counts = [
        page.metadataOf('TYPE', metric).length,
        page.metadataOf('HELP', metric).length,
      ];
      return isMetadata(difference) && Math.max(...counts) > 1;
    },
  },
  {
    rule: 'A6',
    receiver: 'blanks at the beginning of a line are part of the name',
    bridge: 'they are skipped',
    why: 'no name has blanks',
    explains: (difference, { page }) =>
      page.hasLine(new RegExp(`^\\s+${pointOf(difference).metric.trim()}[{ ]`)),
  },
  {
    rule: 'A4',
    receiver:
      'a sample whose name extends the name of a family (`x_count` of a gauge `x`) is merged into it: one of the two is lost',
    bridge: 'it is a family of its own, of unknown type',
    why: 'a gauge has no parts',
    explains: (difference, { page, format }) => {
      const { metric } = pointOf(difference);
      const extended = metric.replace(SUFFIX, '');
      const isExtension = SUFFIX.test(metric) && page.metadataOf('TYPE', extended).length > 0;
      const isExtended = PART_SUFFIXES.some(suffix => page.hasSample(metric + suffix));
      const isLost = difference.field === 'value' || isOnly(difference, 'ours');
      return isLost && format === 'text' && (isExtension || isExtended);
    },
  },
  {
    rule: 'B',
    receiver: 'an OpenMetrics info metric loses `_info`',
    bridge: 'it keeps its name',
    why: 'the specification wants names unaltered; queries have the name of the page',
    explains: (difference, { page }) => {
      const { metric, metadata } = pointOf(difference);
      const family = metric.replace(/_info$/, '');
      const isInfo = metadata === 'prometheus.type=info';
      return difference.field === 'point' && isInfo && page.metadataOf('TYPE', family).length > 0;
    },
  },
  {
    rule: 'B',
    receiver: 'the unit `x_per_y` becomes `x/y`, `ratio` becomes `1`; `kilobytes` is `KBy`',
    bridge: 'other words stay as they are, `1` is never sent, `kilobytes` is `kBy`',
    why: 'UCUM writes `kBy`; back ends append `_ratio` to what has the unit `1`',
    explains: ({ field, ours }) =>
      field === 'unit' && ['kBy', 'ratio', 'bytes_per_second'].includes(ours.unit),
  },
  {
    rule: 'C',
    receiver: "a gauge histogram's samples are gauges, its buckets under the name of the family",
    bridge: 'dropped and counted as `gauge_histogram`',
    why: 'so the specification has it',
    explains: (difference, { page, reads }) =>
      isOnly(difference, 'theirs') &&
      page.hasLine(/ gaugehistogram$/) &&
      (reads['gauge_histogram'] ?? 0) > 0,
  },
  {
    rule: 'F2',
    receiver:
      'of a series that stands twice on a page, with labels in another order or with one timestamp, the last value is sent',
    bridge: 'the first',
    why: 'so do stores that refuse a second value for one time',
    explains: ({ field, ours }, { page }) => field === 'value' && page.samplesOf(ours).length > 1,
  },
  {
    rule: 'F1',
    receiver: 'a second sample of a series on one page, with a newer timestamp, is dropped',
    bridge: 'it is a further point',
    why: 'it is a newer observation',
    explains: (difference, { page }) =>
      isOnly(difference, 'ours') && page.samplesOf(pointOf(difference)).length > 1,
  },
];

/** The line of metadata is missing on this page, or does not stand before the first sample. */
function isMisplaced(difference: Difference, { page }: ComparedStep): boolean {
  const { metric, type } = pointOf(difference);
  const isOfFamily = (name: string): boolean =>
    name === metric || (type === 'histogram' && name.startsWith(`${metric}_`));
  const first = page.samples.find(({ name }) => isOfFamily(name))?.line ?? 0;
  const word = difference.field === 'description' ? 'HELP' : 'TYPE';
  const [at] = page.metadataOf(word, metric);
  return at === undefined || at > first;
}
