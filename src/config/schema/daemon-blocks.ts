// The short blocks: backups, queue, status, telemetry, shard, log.

import type * as z from 'zod';
import type { Config } from '../config.ts';
import { DEFAULTS } from '../defaults.ts';
import { listenAddress, urlPath } from './addresses.ts';
import { block } from './containers.ts';
import { choice, duration, flag, integer, size, text } from './scalars.ts';
import { headerValue } from './secret-values.ts';

const WEEK_MS = 604_800_000;
const interval = duration({ min: 1000, max: WEEK_MS });

const { endpoints } = DEFAULTS.backups;

const backupEndpoints: z.ZodType<Config['backups']['endpoints']> = block({
  schedules: urlPath().prefault(endpoints.schedules).describe('Lists and creates schedules.'),
  backups: urlPath().prefault(endpoints.backups).describe('Lists backups.'),
  restores: urlPath().prefault(endpoints.restores).describe('Lists and creates restores.'),
  restore_key: choice(['key', 'id'])
    .prefault(endpoints.restore_key)
    .describe("Member of a new restore that holds the backup's path in the bucket."),
})
  .transform(({ restore_key: restoreKey, ...paths }) => ({ ...paths, restoreKey }))
  .describe('The shape of the backup API; change it only if your service differs.');

export const backupsBlock: z.ZodType<Config['backups']> = block({
  enabled: flag()
    .prefault(DEFAULTS.backups.enabled)
    .describe('Read schedules and send their state.'),
  interval: interval.prefault(DEFAULTS.backups.interval).describe('Interval of reading.'),
  endpoints: backupEndpoints,
})
  .transform(read => ({
    isEnabled: read.enabled,
    intervalMs: read.interval,
    endpoints: read.endpoints,
  }))
  .describe('The state of backup schedules as metrics; and the paths for the backup verbs.');

const { queue } = DEFAULTS;

export const queueBlock: z.ZodType<Config['queue']> = block({
  directory: text({ expected: 'a directory' })
    .nullable()
    .prefault(queue.directory)
    .describe('Directory for data that is not delivered yet. null: bounded memory.'),
  metrics: block({
    max_bytes: size()
      .prefault(queue.metrics.max_bytes)
      .describe('If the queue is full, it drops and counts the oldest metrics.'),
    max_age: duration()
      .prefault(queue.metrics.max_age)
      .describe('Maximum age; older metrics are dropped and counted.'),
  })
    .transform(read => ({ maxBytes: read.max_bytes, maxAgeMs: read.max_age }))
    .describe('The share of metrics in the queue.'),
  logs: block({
    max_bytes: size()
      .prefault(queue.logs.max_bytes)
      .describe('If the queue is full, pulling stops; the service keeps the logs.'),
  })
    .transform(read => ({ maxBytes: read.max_bytes }))
    .describe('The share of logs in the queue.'),
}).describe('The durable queue between reading and sending.');

export const statusBlock: z.ZodType<Config['status']> = block({
  listen: listenAddress()
    .prefault(DEFAULTS.status.listen)
    .describe('Address of /healthz, /readyz, /metrics, /status.json and the page.'),
  token: headerValue('the token of the status page')
    .nullable()
    .prefault(DEFAULTS.status.token)
    .describe(
      'Bearer token that clients must send; required if other machines can reach the address.',
    ),
})
  .transform(read => ({ ...read.listen, token: read.token }))
  .describe('The status server of prom2otlp.');

export const telemetryBlock: z.ZodType<Config['telemetry']> = block({
  enabled: flag().prefault(DEFAULTS.telemetry.enabled).describe('Send it to the back end.'),
  interval: interval.prefault(DEFAULTS.telemetry.interval).describe('Interval of sending.'),
})
  .transform(read => ({ isEnabled: read.enabled, intervalMs: read.interval }))
  .describe("prom2otlp's own metrics, sent to the same back end.");

export const shardBlock: z.ZodType<Config['shard']> = block({
  index: integer({ min: 0, max: 9999 })
    .prefault(DEFAULTS.shard.index)
    .describe('Number of this process, from 0.'),
  count: integer({ min: 1, max: 10_000 })
    .prefault(DEFAULTS.shard.count)
    .describe('Number of processes that divide the services among themselves.'),
}).describe('Divides the services among several processes with the same configuration.');

export const logBlock: z.ZodType<Config['log']> = block({
  level: choice(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .prefault(DEFAULTS.log.level)
    .describe('The lowest level of messages to log.'),
  format: choice(['json', 'text'])
    .prefault(DEFAULTS.log.format)
    .describe('json for machines, text for people.'),
}).describe("prom2otlp's own log, on stderr.");
