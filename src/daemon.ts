// Builds every part of the bridge from its Config and owns their lives: the sink is started first, the source is
// stopped first. `run` and `demo` keep one running, `once` lets it do a single cycle.

import { createCatalogLookup } from './catalog/lookup.ts';
import type { ApiConfig, Config } from './config/config.ts';
import { notBuiltYet } from './config/not-built-yet.ts';
import type { openLogs } from './daemon-logs.ts';
import { bug } from './errors.ts';
import { BodyBufferPool } from './lib/body-buffer.ts';
import type { Clock } from './lib/clock.ts';
import { Counters } from './lib/counters.ts';
import type { Logger } from './lib/log.ts';
import type { Logs } from './logs/logs.ts';
import { Throttle } from './lib/throttle.ts';
import { untilAborted } from './lib/until-aborted.ts';
import { programVersion } from './lib/version.ts';
import { SeriesTable } from './model.ts';
import { Schedule } from './pipeline/collect/schedule.ts';
import { Scraper } from './pipeline/collect/scrape.ts';
import { planTargets, type Target } from './pipeline/collect/targets.ts';
import { deriveOptions } from './pipeline/derive/options.ts';
import { MARKS, readState, STARTS } from './pipeline/derive/state.ts';
import type { ResourceIdentity } from './pipeline/encode/identity.ts';
import { openQueue } from './pipeline/queue/open-queue.ts';
import type { Queue } from './pipeline/queue/queue.ts';
import { openSenders, type OpenSender } from './pipeline/send/open-senders.ts';
import { TranslateMeter } from './pipeline/translate-meter.ts';
import { Pipeline, type PipelineTarget, type Translation } from './pipeline.ts';
import { ServiceClients } from './service/clients.ts';
import { registerLiveCounters } from './status/live-counters.ts';
import type { OwnTelemetry } from './status/own-telemetry.ts';
import type { startTelemetry } from './status/start-telemetry.ts';
import { TargetLog } from './status/target-log.ts';

export interface DaemonOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long one pull of logs may take that is waited for. */
const PULL_MS = 900_000;
/** How long a first stop waits for the back end before what is left stays in the queue. */
const FLUSH_MS = 10_000;

export class Daemon {
  readonly config: Config;
  readonly counters: Counters;
  readonly queue: Queue;
  readonly senders: readonly OpenSender[];
  readonly targets: readonly TargetLog[];
  /** null where no logs are pulled. */
  readonly logs: Logs | null;
  readonly startedAtMs: number;
  readonly #options: DaemonOptions;
  readonly #schedule: Schedule;
  readonly #clients: ServiceClients;
  readonly #pipeline: Pipeline;
  readonly #pipelineTargets: readonly PipelineTarget[];
  readonly #stopping = new AbortController();
  readonly #live: { close(): void };
  readonly #startTelemetry: () => OwnTelemetry | null;
  #telemetry: OwnTelemetry | null = null;
  #running: Promise<void> = Promise.resolve();

  private constructor(options: DaemonOptions, parts: DaemonParts) {
    const { config, clock, logger } = options;
    const { counters, queue } = parts;
    this.config = config;
    this.counters = counters;
    this.queue = queue;
    this.senders = parts.senders;
    this.startedAtMs = clock.nowMs();
    this.#clients = parts.clients;
    const planned = config.metrics.isEnabled ? planTargets(config) : [];
    const throttle = new Throttle({ clock });
    this.targets = planned.map(target => new TargetLog(target, { clock, logger, throttle }));
    this.logs = parts.openLogs?.({ options, parts, targets: this.targets }) ?? null;
    const targets = this.targets.map(log => pipelineTarget(log, { config, clock, parts }));
    this.#pipelineTargets = targets;
    this.#options = options;
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
    this.#schedule = new Schedule(planned, { clock, counters: parts.counters });
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

  /** Opens the queue and the ways in and out; nothing runs yet. Throws OperatorError for what cannot be opened. */
  static async open(options: DaemonOptions): Promise<Daemon> {
    const { config, clock, logger } = options;
    const counters = new Counters();
    for (const key of notBuiltYet(config))
      logger.warn({ key }, 'this key is accepted but its part is not built yet: it has no effect');
    const queue = await openQueue({ config, clock, counters, logger });
    const senders = await openSenders({ config, queue, clock, counters, logger });
    const userAgent = `prom2otlp/${programVersion()}`;
    const clients = new ServiceClients({ clock, counters, userAgent });
    const buffers = new BodyBufferPool();
    // Loaded on demand: the SDK that it is made with costs 12 MB.
    const startTelemetry = config.telemetry.isEnabled
      ? (await import('./status/start-telemetry.ts')).startTelemetry
      : null;
    const openLogs = config.logs.isEnabled ? (await import('./daemon-logs.ts')).openLogs : null;
    const parts = { counters, queue, senders, clients, buffers, startTelemetry, openLogs };
    const daemon = new Daemon(options, parts);
    await daemon.#restore();
    return daemon;
  }

  /** Gives each target what a former process knew of its series. */
  async #restore(): Promise<void> {
    for (const { id, translation } of this.#pipelineTargets) {
      const starts = await this.queue.readState(STARTS, id);
      const marks = await this.queue.readState(MARKS, id);
      if (starts !== null && marks !== null) translation.table.restored = readState(starts, marks);
    }
  }

