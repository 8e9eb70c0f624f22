// A whole site for tests of the puller: the simulated service with logs that a test writes, a queue, and pullers
// between them, on a clock that a test sets forward. Records are taken from the queue as the back end would get them.

import { gunzipSync } from 'node:zlib';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { type Logger, silentLogger } from '../../src/lib/log.ts';
import { Logs } from '../../src/logs/logs.ts';
import type { PullEnd } from '../../src/logs/pull.ts';
import type { CreateLineReader } from '../../src/logs/record.ts';
import { QUEUE_COUNTERS } from '../../src/pipeline/queue/account.ts';
import { openQueue } from '../../src/pipeline/queue/open-queue.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { ServiceClients } from '../../src/service/clients.ts';
import type { PullStatus } from '../../src/service/pull-report.ts';
import { LogBook, type LogPlace } from './log-book.ts';
import { type FaultySimulator, startFaultySimulator } from './faulty-simulator.ts';
import type { SimulatedService } from '../../src/simulator/world.ts';
import { decodeLogsRequest } from '../../src/pipeline/encode/otlp-json.ts';
import { createIndentReader } from './indent-reader.ts';
import { allAccepted } from './otlp-requests.ts';
import { attributesOf, otlpLogs } from './otlp-points.ts';

export const MINUTE = 60_000;
export const HOUR: number = 60 * MINUTE;
export const DAY: number = 24 * HOUR;

/** 09:00 on 4 March 2026. */
export const NOW: number = Date.UTC(2026, 2, 4, 9);

const single = (id: string, name: string): SimulatedService => ({
  id,
  name,
  topology: 'single',
  servers: [{ name: `${name}-0`, role: 'single' }],
});

export const SERVICES: readonly SimulatedService[] = [
  {
    id: 'dbpgf1',
    name: 'orders',
    topology: 'primary-replica',
    servers: [
      { name: 'orders-0', role: 'primary' },
      { name: 'orders-1', role: 'replica' },
    ],
  },
  single('dbpgf2', 'ledger'),
  single('dbpgf3', 'stock'),
];

export const ERRORS: LogPlace = { serviceId: 'dbpgf1', server: 'orders-0', type: 'error-log' };
export const AUDIT: LogPlace = { serviceId: 'dbpgf1', server: 'orders-1', type: 'audit-log' };
export const OTHER: LogPlace = { serviceId: 'dbpgf2', server: 'ledger-0', type: 'error-log' };
export const THIRD: LogPlace = { serviceId: 'dbpgf3', server: 'stock-0', type: 'error-log' };

/** A record as it would be delivered. */
export interface Delivered {
  readonly body: string;
  readonly uid: string;
  readonly timeMs: number;
  readonly timeUnixNano: bigint;
  readonly severity: string;
  readonly eventName: string;
  readonly service: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The record of a gap. */
export interface DeliveredGap extends Delivered {
  readonly type: string | undefined;
  readonly reason: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly archive: string | undefined;
}

/** The real clock, but a test can set the wall clock and the monotonic clock forward. */
export class ShiftedClock implements Clock {
  #offsetMs: number;
  #monotonicOffsetMs = 0;

  constructor(startMs: number) {
    this.#offsetMs = startMs - systemClock.nowMs();
  }

  nowMs(): number {
    return systemClock.nowMs() + this.#offsetMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#monotonicOffsetMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }

  after(ms: number, run: () => void): () => void {
    return systemClock.after(ms, run);
  }

  forward(ms: number): void {
    this.#offsetMs += ms;
    this.#monotonicOffsetMs += ms;
  }
}

/** How much faster than real time the clock of a site runs during a sleep. */
const HASTE = 25;

/** A clock whose sleeps end early, and which then moves forward as if they had lasted their time. */
export class HastyClock extends ShiftedClock {
  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await super.sleep(ms / HASTE, signal);
    if (signal?.aborted !== true) this.forward(ms - ms / HASTE);
  }

  override after(ms: number, run: () => void): () => void {
    return super.after(ms / HASTE, () => {
      this.forward(ms - ms / HASTE);
      run();
    });
  }
}

export interface SiteOptions {
  /** Keys of `api` in the configuration. */
  readonly api?: object;
  /** Keys of `logs` in the configuration. */
  readonly logs?: object;
  /** The time at the start, for the simulated service and for the program; NOW if absent. */
  readonly startMs?: number;
  readonly queueBytes?: string;
  readonly directory?: string | null;
  /** The first two services if absent. */
  readonly services?: readonly string[];
  /** True if each service has its own API: then each has its own puller, over the same simulator. */
  readonly isApart?: boolean;
  readonly shard?: { readonly index: number; readonly count: number };
  readonly createReader?: CreateLineReader;
  readonly logger?: Logger;
}

export class LogSite implements AsyncDisposable {
  readonly book: LogBook = new LogBook(SERVICES);
  readonly clock: ShiftedClock;
  simulator!: FaultySimulator;
  queue!: Queue;
  /** Everything that has left the queue. */
  readonly delivered: Delivered[] = [];
  counters: Counters = new Counters();
  #logs!: Logs;
  #clients!: ServiceClients;
  #config!: Config;
  readonly #options: SiteOptions;

  private constructor(options: SiteOptions) {
    this.#options = options;
    this.clock = new HastyClock(options.startMs ?? NOW);
  }

