// The data that the SeriesTable keeps between pages besides its columns: the evidence for start times, the rows that form
// one point, the clocks, findings, and data too rare for a column. At the end, the layout and the template of the last
// page, for a page that repeats it: decode/replay.ts compares the next page with the layout, and encode/patch.ts writes
// its numbers into the template. At the first difference the full function of decode or encode runs, and builds a new
// layout or template.

import type { ExpositionFormat } from './page.ts';

/** The part of a service whose processes start together: one server_name. Holds the evidence for start times. */
export interface Component {
  readonly service: number;
  /** The time of our first sample, or of the newest sample of a forgotten series: earlier growth is no delta. */
  firstTimeMs: number;
  /** A forgotten series may have had another stream up to this time; NaN while there is none. */
  tornMs: number;
  /** By the name of the uptime series. */
  readonly uptimes: Map<string, UptimeEvidence>;
}

/** The start time of a process when it is unknown. */
export const NO_PROCESS = 0;

/** What one uptime series has shown about a component; see derive/reset.ts. Times in ms, NaN where there is none. */
export interface UptimeEvidence extends Record<SavedNumber, number> {
  /** Its rows in the table: more than one after a label change. */
  rows: number[];
  /** Two of its rows are on the page. */
  isSplit: boolean;
  /** A counter that it dates fell on the page on which it showed another process. */
  hasFallenNow: boolean;
  /** When the newest certain sample arrived, by the monotonic clock. */
  provenAtMs: number;
}

/** The numbers that are saved for our next process, in this order. */
export const SAVED_NUMBERS = [
  /** The newest sample, and its time. */
  'value',
  'timeMs',
  /** How long it has had this value. */
  'sinceMs',
  /** The start time of the process as first measured. It changes only with the process: jitter does not show. */
  'processMs',
  /** The start time as last measured: it may drift. */
  'beginMs',
  /** When this process was first shown, and last shown for certain; when the previous process was last shown. */
  'shownMs',
  'provenMs',
  'leftMs',
  /** The newest fall of a counter that no restart explains. */
  'fellMs',
  /**
   * Above 0 where the uptime is one poll late: it must show this many restarts in time before it is relied on again. 0
   * where it is in time, NaN where that is not known yet.
   */
  'lag',
  /** Above 0 while the uptime is stuck, and until it has grown for two polls. */
  'doubt',
  /** 1 where our own clock could not decide whether the process changed or the clock of the timestamps was set. */
  'unsure',
] as const;

type SavedNumber = (typeof SAVED_NUMBERS)[number];

/** Evidence before the first sample. */
export const NO_EVIDENCE: Omit<UptimeEvidence, 'rows'> = {
  ...(Object.fromEntries(SAVED_NUMBERS.map(name => [name, Number.NaN])) as Record<
    SavedNumber,
    number
  >),
  doubt: 0,
  unsure: 0,
  isSplit: false,
  hasFallenNow: false,
  provenAtMs: Number.NaN,
};

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

/** Points that are one series to the back end: the head that is sent, and the heads that are not. */
export interface Identity {
  /** Its key in identities. */
  readonly key: string;
  /** A checksum of the key, never 0: our next process recognizes the identity by it. */
  readonly check: number;
  owner: number;
  /** Two of its series were on one page: they are different counters, and none continues another. */
  isShared: boolean;
  /** null until there is one: most identities have none, and a set takes 200 bytes. */
  duplicates: Set<number> | null;
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
  components: number[];
  blocks: number[];
}

/** The evidence of an uptime as it was saved. */
export interface SavedUptime extends Readonly<Record<SavedNumber, number>> {
  /** Service id, service_name and server_name of the component; see derive/state.ts. */
  readonly component: string;
  readonly name: string;
  /** The times of the component. */
  readonly firstTimeMs: number;
  readonly tornMs: number;
}

/** State of the previous process for rows that have not appeared yet; see derive/state.ts. */
export interface RestoredState {
  /** Row ids to column indexes; a row that has appeared is removed. */
  readonly indexById: Map<number, number>;
  readonly startMs: Float64Array;
  readonly processMs: Float64Array;
  readonly lastTimeMs: Float64Array;
  readonly flags: Uint8Array;
  /** How startMs and processMs were made (SeriesTable.startMode); null before the first page. */
  startMode: number | null;
  /** NaN if the value of the last sample does not matter. */
  readonly lastValue: Float64Array;
  /**
   * A checksum of the identity that the row sent, 0 if no other row could send it; see derive/duplicates.ts.
   */
  readonly identity: Uint32Array;
  /** Until when each of these identities was sent, by whichever row. */
  readonly sentUntil: ReadonlyMap<number, number>;
  /** The id of each row's service; '' if it has none. */
  readonly services: readonly string[];
  /** SeriesTable.releasedMs of the previous process; NaN for none, and once the table has taken it over. */
  releasedMs: number;
  /** Empty once the table has taken them over. */
  uptimes: readonly SavedUptime[];
  /** Good pages since the restart on which no service was awaited, or series were refused: see derive/state.ts. */
  pageCount: number;
  /** The clock of the replaced daemon's target; null before its first page, and after a restart. Not stored. */
  readonly clock: PageClock | null;
  /**
   * The first good page (monotonic). From then on, configured services without series are awaited: nothing is forgotten
   * before they are back, for as long as absent series are kept.
   */
  awaitedSinceMs?: number;
}

/** The content of the last saved `starts`. */
export interface SavedStarts {
  /** The table's startsVersion at that time. */
  readonly version: number;
  /** The saved rows, in their order. */
  readonly rows: Uint32Array;
  /** The number of saved uptimes. The `marks` have the numbers of the uptimes in the same order. */
  readonly uptimeCount: number;
}

/** OpenMetrics exemplar of one row on this page. */
export interface Exemplar {
  readonly labels: readonly (readonly [string, string])[];
  readonly value: number;
  /** Milliseconds, or NaN when the line has none. */
  readonly timeMs: number;
}

/** A further sample of a series that this page already had. Rare, so an object is affordable. */
export interface RepeatedSample {
  readonly row: number;
  value: number;
  timeMs: number;
  /** NaN where the point has none; set by derive. */
  startMs: number;
  readonly line: number;
  outcome: number;
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
  /** True if the payload has no other points (markers, repeated samples). Only then is it patched as a whole. */
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
