// The context of a pull: the API, the sink to the queue, and the ledger; and how a pull ends. `commit` stores records
// and gaps together with all changes of the ledger. A pull that cannot continue throws a PullEnded, which puller.ts
// catches: after a failed commit the ledger no longer matches the store, and no step of the pull may use it.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogsConfig } from '../config/config.ts';
import { type Clock, MINUTE_MS, HOUR_MS } from '../lib/clock.ts';
import { backoffMs } from '../lib/hold-off.ts';
import type { Batch } from '../model/batch.ts';
import type { StateChange } from '../pipeline/queue/commit.ts';
import type { PullReport } from '../service/pull-report.ts';
import type { Result, ServiceError } from '../service/service-error.ts';
import type { LogPage, LogQuery, LogsApi } from '../service/logs-api.ts';
import type { LogSink } from './chunk.ts';
import type { Span } from './cursor.ts';
import type { Digests } from './digests/digests.ts';
import type { Gap } from './gap.ts';
import type { ItemContext } from './item.ts';
import type { Ledger } from './ledger.ts';
import { type ListEnd, listPages, type TakePage } from './list.ts';
import type { LogMeter } from './log-meter.ts';
import type { LineReader } from './record.ts';
import { tmpdir } from 'node:os';
import { Semaphore } from '../lib/semaphore.ts';

/** The parts that live as long as the puller. */
export interface PullContext {
  readonly config: LogsConfig;
  readonly api: PulledApi;
  readonly sink: LogSink;
  readonly meter: LogMeter;
  readonly downloads: Downloads;
  /** A reader for the lines of one entry of this type. */
  readonly readerOf: (type: string) => LineReader;
}

export interface Pull extends PullContext {
  readonly ledger: Ledger;
  /** Null unless `logs.slow_query.digests` is on. */
  readonly digests: Digests | null;
}

/** How a pull ended. `stopped` and `failed` (the store) leave the rest to the next pull. */
export type PullEnd =
  | {
      readonly kind: 'unreachable';
      readonly failure: ServiceError;
      /** The types of logs that are concerned; [] for all. */
      readonly types: readonly string[];
    }
  | { readonly kind: 'done' | 'stopped' | 'failed' };

export const DONE: PullEnd = { kind: 'done' };

/** The end of a pull that failed for these types. */
export function unreachable(failure: ServiceError, types: readonly string[] = []): PullEnd {
  return { kind: 'unreachable', failure, types: types.filter(type => type !== '') };
}

export class PullEnded extends Error {
  readonly end: PullEnd;

  constructor(end: PullEnd) {
    super(`the pull has ended: ${end.kind}`);
    this.name = 'PullEnded';
    this.end = end;
  }
}

/** Refusals that may be about the key, which can be replaced at any time. */
export const MAY_BE_KEY: ReadonlySet<string> = new Set(['auth', 'bad_request']);

export function goOnUnlessStopped({ signal }: PulledApi): void {
  if (signal.aborted) throw new PullEnded({ kind: 'stopped' });
}

/** Stores batches and their state, a record for each gap, and all changes of the ledger in one step. */
export async function commit(
  pull: Omit<Pull, 'digests'>,
  {
    batches = [],
    gaps = [],
    state: more = [],
  }: {
    readonly batches?: readonly Batch[];
    readonly gaps?: readonly Gap[];
    readonly state?: readonly StateChange[];
  },
): Promise<void> {
  const { api, sink, ledger, meter } = pull;
  const state = [...ledger.changes(), ...more];
  const all = [...batches, ...gaps.map(gap => sink.gapBatch(gap))];
  if (all.length + state.length === 0) return;
  const result = await sink.store(all, state, api.signal);
  if (result !== 'stored') throw new PullEnded({ kind: result });
  ledger.stored();
  for (const gap of gaps) meter.gap(gap);
}

const ASK_BACKOFF = { firstMs: 1000, maxMs: 60_000 } as const;
const RETRIED: ReadonlySet<ServiceError['kind']> = new Set([
  'network',
  'timeout',
  'rate',
  'server',
]);

export interface PulledApiOptions {
  readonly api: LogsApi;
  /** How to read an item of a list. */
  readonly items: ItemContext;
  readonly report: PullReport;
  readonly meter: LogMeter;
  /** Returns numbers from 0 up to 1. */
  readonly random: () => number;
}

/** The API of a puller, with the service's clock. A `type` of '' means all types. */
export class PulledApi {
  readonly api: LogsApi;
  readonly items: ItemContext;
  readonly report: PullReport;
  readonly clock: Clock;
  /** For counters and log lines; no secret. */
  readonly name: string;
  /** Aborted when the running pull must stop. */
  signal: AbortSignal = new AbortController().signal;
  /** The running pull retries no request after this time (monotonic). */
  giveUpAtMs = 0;
  /** False for a single pull on command: it ends with the first failure that could be retried. */
  isPatient = true;
  readonly #meter: LogMeter;
  readonly #random: () => number;
  /** The lead of the service's clock over ours; null without an answer. */
  #skewMs: number | null = null;

  constructor({ api, items, report, meter, random }: PulledApiOptions) {
    this.api = api;
    this.items = items;
    this.report = report;
    this.clock = report.options.clock;
    this.name = report.options.target;
    this.#meter = meter;
    this.#random = random;
  }

  get isTimeKnown(): boolean {
    return this.#skewMs !== null;
  }

