// `metrics`: what is scraped, how its series are understood, and the limits of one page.

import type * as z from 'zod';
import type { MetricsConfig, OverrideConfig, PageLimits } from '../config.ts';
import { DEFAULTS } from '../defaults.ts';
import { urlPath } from './addresses.ts';
import { block, list } from './containers.ts';
import { choice, duration, flag, integer, share, size, text } from './scalars.ts';
import { expression } from './texts.ts';

const defaults = DEFAULTS.metrics;
const WEEK_MS = 604_800_000;
const MILLION = 1_000_000;

const prefixes = list(
  text({ expected: 'the beginning of a metric name', pattern: /^[A-Za-z_:][\w:]*$/ }),
);

const prefixesBlock: z.ZodType<MetricsConfig['prefixes']> = block({
  engine: prefixes.prefault([...defaults.prefixes.engine]).describe('The database engine.'),
  multimaster: prefixes
    .prefault([...defaults.prefixes.multimaster])
    .describe('Replication among several masters.'),
  dist: prefixes.prefault([...defaults.prefixes.dist]).describe('The distributed storage.'),
  proxy: prefixes.prefault([...defaults.prefixes.proxy]).describe('The proxy before the engine.'),
}).describe('Name prefixes of each family; the longest match wins.');

const changes = DEFAULTS.override;

const overrideBlock: z.ZodType<OverrideConfig> = block({
  match: expression().describe('Regular expression for the whole name.'),
  type: choice(['counter', 'gauge', 'info', 'stateset', 'updowncounter'])
    .nullable()
    .prefault(changes.type)
    .describe('The true type of the series.'),
  unit: text({ isEmptyLegal: true }).nullable().prefault(changes.unit).describe('UCUM unit.'),
  description: text({ isEmptyLegal: true })
    .nullable()
    .prefault(changes.description)
    .describe('Description that the back end shows.'),
  uptime_series: text({ expected: 'the name of a series', pattern: /^[A-Za-z_:][\w:.]*$/ })
    .nullable()
    .prefault(changes.uptime_series)
    .describe('Name of the series with the uptime of the process that counts.'),
}).transform(({ match, type, unit, description, uptime_series: uptimeSeries }) => ({
  match,
  type,
  unit,
  description,
  uptimeSeries,
}));

const { limits } = defaults;

const limitsBlock: z.ZodType<PageLimits> = block({
  body: size().prefault(limits.body).describe('Size of one page, unpacked.'),
  samples: integer({ min: 1, max: 1000 * MILLION })
    .prefault(limits.samples)
    .describe('Samples of one page.'),
  service_samples: integer({ min: 1, max: 1000 * MILLION })
    .prefault(limits.service_samples)
    .describe('Samples of one service on a page; above this, only that service fails.'),
  labels: integer({ min: 1, max: 4096 }).prefault(limits.labels).describe('Labels of one sample.'),
  name: size({ max: MILLION }).prefault(limits.name).describe('Length of a name.'),
  value: size({ max: 16 * MILLION })
    .prefault(limits.value)
    .describe('Length of a label value.'),
})
  .transform(read => ({
    bodyBytes: read.body,
    samples: read.samples,
    serviceSamples: read.service_samples,
    labels: read.labels,
    nameBytes: read.name,
    valueBytes: read.value,
  }))
  .describe(
    'Limits of a page. A page over a limit fails the scrape, and the error names the limit.',
  );

const names = list(expression());

export const metricsBlock: z.ZodType<MetricsConfig> = block({
  enabled: flag().prefault(defaults.enabled).describe('Scrape metrics.'),
  interval: duration({ min: 1000, max: WEEK_MS })
    .prefault(defaults.interval)
    .describe('Scrape interval. The service updates its page about once a minute.'),
  path: urlPath().prefault(defaults.path).describe('Path of the page below base_url.'),
  mapping: choice(['semantic', 'strict'])
    .prefault(defaults.mapping)
    .describe('semantic: types from the catalog; strict: types that the page declares.'),
  namespace: choice(['resource', 'prefix'])
    .prefault(defaults.namespace)
    .describe('resource: each service has its own Resource; prefix: names become `<id>.<name>`.'),
  prefixes: prefixesBlock,
  overrides: list(overrideBlock)
    .prefault([...defaults.overrides])
    .describe('Overrides of the catalog for series that `match`; the first match wins.'),
  include: names
    .prefault([...defaults.include])
    .describe('Send only the series whose whole name matches one of these; empty: all.'),
  exclude: names
    .prefault([...defaults.exclude])
    .describe('Never send the series whose whole name matches one of these; wins over include.'),
  drop_labels: list(text({ expected: 'the name of a label' }))
    .prefault([...defaults.drop_labels])
    .describe('Labels to remove from all points.'),
  units: choice(['catalog', 'page', 'none']).prefault(defaults.units).describe('Source of units.'),
  honor_timestamps: flag()
    .prefault(defaults.honor_timestamps)
    .describe('Use the timestamps of the page; false: the time of the scrape.'),
  start_times: flag()
    .prefault(defaults.start_times)
    .describe('Derive start times of counters from the uptime series.'),
  stale_markers: flag()
    .prefault(defaults.stale_markers)
    .describe('Send a marker when a series ends.'),
  stale_after: duration()
    .prefault(defaults.stale_after)
    .describe('A series ends when its timestamp has not changed for this time.'),
  bad_share: share()
    .prefault(defaults.bad_share)
    .describe('A service fails if more than this share of its lines is bad.'),
  limits: limitsBlock,
})
  .transform(read => ({
    isEnabled: read.enabled,
    intervalMs: read.interval,
    path: read.path,
    mapping: read.mapping,
    namespace: read.namespace,
    prefixes: read.prefixes,
    overrides: read.overrides,
    include: read.include,
    exclude: read.exclude,
    dropLabels: read.drop_labels,
    units: read.units,
    honorTimestamps: read.honor_timestamps,
    startTimes: read.start_times,
    staleMarkers: read.stale_markers,
    staleAfterMs: read.stale_after,
    badShare: read.bad_share,
    limits: read.limits,
  }))
  .describe('The metrics of the database services.');
