// The parts that follow from a configuration: targets, logs, backups, discovery, own telemetry. A reload is a restart of
// them inside the process (daemon.ts):
//
//   prepare   build and validate; a failure stops nothing
//   stop      finish or give up what runs, and save what is known of the series into the queue
//   begin     restore it from there, as after a restart
//   start     scrape and pull; the first polls are staggered
//
// What lives longer belongs to the daemon: the queue, the senders, the counters, the status server.

import { hostname } from 'node:os';
import type { Backups } from '../backups/backups.ts';
import type { Config, ServiceConfig } from '../config/config.ts';
import { memoryNotes, memoryWarnings } from '../config/memory-limits.ts';
import { formatMistake } from '../errors.ts';
import { BodyBufferPool } from '../lib/body-buffer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { keepHeapSmall } from '../lib/footprint.ts';
import { type Logger, ThrottledLog } from '../lib/log.ts';
import type { Logs } from '../logs/logs.ts';
import { Pipeline } from '../pipeline.ts';
import { planTargets, type Target } from '../pipeline/collect/plan-targets.ts';
import { Schedule } from '../pipeline/collect/schedule.ts';
import type { ScrapeResult } from '../pipeline/collect/scrape.ts';
import { entriesOf, SeriesBudget } from '../pipeline/derive/options.ts';
import { limitRestored, ownState } from '../pipeline/derive/state.ts';
import { attributeLimit } from '../pipeline/encode/attribute-limit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { GRACE_MS } from '../pipeline/send/sender.ts';
import type { TranslateMeter } from '../pipeline/translate-meter.ts';
import { apiIdentity, apisOf, ServiceClients } from '../service/clients.ts';
import type { PullReport } from '../service/pull-report.ts';
import { configWith, Discovery } from './discovery.ts';
import { Inventory } from './inventory.ts';
import type { OwnTelemetry } from './own-telemetry.ts';
import { TargetLog } from './target-log.ts';
import {
  dropStates,
  type FormerStates,
  formerStates,
  storedState,
  wholeStates,
} from './target-states.ts';
import { pipelineTarget, resourceOf } from './targets.ts';
import type { Timeline } from './timeline.ts';

/** What outlives a reload. */
export interface Lasting {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: Counters;
  readonly queue: Queue;
  readonly meter: TranslateMeter;
  readonly timeline: Timeline;
  /** Wall clock: the start of the process. */
  readonly startedAtMs: number;
}

const STATE_OF_FORMER_VERSION =
  'the state of series of a former version is dropped: their streams begin again';

/** The longest time that `pullOnce` waits for a pull of logs. */
const PULL_MS = 900_000;

/** With less memory for pages and series, V8 has to collect garbage early. */
const SMALL_MEMORY_BYTES = 512 * 2 ** 20;

export class Parts {
  /** As it was loaded, and with what was found at the service: services, names, attributes. */
  readonly wanted: Config;
  readonly config: Config;
  readonly targets: readonly TargetLog[];
  readonly logs: Logs | null;
  readonly backups: Backups | null;
  /** `services: auto`; null where the services are listed. */
  readonly discovery: Discovery | null;
  /** Null where it is switched off. */
  readonly inventory: Inventory | null;
  readonly #lasting: Lasting;
  readonly #clients: ServiceClients;
  readonly #budget: SeriesBudget;
  readonly #schedule: Schedule;
  readonly #pipeline: Pipeline<ScrapeResult>;
  readonly #startTelemetry: () => OwnTelemetry | null;
  readonly #stopping = new AbortController();
  readonly #givingUp = new AbortController();
  #telemetry: OwnTelemetry | null = null;
  #running: Promise<unknown> = Promise.resolve();
  #stopped: Promise<void> | null = null;

