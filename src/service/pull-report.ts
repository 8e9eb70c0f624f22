// The status of each part that polls the service: the metrics of a target, the logs of an API, the backups of an API. In:
// the outcome of every attempt. Out: the state for the status page and two gauges, from the first attempt on, and how
// long to send no requests.
//
// The reports of one origin and key share a KeyWatch. While the service refuses the key to every part that has tried
// since it last accepted it, they wait, and one small request probes for all (decision 57). A report only waits after its
// own refusal, so that a missing permission for one area does not stop the others.

import { Bell, napUntil } from '../lib/bell.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { PullSchedule } from '../lib/cron.ts';
import { HoldOff, type HoldOffOptions } from '../lib/hold-off.ts';
import type { ServiceHttp } from './http-client.ts';
import type { Result, ServiceError } from './service-error.ts';

export type PullKind = 'metrics' | 'logs' | 'backups';

/** Times are wall clock, in milliseconds; null if it has not happened yet. */
export interface PullStatus {
  readonly kind: PullKind;
  /** The host and its services. */
  readonly target: string;
  /** Host and port of the service. */
  readonly origin: string;
  readonly serviceCount: number;
  /** The name of the first service; '' if there is none. */
  readonly firstService: string;
  /** `waiting` before the first answer or failure. */
  readonly state: 'waiting' | 'ok' | 'failed';
  /** One of a fixed set of words, such as `auth`; '' unless failed. */
  readonly reason: string;
  readonly message: string;
  readonly hint: string;
  readonly lastAttemptAtMs: number | null;
  readonly lastSuccessAtMs: number | null;
  /** Since when it has failed for this reason. */
  readonly failingSinceAtMs: number | null;
  readonly nextAttemptAtMs: number | null;
}

export interface PullReportOptions {
  readonly kind: PullKind;
  /** Unique within its kind; a reload does not change it. */
  readonly id: string;
  readonly target: string;
  readonly services: readonly { readonly id: string; readonly name: string }[];
  readonly client: Pick<ServiceHttp, 'host' | 'isKeyNew'>;
  readonly clock: Clock;
  readonly holdOff: HoldOffOptions;
  /** Sends a minimal request to check whether the key is accepted. */
  readonly probe: (signal: AbortSignal) => Promise<Result<unknown>>;
}

/** The problem of an answer with a status of success, such as `limit_samples`. */
export interface BadContent {
  readonly reason: string;
  readonly message: string;
  readonly hint: string;
}

/** The status does not show whether the parameters or the key are refused. */
const BAD_REQUEST = 400;

export class PullReport {
  readonly options: PullReportOptions;
  /** Rings when an attempt is worthwhile before it is due. */
  readonly looks: Bell = new Bell();
  #nextAttemptAtMs: number | null = null;
  readonly #holdOff: HoldOff;
  #watch: KeyWatch | null = null;
  /** The last failure; null after a success. */
  #error: ServiceError | BadContent | null = null;
  #lastAttemptAtMs: number | null = null;
  #lastSuccessAtMs: number | null = null;
  #failingSinceAtMs: number | null = null;
  /** When the running attempt of run() began (monotonic). */
  #startedMs = Infinity;

  constructor(options: PullReportOptions) {
    this.options = options;
    this.#holdOff = new HoldOff(options.holdOff);
  }

  get status(): PullStatus {
    const { kind, target, client, services } = this.options;
    const error = this.#error;
    const stateWithoutError = this.#lastAttemptAtMs === null ? 'waiting' : 'ok';
    return {
      kind,
      target,
      origin: client.host,
      serviceCount: services.length,
      firstService: services[0]?.name ?? '',
      state: error === null ? stateWithoutError : 'failed',
      lastAttemptAtMs: this.#lastAttemptAtMs,
      lastSuccessAtMs: this.#lastSuccessAtMs,
      failingSinceAtMs: this.#failingSinceAtMs,
      nextAttemptAtMs: this.#nextAttemptAtMs,
      reason: this.#reason,
      message: error?.message ?? '',
      hint: error?.hint ?? '',
    };
  }

  /** Joins the reports that share the key, and continues with the state of the same part of a replaced daemon. */
  join(watch: KeyWatch, former: PullReport | undefined): void {
    this.#watch = watch;
    watch.add(this);
    if (former === undefined) return;
    this.#nextAttemptAtMs = former.#nextAttemptAtMs;
    this.#error = former.#error;
    this.#lastAttemptAtMs = former.#lastAttemptAtMs;
    this.#lastSuccessAtMs = former.#lastSuccessAtMs;
    this.#failingSinceAtMs = former.#failingSinceAtMs;
  }

  /** True if it reads this service. */
  covers(serviceId: string): boolean {
    return this.options.services.some(({ id }) => id === serviceId);
  }