  static async open(options: SiteOptions = {}): Promise<LogSite> {
    const site = new LogSite(options);
    const { clock, book, counters } = site;
    const place = { clock, key: 'test-key', services: SERVICES, logs: book };
    site.simulator = await startFaultySimulator(place);
    site.#config = parseConfig(site.#text(), { file: 'test', environment: {} });
    site.queue = openQueue(site.#config, { clock, counters, logger: silentLogger });
    site.#build();
    return site;
  }

  #text(changes: object = {}): string {
    const { services: ids = ['dbpgf1', 'dbpgf2'], shard, logs, ...rest } = this.#options;
    const apart = (id: string) =>
      rest.isApart === true ? { api: { headers: { 'x-id': id } } } : {};
    const api = { base_url: this.simulator.url, key: 'test-key', timeout: '250s', ...rest.api };
    const nameOf = (id: string): string => SERVICES.find(one => one.id === id)?.name ?? id;
    return JSON.stringify({
      api,
      services: ids.map(id => ({ id, name: nameOf(id), ...apart(id) })),
      metrics: { enabled: false },
      ...(shard === undefined ? {} : { shard }),
      logs: { enabled: true, first_start: '1d', redact_literals: false, ...logs, ...changes },
      otlp: { endpoint: 'http://127.0.0.1:1', compression: 'gzip' },
      queue: {
        directory: rest.directory ?? null,
        logs: { max_bytes: rest.queueBytes ?? '100MB' },
      },
    });
  }

  /** Writes lines that are a minute old. */
  write(place: LogPlace, ...texts: readonly string[]): void {
    this.writeOld(place, MINUTE, ...texts);
  }

  /** Writes lines of this age. */
  writeOld(place: LogPlace, ageMs: number, ...texts: readonly string[]): void {
    for (const text of texts) this.book.write(place, { text, atMs: this.clock.nowMs() - ageMs });
  }

  async pull(signal: AbortSignal = new AbortController().signal): Promise<PullEnd> {
    const [end] = await this.#logs.pull(signal);
    await this.drain();
    if (end === undefined) throw new Error('there is no puller');
    return end;
  }

  /** Pulls `count` times, an interval apart; before each pull, `prepare` may write. */
  async pulls(
    count: number,
    intervalMs: number = 5 * MINUTE,
    prepare: (number: number) => void = () => undefined,
  ): Promise<void> {
    for (let number = 0; number < count; number++) {
      prepare(number);
      await this.pull();
      this.clock.forward(intervalMs);
    }
  }

  /** Moves everything in the queue to `delivered`. */
  async drain(): Promise<void> {
    for (;;) {
      const [row] = await this.queue.oldest('logs', 1, new Set());
      if (row === undefined) return;
      this.delivered.push(...recordsOf(gunzipSync(row.body)));
      this.queue.pin(row.id);
      await this.queue.settle(row.id, allAccepted(row.parts), []);
    }
  }

  /** Starts new pullers over the same queue, as after a restart; `logs` changes keys of the configuration. */
  async restart(logs: object = {}): Promise<void> {
    await this.#clients.close();
    this.counters = new Counters();
    this.#config = parseConfig(this.#text(logs), { file: 'test', environment: {} });
    this.#build();
  }

  /** How the reads of the logs are reported, by puller. */
  get statuses(): readonly PullStatus[] {
    return this.#clients.reports.map(({ status }) => status);
  }

  get logs(): Logs {
    return this.#logs;
  }

  get bodies(): readonly string[] {
    return this.delivered.filter(({ eventName }) => eventName === '').map(({ body }) => body);
  }

  /** Every line that was written. */
  get written(): readonly string[] {
    return this.book.issued.map(({ text }) => text);
  }

  get gaps(): readonly DeliveredGap[] {
    const gaps = this.delivered.filter(({ eventName }) => eventName === 'prom2otlp.log.gap');
    return gaps.map(gap => {
      const of = (name: string): string | undefined => gap.attributes[`prom2otlp.${name}`];
      const span = { from: of('gap.from'), to: of('gap.to') };
      return {
        ...gap,
        ...span,
        type: of('log.type'),
        reason: of('gap.reason'),
        archive: of('gap.archive'),
      };
    });
  }

  /** How often archives were asked for. */
  get downloads(): number {
    return this.simulator.requests.countByPath.get('/observability/v2/logs/archive') ?? 0;
  }

  count(name: string, ...labels: readonly string[]): number {
    const counter = this.counters.list().find(one => one.name === `prom2otlp_logs_${name}`);
    if (counter === undefined) throw new Error(`there is no counter ${name}`);
    return counter.get(...labels);
  }

  /** How many stored states of logs were lost. */
  get lostStates(): number {
    return this.counters.of(QUEUE_COUNTERS).lostStates.get('logs');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#clients.close();
    await this.simulator.close();
    await this.queue.close();
  }

  #build(): void {
    const { clock, counters } = this;
    this.#clients = new ServiceClients({ clock, counters });
    this.#logs = new Logs({
      config: this.#config,
      clients: this.#clients,
      queue: this.queue,
      clock,
      counters,
      logger: this.#options.logger ?? silentLogger,
      createReader: this.#options.createReader ?? createIndentReader,
      resourceOf: ({ id, name }) => ({
        identity: { id, name, attributes: {}, server: null },
        info: new Map(),
      }),
      // With 0, the retries of a request would not wait.
      random: () => 0.5,
    });
  }
}

/** The records of a request. */
export function recordsOf(request: Uint8Array): readonly Delivered[] {
  return otlpLogs(decodeLogsRequest(request)).map(({ resource, record }) => {
    const attributes = attributesOf(record.attributes);
    const timeUnixNano = BigInt(record.timeUnixNano ?? 0);
    return {
      body: record.body?.stringValue ?? '',
      uid: attributes['log.record.uid'] ?? '',
      timeMs: Number(timeUnixNano / 1_000_000n),
      timeUnixNano,
      severity: record.severityText ?? '',
      eventName: record.eventName ?? '',
      service: attributesOf(resource)['service.instance.id'] ?? '',
      attributes,
    };
  });
}