  private constructor(wanted: Config, config: Config, lasting: Lasting, made: Made) {
    this.wanted = wanted;
    const { clock, counters, logger, queue, meter, timeline } = lasting;
    const { clients, discovery, inventory, modules, instance } = made;
    this.config = config;
    this.discovery = discovery;
    this.inventory = inventory;
    this.#lasting = lasting;
    this.#clients = clients;
    const { limits } = config.metrics;
    const log = new ThrottledLog(logger, clock);
    const planned = config.metrics.isEnabled ? planTargets(config) : [];
    this.targets = planned.map(target => new TargetLog(target, log));
    this.#budget = new SeriesBudget(limits);
    const named = { resourceOf: resourcesOf(this.targets) };
    const onDemand = { config, clients, queue, clock, counters, logger, ...named };
    this.logs = modules.logs && new modules.logs.Logs(onDemand);
    this.backups = modules.backups && new modules.backups.Backups(onDemand);
    const parts = { counters, clients, queue, buffers: new BodyBufferPool() };
    const shared = { config, clock, parts, timeline, meter, discovery, inventory };
    const context = { ...shared, budget: this.#budget, entries: entriesOf(config) };
    const targets = this.targets.map((target, index) => pipelineTarget(target, index, context));
    this.#schedule = new Schedule(planned, { clock, counters });
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
    const telemetry = { ...lasting, config, log, instance };
    this.#startTelemetry = () => modules.telemetry?.startTelemetry(telemetry) ?? null;
    // A large archive has gigabytes of lines, each of them in memory for a short time.
    if (limits.memoryBytes < SMALL_MEMORY_BYTES || this.logs !== null) keepHeapSmall();
  }

  /**
   * Builds all parts; nothing runs yet. Throws an OperatorError if the configuration cannot be used; then nothing has
   * changed. `former` are the parts that run now.
   */
  static async prepare(wanted: Config, lasting: Lasting, former: Parts | null): Promise<Parts> {
    const { clock, counters, queue } = lasting;
    // The newest list: discovery asks it whether a service is stopped.
    let inventory: Inventory | null = null;
    const isStopped = (id: string): boolean => inventory?.isStopped(id) ?? false;
    const discovery = await openDiscovery(wanted, lasting, isStopped, former?.discovery ?? null);
    const listed = configWith(wanted, discovery);
    const formerClients = former === null ? undefined : former.#clients;
    const clients = new ServiceClients({ clock, counters, former: formerClients });
    // Unusable settings fail here.
    for (const api of apisOf(listed)) clients.get(api);
    inventory = await openInventory(listed, lasting, clients, former?.inventory ?? null);
    const config = withInventory(listed, inventory);
    const modules = await loadModules(config);
    const instance = (await modules.telemetry?.instanceId(config, queue, hostname())) ?? '';
    return new Parts(wanted, config, lasting, { clients, discovery, inventory, modules, instance });
  }

  /** Takes these parts into use, with the series that the process or daemon before knew. `former` have stopped. */
  async begin(former: Parts | null): Promise<void> {
    const { config } = this;
    const { logger } = this.#lasting;
    const warnings = [...config.warnings.map(formatMistake), ...memoryWarnings(config.memory)];
    for (const warning of warnings) logger.warn({}, warning);
    for (const note of memoryNotes(config.memory)) logger.info({}, note);
    this.#clients.follow(former === null ? null : former.#clients);
    if (this.logs === null) former?.logs?.meter.close();
    this.#keepGauges();
    await this.discovery?.begin();
    await this.inventory?.begin();
    if (this.inventory === null) former?.inventory?.end();
    const planned = new Set(this.targets.map(({ target }) => target.id));
    const states = await formerStates(this.#lasting.queue, planned);
    for (const log of this.targets) await this.#restore(log, states);
    for (const { target, table } of former?.targets ?? []) this.#keepClock(target.id, table.clock);
    await this.#dropStates();
  }

  start(): void {
    this.#telemetry = this.#startTelemetry();
    const { signal } = this.#stopping;
    this.#running = Promise.all([
      this.#pipeline.run(signal),
      this.logs?.run(signal),
      this.backups?.run(signal),
      this.inventory?.run(signal),
    ]);
  }

  /**
   * Ends scrapes and pulls, and stores all that is known of the series. A scrape under way still reaches the queue if it
   * ends within GRACE_MS, and before `giveUp`. Another call waits for the same end.
   */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  /** Ends scrapes that are under way: they say nothing about the service. */
  giveUp(): void {
    this.#givingUp.abort();
  }

  /** Scrapes all targets once. */
  scrapeOnce(): Promise<void> {
    return this.#pipeline.tick([...this.targets.keys()]);
  }