  /** Starts sending, then collecting. */
  start(): void {
    for (const { sender } of this.senders) sender.start();
    this.#telemetry = this.#startTelemetry();
    const { signal } = this.#stopping;
    this.#running = Promise.all([this.#pipeline.run(signal), this.logs?.run(signal)]).then(
      () => undefined,
    );
  }

  /** One scrape of every target and one pull of logs, delivered; true when nothing is left at the deadline. */
  async cycle(deadlineMs: number): Promise<boolean> {
    for (const { sender } of this.senders) sender.start();
    await Promise.all([this.#pipeline.tick([...this.targets.keys()]), this.#pullOnce()]);
    await this.#startTelemetry()?.close();
    return this.#flush(deadlineMs);
  }

  /** When a target is scraped next, by the wall clock. */
  nextScrapeAtMs(index: number): number {
    const { clock } = this.#options;
    return clock.nowMs() + this.#schedule.dueMs(index) - clock.monotonicMs();
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** True once every target has been scraped and translated for the first time. */
  get hasCycled(): boolean {
    return this.targets.every(target => target.scrapeCount > 0);
  }

  /** Stops collecting, delivers what it can (unless `now` is aborted), and closes everything. */
  async stop(now: AbortSignal): Promise<void> {
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
    const timer = this.#options.clock.sleep(PULL_MS, over.signal).then(() => over.abort());
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
  readonly openLogs: typeof openLogs | null;
}

function pipelineTarget(
  log: TargetLog,
  context: { readonly config: Config; readonly clock: Clock; readonly parts: DaemonParts },
): PipelineTarget {
  const { config, clock, parts } = context;
  const { target } = log;
  const { counters, buffers } = parts;
  const client = parts.clients.get(target.api);
  const bodyBytesMax = config.metrics.limits.bodyBytes;
  return {
    id: target.id,
    scraper: new Scraper({ target, client, bodyBytesMax, buffers, clock, counters }),
    translation: translationOf(target, config, log.table),
    onTranslated: (result, translated) => log.note(result, translated),
  };
}

/** Where a service is reached, as its Resource has it. */
export function serverOf({ baseUrl }: ApiConfig): ResourceIdentity['server'] {
  const url = new URL(baseUrl);
  return {
    address: url.hostname,
    port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    scheme: url.protocol.slice(0, -1),
  };
}

/** The table and the rules for one target's pages. */
export function translationOf(
  target: Target,
  config: Config,
  table: SeriesTable = new SeriesTable(),
): Translation {
  const server = serverOf(target.api);
  const resourceOf = (index: number): ResourceIdentity => {
    const slot = table.services[index] ?? bug(`no service ${index}`);
    const entry = config.services[slot.configIndex];
    const { name = slot.id, attributes = {} } = entry ?? {};
    return { name, id: slot.id, attributes, server };
  };
  return {
    table,
    isKept: config.queue.directory !== null,
    limits: config.metrics.limits,
    derive: deriveOptions(
      config,
      createCatalogLookup(config.metrics.prefixes),
      target.configured,
      target.otherShards,
    ),
    encode: {
      isDelta: config.otlp.temporality === 'delta',
      namespace: config.metrics.namespace,
      dropLabels: new Set(config.metrics.dropLabels),
      resourceOf,
    },
  };
}
