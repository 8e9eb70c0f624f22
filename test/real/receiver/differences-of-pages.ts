// Known differences in the reading of a page: which lines, with which metadata, as which series.

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
    receiver:
      'fails the whole scrape at one line that the format forbids: `up` is 0, all series end',
    bridge: 'drops and names that line, and uses the rest of the page',
    why: "one service's broken exporter must not cost the other services on the page their data",
    explains: (difference, step) => {
      if (isRefused(step)) return !step.isAllowed;
      // A series that only the bridge has read from such a page ends on a later page, and only for the bridge.
      const { ours } = difference;
      const isEnd = isOnly(difference, 'ours') && isMarker(ours);
      return isEnd && ours !== null && !step.theirsBefore.has(seriesOf(ours));
    },
  },
  {
    rule: 'A2',
    receiver:
      'fails the whole scrape at a number beyond the largest double, or at a timestamp before 1970',
    bridge: 'reads the number as infinity; drops the sample with the timestamp',
    why: 'the formats allow both; infinity is the nearest double',
    explains: (_, step) =>
      isRefused(step) && step.isAllowed && step.page.hasLine(/ (?:1e400|-\d+)$/),
  },
  {
    rule: 'G3',
    receiver: 'takes an answer without any sample as good: `up` is 1',
    bridge: 'sends `up` 0, with the reason `empty` or `absent`',
    why: 'nothing shows that a configured service without samples is up',
    explains: ({ field, ours }, { page }) =>
      field === 'value' && ours.metric === 'up' && page.samples.length === 0,
  },
  {
    rule: 'A6',
    receiver:
      'applies TYPE and HELP to the lines after them, and to the next ten pages without them',
    bridge: 'applies them to the whole page that has them, and to no other',
    why: 'a page means the same after any other page',
    explains: (difference, step) => isMetadata(difference) && isMisplaced(difference, step),
  },
  {
    rule: 'A6',
    receiver: 'takes the last of several TYPE or HELP lines of a family',
    bridge: 'takes the first',
    why: 'all samples of a family have one type',
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
    receiver: 'makes blanks at the beginning of a line part of the name',
    bridge: 'skips them',
    why: 'names have no blanks',
    explains: (difference, { page }) =>
      page.hasLine(new RegExp(`^\\s+${pointOf(difference).metric.trim()}[{ ]`)),
  },
  {
    rule: 'A4',
    receiver:
      'merges a sample into a family whose name it extends (`x_count` into a gauge `x`): one of the two is lost',
    bridge: 'makes a separate family of unknown type',
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
    receiver: 'removes `_info` from an OpenMetrics info metric',
    bridge: 'keeps the name',
    why: 'the specification requires unaltered names; queries use the name on the page',
    explains: (difference, { page }) => {
      const { metric, metadata } = pointOf(difference);
      const family = metric.replace(/_info$/, '');
      const isInfo = metadata === 'prometheus.type=info';
      return difference.field === 'point' && isInfo && page.metadataOf('TYPE', family).length > 0;
    },
  },
  {
    rule: 'B',
    receiver: 'turns the unit `x_per_y` into `x/y`, `ratio` into `1`, and `kilobytes` into `KBy`',
    bridge: 'keeps other words, never sends `1`, and turns `kilobytes` into `kBy`',
    why: 'UCUM writes `kBy`; back ends append `_ratio` to metrics with the unit `1`',
    explains: ({ field, ours }) =>
      field === 'unit' && ['kBy', 'ratio', 'bytes_per_second'].includes(ours.unit),
  },
  {
    rule: 'C',
    receiver:
      'turns the samples of a gauge histogram into gauges, the buckets under the name of the family',
    bridge: 'drops and counts them as `gauge_histogram`',
    why: 'the specification says so',
    explains: (difference, { page, reads }) =>
      isOnly(difference, 'theirs') &&
      page.hasLine(/ gaugehistogram$/) &&
      (reads['gauge_histogram'] ?? 0) > 0,
  },
  {
    rule: 'F2',
    receiver:
      'sends the last value of a series that occurs twice on a page, with labels in another order or with the same timestamp',
    bridge: 'sends the first',
    why: 'stores that refuse a second value for one time keep the first, too',
    explains: ({ field, ours }, { page }) => field === 'value' && page.samplesOf(ours).length > 1,
  },
  {
    rule: 'F1',
    receiver: 'drops the second sample of a series on one page, although its timestamp is newer',
    bridge: 'makes a second point',
    why: 'it is a newer observation',
    explains: (difference, { page }) =>
      isOnly(difference, 'ours') && page.samplesOf(pointOf(difference)).length > 1,
  },
];

/** True if the line of metadata is missing on this page, or is not before the first sample. */
function isMisplaced(difference: Difference, { page }: ComparedStep): boolean {
  const { metric, type } = pointOf(difference);
  const isOfFamily = (name: string): boolean =>
    name === metric || (type === 'histogram' && name.startsWith(`${metric}_`));
  const first = page.samples.find(({ name }) => isOfFamily(name))?.line ?? 0;
  const word = difference.field === 'description' ? 'HELP' : 'TYPE';
  const [at] = page.metadataOf(word, metric);
  return at === undefined || at > first;
}
