// The process as a whole: what outlives a reload (queue, senders, counters), and the parts that follow from the
// configuration (parts.ts). `run` and `demo` keep a daemon running; `once` does a single cycle. Sending starts first,
// and collecting stops first.

import type { Backups } from '../backups/backups.ts';
import { isSame } from '../config/changes.ts';
import type { Config } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import type { Logger } from '../lib/log.ts';
import { untilAborted } from '../lib/bell.ts';
import type { Logs } from '../logs/logs.ts';
import { openQueue, queueSettings } from '../pipeline/queue/open-queue.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { type OpenSender, openSenders } from '../pipeline/send/open-senders.ts';
import { GRACE_MS } from '../pipeline/send/sender.ts';
import { TranslateMeter } from '../pipeline/translate-meter.ts';
import { apisOf } from '../service/clients.ts';
import type { PullReport } from '../service/pull-report.ts';
import { KnownApis } from '../service/redact.ts';
import type { Discovery } from './discovery.ts';
import type { Inventory } from './inventory.ts';
import { type Lasting, Parts } from './parts.ts';
import { followProcess } from './process-counters.ts';
import { QueueForecast } from './queue-forecast.ts';
import type { TargetLog } from './target-log.ts';
import { Timeline } from './timeline.ts';
import { formatCount } from '../lib/format.ts';
import { SIGNALS } from '../model/batch.ts';
import { STATE } from '../pipeline/derive/state-form.ts';

export interface DaemonOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The longest time that a stop waits for the back end; the rest stays in the queue. */
const FLUSH_MS = 10_000;

export class Daemon implements Lasting {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: Counters;
  readonly queue: Queue;
  readonly meter: TranslateMeter;
  readonly timeline: Timeline = new Timeline();
  readonly forecast: QueueForecast;
  readonly startedAtMs: number;
  /** The APIs whose secrets the senders redact. */
  readonly knownApis: KnownApis;
  /** True from the first signal to stop. */
  isStopping = false;
  readonly #unfollowProcess: () => void;
  readonly #stopping = new AbortController();
  #senders: readonly OpenSender[] = [];
  #parts!: Parts;
  #isStarted = false;
  #forecasting: Promise<void> = Promise.resolve();
  #hasCycled = false;

  private constructor({ config, clock, logger }: DaemonOptions) {
    this.clock = clock;
    this.logger = logger;
    this.counters = new Counters();
    this.startedAtMs = clock.nowMs();
    this.queue = openQueue(config, this);
    this.meter = new TranslateMeter(this.counters);
    this.forecast = new QueueForecast(this.queue, clock, this.counters);
    this.knownApis = new KnownApis(apisOf(config));
    this.#unfollowProcess = followProcess(this.counters, clock, this.startedAtMs);
  }

  /** Opens the queue and the connections; nothing runs yet. Throws an OperatorError. */
  static async open(options: DaemonOptions): Promise<Daemon> {
    const daemon = new Daemon(options);
    try {
      await daemon.#use(options.config);
    } catch (error) {
      daemon.#unfollowProcess();
      await daemon.queue.close();
      throw error;
    }
    return daemon;
  }

