// What the ledger must know of a source: its services and series, the pages that it served, and the values on them.

export interface ServedSource {
  readonly options: { readonly services: readonly string[]; readonly isStamped: boolean };
  readonly series: readonly Series[];
  /** When the simulated server was started. */
  readonly bootMs: number;
  /** The pages by their numbers. */
  readonly pages: ReadonlyMap<number, ServedPage>;
  /** Every page that a process got, in order. */
  readonly readings: readonly Reading[];
  /** The attributes of the series in OTLP, such as `a=1,b=x`, sorted by name. */
  attributesOf(series: Series, serviceId: string): string;
  /** The value of a series on a page; for a histogram, its count. `service` is a place among the services. */
  valueAt(series: Series, page: ServedPage, service: number): number;
}

/** A page that was served, with its stamp or, without stamps, the time of the request. */
export interface ServedPage {
  readonly number: number;
  readonly timeMs: number;
}

/** The numbers of a page and of the process that got it. */
export interface Reading {
  readonly life: number;
  readonly page: number;
  readonly atMs: number;
}

export type Kind = 'counter' | 'gauge' | 'uptime' | 'histogram';

/** One series of one service; `metric` and `attributes` as they arrive in OTLP. */
export interface Series {
  readonly metric: string;
  readonly attributes: string;
  readonly kind: Kind;
  /** True for counters whose start is derived from the uptime. */
  readonly isDated: boolean;
  /** The number of its lines on a page. */
  readonly samples: number;
  readonly index: number;
}
