// Builds the pullers of all APIs from the configuration: one per address and key, as for metrics. What they share:
// the counters, the budget of bytes, how many archives are worked on at once.

import { tmpdir } from 'node:os';
import type { Config, ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { Logger } from '../lib/log.ts';
import { Permits } from '../lib/permits.ts';
import { planTargets } from '../pipeline/collect/targets.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { ServiceClients } from '../service/clients.ts';
import { ByteBudget } from './byte-budget.ts';
import type { LogResource } from './chunk.ts';
import { KeptArchives } from './kept-archives.ts';
import { LogApi } from '../service/logs.ts';
import { LogMeter } from './log-meter.ts';
import { LogPuller } from './log-puller.ts';
import type { GivenUpStatus, PartitionStatus, PullProgress } from './log-status.ts';
import { LogStore } from './log-store.ts';
import { PullContext } from './pull-context.ts';
import type { PullEnd } from './pull-end.ts';
import { PullSchedule } from './pull-schedule.ts';
import type { CreateLineReader } from './record.ts';

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

/** How many archives are downloaded and read at once. */
const ARCHIVES_AT_ONCE = 2;

export class Logs {
  readonly pullers: readonly LogPuller[];
  /** How the pulls of the last `pull` ended, by puller. */
  lastEnds: readonly PullEnd[] = [];
  readonly #meter: LogMeter;

  constructor(options: LogsOptions) {
    const { config, clients, queue, clock, counters, logger } = options;
    const meter = new LogMeter({ counters, logger, clock });
    const store = new LogStore({ queue, clock, meter });
    const budget = new ByteBudget(clock, config.logs.limits.downloadPerHourBytes);
    const permits = new Permits(ARCHIVES_AT_ONCE);
    const { directory } = config.queue;
    const kept =
      directory === null ? null : new KeptArchives(directory, config.logs.limits.setAsideBytes);
    this.#meter = meter;
    const targets = planTargets(config).filter(({ services }) => services.length > 0);
    this.pullers = targets.map(({ id, name, services, otherShards, api }) => {
      const context = new PullContext({
        name,
        config: config.logs,
        services,
        otherServiceCount: otherShards.serviceCount,
        isSharded: config.shard.count > 1,
        api: new LogApi({
          client: clients.get(api),
          endpoints: config.logs.endpoints,
          timeoutMs: api.timeoutMs,
          priority: 'logs',
        }),
        queue,
        store,
        meter,
        clock,
        random: options.random ?? Math.random,
        createReader: options.createReader,
        resourceOf: options.resourceOf,
        spoolDirectory: directory ?? tmpdir(),
        kept,
        budget,
        permits,
      });
      return new LogPuller(context, new PullSchedule(config.logs.schedule, id));
    });
  }

  /** Pulls on schedule until told to stop. */
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
