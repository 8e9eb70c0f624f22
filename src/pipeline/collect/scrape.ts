// Polls one target: requests the page, detects answers that are not metrics, and holds off where
// repeating a request would do harm. Returns a page or a failure with one of a fixed set of
// reasons, and never throws. A poll that is held off is a failure too, so that `up` becomes 0.

import { bug } from '../../errors.ts';
import type { BodyBuffer, BodyBufferPool } from '../../lib/body-buffer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counters, CountersOf } from '../../lib/counters.ts';
import { printableUrl } from '../../lib/printable.ts';
import type { ExpositionFormat, Page, ScrapeTime } from '../../model/page.ts';
import { PullReport, type PullReportOptions } from '../../service/pull-report.ts';
import type { ErrorFacts, ServiceError } from '../../service/service-error.ts';
import { headerText, PAGE_ACCEPT } from '../../service/exchange.ts';
import type { ServiceAnswer, ServiceHttp, ServiceResult } from '../../service/http-client.ts';
import type { Target } from './plan-targets.ts';

/** Why a scrape brought no page, in the terms of the API client. */
export interface ScrapeFailure extends ErrorFacts, ScrapeTime {
  readonly kind: 'failure';
}

export type ScrapeResult =
  | {
      readonly kind: 'page';
      /** Valid until `release` or the next scrape. */
      readonly page: Page;
    }
  | ScrapeFailure;

export interface ScraperOptions {
  readonly target: Target;
  readonly client: ServiceHttp;
  /** Limit of the inflated page: `metrics.limits.body`, or what the memory leaves. Read at each poll. */
  readonly bodyBytesMax: () => number;
  /** Shared by all targets. */
  readonly buffers: BodyBufferPool;
  readonly clock: Clock;
  readonly counters: Counters;
  /** Receives the outcomes; if absent, the scraper creates one. */
  readonly report?: PullReport;
}

/** A refused key is tried again at least this often. */
const HOLD_MS_MAX = 300_000;

export const SCRAPE_COUNTERS = {
  scrapes: {
    name: 'prom2otlp_collect_scrapes_total',
    help: 'Due scrapes by result: ok, or the reason of the failure.',
    labels: ['result'],
  },
  held: {
    name: 'prom2otlp_collect_held_total',
    help: 'Due scrapes that sent no request because of an earlier failure, by that failure.',
    labels: ['reason'],
  },
  bodyBytes: {
    name: 'prom2otlp_collect_body_bytes_total',
    help: 'Bytes of pages, unpacked.',
  },
  wireBytes: {
    name: 'prom2otlp_collect_wire_bytes_total',
    help: 'Bytes of pages as received over the wire.',
  },
} as const;

export class Scraper {
  readonly #options: ScraperOptions;
  readonly #report: PullReport;
  readonly #counters: CountersOf<typeof SCRAPE_COUNTERS>;
  #buffer: BodyBuffer | null = null;
  #isRunning = false;

  constructor(options: ScraperOptions) {
    this.#options = options;
    this.#report = options.report ?? new PullReport(scrapeReport(options.target, options));
    this.#counters = options.counters.of(SCRAPE_COUNTERS);
  }

