// Builds the pullers from the configuration: one per address and key, as for metrics. They share the counters and the
// limits of downloads.

import type { Config, ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { AFTER_REFUSAL } from '../lib/hold-off.ts';
import type { Logger } from '../lib/log.ts';
import { attributeLimit } from '../pipeline/encode/attribute-limit.ts';
import { planTargets } from '../pipeline/collect/plan-targets.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { ServiceClients } from '../service/clients.ts';
import { LogsApi } from '../service/logs-api.ts';
import type { ServiceResource } from '../pipeline/encode/identity.ts';
import { LogSink } from './chunk.ts';
import { Digests } from './digests/digests.ts';
import { Downloads, PulledApi, type PullEnd } from './pull.ts';
import { createLineReader } from './formats/reader.ts';
import { dropRecordsState } from './ledger.ts';
import { LogMeter } from './log-meter.ts';
import { PullSchedule } from '../lib/pull-schedule.ts';
import { LogPuller } from './puller.ts';
import type { CreateLineReader, LineReader } from './record.ts';

export interface LogsOptions {
  readonly config: Config;
  readonly clients: ServiceClients;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
  /** createLineReader if absent. */
  readonly createReader?: CreateLineReader;
  /** The resource of a service, the same as for its metrics. */
  readonly resourceOf: (service: ServiceConfig) => ServiceResource;
  /** Returns numbers from 0 up to 1; Math.random if absent. */
  readonly random?: () => number;
}

export class Logs {
  readonly pullers: readonly LogPuller[];
  /** The state of partitions, of running pulls, and of archives that were given up. */
  readonly meter: LogMeter;

  readonly #options: LogsOptions;

  constructor(options: LogsOptions) {
    this.#options = options;
    const { config, clients, queue, clock, counters, logger, resourceOf } = options;
    const { endpoints, types, formats, limits, schedule } = config.logs;
    const { createReader = createLineReader, random = Math.random } = options;
    const isPulled = (service: string, type: string): boolean =>
      config.services.some(({ id }) => id === service) &&
      (types.length === 0 || type === '' || types.includes(type));
    const meter = new LogMeter(counters, logger, clock, isPulled);
    const downloads = new Downloads(clock, config.queue.directory, limits);
    const readerOf = (type: string): LineReader =>
      createReader({
        type: formats[type] ?? type,
        timezone: config.logs.sourceTimezone,
        isRedacting: config.logs.redactLiterals,
        comments: {
          isTracing: config.logs.slowQuery.traceIds,
          keys: config.logs.slowQuery.commentKeys,
        },
        recordBytesMax: limits.recordBytes,
      });
    this.meter = meter;
    const createDigests = digestsOf(options);
    const targets = planTargets(config).filter(({ services }) => services.length > 0);
    this.pullers = targets.map(({ id, name, services, otherShards, api }) => {
      const timing = new PullSchedule(schedule, id);
      const client = clients.get(api);
      const logsApi = new LogsApi(client, endpoints, 'logs');
      const report = clients.report(api, {
        kind: 'logs',
        id,
        target: name,
        services,
        client,
        clock,
        holdOff: AFTER_REFUSAL,
        intervalMs: timing.everyMs(clock.nowMs()),
      });
      const { serviceCount: otherServiceCount } = otherShards;
      const items = { pointers: logsApi.pointers, services, otherServiceCount, types };
      const pulled = new PulledApi({ api: logsApi, items, report, meter, random });
      const sink = new LogSink({
        queue,
        clock,
        meter,
        attributeLimit: attributeLimit(config.otlp, 'logs', counters),
        resourceOf,
      });
      return new LogPuller({
        config: config.logs,
        api: pulled,
        sink,
        meter,
        downloads,
        readerOf,
        queue,
        schedule: timing,
        isSharded: config.shard.count > 1,
        createDigests,
      });
    });
  }

  /** Pulls on schedule until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    const { queue, logger } = this.#options;
    const count = await dropRecordsState(queue);
    if (count > 0) logger.warn({ count }, 'the state of lists of log records is dropped');
    await Promise.all(this.pullers.map(puller => puller.run(stop)));
  }

  /** A single pull; `isPatient`: retries what may succeed later. */
  pull(signal: AbortSignal, isPatient = true): Promise<readonly PullEnd[]> {
    return Promise.all(this.pullers.map(puller => puller.pull(signal, isPatient)));
  }
}

/** How a puller makes its digests. */
function digestsOf({ config, queue, counters, resourceOf }: LogsOptions): () => Digests | null {
  const { digests } = config.logs.slowQuery;
  const attributeLimits = {
    metrics: attributeLimit(config.otlp, 'metrics', counters),
    logs: attributeLimit(config.otlp, 'logs', counters),
  };
  return () => {
    if (!digests.isEnabled) return null;
    return new Digests({
      queue,
      counters,
      limits: { top: digests.top, tracked: digests.trackedMax },
      isDelta: config.otlp.temporality === 'delta',
      isRedacting: config.logs.redactLiterals,
      attributeLimits,
      prefixOf: ({ id }) => (config.metrics.namespace === 'prefix' ? `${id}.` : ''),
      resourceOf,
    });
  };
}
