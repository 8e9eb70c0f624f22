// One key of the service and everything that uses it, without a network: the real readers of backups and pullers of
// logs, and targets that are polled as the pipeline polls them, all on one FakeClock. A test decides each answer.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Backups } from '../../src/backups/backups.ts';
import type { Config } from '../../src/config/config.ts';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { Logs } from '../../src/logs/logs.ts';
import type { Batch } from '../../src/model/batch.ts';
import type { Commit } from '../../src/pipeline/queue/commit.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import type { ServiceClients } from '../../src/service/clients.ts';
import type { ServiceHttp } from '../../src/service/http-client.ts';
import { KeyHold } from '../../src/service/key-hold.ts';
import { PullReport, type PullReportOptions } from '../../src/service/pull-report.ts';
import { requestError, type RequestReason, type Result } from '../../src/service/service-error.ts';
import { FakeClock } from './fake-clock.ts';
import type { StateKind } from '../../src/pipeline/queue/commit.ts';
import { States } from './states.ts';
import { testConfig } from './test-api.ts';

/** The answer of a request that takes `ms`; status 0 means that none came in this time. */
export interface Decision {
  readonly ms: number;
  readonly status: number;
  readonly retryAfterMs?: number;
  /** The answer, instead of an empty list. */
  readonly json?: unknown;
}

const REASONS: Readonly<Record<number, RequestReason>> = {
  0: 'timeout',
  400: 'bad_request',
  401: 'auth',
  403: 'auth',
  429: 'rate_limited',
};

