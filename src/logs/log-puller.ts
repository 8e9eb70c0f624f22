// Pulls the logs of one API on its schedule: one pull at a time, the next one when it is due, later when the service
// refused the key or asked to wait. Guarantees that whatever goes wrong in a pull, the next one comes.

import type { Clock } from '../lib/clock.ts';
import { failpoint } from '../lib/failpoint.ts';
import { ArchivePuller } from './archive-puller.ts';
import type { PullContext, PullRun } from './pull-context.ts';
import type { PullEnd, PullFailure } from './pull-end.ts';
import { type PullSchedule, refusalWaitMs } from './pull-schedule.ts';
import { RecordPuller } from './record-puller.ts';

/** Within one pull, requests are tried again for so long at most. */
const RETRY_MS_MIN = 60_000;
const RETRY_MS_MAX = 900_000;
const RETRY_AFTER_MS_MAX = 900_000;

/** Reasons that the key, or how we ask, is refused. */
const REFUSALS: ReadonlySet<string> = new Set(['auth', 'bad_request', 'redirect', 'not_found']);

export class LogPuller {
  readonly name: string;
  readonly #context: PullContext;
  readonly #clock: Clock;
  readonly #schedule: PullSchedule;
  readonly #puller: { pull(run: PullRun): Promise<PullEnd> };
  #refusedCount = 0;
  #nextAtMs: number | null = null;
  #lastFailure: PullFailure | null = null;

  constructor(context: PullContext, schedule: PullSchedule) {
    const { name, clock, config } = context.options;
    this.name = name;
    this.#context = context;
    this.#clock = clock;
    this.#schedule = schedule;
    this.#puller =
      config.shape === 'archives' ? new ArchivePuller(context) : new RecordPuller(context);
  }

  /** When the next pull begins (wall clock); null while one is running or none is planned. */
  get nextAtMs(): number | null {
    return this.#nextAtMs;
  }

  /** Why the last pull could not reach the service; null when it could. */
  get lastFailure(): PullFailure | null {
    return this.#lastFailure;
  }

  /** Pulls on schedule until told to stop; ends when what is being committed then is committed. */
  async run(stop: AbortSignal): Promise<void> {
    await this.#wait(this.#schedule.firstMs(this.#clock.nowMs()), stop);
    while (!stop.aborted) {
      const startedMs = this.#clock.nowMs();
      const end = await this.pull(stop);
      const dueMs = this.#schedule.nextMs(startedMs, this.#clock.nowMs());
      await this.#wait(Math.max(dueMs, this.#holdMs(end)), stop);
    }
  }

  /** One whole pull, whatever the schedule says. */
  async pull(signal: AbortSignal): Promise<PullEnd> {
    const { meter } = this.#context.options;
    this.#nextAtMs = null;
    const startedMs = this.#clock.monotonicMs();
    const startedAtMs = this.#clock.nowMs();
    const untilDueMs = this.#schedule.nextMs(startedAtMs, startedAtMs);
    const retryMs = Math.min(Math.max(untilDueMs, RETRY_MS_MIN), RETRY_MS_MAX);
    const end = await this.#puller.pull({ signal, giveUpAtMs: startedMs + retryMs });
    failpoint('pull-stored');
    this.#note(end);
    meter.pull(this.name, end.kind, this.#clock.monotonicMs() - startedMs);
    meter.lag(this.#context.serverNowMs());
    return end;
  }

  #note(end: PullEnd): void {
    if (end.kind === 'stopped') return;
    const { meter, services } = this.#context.options;
    if (end.kind === 'done' && this.#lastFailure !== null)
      meter.reached(services, this.#lastFailure);
    this.#lastFailure = end.kind === 'unreachable' ? end.failure : null;
    const isRefused = end.kind === 'unreachable' && REFUSALS.has(end.failure.reason);
    this.#refusedCount = isRefused ? this.#refusedCount + 1 : 0;
    if (end.kind === 'unreachable') meter.unreachable(services, end.failure);
  }

  #holdMs(end: PullEnd): number {
    if (end.kind !== 'unreachable') return 0;
    const refusedMs = this.#refusedCount === 0 ? 0 : refusalWaitMs(this.#refusedCount);
    return Math.max(refusedMs, Math.min(end.failure.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX));
  }

  async #wait(ms: number, stop: AbortSignal): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + ms;
    this.#nextAtMs = this.#clock.nowMs() + ms;
    // Timers end after 24 days; a cron expression may ask for more.
    for (let leftMs = ms; leftMs > 0 && !stop.aborted; leftMs = untilMs - this.#clock.monotonicMs())
      await this.#clock.sleep(leftMs, stop);
  }
}
