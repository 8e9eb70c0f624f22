// Watches the backups of all services: one watcher per address and key, as for metrics. A watcher reads the schedules when
// they are due, and sends their gauges more often than that, since most of them change with time alone. Guarantees that
// whatever goes wrong with one reading or one service, the next comes.

import type { Config, ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { PullSchedule } from '../lib/cron.ts';
import { AFTER_REFUSAL, HoldOff } from '../lib/hold-off.ts';
import type { Logger } from '../lib/log.ts';
import { Permits } from '../lib/permits.ts';
import type { Batch, BatchPart } from '../model/batch.ts';
import { planTargets } from '../pipeline/collect/plan-targets.ts';
import type { GaugeOwner } from '../pipeline/encode/gauges.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { ServiceClient } from '../service/client.ts';
import type { ServiceClients } from '../service/clients.ts';
import type { ServiceError } from '../service/service-error.ts';
import { BackupMeter, ServiceBackups } from './service-backups.ts';

export interface BackupsOptions {
  readonly config: Config;
  readonly clients: ServiceClients;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
  /** A service as its metrics name it. */
  readonly resourceOf: (service: ServiceConfig) => Pick<GaugeOwner, 'identity' | 'info'>;
}

export class Backups {
  readonly watchers: readonly BackupWatcher[];

  constructor(options: BackupsOptions) {
    const { config, clients, queue, clock, counters, logger, resourceOf } = options;
    const meter = new BackupMeter({ counters, logger, clock });
    const { intervalMs } = config.backups;
    const prefixOf = (id: string): string =>
      config.metrics.namespace === 'prefix' ? `${id}.` : '';
    this.watchers = planTargets(config).map(({ id, services, api }) => {
      const client = new ServiceClient({ http: clients.get(api), paths: config.backups.endpoints });
      const shared = { client, queue, clock, meter };
      return new BackupWatcher({
        id,
        services: services.map(
          service =>
            new ServiceBackups({
              ...shared,
              service,
              intervalMs,
              owner: () => ({ ...resourceOf(service), prefix: prefixOf(service.id) }),
            }),
        ),
        ...shared,
        readIntervalMs: intervalMs,
        sendIntervalMs: config.metrics.intervalMs,
      });
    });
  }

  /** Reads and sends on schedule until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all(this.watchers.map(watcher => watcher.run(stop)));
  }

  /** One reading of every service, and its gauges. */
  async cycle(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.watchers.map(async watcher => {
        await watcher.read(signal);
        await watcher.send();
      }),
    );
  }

  get services(): readonly ServiceBackups[] {
    return this.watchers.flatMap(({ services }) => services);
  }

  /** When the next reading of any API begins (wall clock). */
  get nextReadAtMs(): number | null {
    const times = this.watchers.map(({ nextReadAtMs }) => nextReadAtMs).filter(at => at !== null);
    return times.length === 0 ? null : Math.min(...times);
  }
}

interface BackupWatcherOptions {
  /** The target's, which gives it its place among others. */
  readonly id: string;
  readonly services: readonly ServiceBackups[];
  readonly queue: Queue;
  readonly clock: Clock;
  readonly meter: BackupMeter;
  readonly readIntervalMs: number;
  readonly sendIntervalMs: number;
}

/** How many services are asked about at once. */
const READS_AT_ONCE = 4;

/** Errors of the key, and so of every service that it reaches. */
const SHARED_ERRORS: ReadonlySet<ServiceError['kind']> = new Set(['key', 'rate', 'aborted']);
/** A wrong key has been seen to answer 400, which says the same of a wrong service id. */
const REFUSALS: ReadonlySet<ServiceError['kind']> = new Set(['key', 'bad_request']);

class BackupWatcher {
  readonly services: readonly ServiceBackups[];
  readonly #options: BackupWatcherOptions;
  readonly #schedule: PullSchedule;
  readonly #writer = new WireWriter();
  #nextReadAtMs: number | null = null;
  readonly #holdOff = new HoldOff(AFTER_REFUSAL);
  #isRestored = false;

  constructor(options: BackupWatcherOptions) {
    this.services = options.services;
    this.#options = options;
    this.#schedule = new PullSchedule({ intervalMs: options.readIntervalMs }, options.id);
  }

  /** When the next reading begins (wall clock); null while one is running or none is planned. */
  get nextReadAtMs(): number | null {
    return this.#nextReadAtMs;
  }

  /** Reads and sends on schedule until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await this.#wait(this.#schedule.firstMs(clock.nowMs()), stop);
    if (stop.aborted) return;
    let startedMs = clock.nowMs();
    let holdMs = await this.read(stop);
    const sending = this.#sendOn(stop);
    while (!stop.aborted) {
      const dueMs = this.#schedule.nextMs(startedMs, clock.nowMs());
      await this.#wait(Math.max(dueMs, holdMs), stop);
      if (stop.aborted) break;
      startedMs = clock.nowMs();
      holdMs = await this.read(stop);
    }
    await sending;
  }

  /** Reads every service once; returns for how long the service is to be left alone. */
  async read(signal: AbortSignal): Promise<number> {
    if (!this.#isRestored) await Promise.all(this.services.map(service => service.restore()));
    this.#isRestored = true;
    this.#nextReadAtMs = null;
    const permits = new Permits(READS_AT_ONCE);
    const errors: ServiceError[] = [];
    const readOne = async (service: ServiceBackups): Promise<void> => {
      const shared = errors.find(({ kind }) => SHARED_ERRORS.has(kind));
      if (shared !== undefined && shared.kind !== 'aborted') service.fail(shared);
      const error = shared ?? (await service.read(signal));
      if (error !== null) errors.push(error);
    };
    await Promise.all(this.services.map(service => permits.run(() => readOne(service))));
    return this.#holdMs(errors);
  }

  /** Sends the gauges of all services as they are now. */
  async send(): Promise<void> {
    const { queue, clock, meter } = this.#options;
    const writer = this.#writer;
    const madeAtMs = clock.nowMs();
    const parts: BatchPart[] = [];
    writer.reset();
    for (const service of this.services) {
      const offset = writer.length;
      const points = service.write(writer, madeAtMs);
      if (points > 0)
        parts.push({ service: service.service.id, points, offset, length: writer.length - offset });
    }
    if (parts.length === 0) return;
    const batch: Batch = { signal: 'metrics', payload: writer.written(), parts, madeAtMs };
    const outcome = await queue.commit({ batches: [batch], state: [], reads: [] });
    if (outcome.kind === 'failed') meter.notQueued('metrics', outcome.message);
  }

  async #sendOn(stop: AbortSignal): Promise<void> {
    const { clock, sendIntervalMs } = this.#options;
    while (!stop.aborted) {
      await this.send();
      await clock.sleep(sendIntervalMs, stop);
    }
  }

  #holdMs(errors: readonly ServiceError[]): number {
    const { clock } = this.#options;
    const refused = errors.filter(({ kind }) => REFUSALS.has(kind));
    const areAllRefused = refused.length > 0 && refused.length === this.services.length;
    const retryAfterMs = Math.max(0, ...errors.map(error => error.retryAfterMs ?? 0));
    const endedMs = clock.monotonicMs();
    this.#holdOff.note({ retryAfterMs }, areAllRefused, endedMs, endedMs);
    return this.#holdOff.remainingMs(endedMs);
  }

  async #wait(ms: number, stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    this.#nextReadAtMs = clock.nowMs() + ms;
    await clock.sleep(ms, stop);
  }
}