  /** Polls once. Calling it again before it has finished is a bug. */
  async scrape(signal?: AbortSignal): Promise<ScrapeResult> {
    if (this.#isRunning) bug(`the target ${this.#options.target.id} is scraped twice at once`);
    this.#isRunning = true;
    try {
      const result = this.#heldOff() ?? (await this.#poll(signal));
      this.#counters.scrapes.add(1, result.kind === 'page' ? 'ok' : result.reason);
      return result;
    } finally {
      this.#isRunning = false;
    }
  }

  /** Returns the page's memory to the pool, once the page has been used. */
  release(): void {
    if (this.#buffer === null || this.#isRunning) return;
    this.#options.buffers.give(this.#buffer);
    this.#buffer = null;
  }

  #heldOff(): ScrapeFailure | null {
    const { clock } = this.#options;
    const failure = this.#report.held();
    if (failure === null) return null;
    this.#counters.held.add(1, failure.reason);
    const [startedAtMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const time = { startedAtMs, monotonicMs, durationMs: 0, serverAtMs: Number.NaN };
    return { ...failure, ...time, kind: 'failure' };
  }

  async #poll(signal: AbortSignal | undefined): Promise<ScrapeResult> {
    const { target, client, clock, buffers, bodyBytesMax } = this.#options;
    this.#buffer ??= buffers.take();
    const startMs = clock.monotonicMs();
    const result = await client.get(target.path, {
      accept: PAGE_ACCEPT,
      maxBodyBytes: bodyBytesMax(),
      into: this.#buffer,
      part: 'metrics',
      signal,
    });
    if (result.ok) {
      this.#counters.bodyBytes.add(result.body.length);
      this.#counters.wireBytes.add(result.wireBytes);
      return this.#read(result, startMs);
    }
    const { error: failure, startedAtMs, durationMs } = result;
    const hint = this.#hintOf(failure);
    const time = { startedAtMs, monotonicMs: startMs, durationMs, serverAtMs: Number.NaN };
    // After any failure but a refused key the next due scrape runs: unread metrics are lost.
    const isRefused = failure.reason === 'auth';
    // A scrape that was given up says nothing about the service.
    if (failure.reason !== 'aborted')
      this.#report.failed({ ...failure, hint }, { isRefused, startedMs: startMs });
    return { ...failure, ...time, kind: 'failure', hint };
  }

  #hintOf({ reason, hint }: ServiceError): string {
    const { client, target } = this.#options;
    if (reason === 'too_large')
      return 'raise metrics.limits.body, or give the process more memory, if pages of this size are expected';
    const isTwice = target.api.baseUrl.replace(/\/$/, '').endsWith(target.path);
    if (reason !== 'not_found' || !isTwice) return hint;
    return `remove ${target.path} from ${client.nameOf('api.base_url')}: metrics.path is appended to it`;
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
      this.#report.answered();
      const page = { bytes, format: recognized.format, wireBytes, ...time };
      return { kind: 'page', page };
    }
    const { api, path } = this.#options.target;
    const address = printableUrl(`${api.baseUrl}${path}`);
    const { kind: reason, what } = recognized;
    const error = {
      reason,
      message: `cannot read metrics from ${address}: the answer is ${what}`,
      hint:
        reason === 'empty'
          ? 'check that the key may see the services that are configured'
          : `check ${this.#options.client.nameOf('api.base_url')} and metrics.path`,
      status,
      isOutcomeUnknown: false,
    };
    this.#report.failed(error);
    return { ...error, ...time, kind: 'failure' };
  }
}

/** The options for the report of a target's scrapes. */
export function scrapeReport(
  target: Target,
  { client, clock }: Pick<ScraperOptions, 'client' | 'clock'>,
): PullReportOptions {
  const { id, name, services, intervalMs } = target;
  const maxMs = Math.max(HOLD_MS_MAX, intervalMs);
  return {
    kind: 'metrics',
    id,
    target: name,
    services,
    client,
    clock,
    holdOff: { firstMs: intervalMs, maxMs, dueEveryMs: intervalMs },
    intervalMs,
  };
}

// Classifies an answer by its Content-Type and first bytes only. An odd Content-Type does not
// prevent reading the page. An answer that cannot be a page (a login form, an error in JSON) gets a
// reason of its own, which is clearer than ten thousand bad lines.

export type Recognized =
  | { readonly kind: 'page'; readonly format: ExpositionFormat }
  | {
      readonly kind: 'empty' | 'not_metrics';
      /** `empty`, `a web page`, `JSON`, `binary data`. */
      readonly what: string;
    };

/** The most bytes at the start of a body that are examined. What is not text there costs its lines: see decode. */
const LOOKED_AT_BYTES = 1024;
/** Includes the three bytes of a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/**
 * Recognizes the two text formats and other content. The result never repeats text of the answer.
 */
export function recognize(body: Buffer, contentType: string): Recognized {
  const head = body.subarray(0, LOOKED_AT_BYTES);
  const start = head.findIndex(byte => !BLANKS.has(byte));
  if (start === -1 && head.length === body.length) return { kind: 'empty', what: 'empty' };
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const what = strangerOf(head, start, type);
  if (what !== null) return { kind: 'not_metrics', what };
  const format = type === 'application/openmetrics-text' ? 'openmetrics' : 'text';
  return { kind: 'page', format };
}

function strangerOf(head: Buffer, start: number, type: string): string | null {
  const first = String.fromCharCode(head[start] ?? 0x20);
  if (first === '<') return 'a web page';
  // A quoted metric name begins with a brace, as JSON does: here the type decides.
  if (first === '[' || (first === '{' && type.endsWith('json'))) return 'JSON';
  return type === 'application/vnd.google.protobuf' ? 'binary data' : null;
}
