// Reads a span of the past from the service's history, window by window, as pages. In: today's page, and the span. Out:
// pages in the order of time, and in `report` which series of today have no history and why the reading ended early.

import type { BackfillConfig, PageLimits } from '../config/config.ts';
import { HOUR_MS, MINUTE_MS } from '../lib/clock.ts';
import type { Page } from '../model/page.ts';
import { HistoryApi, type StoredSeries } from '../service/history-api.ts';
import type { ServiceHttp } from '../service/http-client.ts';
import type { ServiceError } from '../service/service-error.ts';
import { PageForm, type PastPage } from '../pipeline/decode/history-pages.ts';

/** One request asks for this much; half of it, and so on, while the service finds the answer too large. */
const WINDOW_MS_MAX = HOUR_MS;
const WINDOW_MS_MIN = 5 * MINUTE_MS;
/** So does a window with more samples, of all services together: about 20 MB of memory. */
const WINDOW_SAMPLES_MAX = 250_000;
/** The answers to a query that is too large: 422 is Prometheus's limit of samples. */
const TOO_LARGE: ReadonlySet<string> = new Set(['too_large', 'timeout', 'bad_request']);

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
  /** Why the reading ended before the end of the span; '' if it did not. */
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

  constructor({ page, ...options }: HistoryOptions) {
    this.#options = options;
    this.#api = new HistoryApi(options.http, options.backfill.path);
    this.#form = new PageForm(page, { ...options, nameLabel: options.backfill.label });
    this.report = {
      samples: 0,
      without: this.#form.without(new Set()),
      series: this.#form.series,
      failure: '',
      doneUntilMs: 0,
    };
  }

  /** Ends early if the service fails; then the report says why. */
  async *pages({ fromMs, toMs }: Span, signal?: AbortSignal): AsyncGenerator<PastPage> {
    const { report } = this;
    report.doneUntilMs = fromMs + 1;
    if (this.#form.names.size === 0)
      report.failure = `the page has no label ${this.#options.backfill.label}, which names a service; see metrics.backfill.label`;
    if (report.failure !== '') return;
    let windowMs = WINDOW_MS_MAX;
    while (report.doneUntilMs < toMs) {
      const from = report.doneUntilMs;
      const until = Math.min(from + windowMs, toMs);
      const mayShrink = windowMs > WINDOW_MS_MIN;
      const read = await this.#read({ fromMs: from, toMs: until }, mayShrink, signal);
      if (read === 'too large') {
        windowMs = Math.max(windowMs / 2, WINDOW_MS_MIN);
        continue;
      }
      if (!Array.isArray(read)) {
        report.failure = `${read.message}; ${read.hint}`;
        return;
      }
      for (const page of this.#form.pagesOf(read, this.#seen)) {
        report.samples += page.samples;
        yield page;
      }
      report.without = this.#form.without(this.#seen);
      report.doneUntilMs = until;
    }
  }

  /**
   * The samples of all services in one window, or what has failed. A sample on the bound of two windows belongs to the
   * later one.
   */
  async #read(
    { fromMs, toMs }: Span,
    mayShrink: boolean,
    signal: AbortSignal | undefined,
  ): Promise<StoredSeries[] | 'too large' | ServiceError> {
    const { label } = this.#options.backfill;
    const all: StoredSeries[] = [];
    let count = 0;
    for (const value of this.#form.names) {
      const read = await this.#api.read({ label, value, fromMs: fromMs - 1, toMs, signal });
      if (!read.ok) return mayShrink && TOO_LARGE.has(read.error.reason) ? 'too large' : read.error;
      for (const series of read.series) {
        all.push(series);
        count += series.samples.length;
      }
      if (mayShrink && count > WINDOW_SAMPLES_MAX) return 'too large';
    }
    return all;
  }
}
