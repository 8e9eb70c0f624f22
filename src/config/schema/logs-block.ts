// `logs`: when logs are pulled, from how far back, what is bounded, and the shape of the log API.

import type * as z from 'zod';
import type { LogEndpointsConfig, LogsConfig } from '../config.ts';
import { DEFAULTS } from '../defaults.ts';
import { urlPath } from './addresses.ts';
import { block, list } from './containers.ts';
import { choice, duration, flag, integer, size, text } from './scalars.ts';
import { schedule, startPoint, timeZone } from './texts.ts';

const defaults = DEFAULTS.logs;

const windowKeys = defaults.window;

const windowBlock: z.ZodType<LogsConfig['window']> = block({
  max: duration({ min: 1000 })
    .prefault(windowKeys.max)
    .describe('The longest range of one request.'),
  min: duration({ min: 1000 })
    .prefault(windowKeys.min)
    .describe('A range that fails is halved down to this, then skipped with a gap record.'),
  settle_delay: duration({ min: 0 })
    .prefault(windowKeys.settle_delay)
    .describe('Time that lines may take to reach the service.'),
  overlap: duration({ min: 0 })
    .prefault(windowKeys.overlap)
    .describe('Range that each pull reads again for late lines.'),
  day_close_grace: duration({ min: 0 })
    .prefault(windowKeys.day_close_grace)
    .describe("How long after its end a day's archive may still grow."),
})
  .transform(read => ({
    maxMs: read.max,
    minMs: read.min,
    settleDelayMs: read.settle_delay,
    overlapMs: read.overlap,
    dayCloseGraceMs: read.day_close_grace,
  }))
  .describe('The time ranges of requests.');

const { limits } = defaults;

const limitsBlock: z.ZodType<LogsConfig['limits']> = block({
  download_per_hour: size()
    .prefault(limits.download_per_hour)
    .describe('Download limit per hour; pulling slows down above it.'),
  archive: size().prefault(limits.archive).describe('Size of one archive, packed.'),
  unpacked: size().prefault(limits.unpacked).describe('Size of one archive, unpacked.'),
  ratio: integer({ min: 1, max: 100_000 })
    .prefault(limits.ratio)
    .describe('Unpacked size of an archive divided by its packed size.'),
  entries: integer({ min: 1, max: 100_000 })
    .prefault(limits.entries)
    .describe('Files within one archive.'),
  line: size({ max: 2 ** 28 })
    .prefault(limits.line)
    .describe('A longer line is cut and marked.'),
  record: size({ max: 2 ** 28 })
    .prefault(limits.record)
    .describe('A longer record (lines that belong together) is cut and marked.'),
  set_aside: size()
    .prefault(limits.set_aside)
    .describe('Given-up archives, kept below queue.directory; 0 keeps none.'),
})
  .transform(read => ({
    downloadPerHourBytes: read.download_per_hour,
    archiveBytes: read.archive,
    unpackedBytes: read.unpacked,
    ratio: read.ratio,
    entries: read.entries,
    lineBytes: read.line,
    recordBytes: read.record,
    setAsideBytes: read.set_aside,
  }))
  .describe('Limits of archives.');

const { parameters, pointers } = defaults.endpoints;

/** One leaf per key of a table of defaults: `make` gives the leaf, the table its default and its name. */
function each<Key extends string>(
  table: Readonly<Record<Key, string>>,
  make: () => z.ZodType<string>,
): z.ZodType<Record<Key, string>> {
  const entries = Object.entries<string>(table).map(([key, value]) => [
    key,
    make().prefault(value),
  ]);
  return block(Object.fromEntries(entries) as Record<Key, z.ZodType<string>>) as z.ZodType<
    Record<Key, string>
  >;
}

const parametersBlock = each(parameters, () =>
  text({ expected: 'the name of a query parameter', pattern: /^[^\s&=#?]+$/ }),
).describe('Names of the query parameters.');

const pointersBlock = each(pointers, () =>
  text({
    expected: 'a JSON pointer such as /logs',
    pattern: /^(?:\/(?:[^~/]|~[01])*)*$/,
    isEmptyLegal: true,
  }),
).describe(
  'JSON pointers to values in the answers (`items`, `count`: in the answer; `message`, `time`, `stream`: in each log record or line of a json archive; the others: in each item).',
);

const { endpoints } = defaults;

const endpointsBlock: z.ZodType<LogEndpointsConfig> = block({
  list: urlPath().prefault(endpoints.list).describe('Lists archives or records.'),
  archive: urlPath().prefault(endpoints.archive).describe('Returns one archive.'),
  types: urlPath().prefault(endpoints.types).describe('Lists the types of logs.'),
  servers: urlPath().prefault(endpoints.servers).describe('Lists the servers that write logs.'),
  retention: urlPath()
    .prefault(endpoints.retention)
    .describe('Returns and sets the retention of logs.'),
  parameters: parametersBlock,
  pointers: pointersBlock,
  format: choice(['json', 'raw'])
    .prefault(endpoints.format)
    .describe('Format of the archives; json has a reliable time for each line.'),
  pagination: choice(['offset', 'page', 'none'])
    .prefault(endpoints.pagination)
    .describe('Meaning of the parameter `offset`: items from 0, pages from 1, or no paging.'),
  page_size: integer({ min: 1, max: 10_000 })
    .prefault(endpoints.page_size)
    .describe('Number of items per list request.'),
})
  .transform(({ page_size: pageSize, ...read }) => ({ ...read, pageSize }))
  .describe('The shape of the log API; change it only if your service differs.');

export const logsBlock: z.ZodType<LogsConfig> = block({
  enabled: flag().prefault(defaults.enabled).describe('Pull logs.'),
  schedule: schedule()
    .prefault(defaults.schedule)
    .describe('When to pull: a duration of at least 30s, or a cron expression in UTC.'),
  shape: choice(['archives', 'records'])
    .prefault(defaults.shape)
    .describe('Content of the list: archives to download, or the log records themselves.'),
  types: list(text({ expected: 'the name of a log type' }))
    .prefault([...defaults.types])
    .describe('The types of logs to pull; an empty list means all that the service lists.'),
  first_start: startPoint()
    .prefault(defaults.first_start)
    .describe(
      'Where the first start of all begins: a time before now, `beginning`, or an RFC 3339 time.',
    ),
  window: windowBlock,
  source_timezone: timeZone()
    .prefault(defaults.source_timezone)
    .describe('Time zone of times in the lines that have no zone.'),
  redact_literals: flag()
    .prefault(defaults.redact_literals)
    .describe('Replace literals in SQL statements with `?` everywhere.'),
  limits: limitsBlock,
  endpoints: endpointsBlock,
})
  .transform(({ enabled: isEnabled, ...read }) => ({
    isEnabled,
    schedule: read.schedule,
    shape: read.shape,
    types: read.types,
    firstStart: read.first_start,
    window: read.window,
    sourceTimezone: read.source_timezone,
    redactLiterals: read.redact_literals,
    limits: read.limits,
    endpoints: read.endpoints,
  }))
  .describe('The logs of the database services, pulled on a schedule and sent at least once.');