  /** Sending runs before collecting. */
  start(): void {
    this.#isStarted = true;
    for (const { sender } of this.#senders) sender.start();
    this.#forecasting = this.forecast.run(this.#stopping.signal);
    this.#parts.start();
  }

  /**
   * Replaces the parts, as a restart would. Throws an OperatorError if the configuration cannot be used; then nothing
   * has changed. The keys that need a restart must be the same (config/changes.ts).
   */
  async reload(config: Config): Promise<void> {
    await this.#use(config);
    if (!this.#isStarted || this.isStopping) return;
    for (const { sender } of this.#senders) sender.start();
    this.#parts.start();
  }

  /** Replaces the parts after something else was found at the service; the configuration is the same. */
  reloadFound(): Promise<void> {
    return this.reload(this.#parts.wanted);
  }

  get config(): Config {
    return this.#parts.config;
  }

  get senders(): readonly OpenSender[] {
    return this.#senders;
  }

  get targets(): readonly TargetLog[] {
    return this.#parts.targets;
  }

  get logs(): Logs | null {
    return this.#parts.logs;
  }

  get backups(): Backups | null {
    return this.#parts.backups;
  }

  /** `services: auto`; null where the services are listed. */
  get discovery(): Discovery | null {
    return this.#parts.discovery;
  }

  /** The service's own list; null where it is switched off. */
  get inventory(): Inventory | null {
    return this.#parts.inventory;
  }

  /** True when what was found at the service requires a reload. */
  get isReloadDue(): boolean {
    return this.discovery?.isDue === true || this.inventory?.isDue === true;
  }

  /** The reports of all parts that ask the service on a schedule. */
  get pulls(): readonly PullReport[] {
    return this.#parts.pulls;
  }

  /** The time of a target's next scrape, by the wall clock. */
  nextScrapeAtMs(index: number): number {
    return this.#parts.nextScrapeAtMs(index);
  }

  /** True after the first scrape of every target; a reload does not change it back. */
  get hasCycled(): boolean {
    this.#hasCycled ||= this.targets.every(({ status }) => status.scrapeCount > 0);
    return this.#hasCycled;
  }

  /** With `services: auto`, scrapes once before a single cycle, to find the services on the page. */
  async lookAround(): Promise<void> {
    if (this.discovery === null) return;
    await this.#parts.scrapeOnce();
    if (this.discovery.hasChanged) await this.reloadFound();
  }

  /**
   * Scrapes, pulls and reads everything once, and delivers it; true if the queue is empty then. Delivery ends after
   * `deadlineMs`, or when the back end has taken nothing for `patienceMs`.
   */
  async cycle(deadlineMs: number, patienceMs: number): Promise<boolean> {
    for (const { sender } of this.#senders) sender.start();
    await this.#parts.pullOnce();
    const endMs = this.clock.monotonicMs() + deadlineMs;
    for (;;) {
      const before = this.queue.points;
      const leftMs = endMs - this.clock.monotonicMs();
      if (await this.#flush(Math.min(patienceMs, leftMs))) return true;
      if (this.queue.points === before || leftMs <= patienceMs) return false;
    }
  }

  /**
   * Stops collecting, delivers the queue until FLUSH_MS have passed or `now` is aborted, waits for the
   * last answers, and closes all parts. Returns what is kept for the next start (keptText).
   */
  async stop(now: AbortSignal): Promise<string> {
    this.isStopping = true;
    const parts = this.#parts;
    const finished = parts.stop().then(() => this.#flush(FLUSH_MS));
    await Promise.race([finished, untilAborted(now)]);
    this.#unfollowProcess();
    parts.giveUp();
    await parts.stop();
    this.#stopping.abort();
    await this.#forecasting;
    await Promise.all(this.#senders.map(({ sender }) => sender.close(GRACE_MS, now)));
    const kept = keptText(this.queue, this.config.queue.directory);
    await this.queue.close();
    const trouble = this.queue.trouble();
    return trouble === null ? kept : `not all could be stored (${trouble}); ${kept}`;
  }

  /** Builds all that follows from a configuration, and only then ends what was there. */
  async #use(config: Config): Promise<void> {
    const former = this.#parts as Parts | undefined;
    const senders = await this.#sendersFor(config);
    const isNew = senders !== this.#senders;
    const parts = await Parts.prepare(config, this, former ?? null).catch(async error => {
      if (isNew) await closeAll(senders);
      throw error;
    });
    await former?.stop();
    if (former !== undefined && this.isStopping) return isNew ? closeAll(senders) : undefined;
    this.queue.use(queueSettings(config));
    this.knownApis.follow(apisOf(parts.config));
    if (isNew) await this.#replaceSenders(senders);
    this.#hasCycled = former !== undefined && this.hasCycled;
    this.#parts = parts;
    await parts.begin(former ?? null);
  }

  /** Senders live as long as `otlp` is the same: each keeps its rows, its back-off and what it has learned. */
  async #sendersFor(config: Config): Promise<readonly OpenSender[]> {
    const isSameEnd = this.#senders.length > 0 && isSame(this.config.otlp, config.otlp);
    if (isSameEnd) return this.#senders;
    const { knownApis: apis, queue, clock, counters, logger } = this;
    return await openSenders({ config, apis, queue, clock, counters, logger });
  }

  /** A sender to the same endpoint goes on with what the former one knows of it. */
  async #replaceSenders(senders: readonly OpenSender[]): Promise<void> {
    const former = this.#senders;
    for (const { signal, endpoint, sender } of senders) {
      const same = former.find(one => one.signal === signal && one.endpoint === endpoint);
      if (same !== undefined) sender.continue(same.sender);
    }
    this.#senders = senders;
    await closeAll(former);
  }

  async #flush(timeoutMs: number): Promise<boolean> {
    const done = await Promise.all(this.#senders.map(({ sender }) => sender.flush(timeoutMs)));
    return done.every(Boolean);
  }
}

async function closeAll(senders: readonly OpenSender[]): Promise<void> {
  await Promise.all(senders.map(({ sender }) => sender.close(GRACE_MS)));
}

// What a daemon keeps for its next start, as the last line of its log says it: the requests that wait, the state of the
// targets' series, the positions in the logs. It is read from the queue, so that only what is stored is told.

/** The kind and the keys of positions in logs, as logs/ledger.ts stores them: the ledger is not loaded for a count. */
const LOGS_KIND = 'logs';
const POSITION = /^service\//;

/** A sentence without a full stop. Call it before the queue is closed. `directory` null: the queue is in memory. */
function keptText(queue: Queue, directory: string | null): string {
  const { points } = queue;
  if (directory === null)
    return points === 0
      ? 'nothing: the queue was in memory (queue.directory: null)'
      : `nothing: the queue was in memory (queue.directory: null), and its ${formatCount(points)} points are lost`;
  const requests = SIGNALS.reduce((sum, signal) => sum + queue.size(signal).rows, 0);
  const targets = queue.stateKeys(STATE).length;
  const positions = queue.stateKeys(LOGS_KIND).filter(key => POSITION.test(key)).length;
  const parts = [
    `requests that wait: ${formatCount(requests)}`,
    `targets with series: ${formatCount(targets)}`,
    `services with a position in their logs: ${formatCount(positions)}`,
  ];
  return `in ${directory}: ${parts.join('; ')}`;
}
