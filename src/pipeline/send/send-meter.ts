// The sender's own counters and log lines. It counts what happened; it decides nothing.

import type { Clock } from '../../lib/clock.ts';
import type { Counter, Counters } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import { Throttle } from '../../lib/throttle.ts';
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
  /** True when the same points were sent before and no answer decided about them. */
  readonly isResend: boolean;
}

export class SendMeter {
  readonly #options: SendMeterOptions;
  readonly #throttle: Throttle;
  readonly #requests: Counter;
  readonly #seconds: Counter;
  readonly #bytes: Counter;
  readonly #points: Counter;
  readonly #resent: Counter;
  readonly #asked: Counter;

  constructor(options: SendMeterOptions) {
    const { counters, clock } = options;
    this.#options = options;
    this.#throttle = new Throttle({ clock });
    this.#requests = counters.counter(
      'prom2otlp_send_requests_total',
      'Requests to the back end by outcome.',
      ['signal', 'outcome'],
    );
    this.#seconds = counters.counter(
      'prom2otlp_send_seconds_total',
      'Time spent in requests to the back end.',
      ['signal'],
    );
    this.#bytes = counters.counter(
      'prom2otlp_send_bytes_total',
      'Bytes of request bodies, compressed.',
      ['signal'],
    );
    this.#points = counters.counter(
      'prom2otlp_send_points_total',
      'Points or log records that left the queue, by fate.',
      ['signal', 'fate'],
    );
    this.#resent = counters.counter(
      'prom2otlp_send_resent_points_total',
      'Points or log records sent again because no answer settled them.',
      ['signal'],
    );
    this.#asked = counters.counter(
      'prom2otlp_send_empty_requests_total',
      'Empty requests that checked whether the back end is reachable, by outcome.',
      ['signal', 'outcome'],
    );
  }

  attempt({ result, points, bodyBytes, durationMs, isResend }: Attempt): void {
    const { signal } = this.#options;
    this.#requests.add(1, signal, result.kind);
    this.#seconds.add(durationMs / 1000, signal);
    this.#bytes.add(bodyBytes, signal);
    if (isResend) this.#resent.add(points, signal);
    if (result.kind === 'retry' || result.kind === 'hold') this.#warnRefused(result, points);
    if (result.kind === 'accepted' && (result.rejected > 0 || result.message !== ''))
      this.#warnPartial(result.rejected, result.message);
  }

  asked({ kind }: SendResult): void {
    this.#asked.add(1, this.#options.signal, kind);
  }

  settled(settlements: readonly Settlement[], aside: readonly SetAside[]): void {
    const { signal } = this.#options;
    for (const { accepted, rejected, setAside } of settlements) {
      this.#points.add(accepted, signal, 'accepted');
      this.#points.add(rejected, signal, 'rejected');
      this.#points.add(setAside, signal, 'set_aside');
    }
    const [first] = aside;
    if (first === undefined) return;
    const points = aside.reduce((sum, entry) => sum + entry.points, 0);
    this.#log('aside', (fields, logger) =>
      logger.error(
        { ...fields, points, service: first.service, reason: first.reason },
        'the back end refuses points for good; they were set aside',
      ),
    );
  }

  /** The back end accepts again after an outage. */
  recovered(downMs: number): void {
    const { signal, endpoint, logger } = this.#options;
    logger.info({ signal, endpoint, downMs }, 'the back end accepts again');
  }

  #warnRefused(result: Extract<SendResult, { reason: string }>, points: number): void {
    const { kind, reason } = result;
    this.#log(kind, (fields, logger) =>
      logger.warn({ ...fields, points, reason }, 'cannot send to the back end; the points wait'),
    );
  }

  #warnPartial(rejected: number, message: string): void {
    this.#log('partial', (fields, logger) =>
      logger.warn({ ...fields, rejected, reason: message }, 'the back end rejected some points'),
    );
  }

  #log(
    key: string,
    write: (fields: Readonly<Record<string, unknown>>, logger: Logger) => void,
  ): void {
    const { signal, endpoint, logger } = this.#options;
    this.#throttle.run(key, swallowedCount => write({ signal, endpoint, swallowedCount }, logger));
  }
}
