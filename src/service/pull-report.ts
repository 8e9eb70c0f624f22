// The status of each part that polls the service: the metrics of a target, the logs of an API, the backups of an API. In:
// the outcome of every attempt. Out: the state for the status page; two gauges, from the first attempt on; and the time
// in which no request should be sent.
//
// The reports of one origin and key share a KeyWatch. If the service has refused the key to every part that has tried
// since the key was last accepted, these parts wait, and one small request probes for all (decision 57). A report only
// waits after its own refusal, so that a missing permission for one area does not stop the others.

import { Bell } from '../lib/bell.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { PullSchedule } from '../lib/pull-schedule.ts';
import { HoldOff, type HoldOffOptions } from '../lib/hold-off.ts';
import type { ServiceHttp } from './http-client.ts';
import type { Result, ServiceError } from './service-error.ts';

export type PullKind = 'metrics' | 'logs' | 'backups';

/** Times are wall clock, in milliseconds; null if it has not happened yet. */
interface PullTimes {
  lastAttemptAtMs: number | null;
  lastSuccessAtMs: number | null;
  /** Since when it has failed for this reason. */
  failingSinceAtMs: number | null;
  /** Null while one is running, or none is planned. */
  nextAttemptAtMs: number | null;
}

export interface PullStatus extends Readonly<PullTimes> {
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
  readonly #holdOff: HoldOff;
  readonly #watch: KeyWatch | null;
  /** The last failure; null after a success. */
  #error: ServiceError | BadContent | null = null;
  /** The failure before the running attempt, which may succeed in part and fail again for the same reason. */
  #former: { readonly reason: string; readonly sinceAtMs: number | null } | null = null;
  #times: PullTimes = {
    lastAttemptAtMs: null,
    lastSuccessAtMs: null,
    failingSinceAtMs: null,
    nextAttemptAtMs: null,
  };
  /** When the running attempt of run() began (monotonic). */
  #startedMs = Infinity;

  /** `watch` is shared by the reports of a key. Continues with the state of `former`, the same part of a replaced daemon. */
  constructor(options: PullReportOptions, watch: KeyWatch | null = null, former?: PullReport) {
    this.options = options;
    this.#holdOff = new HoldOff(options.holdOff);
    this.#watch = watch;
    watch?.add(this);
    if (former === undefined) return;
    this.#error = former.#error;
    this.#times = { ...former.#times };
  }

  get status(): PullStatus {
    const { kind, target, client, services } = this.options;
    const error = this.#error;
    const stateWithoutError = this.#times.lastAttemptAtMs === null ? 'waiting' : 'ok';
    return {
      kind,
      target,
      origin: client.host,
      serviceCount: services.length,
      firstService: services[0]?.name ?? '',
      state: error === null ? stateWithoutError : 'failed',
      ...this.#times,
      reason: this.#reason,
      message: error?.message ?? '',
      hint: error?.hint ?? '',
    };
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
    // After a reload, the key may be a new one.
    const firstMs = this.isRefused ? 0 : schedule.firstMs(clock.nowMs());
    await this.#wait(firstMs, this.looks.rings, stop);
    while (!stop.aborted) {
      const startedMs = clock.nowMs();
      const seen = this.looks.rings;
      this.#times.nextAttemptAtMs = null;
      this.#startedMs = clock.monotonicMs();
      const { state, reason, failingSinceAtMs: sinceAtMs } = this.status;
      this.#former = state === 'failed' ? { reason, sinceAtMs } : null;
      await attempt(this.held());
      this.#startedMs = Infinity;
      this.#former = null;
      const dueMs = schedule.nextMs(startedMs, clock.nowMs());
      await this.#wait(Math.max(dueMs, this.heldMs()), seen, stop);
    }
  }

  /** Waits for `ms`, or until `looks` has rung after `seen`. */
  async #wait(ms: number, seen: number, stop: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const untilMs = clock.monotonicMs() + ms;
    this.#times.nextAttemptAtMs = clock.nowMs() + ms;
    // A timer lasts at most 24 days; a cron expression may need more.
    for (
      let leftMs = ms;
      leftMs > 0 && !stop.aborted && this.looks.rings === seen;
      leftMs = untilMs - clock.monotonicMs()
    )
      await this.looks.wait(seen, stop, { clock, ms: leftMs });
  }

  /** Notes that the service has accepted the key of a request that began at `startedMs` (monotonic). */
  answered(startedMs: number): void {
    if (this.#wasRefusedSince(startedMs)) return;
    const isRunning = this.#startedMs < Infinity;
    this.#holdOff.clear();
    // A running attempt may have been refused in part: it is repeated, too.
    this.#watch?.accepted(startedMs, isRunning ? null : this);
    // A later refusal in this attempt comes from a service that accepts the key.
    if (isRunning) this.#startedMs = this.options.clock.monotonicMs();
  }

  /**
   * Notes a success of a request that began at `startedMs` (monotonic). `isWhole`: the attempt is over, and nothing was
   * refused in it.
   */
  succeeded(startedMs: number, isWhole = true): void {
    this.#times.lastAttemptAtMs = this.#times.lastSuccessAtMs = this.options.clock.nowMs();
    if (this.#wasRefusedSince(startedMs)) return;
    this.#times.failingSinceAtMs = null;
    this.#error = null;
    this.answered(startedMs);
    if (isWhole) this.#watch?.noteWhole(this);
  }

  /** True if the last attempt, or the last request of the running one, has succeeded. */
  get isWell(): boolean {
    return this.#error === null && this.#times.lastSuccessAtMs !== null;
  }

  /** True if the key was refused after a request had begun, and still is: the request's success is outdated. */
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
    this.#times.lastAttemptAtMs = clock.nowMs();
    const reason = this.#reason;
    const sinceAtMs = this.#former?.reason === reason ? this.#former.sinceAtMs : null;
    if (before !== reason) this.#times.failingSinceAtMs = sinceAtMs ?? this.#times.lastAttemptAtMs;
    // If the attempt began before the key worked again, its refusal is outdated.
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
/** How often one part probes for all. Including the answers, all parts work within 8 s of a mended key. */
const ASK_MS = 4000;

/**
 * One key at one origin, and all parts that use it. A part to which a working key is refused lacks a permission: its
 * refusals do not count for the other parts until one of its attempts succeeds as a whole. Before this is concluded, the
 * part may try twice, because the refusal may have been temporary. Times are monotonic.
 */
export class KeyWatch {
  readonly #clock: Clock;
  readonly #reports: PullReport[] = [];
  readonly #refusals = new Bell();
  /** The parts to which the key is refused since it was last accepted. While there is one, the key counts as refused. */
  readonly #refused = new Set<PullReport>();
  /** The parts that seem to lack a permission, and whether they have tried twice. */
  readonly #withoutPermission = new Map<PullReport, boolean>();
  /** The parts without permission that were refused again: a probe must show whether the key still works. */
  readonly #inDoubt = new Set<PullReport>();
  readonly #probes = new Map<PullReport, Promise<void>>();
  /** When a part may probe again, according to Retry-After. */
  readonly #notBeforeMs = new Map<PullReport, number>();
  #askAtMs = -Infinity;
  #askCount = 0;
  /** When the key was last refused to a part that had not been refused, and when it last worked again. */
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
    if (this.#withoutPermission.has(report)) this.#inDoubt.add(report);
    else this.#count(report);
  }

  #count(report: PullReport): void {
    const nowMs = this.#clock.monotonicMs();
    if (!this.isRefused) this.#askAtMs = nowMs + ASK_MS;
    if (!this.#refused.has(report)) this.#refusedAtMs = nowMs;
    this.#refused.add(report);
    this.#withoutPermission.delete(report);
  }

  /**
   * Notes that the service has accepted the key of a request that began at `startedMs`: all waiting parts try again,
   * except `done`. A request that began before the last refusal proves nothing.
   */
  accepted(startedMs: number, done: PullReport | null): void {
    if (this.isRefused && !this.wasRefusedSince(startedMs)) this.#release(done);
  }

  /** Notes that an attempt of the part has succeeded as a whole. */
  noteWhole(report: PullReport): void {
    this.#withoutPermission.delete(report);
  }

  /** True if the key was refused after this time. */
  wasRefusedSince(timeMs: number): boolean {
    return timeMs < this.#refusedAtMs;
  }

  /** True if a refused key began to work again after this time. */
  hasRecoveredSince(timeMs: number): boolean {
    return timeMs < this.#recoveredAtMs;
  }

  #release(done: PullReport | null): void {
    this.#recoveredAtMs = this.#clock.monotonicMs();
    for (const report of this.#refused) this.#withoutPermission.set(report, false);
    this.#refused.clear();
    const waiting = new Set([...this.#refusedReports(), ...this.#inDoubt]);
    this.#inDoubt.clear();
    for (const report of waiting) if (report !== done) report.lookAgain();
  }

  #refusedReports(): readonly PullReport[] {
    return this.#reports.filter(({ isRefused }) => isRefused);
  }

  /** While a key is refused, reads its source and probes for all parts. Runs until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const seen = this.#refusals.rings;
      const isQuiet = this.#refusedReports().length === 0 && this.#inDoubt.size === 0;
      if (isQuiet) await this.#refusals.wait(seen, stop);
      await this.#clock.sleep(LOOK_MS, stop);
      if (!stop.aborted) this.#look(stop);
    }
    await Promise.all(this.#probes.values());
  }

  /** Starts a probe if one is due. A slow probe does not delay the others. */
  #look(stop: AbortSignal): void {
    const nowMs = this.#clock.monotonicMs();
    const refused = this.#refusedReports();
    const isKeyNew =
      this.#probes.size === 0 && refused.some(({ options }) => options.client.isKeyNew());
    const isDue = nowMs >= this.#askAtMs && (this.isRefused || this.#inDoubt.size > 0);
    if (!isKeyNew && !isDue) return;
    const asker = this.#nextAsker(refused, nowMs);
    if (asker === undefined) return;
    this.#askAtMs = nowMs + ASK_MS;
    const probe = this.#probe(asker, isKeyNew, stop).finally(() => this.#probes.delete(asker));
    this.#probes.set(asker, probe);
  }

  /**
   * The next part to probe: the refused parts in turn, and one that is well, if any, because each may lack a permission
   * that the others have. If only permissions are in doubt, a part that is well probes.
   */
  #nextAsker(refused: readonly PullReport[], nowMs: number): PullReport | undefined {
    const isFree = (report: PullReport): boolean =>
      !this.#probes.has(report) && (this.#notBeforeMs.get(report) ?? nowMs) <= nowMs;
    const well = this.#reports.find(report => report.isWell && isFree(report));
    if (well !== undefined && !this.isRefused) return well;
    const askers = [...(well === undefined ? [] : [well]), ...refused.filter(isFree)];
    return askers[this.#askCount++ % Math.max(askers.length, 1)];
  }

  /** Called when the key works: each part in doubt may try for the second time. */
  #settleDoubts(): void {
    for (const report of this.#inDoubt) {
      if (this.#withoutPermission.get(report) !== false) continue;
      this.#withoutPermission.set(report, true);
      report.lookAgain();
    }
    this.#inDoubt.clear();
  }

  async #probe(asker: PullReport, isKeyNew: boolean, stop: AbortSignal): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    const result = await asker.options.probe(stop);
    if (result.ok || result.error.reason === 'too_large') {
      if (this.isRefused ? !this.wasRefusedSince(startedMs) : isKeyNew) this.#release(null);
      else if (!this.isRefused) this.#settleDoubts();
      return;
    }
    const { error } = result;
    this.#notBeforeMs.set(asker, this.#clock.monotonicMs() + (error.retryAfterMs ?? 0));
    if (error.reason !== 'auth' || this.hasRecoveredSince(startedMs)) return;
    // If no other part is well, the key itself counts as refused: no permission is known to be missing.
    if (!this.#reports.some(report => report.isWell && report !== asker))
      for (const report of this.#refusedReports()) this.#count(report);
    asker.failed(error);
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