  /**
   * Attempts on schedule until `stop`: at once when `looks` rings, later during a hold-off. `attempt` gets the failure
   * because of which it should send no request, or null.
   */
  async run(
    schedule: PullSchedule,
    attempt: (held: ServiceError | null) => Promise<void>,
    stop: AbortSignal,
  ): Promise<void> {
    const { clock } = this.options;
    await this.#wait(schedule.firstMs(clock.nowMs()), this.looks.rings, stop);
    while (!stop.aborted) {
      const startedMs = clock.nowMs();
      const seen = this.looks.rings;
      this.#nextAttemptAtMs = null;
      this.#startedMs = clock.monotonicMs();
      await attempt(this.held());
      this.#startedMs = Infinity;
      const dueMs = schedule.nextMs(startedMs, clock.nowMs());
      await this.#wait(Math.max(dueMs, this.heldMs()), seen, stop);
    }
  }

  /** Waits for `ms`, or until `looks` has rung after `seen`. */
  async #wait(ms: number, seen: number, stop: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const untilMs = clock.monotonicMs() + ms;
    this.#nextAttemptAtMs = clock.nowMs() + ms;
    // A timer lasts at most 24 days; a cron expression may need more.
    for (
      let leftMs = ms;
      leftMs > 0 && !stop.aborted && this.looks.rings === seen;
      leftMs = untilMs - clock.monotonicMs()
    )
      await napUntil(this.looks, seen, { clock, ms: leftMs, stop });
  }

  /** When the next attempt is due (wall clock); null while one is running or none is planned. */
  get nextAttemptAtMs(): number | null {
    return this.#nextAttemptAtMs;
  }

  /** Notes that the service has accepted the key of a request that began at `startedMs` (monotonic). */
  answered(startedMs: number): void {
    if (this.#wasRefusedSince(startedMs)) return;
    this.#holdOff.clear();
    this.#watch?.accepted(this, startedMs);
  }

  /** Notes a success of a request that began at `startedMs` (monotonic). */
  succeeded(startedMs: number): void {
    this.#lastAttemptAtMs = this.#lastSuccessAtMs = this.options.clock.nowMs();
    if (this.#wasRefusedSince(startedMs)) return;
    this.#failingSinceAtMs = null;
    this.#error = null;
    this.answered(startedMs);
  }

  /** True if the service has refused the key to this part after a request had begun: its success is older news. */
  #wasRefusedSince(startedMs: number): boolean {
    return this.isKeyRefused && this.#watch?.wasRefusedSince(startedMs) === true;
  }

  /**
   * Notes a failure; an abort by this program is not one. `attempt`: the failed attempt is over, and a hold-off may
   * begin; `startedMs` is monotonic.
   */
  failed(
    error: ServiceError | BadContent,
    attempt?: { readonly isRefused: boolean; readonly startedMs: number },
  ): void {
    if (error.reason === 'aborted') return;
    const { clock } = this.options;
    const before = this.#reason;
    this.#error = error;
    this.#lastAttemptAtMs = clock.nowMs();
    if (before !== this.#reason) this.#failingSinceAtMs = this.#lastAttemptAtMs;
    // An attempt that began before the key worked again was refused the key of then.
    const startedMs = Math.min(this.#startedMs, attempt?.startedMs ?? Infinity);
    const mayBeKey = error.reason === 'auth' || this.#isInDoubt;
    if (mayBeKey && this.#watch?.hasRecoveredSince(startedMs) === true) return this.lookAgain();
    const failure = this.#serviceError;
    if (failure === null) this.#holdOff.clear();
    else if (attempt !== undefined)
      this.#holdOff.note(failure, attempt.isRefused, attempt.startedMs, clock.monotonicMs());
    if (error.reason === 'auth') this.#watch?.refused(this);
  }

  /** The failure because of which no request should be sent now; null if one may be sent. */
  held(): ServiceError | null {
    const isHeld = this.isKeyRefused || this.heldMs() > 0;
    const held = isHeld ? this.#serviceError : null;
    // The key was replaced meanwhile, so there is no reason to wait.
    if (held?.reason !== 'auth' || !this.options.client.isKeyNew()) return held;
    this.#holdOff.clear();
    return null;
  }

  /** The rest of the hold-off; 0 while the key is refused to all parts. */
  heldMs(): number {
    return this.isKeyRefused ? 0 : this.#holdOff.remainingMs(this.options.clock.monotonicMs());
  }

  /** True while this part waits because the key itself is refused. */
  get isKeyRefused(): boolean {
    return this.isRefused && this.#watch?.isRefused === true;
  }

  /** True while the service seems to refuse the key to this part. */
  get isRefused(): boolean {
    return this.#reason === 'auth';
  }

  /** Null if the last answer had a status of success. */
  get #serviceError(): ServiceError | null {
    const error = this.#error;
    return error !== null && 'kind' in error ? error : null;
  }

  /** A 400 may be about the parameters or the key: the other reports decide. */
  get #reason(): string {
    return this.#isInDoubt && this.#watch?.isRefused === true
      ? 'auth'
      : (this.#error?.reason ?? '');
  }

  get #isInDoubt(): boolean {
    const error = this.#serviceError;
    return error?.reason === 'bad_request' && error.status === BAD_REQUEST;
  }

  /** Makes the part try at once. */
  lookAgain(): void {
    this.#holdOff.clear();
    this.looks.ring();
  }
}

/** How often the source of a refused key is read. */
const LOOK_MS = 2000;
/** How often one part probes for all. With the answers, all is well within 8 s of a mended key. */
const ASK_MS = 4000;

/** One key at one origin, and all parts that use it. */
export class KeyWatch {
  readonly #clock: Clock;
  readonly #reports: PullReport[] = [];
  readonly #refusals = new Bell();
  /** The parts to which the key is refused since it was last accepted. */
  readonly #refused = new Set<PullReport>();
  /** Those to which it was refused before that: they may lack a permission. */
  readonly #refusedBefore = new Set<PullReport>();
  #askAtMs = -Infinity;
  #askCount = 0;
  /** When the key was last refused, and when it last worked again (monotonic). */
  #refusedAtMs = -Infinity;
  #recoveredAtMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(report: PullReport): void {
    this.#reports.push(report);
  }

  /** True while the key itself is refused. */
  get isRefused(): boolean {
    return this.#refused.size > 0;
  }

  refused(report: PullReport): void {
    this.#refusals.ring();
    if (this.#refusedBefore.has(report)) return;
    this.#refusedAtMs = this.#clock.monotonicMs();
    if (!this.isRefused) this.#askAtMs = this.#refusedAtMs + ASK_MS;
    this.#refused.add(report);
  }

  /**
   * Notes that the service has accepted the key from a part: all waiting parts try again. A request that began before
   * the last refusal proves nothing.
   */
  accepted(report: PullReport, startedMs: number): void {
    if (this.isRefused) {
      if (this.wasRefusedSince(startedMs)) return;
      this.#release(this.#reports.filter(({ isRefused }) => isRefused));
    }
    this.#refusedBefore.delete(report);
  }

  /** True if the key was refused after this time (monotonic). */
  wasRefusedSince(timeMs: number): boolean {
    return timeMs < this.#refusedAtMs;
  }

  /** True if the key was refused at this time (monotonic) or later, and works again. */
  hasRecoveredSince(timeMs: number): boolean {
    return timeMs < this.#recoveredAtMs;
  }

  #release(waiting: readonly PullReport[]): void {
    this.#recoveredAtMs = this.#clock.monotonicMs();
    for (const report of this.#refused) this.#refusedBefore.add(report);
    this.#refused.clear();
    for (const report of waiting) report.lookAgain();
  }

  /** While a key is refused, reads its source and probes for all parts. Runs until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const seen = this.#refusals.rings;
      if (this.#reports.every(report => !report.isRefused)) await this.#refusals.wait(seen, stop);
      await this.#clock.sleep(LOOK_MS, stop);
      if (!stop.aborted) await this.#look(stop);
    }
  }

  async #look(stop: AbortSignal): Promise<void> {
    const refused = this.#reports.filter(report => report.isRefused);
    const isKeyNew = refused.some(report => report.options.client.isKeyNew());
    const isDue = this.isRefused && this.#clock.monotonicMs() >= this.#askAtMs;
    if (!isKeyNew && !isDue) return;
    // In turns, because one part may lack a permission that the others have.
    const asker = refused[this.#askCount++ % Math.max(refused.length, 1)];
    if (asker === undefined) return;
    const result = await asker.options.probe(stop);
    if (result.ok || result.error.reason === 'too_large') {
      this.#release(refused);
      return;
    }
    if (result.error.reason === 'auth') asker.failed(result.error);
    this.#askAtMs = this.#clock.monotonicMs() + Math.max(ASK_MS, result.error.retryAfterMs ?? 0);
  }
}

export const PULL_COUNTERS = {
  up: {
    name: 'prom2otlp_pull_up',
    help: '1 if the last attempt to read metrics, logs or backups of a target succeeded; else 0, with the reason.',
    labels: ['pull', 'target', 'reason'],
  },
  lastSuccess: {
    name: 'prom2otlp_pull_last_success_timestamp_seconds',
    help: 'When metrics, logs or backups of a target were last read, as Unix time; 0 before the first time.',
    labels: ['pull', 'target'],
  },
} as const;

/** Makes the gauges show these reports. */
export function followPulls(counters: Counters, reports: readonly PullReport[]): void {
  const { up, lastSuccess } = counters.of(PULL_COUNTERS);
  const tried = (): readonly PullStatus[] => [
    // Two targets may have the same name, but a gauge has one series per name.
    ...new Map(
      reports
        .map(report => report.status)
        .filter(({ state }) => state !== 'waiting')
        .sort((a, b) => Number(a.state === 'failed') - Number(b.state === 'failed'))
        .map(status => [`${status.kind} ${status.target}`, status]),
    ).values(),
  ];
  up.follow(() =>
    tried().map(({ kind, target, state, reason }) => ({
      labelValues: [kind, target, reason],
      value: state === 'ok' ? 1 : 0,
    })),
  );
  lastSuccess.follow(() =>
    tried().map(({ kind, target, lastSuccessAtMs }) => ({
      labelValues: [kind, target],
      value: (lastSuccessAtMs ?? 0) / 1000,
    })),
  );
}
