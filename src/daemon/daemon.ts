// Builds every part of the bridge from its Config and owns their lives: the sink is started first, the source is
// stopped first. `run` and `demo` keep one running, `once` lets it do a single cycle. A reload builds another one, to
// which the former leaves its queue, its counters, and the memory of every target that has not changed (reload.ts).

import type { Backups } from '../backups/backups.ts';
import { isSame } from '../config/changes.ts';
import type { Config, ServiceConfig } from '../config/config.ts';
import { memoryNotes, memoryWarnings } from '../config/memory-limits.ts';
import { BodyBufferPool } from '../lib/body-buffer.ts';
import type { Clock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { keepHeapSmall } from '../lib/footprint.ts';
import type { Logger } from '../lib/log.ts';
import { Throttle } from '../lib/throttle.ts';
import { untilAborted } from '../lib/bell.ts';
import { programVersion } from '../lib/version.ts';
import type { Logs } from '../logs/logs.ts';
import type { RestoredState } from '../model/memory.ts';
import { Pipeline, type PipelineTarget } from '../pipeline.ts';
import { Schedule } from '../pipeline/collect/schedule.ts';
import { planTargets, type Target } from '../pipeline/collect/plan-targets.ts';
import { SeriesBudget } from '../pipeline/derive/budget.ts';
import { limitRestored, MARKS, readState, STARTS } from '../pipeline/derive/state.ts';
import { openQueue } from '../pipeline/queue/open-queue.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { type OpenSender, openSenders } from '../pipeline/send/open-senders.ts';
import { TranslateMeter } from '../pipeline/translate-meter.ts';
import { apiIdentity, ServiceClients } from '../service/clients.ts';
import { registerLiveCounters } from '../status/live-counters.ts';
import type { OwnTelemetry, startTelemetry } from '../status/own-telemetry.ts';
import { TargetLog } from '../status/target-log.ts';
import { Timeline } from '../status/timeline.ts';
import { memoryOf, pipelineTarget, resourceOf, type ServiceResource } from './targets.ts';

export interface DaemonOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The running one whose place is taken; what it keeps for its life must be the same: see config/changes.ts. */
  readonly former?: Daemon;
}

/** How long one pull of logs may take that is waited for. */
const PULL_MS = 900_000;
/** How long a first stop waits for the back end before the rest stays in the queue. */
const FLUSH_MS = 10_000;
/** How long the next daemon waits for the answer to a request under way, so that it is not sent again. */
const HAND_OVER_MS = 2000;

/** With less for pages and series, there is no room for garbage that V8 would like to collect later. */
const SMALL_MEMORY_BYTES = 512 * 2 ** 20;

export class Daemon {
  readonly config: Config;
  readonly counters: Counters;
  readonly queue: Queue;
  readonly senders: readonly OpenSender[];
  readonly targets: readonly TargetLog[];
  readonly timeline: Timeline;
  /** null where no logs are pulled. */
  readonly logs: Logs | null;
  /** null where no backups are watched. */
  readonly backups: Backups | null;
  readonly startedAtMs: number;
  readonly logger: Logger;
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #clients: ServiceClients;
  readonly #pipeline: Pipeline;
  readonly #budget: SeriesBudget;
  readonly #pipelineTargets: readonly PipelineTarget[];
  readonly #stopping = new AbortController();
  readonly #live: { close(): void };
  readonly #startTelemetry: () => OwnTelemetry | null;
  #telemetry: OwnTelemetry | null = null;
  #running: Promise<void> = Promise.resolve();
  #isStopping = false;
  readonly #wasReady: boolean;

