// Known differences in what stands around the points: resource, scope, labels that say who, the scraper's own series.

import type { ComparablePoint } from './comparable-points.ts';
import { isOnly, type KnownDifference, pointOf } from './known-difference.ts';

const OWN_SERIES = /^(?:up|scrape_\w+)$/;

/** The scraper's own series have no labels; a page's series of the same name may have some. */
const isOwn = ({ metric, attributes }: ComparablePoint): boolean =>
  OWN_SERIES.test(metric) && attributes === '';

/** A resource's attributes without the ones that the two word in their own ways. */
const commonResource = ({ resource }: ComparablePoint): string[] =>
  resource.split(' ').filter(pair => !/^server\.(?:address|port)=/.test(pair));

export const envelopeDifferences: readonly KnownDifference[] = [
  {
    rule: 'I1',
    receiver: '`server.port` is a string; no `server.address` for loopback',
    bridge: 'the port is a number, the address always stands there',
    why: 'the semantic conventions define the port as a number; an address left out helps nobody',
    explains: ({ field, ours, theirs }) =>
      field === 'resource' && commonResource(ours).join(' ') === commonResource(theirs).join(' '),
  },
  {
    rule: 'I1',
    receiver: 'the label `namespace` stays',
    bridge: "it leaves the points and is the Resource's id",
    why: 'by it the service tells its databases apart',
    explains: (difference, { page }) =>
      difference.field === 'point' &&
      page.hasLine(new RegExp(`^${pointOf(difference).metric}\\{namespace=`)),
  },
  {
    rule: 'I1',
    receiver: 'a scraped `job` or `instance` becomes `exported_job`, `exported_instance`',
    bridge: 'both leave the points; of series that differ in nothing else the first is sent',
    why: 'they say who, as the Resource does ([decision 14](decisions/0014-twins.md))',
    explains: (difference, { page }) => {
      const { field } = difference;
      const { metric, attributes } = pointOf(difference);
      const hasTwins = page.hasLine(new RegExp(`^${metric}\\{(?:job|instance)=`));
      const isTwin = field === 'value' || (isOnly(difference, 'ours') && attributes === '');
      return (hasTwins && isTwin) || /\bexported_(?:job|instance)=theirs/.test(attributes);
    },
  },
  {
    rule: 'I2',
    receiver:
      "the scope is the receiver's name and version, or without a name where labels tell other parts of it",
    bridge: '`prom2otlp`, no version of its own',
    why: 'a version in the scope renames every series with each release where scopes become labels',
    explains: ({ field, ours, theirs }) => field === 'scope' && ours.pageScope === theirs.pageScope,
  },
  {
    rule: 'I3',
    receiver: '`target_info` holds for the page on which it stands',
    bridge: 'until another one comes',
    why: 'where the Resource is part of the identity, losing attributes for a page begins every series anew',
    explains: ({ field, ours, theirs }, { page }) => {
      if (field !== 'resource' || page.hasSample('target_info')) return false;
      const [mine, other] = [commonResource(ours), commonResource(theirs)];
      return other.length < mine.length && other.every(pair => mine.includes(pair));
    },
  },
  {
    rule: 'I4',
    receiver:
      'a scraped `up` or `scrape_…` stands beside its own series of that name, or takes its place',
    bridge: 'it becomes `exported_up` and so on',
    why: 'two meanings under one name make every alert on it wrong',
    explains: (difference, { page }) => {
      const name = pointOf(difference).metric.replace(/^exported_/, '');
      return OWN_SERIES.test(name) && page.hasSample(name);
    },
  },
  {
    rule: 'I4',
    receiver: '`up` and `scrape_…` are of a target, and described so',
    bridge: 'they are of a service',
    why: 'each service on a page has a state of its own',
    explains: ({ field, ours }) => field === 'description' && isOwn(ours),
  },
  {
    rule: 'I4',
    receiver: '`scrape_duration_seconds` is how long its own request took',
    bridge: "likewise, the bridge's request",
    why: 'the one value that two scrapes of a page cannot share',
    explains: ({ field, ours }, { page }) =>
      field === 'value' &&
      ours.metric === 'scrape_duration_seconds' &&
      page.samplesOf(ours).length === 0,
  },
  {
    rule: 'I4',
    receiver: 'no `scrape_body_size_bytes`, unless told to',
    bridge: 'always sent',
    why: 'it is what `limits.body` is set by',
    explains: difference =>
      isOnly(difference, 'ours') && difference.ours?.metric === 'scrape_body_size_bytes',
  },
  {
    rule: 'I4',
    receiver:
      '`scrape_series_added` counts a series again after any absence, and in every order of its labels; none whose time is not believed',
    bridge: 'series that were never on a page before, or not for an hour',
    why: "the receiver's number is that of Prometheus's cache, and called approximate",
    explains: ({ field, ours, theirs }, { reads }) =>
      field === 'value' &&
      ours.metric === 'scrape_series_added' &&
      isOwn(ours) &&
      (Number(theirs.value) > Number(ours.value) || (reads['time_future'] ?? 0) > 0),
  },
];
