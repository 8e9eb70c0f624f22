// The counters and log lines of watching backups. It counts what happened and decides nothing.

import type { Clock } from '../lib/clock.ts';
import type { Counter, Counters } from '../lib/counters.ts';
import type { Logger } from '../lib/log.ts';
import { Throttle } from '../lib/throttle.ts';
import type { ServiceError } from '../service/service-error.ts';
import type { BackupEvent } from './backup-events.ts';

export class BackupMeter {
  readonly #logger: Logger;
  readonly #throttle: Throttle;
  readonly #reads: Counter;
  readonly #events: Counter;

  constructor(options: {
    readonly counters: Counters;
    readonly logger: Logger;
    readonly clock: Clock;
  }) {
    const { counters, logger, clock } = options;
    this.#logger = logger;
    this.#throttle = new Throttle({ clock });
    this.#reads = counters.counter(
      'prom2otlp_backup_reads_total',
      'Times that the backup schedules of a service were read, by how that ended: ok, or the kind of error.',
      ['result'],
    );
    this.#events = counters.counter(
      'prom2otlp_backup_events_total',
      'Changes of backup schedules that were put into the queue, by kind.',
      ['service', 'kind'],
    );
  }

  read(): void {
    this.#reads.add(1, 'ok');
  }

  /** `hasFailed` before says that it is nothing new. */
  failed(service: string, error: ServiceError): void {
    this.#reads.add(1, error.kind);
    this.#warn(service, error, 'cannot read the backup schedules');
  }

  recovered(service: string): void {
    this.#logger.info({ service }, 'the backup schedules can be read again');
  }

  backupsFailed(service: string, error: ServiceError): void {
    this.#warn(service, error, 'cannot read the list of backups: their age goes by the last one');
  }

  events(service: string, events: readonly BackupEvent[]): void {
    for (const { kind, record } of events) {
      this.#events.add(1, service, kind);
      this.#logger.info({ service }, record.body);
    }
  }

  notQueued(what: 'events' | 'metrics', cause: string): void {
    const told =
      what === 'events'
        ? 'cannot queue the changes of backup schedules: they are told with the next reading'
        : 'cannot queue the metrics of backups: the next ones say the same';
    this.#throttle.run(`queue ${what}`, swallowed => this.#logger.warn({ cause, swallowed }, told));
  }

  #warn(service: string, { message, hint }: ServiceError, told: string): void {
    this.#throttle.run(`${told} ${service}`, swallowed =>
      this.#logger.warn({ service, cause: message, hint, swallowed }, told),
    );
  }
}
