// Reads a span of the past from the service's history, window by window, as pages. In: today's page, and the span. Out:
// pages in the order of time, and in `report` which series of today have no history and why the reading ended early.

import type { BackfillConfig } from '../config/config.ts';
import type { PageLimits } from '../model/page-rules.ts';
import { HOUR_MS, MINUTE_MS } from '../lib/clock.ts';
import type { Page } from '../model/page.ts';
import { HistoryApi, type StoredSeries } from '../service/history-api.ts';
import type { ServiceHttp } from '../service/http-client.ts';
import { PageForm, type PastPage } from '../pipeline/decode/history-pages.ts';

/** One request asks for this much; half of it, and so on, while the service finds the answer too large. */
const WINDOW_MS_MAX = HOUR_MS;
const WINDOW_MS_MIN = 5 * MINUTE_MS;
/** So does a window with more samples, of all services together: about 20 MB of memory. */
const WINDOW_SAMPLES_MAX = 250_000;
/** The answers to a query that is too large: 422 is Prometheus's limit of samples. */
const TOO_LARGE: ReadonlySet<string> = new Set(['too_large', 'timeout', 'bad_request']);

const SEE = 'see metrics.backfill.label';

export interface Span {
  /** Both are excluded. */
  readonly fromMs: number;
  readonly toMs: number;
}

export interface HistoryReport {
  samples: number;
  /** The series of today's page that had no sample in the span, as on the page. */
  without: readonly string[];
  readonly series: number;
  /** Why something was not read; '' if everything was. Of several services, the last one's. */
  failure: string;
  /** Everything before this time was read. */
  doneUntilMs: number;
}

interface HistoryOptions {
  readonly http: ServiceHttp;
  readonly backfill: BackfillConfig;
  readonly limits: PageLimits;
  /** Today's page; its bytes are not used after the call. */
  readonly page: Pick<Page, 'bytes' | 'format'>;
  /** Whether series with this id count. */
  readonly takes: (id: string) => boolean;
}

export class History {
  readonly report: HistoryReport;
  readonly #api: HistoryApi;
  readonly #form: PageForm;
  readonly #options: Omit<HistoryOptions, 'page'>;
  readonly #seen = new Set<number>();
  /** The services that can be read. */
  readonly #names: Set<string>;

  constructor({ page, ...options }: HistoryOptions) {
    this.#options = options;
    this.#api = new HistoryApi(options.http, options.backfill.path);
    this.#form = new PageForm(page, { ...options, nameLabel: options.backfill.label });
    this.#names = new Set(this.#form.names);
    this.report = {
      samples: 0,
      without: this.#form.without(new Set()),
      series: this.#form.series,
      failure: '',
      doneUntilMs: 0,
    };
  }

  /**
   * Goes on without a service whose history cannot be read, and ends early without any, or when `signal` is aborted; then
   * the report says why.
   */
  async *pages({ fromMs, toMs }: Span, signal?: AbortSignal): AsyncGenerator<PastPage> {
    const { report } = this;
    const { label } = this.#options.backfill;
    report.doneUntilMs = fromMs + 1;
    const { size } = this.#names;
    if (size === 0)
      report.failure = `the page has no label ${label}, which names a service; ${SEE}`;
    const isOver = (): boolean => signal?.aborted === true;
    let windowMs = WINDOW_MS_MAX;
    while (this.#names.size > 0 && report.doneUntilMs < toMs && !isOver()) {
      const from = report.doneUntilMs;
      const until = Math.min(from + windowMs, toMs);
      const read = await this.#read(
        { fromMs: from, toMs: until },
        windowMs > WINDOW_MS_MIN,
        signal,
      );
      if (read === 'too large') {
        windowMs = Math.max(windowMs / 2, WINDOW_MS_MIN);
        continue;
      }
      for (const page of this.#form.pagesOf(read, this.#seen)) {
        if (isOver()) break;
        report.samples += page.samples;
        yield page;
      }
      report.without = this.#form.without(this.#seen);
      if (this.#names.size > 0 && !isOver()) report.doneUntilMs = until;
    }
    if (isOver() && report.doneUntilMs < toMs) report.failure = 'it was stopped';
    if (report.samples === 0 && report.failure === '')
      report.failure = `the history has no sample of the services on the page; ${SEE}`;
  }

  /**
   * The samples of all services in one window. A sample on the bound of two windows belongs to the later one. A service
   * that cannot be read is not asked again.
   */
  async #read(
    { fromMs, toMs }: Span,
    mayShrink: boolean,
    signal: AbortSignal | undefined,
  ): Promise<StoredSeries[] | 'too large'> {
    const { label } = this.#options.backfill;
    const all: StoredSeries[] = [];
    let count = 0;
    for (const value of this.#names) {
      const read = await this.#api.read({ label, value, fromMs: fromMs - 1, toMs, signal });
      if (!read.ok) {
        const { reason, message, hint } = read.error;
        if (mayShrink && TOO_LARGE.has(reason)) return 'too large';
        this.#names.delete(value);
        this.report.failure = `${value}: ${message}; ${hint}`;
        continue;
      }
      for (const series of read.series) {
        all.push(series);
        count += series.samples.length;
      }
      if (mayShrink && count > WINDOW_SAMPLES_MAX) return 'too large';
    }
    return all;
  }
}
