// The counters and log lines of a sender.

import type { Clock } from '../../lib/clock.ts';
import type { Counters, CountersOf } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import { ThrottledLog } from '../../lib/throttled-log.ts';
import type { Signal } from '../../model/batch.ts';
import type { SetAside, Settlement } from '../queue/queue.ts';
import type { SendResult } from './transport.ts';

export interface SendMeterOptions {
  readonly signal: Signal;
  /** The back end in log lines: its URL without user, password and query. */
  readonly endpoint: string;
  readonly counters: Counters;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** One attempt to send. */
export interface Attempt {
  readonly result: SendResult;
  readonly points: number;
  readonly bodyBytes: number;
  readonly durationMs: number;
  /** True if the same points were sent before and no answer settled them. */
  readonly isResend: boolean;
}

export const SEND_COUNTERS = {
  requests: {
    name: 'prom2otlp_send_requests_total',
    help: 'Requests to the back end by outcome.',
    labels: ['signal', 'outcome'],
  },
  seconds: {
    name: 'prom2otlp_send_seconds_total',
    help: 'Time spent in requests to the back end.',
    labels: ['signal'],
  },
  bytes: {
    name: 'prom2otlp_send_bytes_total',
    help: 'Bytes of request bodies, compressed.',
    labels: ['signal'],
  },
  points: {
    name: 'prom2otlp_send_points_total',
    help: 'Points or log records that left the queue, by fate.',
    labels: ['signal', 'fate'],
  },
  resent: {
    name: 'prom2otlp_send_resent_points_total',
    help: 'Points or log records sent again because no answer settled them.',
    labels: ['signal'],
  },
  asked: {
    name: 'prom2otlp_send_empty_requests_total',
    help: 'Empty requests that checked whether the back end is reachable, by outcome.',
    labels: ['signal', 'outcome'],
  },
  lastAccepted: {
    name: 'prom2otlp_send_last_accepted_timestamp_seconds',
    help: 'Time of the last request that the back end accepted, in seconds since the epoch; absent before the first one.',
    labels: ['signal'],
  },
} as const;

export class SendMeter {
  /** In every log line. */
  readonly #fields: Pick<SendMeterOptions, 'signal' | 'endpoint'>;
  readonly #clock: Clock;
  readonly #log: ThrottledLog;
  readonly #counters: CountersOf<typeof SEND_COUNTERS>;

  constructor({ signal, endpoint, counters, logger, clock }: SendMeterOptions) {
    this.#fields = { signal, endpoint };
    this.#clock = clock;
    this.#log = new ThrottledLog(logger, clock);
    this.#counters = counters.of(SEND_COUNTERS);
  }

  attempt({ result, points, bodyBytes, durationMs, isResend }: Attempt): void {
    const { signal } = this.#fields;
    this.#counters.requests.add(1, signal, result.kind);
    this.#counters.seconds.add(durationMs / 1000, signal);
    this.#counters.bytes.add(bodyBytes, signal);
    if (isResend) this.#counters.resent.add(points, signal);
    if (result.kind === 'accepted') {
      const { rejected, message: reason } = result;
      this.#counters.lastAccepted.set(this.#clock.nowMs() / 1000, signal);
      if (rejected > 0 || reason !== '')
        this.#log.warn(
          'partial',
          { ...this.#fields, rejected, reason },
          'the back end rejected some points',
        );
    }
    if (result.kind === 'retry' || result.kind === 'hold')
      this.#log.warn(
        result.kind,
        { ...this.#fields, points, reason: result.reason },
        'cannot send to the back end; the points wait',
      );
  }

  asked({ kind }: SendResult): void {
    this.#counters.asked.add(1, this.#fields.signal, kind);
  }

  settled(settlements: readonly Settlement[], aside: readonly SetAside[]): void {
    const { signal } = this.#fields;
    for (const { accepted, rejected, setAside } of settlements) {
      this.#counters.points.add(accepted, signal, 'accepted');
      this.#counters.points.add(rejected, signal, 'rejected');
      this.#counters.points.add(setAside, signal, 'set_aside');
    }
    const [first] = aside;
    if (first === undefined) return;
    const points = aside.reduce((sum, entry) => sum + entry.points, 0);
    const { service, reason } = first;
    this.#log.error(
      'aside',
      { ...this.#fields, points, service, reason },
      'the back end refuses points for good; they were set aside',
    );
  }

  /** The back end accepts again after an outage. */
  recovered(downMs: number): void {
    this.#log.plain.info({ ...this.#fields, downMs }, 'the back end accepts again');
  }
}
