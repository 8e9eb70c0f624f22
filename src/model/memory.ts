// What the SeriesTable keeps between pages beside its columns: the evidence for start times, the rows that are one
// point together, the clocks, what was found and given up, and what is rare enough to be an object. Then what is kept
// of the last page for the functions that handle a page which repeats it: decode/replay.ts compares the next page with
// a layout, encode/patch.ts writes its numbers into a template. The first surprise drops both; the full functions make
// them anew.

import type { ExpositionFormat } from './page.ts';

/** The part of a service whose processes start together: one server_name. Holds the evidence for start times. */
export interface Component {
  readonly service: number;
  /** Time of our first sample of it, or of the last one that was forgotten: what was counted before is no delta. */
  firstTimeMs: number;
  /** Until then another stream of a series that was forgotten may have lasted; NaN while none has. */
  tornMs: number;
  /** By the name of the uptime series. */
  readonly uptimes: Map<string, UptimeEvidence>;
}

/** In the place of the begin of a process that nothing shows. */
export const NO_PROCESS = 0;

/**
 * What one uptime series has said of a component; see derive/reset.ts. Times in ms, NaN where there is none.
 */
export interface UptimeEvidence extends Record<SavedNumber, number> {
  /** Its rows in the table: more than one after a change of labels. */
  rows: number[];
  /** Two rows of it are on the page. */
  isSplit: boolean;
  /** A counter that it dates fell on the page on which it showed another process. */
  hasFallenNow: boolean;
  /** When the newest sample that was certain came, by the monotonic clock. */
  provenAtMs: number;
}

/** What is kept of it for the next process of ours, in this order. */
export const SAVED_NUMBERS = [
  /** The newest sample, and its time. */
  'value',
  'timeMs',
  /** Since when it has had this value. */
  'sinceMs',
  /** The process: its begin as first measured. It moves with the process only, so that jitter does not show. */
  'processMs',
  /** The same as last measured: it may drift. */
  'beginMs',
  /** When this process was first shown, and last shown for certain; and when the one before it was last shown. */
  'shownMs',
  'provenMs',
  'leftMs',
  /** The newest fall of a counter that no restart explains. */
  'fellMs',
  /**
   * Above 0 where the uptime shows what was true a poll ago: so many restarts must show it in time until it is relied on. 0
   * where it is in time, NaN where nothing shows it.
   */
  'lag',
  /** Above 0 while it has stood still, and until it has grown for two polls. */
  'doubt',
  /** 1 where our own clock could not say whether the process is another one, or the clock of the stamps was set. */
  'unsure',
] as const;

type SavedNumber = (typeof SAVED_NUMBERS)[number];

/** A histogram or summary point: the rows of its head. */
export interface Compound {
  /** Its key in compoundByKey. */
  readonly key: string;
  /** Bucket or quantile rows, sorted by bound. */
  rows: number[];
  /** The bound (le) or quantile of each row; +Infinity is kept here and left out when encoded. */
  bounds: number[];
  /** Whether two rows have the same one, in another spelling. */
  isRespelled: boolean;
  /** The row of the count, of the sum, of the creation time; NO_ROW where there is none. */
  count: number;
  sum: number;
  created: number;
}

/** Points that are one series to the back end: the head of the one that is sent, and those of the others. */
export interface Identity {
  /** Its key in identities. */
  readonly key: string;
  /** A check of the key, never 0: by it another process of ours knows the identity again. */
  readonly check: number;
  owner: number;
  readonly twins: Set<number>;
}

/** By which clocks the pages of one target are dated; see derive/page-time.ts. NaN before the first page. */
export interface PageClock {
  /** The newest page's time, and the monotonic clock then. */
  nowMs: number;
  monotonicMs: number;
  /** The service's clock at that moment, as far as its answers say. */
  serverAtMs: number;
}

/** What the last comparison with the catalog found; see derive/drift-report.ts. */
export interface DriftMemory {
  /** Changes with every name that comes or goes. */
  fingerprint: number;
  /** One text per finding. */
  found: ReadonlySet<string>;
}

/** Indexes of entries that nothing refers to any more, to be taken again. */
export interface SpareIndexes {
  metrics: number[];
  services: number[];
  components: number[];
  blocks: number[];
}

/** What an uptime had said when the state was saved. */
export interface SavedUptime extends Readonly<Record<SavedNumber, number>> {
  /** Service id, service_name and server_name of the component; see derive/state.ts. */
  readonly component: string;
  readonly name: string;
  /** Of the component. */
  readonly firstTimeMs: number;
  readonly tornMs: number;
}

