// Watches the backups of all services: one watcher per address and key, as for metrics. A watcher reads the schedules at
// an interval, and sends their gauges more often, because most of them change with time. Guarantees that a failed reading
// or service does not prevent the next one.

import type { Config, ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { PullSchedule } from '../lib/pull-schedule.ts';
import { AFTER_REFUSAL } from '../lib/hold-off.ts';
import { type Logger, ThrottledLog } from '../lib/log.ts';
import { Semaphore } from '../lib/semaphore.ts';
import type { Batch, BatchPart } from '../model/batch.ts';
import { planTargets } from '../pipeline/collect/plan-targets.ts';
import type { ServiceResource } from '../pipeline/encode/identity.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { ServiceClient } from '../service/client.ts';
import type { ServiceClients } from '../service/clients.ts';
import type { PullReport } from '../service/pull-report.ts';
import type { ServiceError } from '../service/service-error.ts';
import { BACKUP_COUNTERS, ServiceBackups } from './service-backups.ts';

export interface BackupsOptions {
  readonly config: Config;
  readonly clients: ServiceClients;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
  /** The resource of a service, the same as for its metrics. */
  readonly resourceOf: (service: ServiceConfig) => ServiceResource;
}

export class Backups {
  readonly watchers: readonly BackupWatcher[];

  constructor(options: BackupsOptions) {
    const { config, clients, queue, clock, logger, resourceOf } = options;
    const counters = options.counters.of(BACKUP_COUNTERS);
    const log = new ThrottledLog(logger, clock);
    const { intervalMs, restorable } = config.backups;
    const prefixOf = (id: string): string =>
      config.metrics.namespace === 'prefix' ? `${id}.` : '';
    this.watchers = planTargets(config).map(({ id, name, services, api }) => {
      const http = clients.get(api);
      const client = new ServiceClient({ http, paths: config.backups.endpoints });
      const report = clients.report(api, {
        kind: 'backups',
        id,
        target: name,
        services,
        client: http,
        clock,
        holdOff: AFTER_REFUSAL,
        intervalMs,
      });
      const readings = services.map(
        service =>
          new ServiceBackups({
            client,
            queue,
            clock,
            counters,
            log,
            service,
            intervalMs,
            restorable,
            owner: () => ({ ...resourceOf(service), prefix: prefixOf(service.id) }),
          }),
      );
      return new BackupWatcher({ config, services: readings, queue, log, report });
    });
  }

  /** Reads and sends on schedule until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all(this.watchers.map(watcher => watcher.run(stop)));
  }

  /** Reads every service once, and sends its gauges. */
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
}

interface BackupWatcherOptions {
  readonly config: Config;
  readonly services: readonly ServiceBackups[];
  readonly queue: Queue;
  readonly log: ThrottledLog;
  readonly report: PullReport;
}

/** The number of services that are read at once. */
const READS_AT_ONCE = 4;

/** These errors concern all services of the key. */
const SHARED_ERRORS: ReadonlySet<ServiceError['kind']> = new Set(['rate', 'aborted']);
/** A 401 is about the key; a 403 may be about one service. */
const isUnauthorized = ({ status }: ServiceError): boolean => status === 401;
/** Some deployments answer 400 to a wrong key; it may also mean a wrong service id. */
const REFUSALS: ReadonlySet<ServiceError['kind']> = new Set(['key', 'bad_request']);

class BackupWatcher {
  readonly services: readonly ServiceBackups[];
  readonly #options: BackupWatcherOptions;
  readonly #clock: Clock;
  readonly #writer = new WireWriter();
  #sending: Promise<void> | null = null;

  constructor(options: BackupWatcherOptions) {
    this.services = options.services;
    this.#options = options;
    this.#clock = options.report.options.clock;
  }

  /** Reads and sends on schedule until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    const attempt = async (held: ServiceError | null): Promise<void> => {
      if (held === null) await this.read(stop);
      else for (const service of this.services) service.fail(held);
      this.#sending ??= this.#sendOn(stop);
    };
    const { config, report } = this.#options;
    await report.run(new PullSchedule(config.backups, report.options.id), attempt, stop);
    await this.#sending;
  }

  /** Reads every service once. */
  async read(signal: AbortSignal): Promise<void> {
    await Promise.all(this.services.map(service => service.restore()));
    const { report } = this.#options;
    for (const service of this.services) service.readAgain();
    const permits = new Semaphore(READS_AT_ONCE);
    const errors: ServiceError[] = [];
    let readCount = 0;
    const readOne = async (service: ServiceBackups): Promise<void> => {
      const isShared = (error: ServiceError): boolean =>
        SHARED_ERRORS.has(error.kind) || isUnauthorized(error);
      // The key may be refused to other parts meanwhile.
      const shared = errors.find(isShared) ?? (errors.length === 0 ? null : report.held());
      if (shared !== null && shared.kind !== 'aborted') service.fail(shared);
      if (shared !== null) return;
      const error = await service.read(signal);
      if (error !== null) errors.push(error);
      else {
        readCount++;
        report.succeeded();
      }
    };
    await Promise.all(this.services.map(service => permits.run(() => readOne(service))));
    if (readCount === 0 || errors.some(isUnauthorized)) this.#noteFailure(errors);
  }

  /** Sends the current gauges of all services. */
  async send(): Promise<void> {
    const { queue, log } = this.#options;
    const writer = this.#writer;
    const madeAtMs = this.#clock.nowMs();
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
    if (outcome.kind !== 'failed') return;
    const message = 'cannot queue the metrics of backups: the next ones replace them';
    log.warn('queue metrics', { cause: outcome.message }, message);
  }

  async #sendOn(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.send();
      await this.#clock.sleep(this.#options.config.metrics.intervalMs, stop);
    }
  }

  /** Reports a reading in which every service failed, or that ended because of the key. */
  #noteFailure(errors: readonly ServiceError[]): void {
    const error = errors.find(isUnauthorized) ?? errors[0];
    if (error === undefined) return;
    const isRefused = isUnauthorized(error) || errors.every(({ kind }) => REFUSALS.has(kind));
    const retryAfterMs = Math.max(0, ...errors.map(one => one.retryAfterMs ?? 0));
    const attempt = { isRefused, startedMs: this.#clock.monotonicMs() };
    this.#options.report.failed({ ...error, retryAfterMs }, attempt);
  }
}
