// Watches the backups of all services behind one address and key: reads them on schedule, and sends their gauges more
// often than that, since most of them change with time alone. Guarantees that whatever goes wrong with one reading or
// one service, the next comes.

import type { Clock } from '../lib/clock.ts';
import { AFTER_REFUSAL, HoldOff } from '../lib/hold-off.ts';
import { Permits } from '../lib/permits.ts';
import { PullSchedule } from '../lib/cron.ts';
import type { Batch, BatchPart } from '../model/batch.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { ServiceError } from '../service/service-error.ts';
import type { BackupMeter, ServiceBackups } from './service-backups.ts';

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

/** What concerns the key, and so every service behind it. */
const SHARED_ERRORS: ReadonlySet<ServiceError['kind']> = new Set(['key', 'rate', 'aborted']);
/** A wrong key has been seen to answer 400, which says the same of a wrong service id. */
const REFUSALS: ReadonlySet<ServiceError['kind']> = new Set(['key', 'bad_request']);

export class BackupWatcher {
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

  /** Reads and sends on schedule until told to stop. */
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
