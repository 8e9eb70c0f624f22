// The data that the SeriesTable keeps between pages besides its columns: the uptimes, the rows that form
// one point, the clocks, findings, and data too rare for a column. At the end, the layout and the template of the last
// page, for a page that repeats it: decode/replay.ts compares the next page with the layout, and encode/patch.ts writes
// its numbers into the template. At the first difference the full function of decode or encode runs, and builds a new
// layout or template.

import type { ExpositionFormat } from './page.ts';

/** A server of a service, by its labels `service_name` and `server_name`; it restarts as one. */
export interface Instance {
  readonly service: number;
  /** The time of our first sample, or of the newest sample of a forgotten series: earlier growth is no delta. */
  firstTimeMs: number;
  /** A forgotten series may have had another stream up to this time; NaN while there is none. */
  forgottenMs: number;
  /** By the name of the uptime series. */
  readonly uptimes: Map<string, Uptime>;
  /** The newest page that repeated its samples; see derive/outcome.ts. */
  repeatedPage: number;
}

/** What one uptime series shows; see derive/uptimes.ts. Times in ms, NaN where there is none. */
export interface Uptime {
  /** Its rows in the table: more than one after a label change. */
  rows: number[];
  /** The newest reading in seconds, its time, and the time of the first reading with this value. */
  value: number;
  timeMs: number;
  sinceMs: number;
  /** Readings until its pages no longer count as cached; 0 where they do not. */
  stood: number;
  /** Pages in a row that had series of the instance, and not this uptime. */
  missed: number;
  /** The page for which the rest holds, and what the uptime is on it: one of SHOWS. */
  page: number;
  shows: number;
  isCached: boolean;
  /** The reading before this page: its value and sinceMs. */
  valueBefore: number;
  sinceBeforeMs: number;
}

/** An uptime before its first reading. */
export const NO_READING: Omit<Uptime, 'rows'> = {
  value: Number.NaN,
  timeMs: Number.NaN,
  sinceMs: Number.NaN,
  stood: 0,
  missed: 0,
  page: 0,
  shows: 0,
  isCached: false,
  valueBefore: Number.NaN,
  sinceBeforeMs: Number.NaN,
};