  /** The service's time by the last answer that had one. */
  nowMs(): number {
    return this.clock.nowMs() + (this.#skewMs ?? 0);
  }

  /**
   * The earlier of the two clocks: what ends or is given up by it never returns. A wrong clock makes that late instead of
   * early.
   */
  overMs(): number {
    return Math.min(this.nowMs(), this.clock.nowMs());
  }

  /** Takes the service's time from an answer that has just come; null when it has none. */
  noteTime(serverNowMs: number | null): void {
    if (serverNowMs !== null) this.#skewMs = serverNowMs - this.clock.nowMs();
    this.#skewMs ??= 0;
  }

  firstPage(span: Span, type: string): Promise<Result<LogPage>> {
    return this.#askPage(() => this.api.page(this.#queryOf(span, type)), type);
  }

  /** Passes the items of a list to `take`, page by page. */
  list(span: Span, type: string, take: TakePage): Promise<ListEnd> {
    return listPages(this.api, this.#queryOf(span, type), take, send => this.#askPage(send, type));
  }

  /** True if the service answers for the last minute of a type. Then the failure of another list is due to its span. */
  async isAnswering(type: string): Promise<boolean> {
    const answer = await this.lastMinute(type);
    return answer.ok && answer.items !== null;
  }

  /** The shortest list: no service refuses it for its length or its age. */
  lastMinute(type: string): Promise<Result<LogPage>> {
    const nowMs = this.nowMs();
    return this.firstPage({ fromMs: nowMs - MINUTE_MS, toMs: nowMs }, type);
  }

  /** Adds the type to an error, because the address in it does not show the type. */
  #askPage(send: () => Promise<Result<LogPage>>, type: string): Promise<Result<LogPage>> {
    return this.ask(async () => {
      const page = await send();
      if (page.ok || type === '') return page;
      const message = `cannot list ${type}: ${page.error.message}`;
      return { ok: false, error: { ...page.error, message } };
    });
  }

  /**
   * The first good answer, or the last failure. Retries after no answer, 408, 429 and 5xx, with exponential back-off and
   * full jitter, or after the time in Retry-After; `send` is called once per try. `isOfMany`: the key has
   * just been accepted for other requests, so a refusal is about this request alone.
   */
  async ask<Answer>(
    send: () => Promise<Result<Answer>>,
    isOfMany = false,
  ): Promise<Result<Answer>> {
    const { clock, report, signal } = this;
    for (let failureCount = 1; ; failureCount++) {
      const result = await send();
      if (result.ok) {
        report.succeeded();
        return result;
      }
      const { error: failure } = result;
      if (failure.reason !== 'aborted') this.#noteFailure(failure, isOfMany);
      if (!this.isPatient || !isRetried(failure) || signal.aborted) return result;
      const backoff = backoffMs(ASK_BACKOFF, failureCount, this.#random);
      const waitMs = Math.max(backoff, failure.retryAfterMs ?? 0);
      // The service had asked for a pause, so the request was not sent.
      const isHeld = failure.reason === 'rate_limited' && failure.status === undefined;
      if (!isHeld && clock.monotonicMs() + waitMs > this.giveUpAtMs) return result;
      await clock.sleep(waitMs, signal);
      if (signal.aborted) return result;
    }
  }

  #noteFailure(failure: ServiceError, isOfMany: boolean): void {
    this.#meter.failure(this.report.status, failure);
    if (!isOfMany || !MAY_BE_KEY.has(failure.reason)) this.report.failed(failure);
  }

  #queryOf({ fromMs, toMs }: Span, type: string): LogQuery {
    const { signal } = this;
    return { from: new Date(fromMs), to: new Date(toMs), type: type || undefined, signal };
  }
}

function isRetried({ kind, reason }: ServiceError): boolean {
  return RETRIED.has(kind) && reason !== 'tls';
}

const SLICE_MS = 5;

/** Divides work on logs into slices and yields to the event loop between them, so that no scrape waits for it. */
export class Slicer {
  readonly #clock: Clock;
  #startedAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAtMs = clock.monotonicMs();
  }

  /** True when the slice is over: then await `pause`. */
  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#startedAtMs >= SLICE_MS;
  }

  async pause(): Promise<void> {
    await nextTurn();
    this.#startedAtMs = this.#clock.monotonicMs();
  }
}

// The limits of downloads, over all APIs: bytes per hour, and archives at once.

const ARCHIVES_AT_ONCE = 2;

export class Downloads {
  readonly directory: string;
  readonly permits: Semaphore = new Semaphore(ARCHIVES_AT_ONCE);
  readonly budget: ByteBudget;

  /** `directory` null: uses the temporary directory. */
  constructor(clock: Clock, directory: string | null, limits: LogsConfig['limits']) {
    this.directory = directory ?? tmpdir();
    this.budget = new ByteBudget(clock, limits.downloadPerHourBytes);
  }
}

/**
 * Refills evenly. A download may take more than is left; then the next one waits longer, which shows as lag.
 */
class ByteBudget {
  readonly #clock: Clock;
  readonly #perHour: number;
  #left: number;
  #filledAtMs: number;

  constructor(clock: Clock, perHourBytes: number) {
    this.#clock = clock;
    this.#perHour = perHourBytes;
    this.#left = perHourBytes;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** False while it is overdrawn. */
  get isOpen(): boolean {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#filledAtMs) / HOUR_MS) * this.#perHour;
    this.#left = Math.min(this.#perHour, this.#left + gained);
    this.#filledAtMs = nowMs;
    return this.#left > 0;
  }

  take(bytes: number): void {
    this.#left -= bytes;
  }
}
