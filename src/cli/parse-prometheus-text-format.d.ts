// The package has no types. It returns prom2json's shape: all numbers are text, as on the page.
declare module 'parse-prometheus-text-format' {
  namespace parse {
    interface Family {
      name: string;
      help: string;
      /** In capitals; UNTYPED where the page says nothing. */
      type: string;
      metrics: Metric[];
    }

    /** A value, or the parts of one histogram or summary. */
    interface Metric {
      labels?: Record<string, string>;
      timestamp_ms?: string;
      value?: string;
      /** Cumulative counts by `le`. */
      buckets?: Record<string, string>;
      /** Values by `quantile`. */
      quantiles?: Record<string, string>;
      count?: string;
      sum?: string;
    }
  }

  /** Throws an InvalidLineError at the first line whose labels or metadata it cannot read. */
  function parse(page: string): parse.Family[];
  export = parse;
}
