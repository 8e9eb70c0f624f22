// Builds all parts of the program from the configuration, starts them (sending first) and stops
// them (collecting first). `run` and `demo` keep a daemon running; `once` does a single cycle. A
// reload builds a new daemon, which takes over the queue, the counters, and the memory of each
// target that did not change (reload.ts).

import { hostname } from 'node:os';
import type { Backups } from '../backups/backups.ts';
import { isSame } from '../config/changes.ts';
import type { Config, ServiceConfig } from '../config/config.ts';
import { memoryNotes, memoryWarnings } from '../config/memory-limits.ts';
import { formatMistake } from '../errors.ts';
import { BodyBufferPool } from '../lib/body-buffer.ts';
import type { Clock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { keepHeapSmall } from '../lib/footprint.ts';
import { type Logger, ThrottledLog } from '../lib/log.ts';
import { untilAborted } from '../lib/bell.ts';
import type { Logs } from '../logs/logs.ts';
import type { RestoredState } from '../model/memory.ts';
import { Pipeline } from '../pipeline.ts';
import { Schedule } from '../pipeline/collect/schedule.ts';
import { planTargets, type Target } from '../pipeline/collect/plan-targets.ts';
import type { ScrapeResult } from '../pipeline/collect/scrape.ts';
import { entriesOf, SeriesBudget } from '../pipeline/derive/options.ts';
import { limitRestored, ownState } from '../pipeline/derive/state.ts';
import { attributeLimit } from '../pipeline/encode/attribute-limit.ts';
import { openQueue, type Queue } from '../pipeline/queue/queue.ts';
import { type OpenSender, openSenders } from '../pipeline/send/open-senders.ts';
import { GRACE_MS } from '../pipeline/send/sender.ts';
import { TranslateMeter } from '../pipeline/translate-meter.ts';
import { apisOf, ServiceClients } from '../service/clients.ts';
import type { PullReport } from '../service/pull-report.ts';
import { KnownApis } from '../service/redact.ts';
import { configWith, Discovery } from './discovery.ts';
import type { OwnTelemetry } from './own-telemetry.ts';
import { followProcess } from './process-counters.ts';
import { QueueForecast } from './queue-forecast.ts';
import { TargetLog } from './target-log.ts';
import { dropStates, passedState, storedState, wholeStates } from './target-states.ts';
import { pipelineTarget, resourceOf } from './targets.ts';
import { Timeline } from './timeline.ts';

export interface DaemonOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The daemon to replace. The keys that need a restart must be the same (config/changes.ts). */
  readonly former?: Daemon;
}

const STATE_OF_FORMER_VERSION =
  'the state of series of a former version is dropped: their streams begin again';

/** The longest time that `cycle` waits for a pull of logs. */
const PULL_MS = 900_000;
/** The longest time that a stop waits for the back end; the rest stays in the queue. */
const FLUSH_MS = 10_000;

/** With less memory for pages and series, V8 has to collect garbage early. */
const SMALL_MEMORY_BYTES = 512 * 2 ** 20;

export class Daemon {
  readonly config: Config;
  readonly counters: Counters;
  readonly queue: Queue;
  readonly senders: readonly OpenSender[];
  /** The APIs whose secrets the senders redact; senders outlive a reload that does not change `otlp`. */
  readonly knownApis: KnownApis;
  readonly targets: readonly TargetLog[];
  /** The ids of the targets to indexes into `targets`. */
  readonly #places: ReadonlyMap<string, number>;
  readonly timeline: Timeline;
  readonly forecast: QueueForecast;
  readonly logs: Logs | null;
  readonly backups: Backups | null;
  /** `services: auto`; null where the services are listed. */
  readonly discovery: Discovery | null;
  readonly startedAtMs: number;
  /** True from the first signal to stop. */
  isStopping = false;
  readonly logger: Logger;
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #clients: ServiceClients;
  readonly #pipeline: Pipeline<ScrapeResult>;
  readonly #budget: SeriesBudget;
  readonly #meter: TranslateMeter;
  readonly #stopping = new AbortController();
  readonly #givingUp = new AbortController();
  readonly #unfollowProcess: () => void;
  readonly #startTelemetry: () => OwnTelemetry | null;
  readonly #instance: string;
  #telemetry: OwnTelemetry | null = null;
  #running: Promise<void> = Promise.resolve();
  #hasSaved = false;
  readonly #wasReady: boolean;

