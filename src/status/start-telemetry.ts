// The bridge's own telemetry as a service of its own among those that it bridges: the same queue, sender and account,
// under the name `prom2otlp`.

import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { Logger } from '../lib/log.ts';
import type { Throttle } from '../lib/throttle.ts';
import { programVersion } from '../lib/version.ts';
import type { Batch } from '../model.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { startOwnTelemetry, type OwnTelemetry } from './own-telemetry.ts';

export interface TelemetryOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
  readonly throttle: Throttle;
  readonly queue: Queue;
}

/** Under this name it stands in the account, and at the back end as service.name. */
export const OWN_SERVICE = 'prom2otlp';

/** Starts it; close it before the queue. */
export function startTelemetry(options: TelemetryOptions): OwnTelemetry {
  const { config, clock, counters, logger, throttle, queue } = options;
  return startOwnTelemetry({
    counters,
    intervalMs: config.telemetry.intervalMs,
    temporality: config.otlp.temporality,
    resource: {
      'service.name': OWN_SERVICE,
      'service.version': programVersion(),
      'service.instance.id': instanceId(config, hostname()),
    },
    sink: async (payload, points) => {
      const part = { service: OWN_SERVICE, points, offset: 0, length: payload.length };
      const batch: Batch = { signal: 'metrics', payload, parts: [part], madeAtMs: clock.nowMs() };
      const outcome = await queue.commit({ batches: [batch], state: [], reads: [] });
      if (outcome.kind === 'failed') throw new Error(outcome.message);
    },
    onFailure: error =>
      throttle.run('telemetry', swallowedCount =>
        logger.warn(
          { cause: error.message, swallowedCount },
          'cannot queue the own telemetry: these numbers are sent with the next',
        ),
      ),
  });
}

/**
 * The same after a restart and different for any two bridges that run at the same time: the host, and the directory
 * that only one process can hold; without a directory, the file of the configuration.
 */
export function instanceId({ queue, file, shard }: Config, host: string): string {
  const place = queue.directory ?? resolve(file);
  const share = shard.count === 1 ? '' : `#${String(shard.index)}`;
  return `${host}:${place}${share}`;
}
