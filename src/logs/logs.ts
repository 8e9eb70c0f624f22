// Builds the pullers of all APIs from the configuration: one per address and key, as for metrics. They share the
// counters and what downloads may take of this machine.

import type { Config, ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { Logger } from '../lib/log.ts';
import { planTargets } from '../pipeline/collect/plan-targets.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { ServiceClients } from '../service/clients.ts';
import { LogApi } from '../service/logs-api.ts';
import { type LogResource, LogSink } from './chunk.ts';
import { Downloads } from './downloads.ts';
import {
  type GivenUpStatus,
  LogMeter,
  type PartitionStatus,
  type PullProgress,
} from './log-meter.ts';
import { PulledApi, type PullEnd } from './pull.ts';
import { PullSchedule } from '../lib/cron.ts';
import { LogPuller } from './puller.ts';
import type { CreateLineReader, LineReader } from './record.ts';

export interface LogsOptions {
  readonly config: Config;
  readonly clients: ServiceClients;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
  readonly createReader: CreateLineReader;
  /** A service as its metrics name it. */
  readonly resourceOf: (service: ServiceConfig) => LogResource;
  /** From 0 up to 1; Math.random when absent. */
  readonly random?: () => number;
}

export class Logs {
  readonly pullers: readonly LogPuller[];
  /** How the pulls of the last `pull` ended, by puller. */
  lastEnds: readonly PullEnd[] = [];
  readonly #meter: LogMeter;

  constructor(options: LogsOptions) {
    const { config, clients, queue, clock, counters, logger, resourceOf } = options;
    const { endpoints, types, limits, schedule } = config.logs;
    const { random = Math.random } = options;
    const meter = new LogMeter({ counters, logger, clock });
    const downloads = new Downloads(clock, config.queue.directory, limits);
    const readerOf = (type: string): LineReader =>
      options.createReader({
        type,
        timezone: config.logs.sourceTimezone,
        isRedacting: config.logs.redactLiterals,
        recordBytesMax: limits.recordBytes,
      });
    this.#meter = meter;
    const targets = planTargets(config).filter(({ services }) => services.length > 0);
    this.pullers = targets.map(({ id, name, services, otherShards, api: { timeoutMs }, api }) => {
      const client = clients.get(api);
      const pulled = new PulledApi({
        name,
        api: new LogApi({ client, endpoints, timeoutMs, priority: 'logs' }),
        services,
        otherServiceCount: otherShards.serviceCount,
        types,
        clock,
        random,
        meter,
      });
      const sink = new LogSink({ queue, clock, meter, resourceOf });
      return new LogPuller({
        context: { config: config.logs, api: pulled, sink, meter, downloads, readerOf },
        queue,
        schedule: new PullSchedule(schedule, id),
        isSharded: config.shard.count > 1,
      });
    });
  }

  /** Pulls on schedule until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all(this.pullers.map(puller => puller.run(stop)));
  }

  /** One whole pull of every API. */
  async pull(signal: AbortSignal): Promise<readonly PullEnd[]> {
    this.lastEnds = await Promise.all(this.pullers.map(puller => puller.pull(signal)));
    return this.lastEnds;
  }

  /** What is known of each partition, for the status page. */
  get partitions(): readonly PartitionStatus[] {
    return this.#meter.partitions;
  }

  /** How far the pulls are that are running; none while none is. */
  get progress(): readonly PullProgress[] {
    return this.#meter.progress;
  }

  /** The latest archives that were given up, latest first. */
  get givenUp(): readonly GivenUpStatus[] {
    return this.#meter.givenUp;
  }

  /** When the next pull of any API begins (wall clock). */
  get nextPullAtMs(): number | null {
    const times = this.pullers.map(({ nextAtMs }) => nextAtMs).filter(time => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }
}