  /** No closure made here may use `former`: it would keep all former daemons in memory. */
  private constructor(options: DaemonOptions, parts: DaemonParts) {
    const { config, clock, logger, former } = options;
    const { counters, queue, clients, discovery, modules, instance } = parts;
    this.#instance = instance;
    this.config = config;
    this.logger = logger;
    this.#clock = clock;
    this.counters = counters;
    this.queue = queue;
    this.senders = parts.senders;
    this.knownApis = parts.apis;
    this.discovery = discovery;
    this.startedAtMs = former?.startedAtMs ?? clock.nowMs();
    this.#wasReady = former?.hasCycled === true;
    this.#clients = clients;
    clients.follow();
    const planned = config.metrics.isEnabled ? planTargets(config) : [];
    const log = new ThrottledLog(logger, clock);
    const { intervalMs, limits } = config.metrics;
    const isSamePace = former?.config.metrics.intervalMs === intervalMs;
    const timeline = isSamePace ? former.timeline : new Timeline(intervalMs);
    this.timeline = timeline;
    this.forecast = former?.forecast ?? new QueueForecast(queue, clock, counters);
    const logged = targetLogs(planned, options, log);
    this.targets = logged;
    this.#places = new Map(logged.map(({ target }, index) => [target.id, index]));
    const owners = new Map(logged.flatMap(log => log.target.services.map(({ id }) => [id, log])));
    const named = {
      resourceOf: (service: ServiceConfig) => resourceOf(service, owners.get(service.id)),
    };
    const onDemand = { config, clients, queue, clock, counters, logger, ...named };
    this.logs = modules.logs && new modules.logs.Logs(onDemand);
    this.backups = modules.backups && new modules.backups.Backups(onDemand);
    const budget = new SeriesBudget(limits);
    this.#budget = budget;
    const meter = former === undefined ? new TranslateMeter(counters) : former.#meter;
    this.#meter = meter;
    const entries = entriesOf(config);
    const context = { config, clock, parts, budget, entries, timeline, meter, discovery };
    const targets = logged.map(target => pipelineTarget(target, context));
    const warnings = [...config.warnings.map(formatMistake), ...memoryWarnings(config.memory)];
    for (const warning of warnings) logger.warn({}, warning);
    for (const note of memoryNotes(config.memory)) logger.info({}, note);
    // A large archive has gigabytes of lines, each of them in memory for a short time.
    if (limits.memoryBytes < SMALL_MEMORY_BYTES || this.logs !== null) keepHeapSmall();
    const { startedAtMs } = this;
    const telemetry = { config, clock, counters, log, queue, instance, startedAtMs };
    this.#startTelemetry = () => modules.telemetry?.startTelemetry(telemetry) ?? null;
    this.#unfollowProcess = followProcess(counters, clock, this.startedAtMs);
    this.#schedule = scheduleOf(planned, options, parts);
    const giveUp = this.#givingUp.signal;
    this.#pipeline = new Pipeline({
      targets,
      schedule: this.#schedule,
      queue,
      clock,
      log,
      attributeLimit: attributeLimit(config.otlp, 'metrics', counters),
      giveUp,
    });
  }

  /**
   * Opens the queue and the connections; nothing runs yet. If it cannot, it throws an OperatorError,
   * and a former daemon continues unchanged. Otherwise the former daemon has ended.
   */
  static async open(wanted: DaemonOptions): Promise<Daemon> {
    const { clock, logger, former } = wanted;
    const counters = former?.counters ?? new Counters();
    const queue = former?.queue ?? openQueue(wanted.config, { clock, counters, logger });
    const discovery = await openDiscovery(wanted, { queue, counters });
    const config = configWith(wanted.config, discovery);
    const options = { ...wanted, config };
    const formerClients = former === undefined ? undefined : former.#clients;
    const clients = new ServiceClients({ clock, counters, former: formerClients });
    // Unusable settings fail here, before any part of the former daemon is replaced.
    for (const api of apisOf(config)) clients.get(api);
    const apis = former?.knownApis ?? new KnownApis(apisOf(config));
    const isSameEnd = former !== undefined && isSame(former.config.otlp, config.otlp);
    const senders = isSameEnd
      ? former.senders
      : await openSenders({ config, apis, queue, clock, counters, logger });
    const buffers = new BodyBufferPool();
    const modules = await loadModules(config);
    const known = former === undefined ? '' : former.#instance;
    const instance =
      known || ((await modules.telemetry?.instanceId(config, queue, hostname())) ?? '');
    const parts = {
      counters,
      queue,
      apis,
      senders,
      clients,
      buffers,
      discovery,
      modules,
      instance,
    };
    const daemon = new Daemon(options, parts);
    apis.follow(apisOf(config));
    if (former !== undefined) await former.#handOver(daemon);
    daemon.#keepGauges();
    await discovery?.begin();
    await daemon.#restore(former);
    return daemon;
  }

  /** Keeps the gauges only of the services that the targets still have. */
  #keepGauges(): void {
    const isWelcome = this.config.unconfiguredServices === 'send';
    const targets = new Map(this.targets.map(({ target }) => [target.id, target]));
    this.#meter.keep((id, service) => {
      const target = targets.get(id);
      if (target === undefined) return false;
      return isWelcome ? this.#isOf(target, service) : target.configured.has(service);
    });
  }

  /** Gives each target the series that a former process or daemon knew. */
  async #restore(former: Daemon | undefined): Promise<void> {
    // The former daemon may have read pages into them since the budget was made.
    for (const { table } of this.targets) this.#budget.measure(table);
    const kept = new Set(former?.targets);
    for (const log of this.targets) {
      const { target, table } = log;
      if (kept.has(log)) continue;
      const [heritage, ...others] = former === undefined ? [] : former.#forerunnersOf(target);
      if (heritage === undefined) await this.#restoreStored(log);
      else {
        const passed = await passedState([heritage.table, ...others.map(other => other.table)]);
        this.#give(log, passed);
        // Our clock may have been set: no page may be older than the last one.
        Object.assign(table.clock, heritage.table.clock);
      }
    }
    const owned = new Set(planTargets(this.config).map(({ id }) => id));
    // The state of other targets would miss the points that others send meanwhile.
    if (await dropStates(this.queue, owned)) this.logger.info({}, STATE_OF_FORMER_VERSION);
  }

  async #restoreStored(log: TargetLog): Promise<void> {
    const { state, changes, isLost } = await storedState(this.queue, log.target);
    if (isLost) {
      this.#meter.countLostState();
      log.noteLostState();
    }
    this.#give(log, state);
    if (changes.length > 0) await this.queue.commit({ batches: [], state: changes, reads: [] });
  }

  /** Gives a target the series that are its own, as far as the limits allow. */
  #give({ target, table }: TargetLog, found: RestoredState | null): void {
    const left = this.#budget.limits.series - this.#budget.series;
    const state = found === null ? null : ownState(found, id => this.#isOf(target, id));
    table.restored = state === null ? null : limitRestored(state, left);
    this.#budget.measure(table);
  }

  /** The targets whose pages showed the services of another daemon's target: of the same id first. */
  #forerunnersOf({ id, api, configured }: Target): readonly TargetLog[] {
    const shares = ({ target }: TargetLog): boolean =>
      target.api.baseUrl === api.baseUrl &&
      [...configured.keys()].some(service => target.configured.has(service));
    const same = this.targets.filter(({ target }) => target.id === id);
    return [...same, ...this.targets.filter(log => log.target.id !== id && shares(log))];
  }

  /** True if a target's memory of a service is still valid: false if another target or shard sends the service. */
  #isOf({ configured, otherShards }: Target, id: string): boolean {
    if (id === '' || configured.has(id)) return true;
    return !this.config.services.some(service => service.id === id) && !otherShards.takes(id);
  }

  /** Ends collecting. A scrape under way still reaches the queue if it ends within GRACE_MS. */
  async #endCollecting(): Promise<void> {
    this.#stopping.abort();
    const cancel = this.#clock.after(GRACE_MS, () => this.#givingUp.abort());
    await this.#running;
    cancel();
  }

  /** Ends all parts that `next` did not take over. */
  async #handOver(next: Daemon): Promise<void> {
    await this.#endCollecting();
    this.#unfollowProcess();
    if (next.logs === null) this.logs?.meter.close();
    await this.#clients.close();
    if (isSame(this.config.telemetry, next.config.telemetry)) next.#telemetry = this.#telemetry;
    else await this.#telemetry?.close();
    const ended = this.senders.filter(sender => !next.senders.includes(sender));
    await Promise.all(ended.map(({ sender }) => sender.close(GRACE_MS)));
  }

  /** Finds the log of a target whose pages mean the same under `config`; null if there is none. */
  unchanged(config: Config): (target: Target) => TargetLog | null {
    const { metrics, unconfiguredServices } = this.config;
    const added = without(config.services, this.config.services);
    const isReadAlike =
      isSame(metrics, config.metrics) &&
      unconfiguredServices === config.unconfiguredServices &&
      isSame(dealt(this.config), dealt(config));
    return target => {
      const log = this.targets[this.#places.get(target.id) ?? -1];
      if (!isReadAlike || log === undefined || !isSame(log.target, target)) return null;
      const { serviceById, restored } = log.table;
      const isOwn = added.every(({ id }) => {
        // The series of a new entry of another target must leave this target.
        const isKnown = serviceById.has(id) || (restored?.indexById.size ?? 0) > 0;
        return target.configured.has(id) || !isKnown;
      });
      return isOwn ? log : null;
    };
  }

  /**
   * The time at which a target is due (monotonic). Undefined for a new target, for a target without
   * services until now, for a changed interval, and after a failure, which the new configuration
   * may have cured.
   */
  dueMs({ id, intervalMs }: Pick<Target, 'id' | 'intervalMs'>): number | undefined {
    const index = this.#places.get(id) ?? -1;
    const { target, status } = this.targets[index] ?? {};
    const isKept =
      target?.intervalMs === intervalMs && status?.lastReason === '' && target.services.length > 0;
    return isKept ? this.#schedule.dueMs(index) : undefined;
  }

  /** The reports of all parts that ask the service on a schedule. */
  get pulls(): readonly PullReport[] {
    return this.#clients.reports;
  }

  start(): void {
    for (const { sender } of this.senders) sender.start();
    this.#telemetry ??= this.#startTelemetry();
    const { signal } = this.#stopping;
    this.#running = Promise.all([
      this.#pipeline.run(signal),
      this.forecast.run(signal),
      this.logs?.run(signal),
      this.backups?.run(signal),
    ]).then(() => undefined);
  }

  /**
   * With `services: auto`, scrapes once before a single cycle, to find the services on the page.
   * Returns the daemon that reads them, which may be a new one.
   */
  async lookAround(): Promise<Daemon> {
    if (this.discovery === null) return this;
    await this.#pipeline.tick([...this.targets.keys()]);
    if (!this.discovery.hasChanged) return this;
    return await this.anotherFor(this.config);
  }

  anotherFor(config: Config): Promise<Daemon> {
    return Daemon.open({ config, clock: this.#clock, logger: this.logger, former: this });
  }

  /**
   * Scrapes, pulls and reads everything once, and delivers it; true if the queue is empty then. Delivery ends after
   * `deadlineMs`, or when the back end has taken nothing for `patienceMs`.
   */
  async cycle(deadlineMs: number, patienceMs: number): Promise<boolean> {
    for (const { sender } of this.senders) sender.start();
    await Promise.all([
      this.#pipeline.tick([...this.targets.keys()]),
      this.#pullOnce(),
      this.backups?.cycle(this.#stopping.signal),
    ]);
    await this.#startTelemetry()?.close();
    const endMs = this.#clock.monotonicMs() + deadlineMs;
    for (;;) {
      const before = this.queue.points;
      const leftMs = endMs - this.#clock.monotonicMs();
      if (await this.#flush(Math.min(patienceMs, leftMs))) return true;
      if (this.queue.points === before || leftMs <= patienceMs) return false;
    }
  }

  /** The time of a target's next scrape, by the wall clock. */
  nextScrapeAtMs(index: number): number {
    const clock = this.#clock;
    return clock.nowMs() + this.#schedule.dueMs(index) - clock.monotonicMs();
  }

  /** True after the first scrape of every target; a reload does not change it back. */
  get hasCycled(): boolean {
    return this.#wasReady || this.targets.every(({ status }) => status.scrapeCount > 0);
  }

  /**
   * Stops collecting, delivers the queue until FLUSH_MS have passed or `now` is aborted, waits for the
   * last answers, and closes all parts.
   */
  async stop(now: AbortSignal): Promise<void> {
    this.isStopping = true;
    await Promise.race([this.#finish(), untilAborted(now)]);
    this.#unfollowProcess();
    // A scrape that is cut off here says nothing about the service.
    this.#givingUp.abort();
    await this.#running;
    await this.#saveStates();
    await this.#clients.close();
    await Promise.all(this.senders.map(({ sender }) => sender.close(GRACE_MS, now)));
    await this.queue.close();
  }

  async #pullOnce(): Promise<void> {
    const over = new AbortController();
    const cancel = this.#clock.after(PULL_MS, () => over.abort());
    await this.logs?.pull(over.signal, false);
    cancel();
  }

  async #finish(): Promise<void> {
    await this.#endCollecting();
    await this.#saveStates();
    await this.#telemetry?.close();
    await this.#flush(FLUSH_MS);
  }

  /** Stores all that is known of the series, once: no page comes after this. */
  async #saveStates(): Promise<void> {
    if (this.config.queue.directory === null || this.#hasSaved) return;
    this.#hasSaved = true;
    const state = await wholeStates(this.targets);
    if (state.length > 0) await this.queue.commit({ batches: [], state, reads: [] });
  }

  async #flush(timeoutMs: number): Promise<boolean> {
    const done = await Promise.all(this.senders.map(({ sender }) => sender.flush(timeoutMs)));
    return done.every(Boolean);
  }
}

interface DaemonParts {
  readonly counters: Counters;
  readonly queue: Queue;
  readonly apis: KnownApis;
  readonly senders: readonly OpenSender[];
  readonly clients: ServiceClients;
  readonly buffers: BodyBufferPool;
  readonly discovery: Discovery | null;
  readonly modules: Awaited<ReturnType<typeof loadModules>>;
  /** The service.instance.id of own telemetry; '' if that is switched off. */
  readonly instance: string;
}

/** Modules that are loaded on demand to save memory (the telemetry SDK takes 12 MB); null if switched off. */
async function loadModules({ telemetry, logs, backups }: Config) {
  return {
    telemetry: telemetry.isEnabled ? await import('./own-telemetry.ts') : null,
    logs: logs.isEnabled ? await import('../logs/logs.ts') : null,
    backups: backups.isEnabled ? await import('../backups/backups.ts') : null,
  };
}

/** The services here and in other shards; [] if no page depends on them: with one shard that drops other services. */
function dealt({ shard, unconfiguredServices, services, elsewhere }: Config): unknown {
  const isAnyone = shard.count === 1 && unconfiguredServices === 'drop';
  return isAnyone ? [] : [services, elsewhere].map(list => list.map(({ id }) => id));
}

function without(
  services: readonly ServiceConfig[],
  others: readonly ServiceConfig[],
): readonly ServiceConfig[] {
  const ids = new Set(others.map(({ id }) => id));
  return services.filter(({ id }) => !ids.has(id));
}

async function openDiscovery(
  { config, clock, logger, former }: DaemonOptions,
  { queue, counters }: Pick<DaemonParts, 'queue' | 'counters'>,
): Promise<Discovery | null> {
  const { auto, shard, metrics, logs } = config;
  if (auto === null) return null;
  const log = new ThrottledLog(logger, clock);
  const options = { config: { auto, shard, metrics, logs }, queue, clock, counters, log };
  return await Discovery.prepare(options, former?.discovery ?? null);
}

/** The log of each target; the former daemon's log if the target did not change. */
function targetLogs(
  planned: readonly Target[],
  { config, former }: DaemonOptions,
  log: ThrottledLog,
): readonly TargetLog[] {
  const unchanged = former?.unchanged(config);
  return planned.map(target => unchanged?.(target) ?? new TargetLog(target, log));
}

/** Of its own, because a function inside the constructor would keep the former daemon in memory. */
function scheduleOf(
  planned: readonly Target[],
  { clock, former }: DaemonOptions,
  { counters, discovery }: DaemonParts,
): Schedule {
  // A page that waits is read at once.
  const before = discovery?.holdsPage === true ? undefined : former;
  return new Schedule(planned, { clock, counters, dueMs: target => before?.dueMs(target) });
}
