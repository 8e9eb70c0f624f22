// The keys of `logs`, as keys.ts has those of the other blocks: name, kind, default, and what each is for.

import { block, key, list, mapOf, type Refusal } from './declare.ts';
import { logEndpoints } from './endpoints.ts';
import {
  choice,
  duration,
  flag,
  integer,
  schedule,
  size,
  startPoint,
  text,
  timeZone,
} from './kinds.ts';

const logLimits = block({
  downloadPerHourBytes: key('download_per_hour', size(), '2GiB').about(`
    Downloads in an hour; above this, pulling slows down.`),
  archiveBytes: key('archive', size(), '256MiB').about('One archive, packed.'),
  unpackedBytes: key('unpacked', size(), '2GiB').about('One archive, unpacked.'),
  ratio: key('ratio', integer({ min: 1, max: 100_000 }), 200).about(`
    The largest unpacked size of an archive, divided by its packed size.`),
  entries: key('entries', integer({ min: 1, max: 100_000 }), 64).about('Files in one archive.'),
  lineBytes: key('line', size({ max: 2 ** 28 }), '1MiB').about(`
    One line; a longer one is cut and marked.`),
  recordBytes: key('record', size({ max: 2 ** 28 }), '256KiB').about(`
    One record: a line and its continuation lines; a longer one is cut and marked.`),
});

export const LOG_TYPES: readonly string[] = [
  'error-log',
  'slow-query-log',
  'audit-log',
  'proxy-log',
];

const digests = block({
  isEnabled: key('enabled', flag(), false).about(`
    Send sums of slow queries by digest: executions, seconds, rows and bytes of each server.`),
  top: key('top', integer({ min: 1, max: 1000 }), 50).about(`
    The digests of a server that cost most in the last hour have series of their own. All others
    are \`other\`.`),
  trackedMax: key('max_tracked', integer({ min: 1, max: 10_000 }), 2000).about(`
    Digests of a server to remember; statements of further ones count to \`other\`.`),
});

const slowQuery = block({
  traceIds: key('trace_ids', flag(), true).about(`
    Read trace id, span id and flags from the comment \`/*traceparent='00-…'*/\` that an application
    adds to its statements (sqlcommenter), and send them as those of the log record.`),
  commentKeys: key('comment_keys', list(text({ expected: 'the key of a comment' })), []).about(`
    Further keys of these comments to send, each as \`prom2otlp.query.KEY\`: for example
    [tracestate, application, route]. Their values are not redacted.`),
  digests: key('digests', digests).about('Slow queries as metrics, by the form of the statement.'),
});

/** The formats of lines, named like the types that have them by default; `lines` is one record per line. */
const LOG_FORMATS = [...LOG_TYPES, 'lines'];

function judgeLogType(type: string): Refusal | undefined {
  return type.trim() === '' ? { problem: 'a type of logs has a name' } : undefined;
}

/** The block `logs`. */
export const logs = block({
  isEnabled: key('enabled', flag(), false).about('Pull logs.'),
  schedule: key('schedule', schedule(), '5m').about(`
    When to pull: a duration of at least 30s, or a cron expression in UTC, in quotes:
    "*/10 * * * *".`),
  types: key('types', list(text({ expected: 'the name of a log type' })), LOG_TYPES).about(`
    The types of logs to pull. An empty list means all types that the service has.`),
  formats: key('formats', mapOf(judgeLogType, choice(LOG_FORMATS)), {}).about(`
    The formats of types that your service calls otherwise: {db-errors: error-log}. A type has the
    format of its own name, or lines: one record per line.`),
  firstStart: key('first_start', startPoint(), '1h').about(`
    Where the first start of all begins: this long before now, \`beginning\`, or a time such as
    2026-03-01T00:00:00Z. Later starts continue where the previous one ended.`),
  dayCloseGraceMs: key('day_close_grace', duration({ min: 0 }), '6h').about(`
    How long the archives of a day may grow after the end of the day.`),
  sourceTimezone: key('source_timezone', timeZone(), 'UTC').about(`
    The time zone of times in the lines that have no zone: UTC, Europe/Berlin, …`),
  redactLiterals: key('redact_literals', flag(), true).about(`
    Replace literals in SQL statements with \`?\`, so that the logs contain no data of your users.`),
  slowQuery: key('slow_query', slowQuery).about(
    'What is read from slow query logs besides the text.',
  ),
  limits: key('limits', logLimits).about(`
    Limits of pulling. Logs over a limit are cut and marked, or given up with a gap record.`),
  endpoints: key('endpoints', logEndpoints).about(`
    The shape of the log API. Change these keys only if your service's API differs. Paths are
    below base_url.`),
});
