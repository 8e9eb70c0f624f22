// What derive keeps in the SeriesTable between pages beside the columns: the evidence for start times, the rows that
// are one point together, the clocks, what it has found and given up; and what is rare enough to be an object.

/** The part of a service whose processes start together: one server_name. Holds the evidence for start times. */
export interface Component {
  readonly service: number;
  /** Time of our first sample of it: what was counted before is no delta. NaN before. */
  firstTimeMs: number;
  /** By the name of the uptime series that stands on the page for this component. */
  readonly uptimes: Map<string, UptimeEvidence>;
  /** The latest start that any of them has told; NaN before. */
  newestStartMs: number;
}

/** What one uptime series has said of a component's start. */
export interface UptimeEvidence {
  readonly row: number;
  value: number;
  timeMs: number;
  /** When that sample came, by the monotonic clock. */
  seenAtMs: number;
  /** The start derived from it; it moves at a restart only, so that jitter does not show. */
  startMs: number;
}

/** A histogram or summary point: the rows that its head stands for. */
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
  /** In delta mode: the rows of the newest accepted observation, in the order of partsOf(). */
  observed: readonly number[];
}

/** By which clocks the pages of one target are dated; see derive/page-time.ts. NaN before the first page. */
export interface PageClock {
  /** The newest page's time, and the monotonic clock then. */
  nowMs: number;
  monotonicMs: number;
  /** The service's clock at that moment, as far as its answers have told. */
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
  readonly metrics: number[];
  readonly services: number[];
  readonly components: number[];
  readonly blocks: number[];
}

/** What uptimes had said when the state was saved, by component and series. */
export interface SavedUptime {
  readonly component: string;
  readonly name: string;
  readonly value: number;
  readonly timeMs: number;
  readonly startMs: number;
  readonly firstTimeMs: number;
}

/** State of a former process, waiting for its rows to appear on a page; see derive/state.ts. */
export interface RestoredState {
  /** Ids of rows to their places in the columns; a row that has come is taken out. */
  readonly indexById: Map<number, number>;
  readonly startMs: Float64Array;
  readonly streamAtMs: Float64Array;
  readonly lastTimeMs: Float64Array;
  readonly flags: Uint8Array;
  /** NaN where the value of the last observation does not matter. */
  readonly lastValue: Float64Array;
  readonly uptimes: ReadonlyMap<string, SavedUptime>;
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

/** One number for each row. */
export type Column = Float64Array | Uint32Array | Uint8Array;

/** A copy with room for `size` rows. */
export function resized(column: Column, size: number): Column {
  const copy = new (column.constructor as new (size: number) => Column)(size);
  copy.set(size < column.length ? column.subarray(0, size) : column);
  return copy;
}
