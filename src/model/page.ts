// What a target answered, and what decode reports of it beside the columns of the SeriesTable.

/** Which of the two text formats a page is in. */
export type ExpositionFormat = 'text' | 'openmetrics';

/** When a scrape took place, by every clock that has something to say. */
export interface ScrapeTime {
  /** Wall clock when the scrape started: the time of every sample that has none of its own. */
  readonly startedAtMs: number;
  /** The same moment by the clock that nobody sets: what ages are counted by. */
  readonly monotonicMs: number;
  readonly durationMs: number;
  /** The `Date` of the answer; NaN without one. */
  readonly serverAtMs: number;
}

/** One good answer of a target, inflated. The bytes are valid until the next poll of the same target. */
export interface Page extends ScrapeTime {
  readonly bytes: Buffer;
  readonly format: ExpositionFormat;
  /** What went over the wire, before inflating. */
  readonly wireBytes: number;
}

/** Something wrong at one place of a page. Lines and columns start at 1; columns count bytes. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  readonly reason: string;
}

/** What decode reports of a page beside the columns. */
export interface PageReport {
  /** False when the page as a whole cannot be used; `problems[0]` says why. */
  isUsable: boolean;
  lines: number;
  /** Sample lines, good and bad. */
  samples: number;
  badLines: number;
  /** Bad lines by the `namespace` they name; '' where they name none. */
  badByNamespace: Map<string, number>;
  /** The first problems of the page, in order; at most PROBLEMS_MAX. */
  problems: Problem[];
  /** Which limit ended the page, as a key of metrics.limits, or null. */
  limit: string | null;
}

export const PROBLEMS_MAX = 100;