/** When a counter fell without another process: between these two samples. */
export interface Fall {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A histogram or summary point: the rows that its head represents. */
export interface Compound {
  /** Its key in compoundByKey. */
  readonly key: string;
  /** Bucket or quantile rows, sorted by bound. */
  rows: number[];
  /** The bound (le) or quantile of each row; +Infinity is kept here and left out when encoded. */
  bounds: number[];
  /** Whether two rows have the same bound in different spellings. */
  isRespelled: boolean;
  /** The rows of the count, the sum and the creation time; NO_ROW where there is none. */
  count: number;
  sum: number;
  created: number;
}

/** Points that are one series to the back end. On each page, the first of them is sent. */
export interface Identity {
  /** Its key in identities. */
  readonly key: string;
  /** The heads of its points. */
  readonly heads: number[];
  /** The head that was sent last. */
  sender: number;
}

/** The clocks that date the pages of one target; see derive/page-time.ts. NaN before the first page. */
export interface PageClock {
  /** The newest page's time, and the monotonic clock at that moment. */
  nowMs: number;
  monotonicMs: number;
  /** The service's clock at that moment, if its answers have shown it. */
  serverAtMs: number;
}

/** The result of the last comparison with the catalog; see daemon/drift-report.ts. */
export interface DriftMemory {
  /** Changes whenever a name appears or disappears. */
  fingerprint: number;
  /** One text per finding. */
  found: ReadonlySet<string>;
}

/** Indexes of unreferenced entries, for reuse. */
export interface SpareIndexes {
  metrics: number[];
  services: number[];
  instances: number[];
  blocks: number[];
}

/** An instance as it was saved, by the names of its service, `service_name` and `server_name`. */
export interface SavedInstance {
  readonly names: readonly [service: string, serviceName: string, serverName: string];
  readonly firstTimeMs: number;
  readonly forgottenMs: number;
  readonly uptimes: readonly SavedUptime[];
}

/** An uptime as it was saved. */
export interface SavedUptime
  extends Pick<Uptime, 'value' | 'timeMs' | 'sinceMs' | 'stood' | 'missed'> {
  readonly name: string;
}

/** State of the previous process for rows that have not appeared yet; see derive/state.ts. */
export interface RestoredState {
  /** False if only startMs is known of each row: the previous process did not stop by itself. */
  readonly isWhole: boolean;
  /** Row ids to column indexes; a row that has appeared is removed. */
  readonly indexById: Map<number, number>;
  readonly startMs: Float64Array;
  readonly lastTimeMs: Float64Array;
  readonly lastValue: Float64Array;
  readonly uptime: Float64Array;
  readonly uptimeMs: Float64Array;
  readonly flags: Uint8Array;
  /** By column index. */
  readonly falls: ReadonlyMap<number, Fall>;
  /** How startMs was made (SeriesTable.startMode); null before the first page. */
  readonly startMode: number | null;
  /** The id of each row's service; '' if it has none. */
  readonly services: readonly string[];
  /** When the state was saved, by the clock of the pages. */
  readonly savedMs: number;
  /** SeriesTable.releasedMs of the previous process. */
  readonly releasedMs: number;
  /** Empty once the table has taken them over. */
  instances: readonly SavedInstance[];
  /** Good pages since the restart on which no service was awaited, or series were refused: see derive/state.ts. */
  pageCount: number;
  /**
   * The first good page (monotonic). From then on, configured services without series are awaited: nothing is forgotten
   * before they are back, for as long as absent series are kept.
   */
  awaitedSinceMs?: number;
}

/** OpenMetrics exemplar of one row on this page. */
export interface Exemplar {
  readonly labels: readonly (readonly [string, string])[];
  readonly value: number;
  /** Milliseconds, or NaN when the line has none. */
  readonly timeMs: number;
}

/** A further sample of a series that this page already had: it is never sent. Rare, so an object is affordable. */
export interface RepeatedSample {
  readonly row: number;
  readonly value: number;
  readonly timeMs: number;
  readonly line: number;
}

/**
 * The layout of the last fully read page, for decode/replay.ts. Its *skeleton*, the page without values and timestamps,
 * is at the beginning of SeriesTable.keys and holds the keys of the page's rows:
 *
 *   keys   # TYPE up gauge\nup{a="b"} │\nup{a="c"} │ … │\n
 *          └──── segment of row 0 ───┘└─ of row 1 ─┘     └ tail
 */
export interface PageLayout {
  readonly format: ExpositionFormat;
  readonly lines: number;
  /** Number of the last page with this layout. */
  seenPage: number;
  /** The row of each sample line, in page order. */
  readonly rows: Uint32Array;
  /** Where the segment before each sample's value ends in the skeleton. */
  readonly ends: Uint32Array;
  /** Where the skeleton ends. */
  readonly end: number;
}

/**
 * The payload of the last full encoding with the places of its points, for encode/patch.ts. All
 * numbers of a point follow each other at fixed width, from its times to its end; a patch writes
 * nothing else:
 *
 *   tag │ length │ attributes │ start │ time │ value │     sum of a counter
 *   tag │ length │ attributes │ time │ value │             gauge
 *   tag │ length │ … bounds │ start │ time │ count │ sum │ n bucket counts │
 *   ▲ starts[point]         ▲ offsets[point]
 *
 * A page with other points is encoded in full, but takes the points that it shares with the
 * template from there.
 */
export interface PayloadTemplate {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** True if the payload has no other points (markers). Only then is it patched as a whole. */
  readonly isWhole: boolean;
  readonly blocks: readonly TemplateBlock[];
  /** Heads of points, in the order of the payload. */
  readonly rows: Uint32Array;
  /** Where each point begins, and where its times begin. */
  readonly starts: Uint32Array;
  readonly offsets: Uint32Array;
  /** The form of each point: one of FORM. */
  readonly forms: Uint8Array;
}

/** The forms of points in a template. */
export const FORM = { number: 0, histogram: 1, summary: 2 } as const;

/** One block of a template: its bytes, and its points as a range of rows. */
export interface TemplateBlock {
  readonly block: number;
  readonly service: number;
  readonly offset: number;
  readonly length: number;
  /** The number of all points of the block, then the range of its points in the template. */
  readonly points: number;
  readonly firstPoint: number;
  readonly pointCount: number;
}
