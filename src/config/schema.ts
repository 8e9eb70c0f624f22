// The whole YAML as one zod schema: unknown keys are errors at every level, every value is read by a leaf of
// ours, and each block gives its part of the Config. What concerns several keys at once stands in rules.ts.

import type * as z from 'zod';
import type { Config } from './config.ts';
import { DEFAULTS } from './defaults.ts';
import { apiBlock, servicesList, type ApiKeys, type ServiceEntry } from './schema/api-block.ts';
import { block } from './schema/containers.ts';
import {
  backupsBlock,
  logBlock,
  queueBlock,
  shardBlock,
  statusBlock,
  telemetryBlock,
} from './schema/daemon-blocks.ts';
import { logsBlock } from './schema/logs-block.ts';
import { metricsBlock } from './schema/metrics-block.ts';
import { otlpBlock, type OtlpKeys } from './schema/otlp-block.ts';
import { choice } from './schema/scalars.ts';

/** The YAML once it has been read, before services are merged with `api` and signals with variables. */
export interface ConfigKeys
  extends Pick<
    Config,
    'metrics' | 'logs' | 'backups' | 'queue' | 'status' | 'telemetry' | 'shard' | 'log'
  > {
  readonly api: ApiKeys;
  readonly services: readonly ServiceEntry[];
  readonly unconfigured_services: Config['unconfiguredServices'];
  readonly otlp: OtlpKeys;
}

export const configSchema: z.ZodType<ConfigKeys> = block({
  api: apiBlock,
  services: servicesList,
  unconfigured_services: choice(['drop', 'send'])
    .prefault(DEFAULTS.unconfigured_services)
    .describe('What to do with services without an entry; both choices count them.'),
  metrics: metricsBlock,
  logs: logsBlock,
  backups: backupsBlock,
  otlp: otlpBlock,
  queue: queueBlock,
  status: statusBlock,
  telemetry: telemetryBlock,
  shard: shardBlock,
  log: logBlock,
});
