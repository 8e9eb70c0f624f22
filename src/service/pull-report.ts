// The status of each part that polls the service: the metrics of a target, the logs of an API, the backups of an API. In:
// the outcome of every attempt. Out: the state for the status page; two gauges, from the first attempt on; and the time
// in which no request should be sent.
//
// The reports of one origin and key share a KeyHold: while the service refuses the key itself, none of them sends a
// request (decision 57).

import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { PullSchedule } from '../lib/pull-schedule.ts';
import { HoldOff, type HoldOffOptions } from '../lib/hold-off.ts';
import type { ServiceHttp } from './http-client.ts';
import type { KeyHold } from './key-hold.ts';
import type { ServiceError } from './service-error.ts';

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
  /** True if the key is refused to all. With the reason `auth` alone it lacks a right for this part. */
  readonly isKeyRefused: boolean;
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
  /** How often it is due. */
  readonly intervalMs: number;
}

/** The problem of an answer with a status of success, such as `limit_samples`. */
export interface BadContent {
  readonly reason: string;
  readonly message: string;
  readonly hint: string;
}

export class PullReport {
  readonly options: PullReportOptions;
  readonly #holdOff: HoldOff;
  readonly #key: KeyHold | null;
  /** The last failure; null after a success. */
  #error: ServiceError | BadContent | null = null;
  /** The failure before the running attempt, which may succeed in part and fail again for the same reason. */
  #former: { readonly reason: string; readonly sinceAtMs: number | null } | null = null;
  /** When the running or last attempt of run() began, and when the key was last accepted; monotonic. */
  #startedMs = Infinity;
  #acceptedMs = -Infinity;
  #times: PullTimes = {
    lastAttemptAtMs: null,
    lastSuccessAtMs: null,
    failingSinceAtMs: null,
    nextAttemptAtMs: null,
  };

  /** `key` is shared by the reports of a key. */
  constructor(options: PullReportOptions, key: KeyHold | null = null) {
    this.options = options;
    this.#holdOff = new HoldOff(options.holdOff);
    this.#key = key;
  }

  /** Takes over the state of the same part before a reload. */
  continue(former: PullReport): void {
    this.#error = former.#error;
    this.#times = { ...former.#times };
  }

  /** Unique among all parts. */
  get name(): string {
    return `${this.options.kind} ${this.options.id}`;
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
      isKeyRefused: this.#isRefused && this.#key?.isAccepted === false,
    };
  }

  /**
   * Attempts on schedule until `stop`; while the key is refused, as soon as the hold is over. `attempt` gets the failure
   * because of which it should send no request, or null.
   */
  async run(
    schedule: PullSchedule,
    attempt: (held: ServiceError | null) => Promise<void>,
    stop: AbortSignal,
  ): Promise<void> {
    const { clock } = this.options;
    // After a reload, the key may be a new one.
    await this.#wait(this.#isRefused ? 0 : schedule.firstMs(clock.nowMs()), stop);
    while (!stop.aborted) {
      const startedMs = clock.nowMs();
      this.#startedMs = clock.monotonicMs();
      this.#times.nextAttemptAtMs = null;
      const { state, reason, failingSinceAtMs: sinceAtMs } = this.status;
      this.#former = state === 'failed' ? { reason, sinceAtMs } : null;
      await attempt(this.held());
      this.#former = null;
      const dueMs = schedule.nextMs(startedMs, clock.nowMs());
      const heldMs = this.heldMs();
      const isForAll = this.status.isKeyRefused && heldMs > 0;
      await this.#wait(isForAll ? heldMs : Math.max(dueMs, heldMs), stop);
    }
  }

  async #wait(ms: number, stop: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const untilMs = clock.monotonicMs() + ms;
    this.#times.nextAttemptAtMs = clock.nowMs() + ms;
    // A timer lasts at most 24 days; a cron expression may need more.
    for (let leftMs = ms; leftMs > 0 && !stop.aborted; leftMs = untilMs - clock.monotonicMs())
      await clock.sleep(leftMs, stop);
  }

  /** Notes that the service has accepted the key. */
  answered(): void {
    this.#acceptedMs = this.options.clock.monotonicMs();
    this.#holdOff.clear();
    this.#key?.succeeded(this.name, this.options.intervalMs);
  }

  /** Notes that a request has succeeded. */
  succeeded(): void {
    this.#times.lastAttemptAtMs = this.#times.lastSuccessAtMs = this.options.clock.nowMs();
    this.#times.failingSinceAtMs = null;
    this.#error = null;
    this.answered();
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
    this.#times.lastAttemptAtMs = clock.nowMs();
    this.#note(error);
    const failure = 'kind' in error ? error : null;
    const isForAll = failure?.reason === 'auth' && this.#isForAll(failure);
    if (failure === null || isForAll) this.#holdOff.clear();
    else if (attempt !== undefined)
      this.#holdOff.note(failure, attempt.isRefused, attempt.startedMs, clock.monotonicMs());
  }

  /** In an attempt in which other requests succeeded, only a 401 is about the key. */
  #isForAll(refusal: ServiceError): boolean {
    const isInPart = refusal.status !== 401 && this.#acceptedMs >= this.#startedMs;
    return !isInPart && this.#key?.refused(this.name, refusal) === true;
  }

  #note(error: ServiceError | BadContent): void {
    const before = this.#reason;
    this.#error = error;
    const reason = this.#reason;
    if (reason === before) return;
    const sinceAtMs = this.#former?.reason === reason ? this.#former.sinceAtMs : null;
    this.#times.failingSinceAtMs = sinceAtMs ?? this.options.clock.nowMs();
  }

  /** The failure because of which no request should be sent now; null if one may be sent. */
  held(): ServiceError | null {
    const refusal = this.#key?.refusal ?? null;
    const held = refusal ?? this.#ownHold;
    if (held?.reason === 'auth' && this.options.client.isKeyNew()) {
      this.#holdOff.clear();
      this.#key?.release();
      return null;
    }
    // A part that was not refused itself fails as well while it is held.
    if (refusal !== null && !this.#isRefused) this.#note(refusal);
    return held;
  }

  /** The rest of the hold, of this part or of all. */
  heldMs(): number {
    const ownMs = this.#holdOff.remainingMs(this.options.clock.monotonicMs());
    return Math.max(ownMs, this.#key?.remainingMs ?? 0);
  }

  get #ownHold(): ServiceError | null {
    const isHeld = this.#holdOff.remainingMs(this.options.clock.monotonicMs()) > 0;
    return isHeld && this.#error !== null && 'kind' in this.#error ? this.#error : null;
  }

  get #isRefused(): boolean {
    return this.#reason === 'auth';
  }

  get #reason(): string {
    return this.#error?.reason ?? '';
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