  /** No function made here may name `former`: it would live as long as this one, and so would all before it. */
  private constructor(options: DaemonOptions, parts: DaemonParts) {
    const { config, clock, logger } = options;
    const { counters, queue } = parts;
    this.config = config;
    this.logger = logger;
    this.#clock = clock;
    this.counters = counters;
    this.queue = queue;
    this.senders = parts.senders;
    this.startedAtMs = options.former?.startedAtMs ?? clock.nowMs();
    this.#wasReady = options.former?.hasCycled === true;
    this.#clients = parts.clients;
    const planned = config.metrics.isEnabled ? planTargets(config) : [];
    const throttle = new Throttle({ clock });
    const timeline = timelineOf(options);
    this.timeline = timeline;
    this.targets = targetLogs(planned, options, throttle);
    this.logs = parts.openLogs?.({ options, parts, targets: this.targets }) ?? null;
    this.backups = parts.openBackups?.({ options, parts, targets: this.targets }) ?? null;
    const budget = new SeriesBudget(config.metrics.limits);
    this.#budget = budget;
    const targets = this.targets.map(log =>
      pipelineTarget(log, { config, clock, parts, budget, timeline }),
    );
    this.#pipelineTargets = targets;
    tellMemory(options);
    if (config.metrics.limits.memoryBytes < SMALL_MEMORY_BYTES) keepHeapSmall();
    this.#startTelemetry = () =>
      parts.startTelemetry?.({ config, clock, counters, logger, throttle, queue }) ?? null;
    this.#live = registerLiveCounters({
      counters,
      clock,
      version: programVersion(),
      startedAtMs: this.startedAtMs,
      queue,
      senders: parts.senders,
    });
    this.#schedule = scheduleOf(planned, options, counters);
    this.#pipeline = new Pipeline({
      targets,
      schedule: this.#schedule,
      queue: parts.queue,
      clock,
      logger,
      throttle,
      meter: new TranslateMeter(parts.counters),
    });
  }

  /**
   * Opens the queue and the ways in and out; nothing runs yet. Throws OperatorError for what cannot be opened; a
   * former daemon then goes on as if nothing had happened, otherwise it has ended.
   */
  static async open(options: DaemonOptions): Promise<Daemon> {
    const { config, clock, logger, former } = options;
    const counters = former?.counters ?? new Counters();
    const queue = former?.queue ?? (await openQueue({ config, clock, counters, logger }));
    const isSameEnd = former !== undefined && isSame(ofSenders(former.config), ofSenders(config));
    const senders = isSameEnd
      ? former.senders
      : await openSenders({ config, queue, clock, counters, logger });
    const userAgent = `prom2otlp/${programVersion()}`;
    const clients = new ServiceClients({ clock, counters, userAgent });
    const buffers = new BodyBufferPool();
    // Loaded on demand: the SDK that it is made with costs 12 MB.
    const startTelemetry = config.telemetry.isEnabled
      ? (await import('../status/own-telemetry.ts')).startTelemetry
      : null;
    const openLogs = config.logs.isEnabled ? await logsOpener() : null;
    const openBackups = config.backups.isEnabled ? await backupsOpener() : null;
    const opens = { startTelemetry, openLogs, openBackups };
    const parts = { counters, queue, senders, clients, buffers, ...opens };
    const daemon = await closingOnError(() => new Daemon(options, parts), isSameEnd ? [] : senders);
    if (former !== undefined) await former.#handOver(daemon);
    await daemon.#restore(former);
    return daemon;
  }

  /** Gives each target what a former process, or daemon, knew of its series. */
  async #restore(former: Daemon | undefined): Promise<void> {
    for (const [index, { id, translation }] of this.#pipelineTargets.entries()) {
      const log = this.targets[index];
      if (log !== undefined && former?.targets.includes(log) === true) continue;
      const known =
        former === undefined ? undefined : former.#pipelineTargets.find(one => one.id === id);
      const restored =
        known === undefined ? await this.#stored(id) : await memoryOf(known.translation.table);
      const left = this.#budget.limits.series - this.#budget.series;
      translation.table.restored = restored === null ? null : limitRestored(restored, left);
    }
  }

  async #stored(id: string): Promise<RestoredState | null> {
    const starts = await this.queue.readState(STARTS, id);
    const marks = await this.queue.readState(MARKS, id);
    return starts === null || marks === null ? null : readState(starts, marks);
  }

  /** Ends all but what the next daemon has taken over. What is being scraped still comes into the queue. */
  async #handOver(next: Daemon): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#live.close();
    await this.#clients.close();
    if (isSame(this.config.telemetry, next.config.telemetry)) next.#telemetry = this.#telemetry;
    else await this.#telemetry?.close();
    const ended = this.senders.filter(sender => !next.senders.includes(sender));
    await Promise.all(ended.map(({ sender }) => sender.close(HAND_OVER_MS)));
  }

  /** The memory of a target that a changed configuration would translate in the same way; null when it has none. */
  unchanged(target: Target, config: Config): TargetLog | null {
    const log = this.targets.find(one => one.target.id === target.id);
    if (log === undefined || !isSame(log.target, target)) return null;
    const { metrics, unconfiguredServices } = this.config;
    const isReadAlike =
      isSame(metrics, config.metrics) && unconfiguredServices === config.unconfiguredServices;
    return isReadAlike ? log : null;
  }

  /** When a target is due (monotonic), if it is polled as often; undefined when it is not known. */
  dueMs({ id, intervalMs }: Pick<Target, 'id' | 'intervalMs'>): number | undefined {
    const index = this.targets.findIndex(({ target }) => target.id === id);
    const isSameInterval = this.targets[index]?.target.intervalMs === intervalMs;
    return isSameInterval ? this.#schedule.dueMs(index) : undefined;
  }

  /** Starts sending, then collecting. */
  start(): void {
    for (const { sender } of this.senders) sender.start();
    this.#telemetry ??= this.#startTelemetry();
    const { signal } = this.#stopping;
    this.#running = Promise.all([
      this.#pipeline.run(signal),
      this.logs?.run(signal),
      this.backups?.run(signal),
    ]).then(() => undefined);
  }

  /** One scrape of every target, one pull of logs, one look at backups, delivered; true when nothing is left. */
  async cycle(deadlineMs: number): Promise<boolean> {
    for (const { sender } of this.senders) sender.start();
    await Promise.all([
      this.#pipeline.tick([...this.targets.keys()]),
      this.#pullOnce(),
      this.backups?.cycle(this.#stopping.signal),
    ]);
    await this.#startTelemetry()?.close();
    return this.#flush(deadlineMs);
  }

  /** When a target is scraped next, by the wall clock. */
  nextScrapeAtMs(index: number): number {
    const clock = this.#clock;
    return clock.nowMs() + this.#schedule.dueMs(index) - clock.monotonicMs();
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** True once every target has been scraped and translated for the first time; a reload does not take that back. */
  get hasCycled(): boolean {
    return this.#wasReady || this.targets.every(target => target.scrapeCount > 0);
  }

  /** Stops collecting, delivers what it can (unless `now` is aborted), and closes everything. */
  async stop(now: AbortSignal): Promise<void> {
    this.#isStopping = true;
    this.#stopping.abort();
    await Promise.race([this.#finish(), untilAborted(now)]);
    this.#live.close();
    await this.#clients.close();
    await Promise.all(this.senders.map(({ sender }) => sender.close()));
    await this.queue.close();
  }

  /** Points and records that are still queued. */
  leftPoints(): number {
    return this.queue.stats('metrics').points + this.queue.stats('logs').points;
  }

  async #pullOnce(): Promise<void> {
    const over = new AbortController();
    const timer = this.#clock.sleep(PULL_MS, over.signal).then(() => over.abort());
    await this.logs?.pull(over.signal);
    over.abort();
    await timer;
  }

  async #finish(): Promise<void> {
    await this.#running;
    await this.#telemetry?.close();
    await this.#flush(FLUSH_MS);
  }

  async #flush(timeoutMs: number): Promise<boolean> {
    const done = await Promise.all(this.senders.map(({ sender }) => sender.flush(timeoutMs)));
    return done.every(Boolean);
  }
}

