// Builds the watchers of all APIs from the configuration: one per address and key, as for metrics.

import type { Config, ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { Logger } from '../lib/log.ts';
import { planTargets } from '../pipeline/collect/plan-targets.ts';
import type { GaugeOwner } from '../pipeline/encode/gauges.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { ServiceClient } from '../service/client.ts';
import type { ServiceClients } from '../service/clients.ts';
import { BackupWatcher } from './backup-watcher.ts';
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

  /** Reads and sends on schedule until told to stop. */
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