  /** Scrapes, pulls and reads everything once, into the queue. */
  async pullOnce(): Promise<void> {
    const over = new AbortController();
    const cancel = this.#lasting.clock.after(PULL_MS, () => over.abort());
    await this.inventory?.readOnce(over.signal);
    await Promise.all([
      this.scrapeOnce(),
      this.logs?.pull(over.signal, false),
      this.backups?.cycle(this.#stopping.signal),
    ]);
    cancel();
    await this.#startTelemetry()?.close();
  }

  /** The reports of all parts that ask the service on a schedule. */
  get pulls(): readonly PullReport[] {
    return this.#clients.reports;
  }

  /** The time of a target's next scrape, by the wall clock. */
  nextScrapeAtMs(index: number): number {
    const { clock } = this.#lasting;
    return clock.nowMs() + this.#schedule.dueMs(index) - clock.monotonicMs();
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    const cancel = this.#lasting.clock.after(GRACE_MS, () => this.giveUp());
    await this.#running;
    cancel();
    const state = await wholeStates(this.targets);
    if (state.length > 0) await this.#lasting.queue.commit({ batches: [], state, reads: [] });
    await this.#telemetry?.close();
    await this.#clients.close();
  }

  /** Keeps the gauges only of the services that the targets still have. */
  #keepGauges(): void {
    const isWelcome = this.config.unconfiguredServices === 'send';
    const targets = new Map(this.targets.map(({ target }) => [target.id, target]));
    this.#lasting.meter.keep((id, service) => {
      const target = targets.get(id);
      if (target === undefined) return false;
      return isWelcome ? this.#isOf(target, service) : target.configured.has(service);
    });
  }

  /** Gives a target the stored series that are its own, as far as the limits allow. */
  async #restore(log: TargetLog, former: FormerStates): Promise<void> {
    const { queue, meter } = this.#lasting;
    const { target, table } = log;
    const { state: found, changes, isLost } = await storedState(queue, target, former);
    if (isLost) {
      meter.countLostState();
      log.noteLostState();
    }
    const left = this.#budget.limits.series - this.#budget.series;
    const state = found === null ? null : ownState(found, id => this.#isOf(target, id));
    table.restored = state === null ? null : limitRestored(state, left);
    this.#budget.measure(table);
    if (changes.length > 0) await queue.commit({ batches: [], state: changes, reads: [] });
  }

  /** The machine's clock may have been set back: no page is older than the last one of these targets. */
  #keepClock(id: string, clock: TargetLog['table']['clock']): void {
    const log = this.targets.find(({ target }) => target.id === id);
    if (log !== undefined) Object.assign(log.table.clock, clock);
  }

  /** The state of other targets would miss the points that others send meanwhile. Memory keeps none at all. */
  async #dropStates(): Promise<void> {
    const { queue, logger } = this.#lasting;
    const isKept = this.config.queue.directory !== null;
    const owned = new Set(isKept ? planTargets(this.config).map(({ id }) => id) : []);
    if (await dropStates(queue, owned)) logger.info({}, STATE_OF_FORMER_VERSION);
  }

  /** True if a target's memory of a service is still valid: false if another target or shard sends the service. */
  #isOf({ configured, otherShards }: Target, id: string): boolean {
    if (id === '' || configured.has(id)) return true;
    return !this.config.services.some(service => service.id === id) && !otherShards.takes(id);
  }
}

/** What `prepare` makes before the parts. */
interface Made {
  readonly clients: ServiceClients;
  readonly discovery: Discovery | null;
  readonly inventory: Inventory | null;
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

async function openDiscovery(
  { auto, shard, metrics, logs }: Config,
  { queue, clock, counters, logger }: Lasting,
  isStopped: (id: string) => boolean,
  former: Discovery | null,
): Promise<Discovery | null> {
  if (auto === null) return null;
  const log = new ThrottledLog(logger, clock);
  const options = {
    config: { auto, shard, metrics, logs },
    queue,
    clock,
    counters,
    log,
    isStopped,
  };
  return await Discovery.prepare(options, former);
}

/** The inventory of all APIs, each asked once. */
async function openInventory(
  config: Config,
  { queue, clock, counters, logger }: Lasting,
  clients: ServiceClients,
  former: Inventory | null,
): Promise<Inventory | null> {
  if (!config.inventory.isEnabled) return null;
  const log = new ThrottledLog(logger, clock);
  const owns = config.auto?.apis ?? config.services.map(({ api }) => api);
  const apis = [...new Map(owns.map(api => [apiIdentity(api), api])).values()];
  return await Inventory.prepare({ config, apis, clients, queue, clock, counters, log }, former);
}

function withInventory(config: Config, inventory: Inventory | null): Config {
  if (inventory === null) return config;
  return { ...config, services: config.services.map(service => inventory.known(service)) };
}

/** The Resource of a service, with what its target's page says about it. */
function resourcesOf(targets: readonly TargetLog[]) {
  const owners = new Map(targets.flatMap(log => log.target.services.map(({ id }) => [id, log])));
  return (service: ServiceConfig) => resourceOf(service, owners.get(service.id));
}
