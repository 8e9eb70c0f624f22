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
  schedules: urlPath()
    .prefault(endpoints.schedules)
    .describe('Lists schedules and takes new ones.'),
  backups: urlPath().prefault(endpoints.backups).describe('Lists backups.'),
  restores: urlPath().prefault(endpoints.restores).describe('Lists restores and takes new ones.'),
  restore_key: choice(['key', 'id'])
    .prefault(endpoints.restore_key)
    .describe('What a new restore calls the path of the backup in the bucket.'),
})
  .transform(({ restore_key: restoreKey, ...paths }) => ({ ...paths, restoreKey }))
  .describe('The shape of the backup API; change it only where your service differs.');

export const backupsBlock: z.ZodType<Config['backups']> = block({
  enabled: flag().prefault(DEFAULTS.backups.enabled).describe('Whether schedules are watched.'),
  interval: interval.prefault(DEFAULTS.backups.interval).describe('How often they are read.'),
  endpoints: backupEndpoints,
})
  .transform(read => ({
    isEnabled: read.enabled,
    intervalMs: read.interval,
    endpoints: read.endpoints,
  }))
  .describe('The state of backup schedules, as metrics; and where the verbs for backups go.');

const { queue } = DEFAULTS;

export const queueBlock: z.ZodType<Config['queue']> = block({
  directory: text({ expected: 'a directory' })
    .nullable()
    .prefault(queue.directory)
    .describe('Where everything that is not yet delivered survives. null: bounded memory.'),
  metrics: block({
    max_bytes: size()
      .prefault(queue.metrics.max_bytes)
      .describe('When full, the oldest metrics are dropped and counted.'),
    max_age: duration()
      .prefault(queue.metrics.max_age)
      .describe('Older metrics are dropped and counted.'),
  })
    .transform(read => ({ maxBytes: read.max_bytes, maxAgeMs: read.max_age }))
    .describe('The share of metrics.'),
  logs: block({
    max_bytes: size()
      .prefault(queue.logs.max_bytes)
      .describe('When full, no more logs are pulled: the service keeps them meanwhile.'),
  })
    .transform(read => ({ maxBytes: read.max_bytes }))
    .describe('The share of logs.'),
}).describe('The durable queue between reading and sending.');

export const statusBlock: z.ZodType<Config['status']> = block({
  listen: listenAddress()
    .prefault(DEFAULTS.status.listen)
    .describe('Address of /healthz, /readyz, /metrics, /status.json and the page.'),
  token: headerValue('the token of the status page')
    .nullable()
    .prefault(DEFAULTS.status.token)
    .describe('Bearer token that readers must send; required when others can reach the address.'),
})
  .transform(read => ({ ...read.listen, token: read.token }))
  .describe("This program's own status over HTTP.");

export const telemetryBlock: z.ZodType<Config['telemetry']> = block({
  enabled: flag().prefault(DEFAULTS.telemetry.enabled).describe('Whether it is sent.'),
  interval: interval.prefault(DEFAULTS.telemetry.interval).describe('How often it is sent.'),
})
  .transform(read => ({ isEnabled: read.enabled, intervalMs: read.interval }))
  .describe("This program's own metrics, sent to the same back end.");

export const shardBlock: z.ZodType<Config['shard']> = block({
  index: integer({ min: 0, max: 9999 })
    .prefault(DEFAULTS.shard.index)
    .describe('Which share this process takes, from 0.'),
  count: integer({ min: 1, max: 10_000 })
    .prefault(DEFAULTS.shard.count)
    .describe('Among how many processes the services are divided.'),
}).describe('Divides many services among several processes with the same configuration.');

export const logBlock: z.ZodType<Config['log']> = block({
  level: choice(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .prefault(DEFAULTS.log.level)
    .describe('The least important messages to show.'),
  format: choice(['json', 'text'])
    .prefault(DEFAULTS.log.format)
    .describe('json for machines, text for people.'),
}).describe("This program's own log, on stderr.");