export class KeyWorld {
  readonly clock: FakeClock = new FakeClock();
  readonly hold: KeyHold = new KeyHold(this.clock);
  /** True if the key's source has another one than was refused. */
  isKeyNew = false;
  readonly reports: PullReport[] = [];
  /** Each request, with the time and the status of its answer. */
  readonly requests: { readonly what: string; readonly atMs: number; readonly status: number }[] =
    [];
  readonly stop: AbortController = new AbortController();
  /** Called when a request is sent. If the status is a function, it is called only when the answer is due. */
  decide: (what: string) => Omit<Decision, 'status'> & { status: number | (() => number) } =
    () => ({
      ms: 20,
      status: 200,
    });
  readonly #counters = new Counters();
  /** All batches that were queued. */
  readonly batches: Batch[] = [];
  readonly #states = new States();
  readonly #queue = {
    commit: (commit: Commit) => {
      for (const batch of commit.batches)
        this.batches.push({ ...batch, payload: Buffer.from(batch.payload) });
      return this.#states.commit(commit);
    },
    readState: (kind: string, key: string) => this.#states.readState(kind, key),
    stateKeys: (kind: string) => this.#states.stateKeys(kind),
    restoreState: <T>(kind: StateKind<T>, key: string) => this.#states.restoreState(kind, key),
    stats: () => ({ bytes: 0, points: 0 }),
  } as unknown as Queue;
  readonly #http = {
    host: 'api.example.com',
    isKeyNew: () => this.isKeyNew,
    requestJson: (_method: string, path: string, options: RequestOptions) =>
      this.request(`${path} ${JSON.stringify(options.query ?? {})}`, options.signal),
  } as unknown as ServiceHttp;
  readonly #clients = {
    get: () => this.#http,
    report: (_api: unknown, options: PullReportOptions) => this.#join(options),
  } as unknown as ServiceClients;

  start(...parts: readonly { run(stop: AbortSignal): Promise<void> }[]): void {
    for (const part of parts) void part.run(this.stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort();
    await this.clock.advance(100);
  }

  backups(count: number): Backups {
    return new Backups({ ...this.#parts({ backups: { enabled: true }, services: names(count) }) });
  }

  logs(settings: Readonly<Record<string, unknown>> = {}): Logs {
    const logs = { enabled: true, ...settings };
    const parts = this.#parts({ logs, services: names(1) });
    return new Logs({ ...parts, random: () => 0 });
  }

  /** A target whose page is read every `intervalMs`, first after `phaseMs`. */
  metrics(name: string, intervalMs: number, phaseMs: number): PullReport {
    const report = this.#join({
      kind: 'metrics',
      id: name,
      target: name,
      services: [{ id: name, name }],
      client: this.#http,
      clock: this.clock,
      holdOff: { firstMs: intervalMs, maxMs: 300_000, dueEveryMs: intervalMs },
      intervalMs,
    });
    void this.#poll(report, intervalMs, phaseMs);
    return report;
  }

  get areAllWell(): boolean {
    return this.reports.every(({ status }) => status.state === 'ok');
  }

  /** Lets time pass, in steps, until the promise is settled. */
  async passes<T>(running: Promise<T>, stepMs = 10): Promise<T> {
    const state = { isOver: false };
    const end = (): void => void (state.isOver = true);
    void running.then(end, end);
    while (!state.isOver) {
      await nextTurn();
      await this.clock.advance(stepMs);
    }
    return await running;
  }

  /** The milliseconds until all reports are well; Infinity after an hour. */
  async timeUntilWell(isWell: () => boolean = () => this.areAllWell): Promise<number> {
    const startMs = this.clock.monotonicMs();
    for (let ms = 0; ms < 3_600_000; ms = this.clock.monotonicMs() - startMs) {
      if (isWell()) return ms;
      await this.clock.advance(250);
    }
    return Infinity;
  }

  /** The number of requests whose description matches, from a time on. */
  count(what: RegExp, fromMs = 0): number {
    return this.requests.filter(request => what.test(request.what) && request.atMs >= fromMs)
      .length;
  }

  /** How often and for how long the key counts as refused within `ms`. */
  async verdicts(ms: number): Promise<{ readonly count: number; readonly ms: number }> {
    const stepMs = 100;
    let [count, refusedMs, was] = [0, 0, false];
    for (let passed = 0; passed < ms; passed += stepMs) {
      await this.clock.advance(stepMs);
      const is = this.hold.isRefused;
      if (is && !was) count++;
      if (is) refusedMs += stepMs;
      was = is;
    }
    return { count, ms: refusedMs };
  }

  async request(what: string, signal?: AbortSignal): Promise<Result<unknown>> {
    const startedAtMs = this.clock.nowMs();
    const { ms, status: decided, retryAfterMs, json: given } = this.decide(what);
    await this.clock.sleep(ms, signal);
    const status = typeof decided === 'function' ? decided() : decided;
    this.requests.push({ what, atMs: this.clock.monotonicMs(), status });
    const address = { method: 'GET', address: `https://api.example.com/${what}` };
    const time = { startedAtMs, durationMs: ms };
    if (status === 200) {
      const headers = { date: new Date(this.clock.nowMs()).toUTCString() };
      const json = given ?? (what.includes('/logs') ? { logs: [], count: 0 } : []);
      return { ok: true, status, headers, json, ...time } as Result<unknown>;
    }
    const aborted = signal?.aborted === true ? 'aborted' : undefined;
    const reason = aborted ?? REASONS[status] ?? 'server_error';
    const facts = { status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    return {
      ok: false,
      error: requestError({ reason }, address, facts),
      ...time,
    };
  }

  async #poll(report: PullReport, intervalMs: number, phaseMs: number): Promise<void> {
    const { clock } = this;
    const { signal: stop } = this.stop;
    await clock.sleep(phaseMs, stop);
    for (let dueMs = clock.monotonicMs(); !stop.aborted; ) {
      const startedMs = clock.monotonicMs();
      if (report.held() === null) {
        const result = await this.request(`metrics ${report.options.id}`, stop);
        if (result.ok) report.succeeded();
        else {
          const isRefused = result.error.reason === 'auth';
          report.failed(result.error, { isRefused, startedMs });
        }
      }
      while (dueMs <= clock.monotonicMs()) dueMs += intervalMs;
      await clock.sleep(dueMs - clock.monotonicMs(), stop);
    }
  }

  #join(options: PullReportOptions): PullReport {
    const report = new PullReport(options, this.hold);
    this.reports.push(report);
    return report;
  }

  #parts(settings: object) {
    return {
      config: configOf(settings),
      clients: this.#clients,
      queue: this.#queue,
      clock: this.clock,
      counters: this.#counters,
      logger: silentLogger,
      resourceOf: ({ id, name, attributes }: { id: string; name: string; attributes: object }) => ({
        identity: { id, name, attributes: { ...attributes }, server: null },
        info: new Map<string, string>(),
      }),
    };
  }
}

/** The parameters of a request. */
export function queryOf(what: string): Readonly<Record<string, string>> {
  return JSON.parse(what.slice(what.indexOf('{')));
}

interface RequestOptions {
  readonly query?: unknown;
  readonly signal?: AbortSignal;
}

function names(count: number): readonly { readonly id: string; readonly name: string }[] {
  return Array.from({ length: count }, (_, i) => ({ id: `db${i + 1}`, name: `name ${i + 1}` }));
}

function configOf(settings: object): Config {
  const api = { base_url: 'https://api.example.com', key: 'the key' };
  return testConfig({ api, ...settings });
}
