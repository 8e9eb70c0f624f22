// One target's polls: asks the service for the page, recognises answers that are no page, and holds off where asking
// again would do harm. Out comes a page or a failure with one of a closed set of reasons, never an exception;
// a due time at which the target is held off gives a failure too, so that `up` is 0 and not silent.

import { bug } from '../../errors.ts';
import type { BodyBuffer, BodyBufferPool } from '../../lib/body-buffer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counter, Counters } from '../../lib/counters.ts';
import { HoldOff } from '../../lib/hold-off.ts';
import type { ExpositionFormat, Page, ScrapeTime } from '../../model/page.ts';
import type { ErrorFacts, ServiceError } from '../../service/service-error.ts';
import { headerText } from '../../service/exchange.ts';
import type { ServiceAnswer, ServiceHttp, ServiceResult } from '../../service/http-client.ts';
import type { Target } from './plan-targets.ts';

/** Why a scrape brought no page; in the words of the service's client. */
export interface ScrapeFailure extends ErrorFacts, ScrapeTime {
  readonly kind: 'failure';
  /** True when the service was not asked because of an earlier failure, which is the one reported here. */
  readonly isHeld: boolean;
}

export type ScrapeResult =
  | {
      readonly kind: 'page';
      /** Valid until `release` or the next scrape. */
      readonly page: Page;
      /** Something odd about it that has not been said before, or null. */
      readonly notice: string | null;
    }
  | ScrapeFailure;

export interface ScraperOptions {
  readonly target: Target;
  readonly client: ServiceHttp;
  /** Of the unpacked page: `metrics.limits.body`, or less, where other things take the memory. Asked at every poll. */
  readonly bodyBytesMax: () => number;
  /** Shared by all targets. */
  readonly buffers: BodyBufferPool;
  readonly clock: Clock;
  readonly counters: Counters;
}

/** OpenMetrics first, then the plain text format; a type that is not named here never wins over them. */
const ACCEPT =
  'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

/** A refused key is tried again at least this often. */
const HOLD_MS_MAX = 300_000;

/** Without an answer the service's clock says nothing. */
const NO_ANSWER = { serverAtMs: Number.NaN } as const;

export class Scraper {
  readonly target: Target;
  readonly #options: ScraperOptions;
  readonly #holdOff: HoldOff<ServiceError>;
  readonly #meter: Meter;
  #buffer: BodyBuffer | null = null;
  #isRunning = false;
  #lastNotice: string | null = null;