/** State of a former process, waiting for its rows to appear on a page; see derive/state.ts. */
export interface RestoredState {
  /** Ids of rows to their places in the columns; a row that has come is taken out. */
  readonly indexById: Map<number, number>;
  readonly startMs: Float64Array;
  readonly processMs: Float64Array;
  readonly lastTimeMs: Float64Array;
  readonly flags: Uint8Array;
  /** NaN where the value of the last observation does not matter. */
  readonly lastValue: Float64Array;
  /** A check of the identity that the row sent, 0 for rows that share theirs with no other; see derive/twins.ts. */
  readonly identity: Uint32Array;
  /** Until when each of these identities was sent, whichever row it was that sent it. */
  readonly sentUntil: ReadonlyMap<number, number>;
  /** SeriesTable.releasedMs of the former process, NaN for none. */
  readonly releasedMs: number;
  /** Empty once the table has taken them over. */
  uptimes: readonly SavedUptime[];
  /** Whether it was saved in the first form; see derive/state.ts. */
  readonly isFirstForm: boolean;
  /** Good pages since the restart: what has not come by then is given up. */
  pageCount: number;
}

/** What the `starts` that were saved last are made of: the order of rows and uptimes in them. */
export interface SavedStarts {
  readonly rows: Uint32Array;
  readonly uptimes: readonly {
    readonly component: Component;
    /** What names the component, also to another process. */
    readonly path: string;
    readonly name: string;
    readonly evidence: UptimeEvidence;
  }[];
}

/** OpenMetrics exemplar of one row on this page. */
export interface Exemplar {
  readonly labels: readonly (readonly [string, string])[];
  readonly value: number;
  /** Milliseconds, or NaN when the line has none. */
  readonly timeMs: number;
}

/** A further sample of a series that this page already had. Rare, so it may be an object. */
export interface RepeatedSample {
  readonly row: number;
  value: number;
  timeMs: number;
  /** NaN where the point has none; set by derive. */
  startMs: number;
  readonly line: number;
  fate: number;
}

/**
 * How the last fully read page was laid out, for decode/replay.ts. Its *skeleton*, the page without values and
 * timestamps, is at the beginning of SeriesTable.keys, which also holds the keys of its rows:
 *
 *   keys   # TYPE up gauge\nup{a="b"} │\nup{a="c"} │ … │\n
 *          └──── segment of row 0 ───┘└─ of row 1 ─┘     └ tail
 */
export interface PageLayout {
  readonly format: ExpositionFormat;
  readonly lines: number;
  /** Number of the last page that was laid out like this. */
  seenPage: number;
  /** The row of each sample line, in page order. */
  readonly rows: Uint32Array;
  /** Where the segment before each sample's value ends in the skeleton. */
  readonly ends: Uint32Array;
  /** Where the skeleton ends. */
  readonly end: number;
}

/**
 * The payload of the last full encoding with the places of its numbers, for encode/patch.ts. All numbers of a point
 * follow each other at fixed width, from its times to its end; only what varies is written:
 *
 *   … attributes │ start │ time │ value │        sum of a counter
 *   … attributes │ time │ value │                gauge
 *   … bounds │ start │ time │ count │ sum │ n bucket counts │
 *                ▲ offsets[point]
 */
export interface PayloadTemplate {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** The blocks in the payload's order. */
  readonly blocks: readonly TemplateBlock[];
  /** Heads of points in the payload's order. */
  readonly rows: Uint32Array;
  /** Where the times of each point begin. */
  readonly offsets: Uint32Array;
  /** The form of each point: one of FORM. */
  readonly forms: Uint8Array;
}

/** The forms of points in a template. */
export const FORM = { number: 0, numberWithStart: 1, histogram: 2, summary: 3 } as const;

/** One block of a template: its bytes, and its points as a range of rows. */
export interface TemplateBlock {
  readonly block: number;
  readonly service: number;
  readonly offset: number;
  readonly length: number;
  readonly firstPoint: number;
  readonly pointCount: number;
}

/** After so many pages that each were new, only every RETRY_PAGES-th is prepared for. */
const MISSES_MAX = 3;
const RETRY_PAGES = 16;

/** Whether preparing for the next page is worth it, after so many misses in a row. */
export function mayRepeat(misses: number, page: number): boolean {
  return misses < MISSES_MAX || page % RETRY_PAGES === 0;
}
