// Known differences around the points: resource, scope, labels that identify the source, the scraper's own series.

import type { ComparablePoint } from './comparable-points.ts';
import { isOnly, type KnownDifference, pointOf } from './known-difference.ts';

const OWN_SERIES = /^(?:up|scrape_\w+)$/;

/** The scraper's own series have no labels; a page's series of the same name may have some. */
const isOwn = ({ metric, attributes }: ComparablePoint): boolean =>
  OWN_SERIES.test(metric) && attributes === '';

/** A resource's attributes without the ones that the two sides write differently. */
const commonResource = ({ resource }: ComparablePoint): string[] =>
  resource.split(' ').filter(pair => !/^server\.(?:address|port)=/.test(pair));

export const envelopeDifferences: readonly KnownDifference[] = [
  {
    rule: 'I1',
    receiver: 'sends `server.port` as a string, and no `server.address` for loopback',
    bridge: 'sends the port as a number, and always the address',
    why: 'the semantic conventions define the port as a number; a missing address helps nobody',
    explains: ({ field, ours, theirs }) =>
      field === 'resource' && commonResource(ours).join(' ') === commonResource(theirs).join(' '),
  },
  {
    rule: 'I1',
    receiver: 'keeps the label `namespace`',
    bridge: 'moves it from the points to the Resource, as its id',
    why: "it identifies the service's databases",
    explains: (difference, { page }) =>
      difference.field === 'point' &&
      page.hasLine(new RegExp(`^${pointOf(difference).metric}\\{namespace=`)),
  },
  {
    rule: 'I1',
    receiver: 'renames a scraped `job` or `instance` to `exported_job` or `exported_instance`',
    bridge: 'removes both; sends the first of the series that differ in nothing else',
    why: 'they identify the source, as the Resource does ([decision 13](decisions/0013-duplicates.md))',
    explains: (difference, { page }) => {
      const { field } = difference;
      const { metric, attributes } = pointOf(difference);
      const hasDuplicates = page.hasLine(new RegExp(`^${metric}\\{(?:job|instance)=`));
      const isDuplicate = field === 'value' || (isOnly(difference, 'ours') && attributes === '');
      return (
        (hasDuplicates && isDuplicate) || /\bexported_(?:job|instance)=theirs/.test(attributes)
      );
    },
  },
  {
    rule: 'I2',
    receiver:
      "makes a scope with the receiver's name and version, or one without a name if labels set other parts of it",
    bridge: 'makes a scope `prom2otlp` without its version',
    why: 'if a back end turns scopes into labels, a version there renames every series with each release',
    explains: ({ field, ours, theirs }) => field === 'scope' && ours.pageScope === theirs.pageScope,
  },
  {
    rule: 'I3',
    receiver: 'applies `target_info` to the page that has it',
    bridge: 'applies it until another one arrives',
    why: 'if the Resource is part of the identity, losing its attributes for a page starts every series anew',
    explains: ({ field, ours, theirs }, { page }) => {
      if (field !== 'resource' || page.hasSample('target_info')) return false;
      const [mine, other] = [commonResource(ours), commonResource(theirs)];
      return other.length < mine.length && other.every(pair => mine.includes(pair));
    },
  },
  {
    rule: 'I4',
    receiver:
      'sends a scraped `up` or `scrape_…` beside its own series of that name, or instead of it',
    bridge: 'renames it to `exported_up` and so on',
    why: 'two meanings under one name break every alert on it',
    explains: (difference, { page }) => {
      const name = pointOf(difference).metric.replace(/^exported_/, '');
      return OWN_SERIES.test(name) && page.hasSample(name);
    },
  },
  {
    rule: 'I4',
    receiver: 'sends and describes `up` and `scrape_…` per target',
    bridge: 'sends and describes them per service',
    why: 'each service on a page has its own state',
    explains: ({ field, ours }) => field === 'description' && isOwn(ours),
  },
  {
    rule: 'I4',
    receiver: 'measures its own request for `scrape_duration_seconds`',
    bridge: 'measures its own request, too',
    why: 'only this value always differs between two scrapes of a page',
    explains: ({ field, ours }, { page }) =>
      field === 'value' &&
      ours.metric === 'scrape_duration_seconds' &&
      page.samplesOf(ours).length === 0,
  },
  {
    rule: 'I4',
    receiver: 'sends no `scrape_body_size_bytes` unless configured',
    bridge: 'always sends it',
    why: 'you need it to set `limits.body`',
    explains: difference =>
      isOnly(difference, 'ours') && difference.ours?.metric === 'scrape_body_size_bytes',
  },
  {
    rule: 'I4',
    receiver:
      'counts a series in `scrape_series_added` again after any absence and in every order of its labels; does not count series whose time it rejects',
    bridge: 'counts series that were not on a page before, or not for an hour',
    why: "the receiver reports the number of Prometheus's cache, which Prometheus calls approximate",
    explains: ({ field, ours, theirs }, { reads }) =>
      field === 'value' &&
      ours.metric === 'scrape_series_added' &&
      isOwn(ours) &&
      (Number(theirs.value) > Number(ours.value) || (reads['time_future'] ?? 0) > 0),
  },
];