  constructor(options: ScraperOptions) {
    this.#options = options;
    this.target = options.target;
    const { intervalMs } = options.target;
    // Any failure but a refused key is tried again when it is due: metrics that are not read are lost.
    this.#holdOff = new HoldOff({
      firstMs: intervalMs,
      maxMs: Math.max(HOLD_MS_MAX, intervalMs),
      dueEveryMs: intervalMs,
    });
    this.#meter = createMeter(options.counters);
  }

  /** Polls once. A second call before the first has ended is a bug: no target is asked twice at once. */
  async scrape(signal?: AbortSignal): Promise<ScrapeResult> {
    if (this.#isRunning) bug(`the target ${this.target.id} is scraped twice at once`);
    this.#isRunning = true;
    try {
      const result = this.#heldOff() ?? (await this.#poll(signal));
      this.#meter.scrapes.add(1, result.kind === 'page' ? 'ok' : result.reason);
      return result;
    } finally {
      this.#isRunning = false;
    }
  }

  /** The page has been used: its memory goes to the next target. */
  release(): void {
    if (this.#buffer === null || this.#isRunning) return;
    this.#options.buffers.give(this.#buffer);
    this.#buffer = null;
  }

  #heldOff(): ScrapeFailure | null {
    const { client, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const failure = this.#holdOff.heldFor(nowMs);
    if (failure === null) return null;
    // The key has been put right meanwhile: there is nothing to wait for.
    if (failure.reason === 'auth' && client.isKeyNew()) {
      this.#holdOff.clear();
      return null;
    }
    this.#meter.held.add(1, failure.reason);
    const seconds = Math.ceil(this.#holdOff.remainingMs(nowMs) / 1000);
    const message = `${failure.message}; not asked again for ${seconds} s`;
    const time = { startedAtMs: clock.nowMs(), monotonicMs: nowMs, ...NO_ANSWER, durationMs: 0 };
    return { ...failure, ...time, kind: 'failure', message, isHeld: true };
  }

  async #poll(signal: AbortSignal | undefined): Promise<ScrapeResult> {
    const { client, clock, buffers, bodyBytesMax } = this.#options;
    this.#buffer ??= buffers.take();
    const startMs = clock.monotonicMs();
    const result = await client.get(this.target.path, {
      accept: ACCEPT,
      maxBodyBytes: bodyBytesMax(),
      into: this.#buffer,
      priority: 'metrics',
      signal,
    });
    if (result.ok) {
      this.#holdOff.clear();
      this.#meter.bodyBytes.add(result.body.length);
      this.#meter.wireBytes.add(result.wireBytes);
      return this.#read(result, startMs);
    }
    const { error: failure, startedAtMs, durationMs } = result;
    this.#holdOff.note(failure, failure.reason === 'auth', startMs, clock.monotonicMs());
    const hint =
      failure.reason === 'too_large'
        ? 'raise metrics.limits.body if pages of this size are expected'
        : failure.hint;
    const time = { startedAtMs, monotonicMs: startMs, durationMs, ...NO_ANSWER };
    return { ...failure, ...time, kind: 'failure', hint, isHeld: false };
  }

  #read(
    answer: ServiceResult<ServiceAnswer> & { readonly ok: true },
    monotonicMs: number,
  ): ScrapeResult {
    const { body: bytes, wireBytes, startedAtMs, durationMs, status } = answer;
    const serverAtMs = Date.parse(headerText(answer.headers, 'date'));
    const time = { startedAtMs, monotonicMs, durationMs, serverAtMs };
    const recognized = recognize(bytes, answer.contentType);
    if (recognized.kind === 'page') {
      const { format, notice } = recognized;
      const page = { bytes, format, wireBytes, ...time };
      return { kind: 'page', page, notice: this.#unsaid(notice) };
    }
    const { api, path } = this.target;
    const address = `${api.baseUrl}${path}`.replace(/\?.*/s, '');
    const isEmpty = recognized.kind === 'empty';
    const what = isEmpty ? 'empty' : recognized.what;
    return {
      kind: 'failure',
      reason: recognized.kind,
      message: `cannot read metrics from ${address}: the answer is ${what}`,
      hint: isEmpty
        ? 'check that the key may see the services that are configured'
        : 'check api.base_url and metrics.path',
      status,
      isOutcomeUnknown: false,
      ...time,
      isHeld: false,
    };
  }

  /** A notice that is not the last one's repetition. */
  #unsaid(notice: string | null): string | null {
    if (notice === null || notice === this.#lastNotice) return null;
    this.#lastNotice = notice;
    return notice;
  }
}

interface Meter {
  readonly scrapes: Counter;
  readonly held: Counter;
  readonly bodyBytes: Counter;
  readonly wireBytes: Counter;
}

function createMeter(counters: Counters): Meter {
  return {
    scrapes: counters.counter(
      'prom2otlp_collect_scrapes_total',
      'Due scrapes by result: ok, or the reason of the failure.',
      ['result'],
    ),
    held: counters.counter(
      'prom2otlp_collect_held_total',
      'Due scrapes that sent no request because of an earlier failure, by that failure.',
      ['reason'],
    ),
    bodyBytes: counters.counter('prom2otlp_collect_body_bytes_total', 'Bytes of pages, unpacked.'),
    wireBytes: counters.counter(
      'prom2otlp_collect_wire_bytes_total',
      'Bytes of pages as received over the wire.',
    ),
  };
}

// What an answer is: by its Content-Type and its first bytes, never more. A page is read all the same when only its type is
// odd; what can be no page at all (a login form, an error in JSON) has a reason of its own, which says more than ten
// thousand bad lines would.

export type Recognized =
  | {
      readonly kind: 'page';
      readonly format: ExpositionFormat;
      /** What is odd about its Content-Type, to be said once, or null. */
      readonly notice: string | null;
    }
  | { readonly kind: 'empty' }
  | {
      readonly kind: 'not_metrics';
      /** `a web page`, `JSON`, `binary data`. */
      readonly what: string;
    };

/** No more of a body is looked at, however it begins. */
const LOOKED_AT_BYTES = 1024;
/** With the three bytes of a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/** Recognises the two text formats, and what else an answer may be. The words never repeat the answer. */
export function recognize(body: Buffer, contentType: string): Recognized {
  const head = body.subarray(0, LOOKED_AT_BYTES);
  const start = head.findIndex(byte => !BLANKS.has(byte));
  if (start === -1 && head.length === body.length) return { kind: 'empty' };
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const what = strangerOf(head, start, type);
  if (what !== null) return { kind: 'not_metrics', what };
  const format = type === 'application/openmetrics-text' ? 'openmetrics' : 'text';
  return { kind: 'page', format, notice: noticeOf(type) };
}

function strangerOf(head: Buffer, start: number, type: string): string | null {
  const first = String.fromCharCode(head[start] ?? 0x20);
  if (first === '<') return 'a web page';
  // A quoted metric name begins with the same brace as JSON does: there the type decides.
  if (first === '[' || (first === '{' && type.endsWith('json'))) return 'JSON';
  return head.includes(0) || type === 'application/vnd.google.protobuf' ? 'binary data' : null;
}

function noticeOf(type: string): string | null {
  if (type === 'application/openmetrics-text' || type === 'text/plain') return null;
  const problem = type === '' ? 'has no Content-Type' : 'has a Content-Type of neither text format';
  return `the page ${problem}; it is read as Prometheus text 0.0.4`;
}
