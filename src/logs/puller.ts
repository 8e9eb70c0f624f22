// Pulls the logs of one API on its schedule: one pull at a time, later than due when the service refused the key or
// asked to wait. A pull learns the service's time, reads the ledger, and passes both on to list-archives.ts. Guarantees
// that the next pull comes, even after a failed one.

import { failpoint } from '../lib/failpoint.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { ownError, type ServiceError } from '../service/service-error.ts';
import { isBehind } from './archive-state.ts';
import type { Digests } from './digests/digests.ts';
import { firstStartMs, startCursor } from './cursor.ts';
import { trackGap } from './gap.ts';
import { Ledger, oldestBehind } from './ledger.ts';
import { pullArchives } from './list-archives.ts';
import {
  commit,
  goOnUnlessStopped,
  type PullContext,
  type PullEnd,
  PullEnded,
  unreachable,
} from './pull.ts';
import type { PullSchedule } from '../lib/pull-schedule.ts';
import { findFirstDay } from './listing.ts';

/** The bounds of the time for retries within one pull. */
const RETRY_MS_MIN = 60_000;
const RETRY_MS_MAX = 900_000;

/** The service refuses the key, or our requests. */
const REFUSALS: ReadonlySet<string> = new Set(['auth', 'bad_request', 'redirect', 'not_found']);

export interface LogPullerOptions extends PullContext {
  readonly queue: Queue;
  readonly schedule: PullSchedule;
  /** True when other processes read the logs of other services. */
  readonly isSharded: boolean;
  /** New digests, which read their sums from the queue; null unless `logs.slow_query.digests` is on. */
  readonly createDigests: () => Digests | null;
}

export class LogPuller {
  readonly name: string;
  readonly #options: LogPullerOptions;
  /** Null before the first pull and after a failed commit. */
  #ledger: Ledger | null = null;
  /** Has the same life as the ledger. */
  #digests: Digests | null = null;
  /** How the last pull ended; null before the first. */
  lastEnd: PullEnd | null = null;

  constructor(options: LogPullerOptions) {
    this.#options = options;
    this.name = options.api.name;
  }

  /** Pulls on schedule until `stop`; waits for a commit that has begun. */
  async run(stop: AbortSignal): Promise<void> {
    const attempt = async (held: ServiceError | null): Promise<void> => {
      if (held === null) await this.pull(stop);
      else this.#skip(held);
    };
    await this.#options.api.report.run(this.#options.schedule, attempt, stop);
  }

  /** `isPatient`: retries what may succeed later. */
  async pull(signal: AbortSignal, isPatient = true): Promise<PullEnd> {
    const { meter, api, schedule } = this.#options;
    const { clock } = api;
    const startedMs = clock.monotonicMs();
    const untilDueMs = schedule.nextMs(clock.nowMs(), clock.nowMs());
    api.signal = signal;
    api.isPatient = isPatient;
    api.giveUpAtMs = startedMs + Math.min(Math.max(untilDueMs, RETRY_MS_MIN), RETRY_MS_MAX);
    const end = await this.#pull().catch((error: unknown) => {
      if (error instanceof PullEnded) return error.end;
      throw error;
    });
    // A later commit must not store the changes of a failed one.
    if (end.kind === 'stopped' || end.kind === 'failed') this.#ledger = null;
    failpoint('pull-stored');
    this.lastEnd = end;
    this.#note(end);
    meter.pull(this.name, end.kind, clock.monotonicMs() - startedMs, api.nowMs());
    return end;
  }

  /** Ends a pull without a request, because of an earlier failure. */
  #skip(failure: ServiceError): void {
    const { meter, api } = this.#options;
    meter.unreachable(api.items.services, failure);
    meter.pull(this.name, 'unreachable', 0, api.nowMs());
  }

  async #pull(): Promise<PullEnd> {
    if (this.#ledger === null) {
      this.#ledger = await this.#open();
      this.#digests = this.#options.createDigests();
    }
    return await pullArchives({ ...this.#options, ledger: this.#ledger, digests: this.#digests });
  }

  /** Reads the ledger. New tracks begin at logs.first_start. */
  async #open(): Promise<Ledger> {
    const { api, config, meter } = this.#options;
    // logs.first_start is relative to the service's clock.
    if (!api.isTimeKnown) await this.#learnTime();
    const ledger = await Ledger.load(this.#options.queue, {
      services: api.items.services,
      start: startCursor(firstStartMs(config.firstStart, api.nowMs())),
    });
    if (ledger === null) throw new PullEnded({ kind: 'failed' });
    await this.#findBeginning(ledger);
    await this.#noteStarts(ledger);
    for (const partition of ledger.partitions) {
      const { listedMs } = ledger.track(partition.service.id);
      meter.status(partition).doneUntilMs = listedMs[partition.type] ?? listedMs[''] ?? null;
    }
    const archives = ledger.archives();
    for (const { partition, state } of archives)
      if (isBehind(state)) meter.status(partition).doneUntilMs = null;
    for (const archive of oldestBehind(archives, config.types))
      meter.status(archive.partition).doneUntilMs = ledger.firstMs(archive);
    return ledger;
  }

  /** Takes the service's time from the headers of a list. Tries type after type, because the service may refuse some. */
  async #learnTime(): Promise<void> {
    const { api } = this.#options;
    const { types } = api.items;
    let answer = await api.lastMinute(types[0] ?? '');
    for (const type of types.slice(1))
      if (!answer.ok && answer.error.status !== undefined) answer = await api.lastMinute(type);
    goOnUnlessStopped(api);
    if (!answer.ok) throw new PullEnded(unreachable(answer.error));
    api.noteTime(answer.serverNowMs);
  }

  /** With `first_start: beginning` tracks begin on the first day that the service lists. */
  async #findBeginning(ledger: Ledger): Promise<void> {
    const { api } = this.#options;
    const unknown = ledger.tracks.filter(({ cursor }) => cursor.floorMs === 0);
    if (unknown.length === 0) return;
    const lowMs = await findFirstDay(api);
    goOnUnlessStopped(api);
    if (lowMs === null) {
      const message = 'cannot find where the logs of the service begin';
      const hint = 'set logs.first_start to a date or a duration';
      const failure = ownError('no_list', message, hint);
      throw new PullEnded(unreachable(failure));
    }
    // With a floor, the next start does not search for the beginning again.
    for (const track of unknown) ledger.move(track, { cursor: { floorMs: 1, lowMs } });
  }

  /**
   * Reports the time before the start of a service as a gap if its state was lost, and in a shard also for a service that
   * is new to it: the shard does not read that time.
   */
  async #noteStarts(ledger: Ledger): Promise<void> {
    const { config, isSharded } = this.#options;
    if (config.firstStart === 'beginning') return;
    const gaps = ledger.tracks.flatMap(track => {
      const isTold = track.isNew === 'state_lost' || (track.isNew !== null && isSharded);
      if (!isTold) return [];
      const reason = track.isNew === 'state_lost' ? 'state_lost' : 'first_start';
      return [trackGap({ ...track, type: '' }, { fromMs: 0, toMs: track.cursor.floorMs }, reason)];
    });
    if (gaps.length > 0) await commit({ ...this.#options, ledger }, { gaps });
  }

  #note(end: PullEnd): void {
    const { meter, api } = this.#options;
    if (end.kind === 'done') api.report.succeeded();
    if (end.kind !== 'unreachable') return;
    const isRefused = REFUSALS.has(end.failure.reason);
    api.report.failed(end.failure, { isRefused, startedMs: api.clock.monotonicMs() });
    meter.unreachable(api.items.services, end.failure, end.types);
  }
}