export interface DaemonParts {
  readonly counters: Counters;
  readonly queue: Queue;
  readonly senders: readonly OpenSender[];
  readonly clients: ServiceClients;
  readonly buffers: BodyBufferPool;
  /** null where it is switched off. */
  readonly startTelemetry: typeof startTelemetry | null;
  readonly openLogs: ((from: OnDemandOptions) => Logs) | null;
  readonly openBackups: ((from: OnDemandOptions) => Backups) | null;
}

/** What senders are made of: the way to the back end, and the secrets of the service that they keep out of its words. */
function ofSenders({ otlp, services, elsewhere }: Config): unknown {
  const apis = [...services, ...elsewhere].map(({ api }) => apiIdentity(api));
  return [otlp, [...new Set(apis)].sort()];
}

function timelineOf({ config, former }: DaemonOptions): Timeline {
  const { intervalMs } = config.metrics;
  return former?.config.metrics.intervalMs === intervalMs
    ? former.timeline
    : new Timeline(intervalMs);
}

/** Once per configuration. */
function tellMemory({ config: { memory }, logger }: DaemonOptions): void {
  for (const warning of memoryWarnings(memory)) logger.warn({}, warning);
  for (const note of memoryNotes(memory)) logger.info({}, note);
}

/** The memory of each target: the former one's where nothing has changed. */
function targetLogs(
  planned: readonly Target[],
  { config, clock, logger, former }: DaemonOptions,
  throttle: Throttle,
): readonly TargetLog[] {
  return planned.map(
    target =>
      former?.unchanged(target, config) ?? new TargetLog(target, { clock, logger, throttle }),
  );
}

function scheduleOf(
  planned: readonly Target[],
  { clock, former }: DaemonOptions,
  counters: Counters,
): Schedule {
  return new Schedule(planned, { clock, counters, dueMs: target => former?.dueMs(target) });
}

/** What comes of `make`; where it throws, senders that nobody will use are closed. */
async function closingOnError<T>(make: () => T, senders: readonly OpenSender[]): Promise<T> {
  try {
    return make();
  } catch (error) {
    await Promise.all(senders.map(({ sender }) => sender.close()));
    throw error;
  }
}

/** What logs and backups are built from. Both are loaded on demand: who does not use them does not pay their memory. */
interface OnDemandOptions {
  readonly options: DaemonOptions;
  readonly parts: DaemonParts;
  readonly targets: readonly TargetLog[];
}

async function logsOpener(): Promise<(from: OnDemandOptions) => Logs> {
  const { Logs: LogPullers } = await import('../logs/logs.ts');
  const { createLineReader: createReader } = await import('../logs/formats/reader.ts');
  return from => {
    // A large archive is gigabytes of lines that live for a moment.
    keepHeapSmall();
    return new LogPullers({ ...onDemandParts(from), createReader });
  };
}

async function backupsOpener(): Promise<(from: OnDemandOptions) => Backups> {
  const { Backups: BackupWatchers } = await import('../backups/backups.ts');
  return from => new BackupWatchers(onDemandParts(from));
}

function onDemandParts({ options, parts, targets }: OnDemandOptions) {
  const { config, clock, logger } = options;
  const { clients, queue, counters } = parts;
  const named = (service: ServiceConfig): ServiceResource => resourceOf(service, targets);
  return { config, clients, queue, clock, counters, logger, resourceOf: named };
}
