// The data that passes between the stages of the data path: collect gives a Page to decode; decode, derive and encode
// share the SeriesTable; encode gives Batches to the queue.
//
// The SeriesTable holds no object per sample. A *row* is one series of the exposition text (a name with one set of
// labels); its numbers are in typed arrays. A *point* of OTLP is one row (a scalar) or a group of rows (histogram,
// summary) with one of them as the head. For one target:
//
//   page line          row columns                                    per name      per block
//   name{labels} V T ─▶ key · value · timeMs · seen · line ─▶ metric ─▶ Metric
//                       startMs · lastValue · lastTimeMs · movedAtMs ─▶ block  ──▶ Block ─▶ Service, Instance
//
// decode fills key, metric, role, value, timeMs, seen, line; derive fills block, head, outcome and the time columns and
// replaces value and timeMs by the values to send; encode only reads.

import type {
  Instance,
  Compound,
  DriftMemory,
  Exemplar,
  Fall,
  Identity,
  PageClock,
  PageLayout,
  PayloadTemplate,
  RepeatedSample,
  RestoredState,
  SpareIndexes,
} from './memory.ts';
import type { Metric } from './metric.ts';

/** A row's role in its metric's point. `created` and `metadata` rows make no point of their own. */
export const ROLE = {
  scalar: 0,
  bucket: 1,
  quantile: 2,
  count: 3,
  sum: 4,
  created: 5,
  metadata: 6,
  synthetic: 7,
  gaugePart: 8,
} as const;

/** What happens to a row on this page. Outcomes above `stale` are reasons why its sample makes no point. */
export const OUTCOME = {
  none: 0,
  point: 1,
  stale: 2,
  part: 3,
  consumed: 4,
  repeated: 5,
  baseline: 6,
  unconfigured: 7,
  excluded: 8,
  timeBackwards: 9,
  timeConflict: 10,
  timeFuture: 11,
  histogramInvalid: 12,
  summaryInvalid: 13,
  gaugeHistogram: 14,
  duplicate: 15,
  serviceFailed: 16,
  otherShard: 17,
  seriesLimit: 18,
  summaryDropped: 19,
} as const;

/** Outcomes whose name is not their key in snake case. */
const NAMED_OUTCOMES: Readonly<Record<string, string>> = {
  point: 'used',
  part: 'used',
  consumed: 'metadata',
};

/** By outcome, its name in counters, the account and messages: `time_backwards`. */
export const OUTCOME_NAMES: readonly string[] = Object.keys(OUTCOME).map(
  key => NAMED_OUTCOMES[key] ?? key.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
);

/** Marks a row, block or other index as absent. */
export const NO_ROW = 0xffffffff;

/** One database service as one target's page shows it. */
export interface ServiceSlot {
  /** The database service id: its `namespace` label, or the configured id where the page has none. */
  readonly id: string;
  /** Index into Config.services, or -1 for a service without an entry. */
  readonly configIndex: number;
  /** False when the service is neither configured nor sent regardless. */
  readonly isSent: boolean;
  /** True when the service belongs to another shard, which sends it. */
  readonly isElsewhere: boolean;
  /** Labels of target_info, which go to the Resource, and the row that they were read from. */
  info: ReadonlyMap<string, string>;
  infoRow: number;
  /** Page number when the service was last seen with at least one good sample. */
  seenPage: number;
  /** When its timestamps last moved, by the monotonic clock; NaN before the first sample. */
  movedAtMs: number;
  /** Whether its series have come with a `namespace` label, and without one. */
  hasNamed: boolean;
  hasBare: boolean;
  /** Rows of the series that prom2otlp itself sends for it; empty before the first. */
  ownRows: readonly number[];
}

/** An OTLP scope, from the catalog's families or from `otel_scope_*` labels. */
export interface ScopeIdentity {
  readonly name: string;
  readonly version: string;
  readonly schemaUrl: string;
  readonly attributes: readonly (readonly [string, string])[];
}

/** The unit of sending: one (Resource, scope, server). */
export interface Block {
  readonly service: number;
  readonly instance: number;
  readonly scope: ScopeIdentity;
  /** Page number when one of its rows last moved (new time or value). */
  movedPage: number;
}

/** The first length of each column. */
const ROWS_MIN = 64;

/** All state of one target between pages. Owned by pipeline.ts; see the drawing above. */
export class SeriesTable {
  /** Rows in use are 0 … count-1; a freed row has keyLength 0 and is listed in `free`. */
  count = 0;
  readonly free: number[] = [];
  /** Number of the current page, from 1. */
  page = 0;

  // Identity. The key is `name{labels}` as written on a page; `hash` does not depend on label order.
  keys: Buffer = Buffer.alloc(4096);
  keysView: DataView = new DataView(this.keys.buffer, this.keys.byteOffset, this.keys.length);
  keysUsed = 0;
  keyOffset: Uint32Array = new Uint32Array(ROWS_MIN);
  keyLength: Uint32Array = new Uint32Array(ROWS_MIN);
  hash: Uint32Array = new Uint32Array(ROWS_MIN);
  /** A second sum over name and labels, or 0 where it is not made yet; see derive/state.ts. */
  labelSum: Uint32Array = new Uint32Array(ROWS_MIN);
  metric: Uint32Array = new Uint32Array(ROWS_MIN);
  role: Uint8Array = new Uint8Array(ROWS_MIN);
  block: Uint32Array = new Uint32Array(ROWS_MIN);
  head: Uint32Array = new Uint32Array(ROWS_MIN);
  /** The row's place in `rows` of the template, if it has the row there. NO_ROW after a change of key or role. */
  point: Uint32Array = new Uint32Array(ROWS_MIN);

  // This page. timeMs is NaN where the line has no timestamp, until derive fills it in.
  value: Float64Array = new Float64Array(ROWS_MIN);
  timeMs: Float64Array = new Float64Array(ROWS_MIN);
  seen: Uint32Array = new Uint32Array(ROWS_MIN);
  line: Uint32Array = new Uint32Array(ROWS_MIN);
  outcome: Uint8Array = new Uint8Array(ROWS_MIN);

  // Between pages. All times in milliseconds since the epoch, NaN where there is none yet.
  startMs: Float64Array = new Float64Array(ROWS_MIN);
  /** The uptime that came with the newest sample, and since when it had this value; NaN for none. See derive/reset.ts. */
  uptime: Float64Array = new Float64Array(ROWS_MIN);
  uptimeMs: Float64Array = new Float64Array(ROWS_MIN);
  /** The newest accepted sample: raw value and the time with which it was sent. */
  lastValue: Float64Array = new Float64Array(ROWS_MIN);
  lastTimeMs: Float64Array = new Float64Array(ROWS_MIN);
  /** When the series last moved, by the monotonic clock; meaningless to another process. */
  movedAtMs: Float64Array = new Float64Array(ROWS_MIN);
  /** The time of the sample that last changed the value, in seconds; 0 before this process has seen one. */
  changedAtS: Uint32Array = new Uint32Array(ROWS_MIN);
  /** Bits of ROW_FLAG. */
  flags: Uint8Array = new Uint8Array(ROWS_MIN);

  readonly metrics: Metric[] = [];
  readonly metricByKey: Map<string, number> = new Map();
  readonly services: ServiceSlot[] = [];
  readonly serviceById: Map<string, number> = new Map();
  readonly instances: Instance[] = [];
  readonly instanceByKey: Map<string, number> = new Map();
  readonly blocks: Block[] = [];
  readonly blockByKey: Map<string, number> = new Map();
  /** Histograms and summaries: by head row, and the heads by metric and labels. */
  readonly compoundByKey: Map<string, number> = new Map();
  readonly compounds: Map<number, Compound> = new Map();
  /** OpenMetrics counters: the counter's row to the row of its creation time. */
  readonly createdRows: Map<number, number> = new Map();
  /** The newest fall of each counter that fell without another process; see derive/reset.ts. */
  readonly falls: Map<number, Fall> = new Map();
  /** Identities after label removal, by key and by head; those of several heads; and the heads that this page's point hides. */
  readonly identities: Map<string, Identity> = new Map();
  readonly identityOf: Map<number, Identity> = new Map();
  readonly shared: Set<Identity> = new Set();
  readonly duplicates: Set<number> = new Set();
  /** Rows with a label `__name__`, which is dropped. */
  readonly named: Set<number> = new Set();
  /** Rows with a label that keeps its name, because they have one of the name that metrics.rename gives it. */
  readonly unrenamed: Set<number> = new Set();
  readonly spare: SpareIndexes = { metrics: [], services: [], instances: [], blocks: [] };
  readonly clock: PageClock = {
    nowMs: Number.NaN,
    monotonicMs: Number.NaN,
    serverAtMs: Number.NaN,
  };
  /** The newest firstTimeMs of instances that were forgotten with their last row; NaN if none. */
  releasedMs: number = Number.NaN;
  readonly drift: DriftMemory = { fingerprint: 0, found: new Set() };
  /** The state of a previous process; see derive/state.ts. */
  restored: RestoredState | null = null;
  /** How startMs is made (derive/state.ts); null before the first page. */
  startMode: number | null = null;
  /** Rises with every change of a start, and of the set of rows that have one; and its value when they were saved. */
  startsVersion = 0;
  savedVersion: number | null = null;

  /** The layout to compare the next page with, and the template to patch; null when the full function must run. */
  layout: PageLayout | null = null;
  template: PayloadTemplate | null = null;
  /** How many pages in a row did not repeat the previous one. */
  layoutMisses = 0;

  // Sparse, of this page only. Exemplars are found by the lines of their samples.
  readonly exemplars: Map<number, Exemplar> = new Map();
  readonly repeats: RepeatedSample[] = [];
  /** Rows that decode has added or whose metric changed, for derive to resolve; emptied by derive. */
  readonly fresh: number[] = [];
  /** The known rows among `fresh`, with the metric under which they were filed before. */
  readonly filedBefore: Map<number, number> = new Map();

  /** Heads of points in sending order: by service, block, metric. See encode/encode.ts. */
  order: Uint32Array = new Uint32Array(0);
  /** Rises when points are added or removed, or change their place in the order. */
  orderVersion = 1;
  /** The version for which `order` was made. */
  orderedVersion = 0;

  /** Open addressing over `hash`: row + 1, or 0 where empty. */
  slots: Uint32Array = new Uint32Array(128);

  setKeys(keys: Buffer, used: number = this.keysUsed): void {
    this.keys = keys;
    this.keysUsed = used;
    this.keysView = new DataView(keys.buffer, keys.byteOffset, keys.length);
  }

  /** Takes a free row, growing every column when there is none; resets its columns. */
  addRow(): number {
    const row = this.free.pop() ?? this.count++;
    const size = this.value.length;
    if (row >= size) this.#resize(size < FEW_ROWS ? size * 2 : Math.ceil(size * 1.5));
    this.keyOffset[row] = 0;
    this.keyLength[row] = 0;
    this.hash[row] = 0;
    this.labelSum[row] = 0;
    this.metric[row] = 0;
    this.role[row] = 0;
    this.block[row] = NO_ROW;
    this.head[row] = row;
    this.point[row] = NO_ROW;
    this.value[row] = Number.NaN;
    this.timeMs[row] = Number.NaN;
    this.seen[row] = 0;
    this.line[row] = 0;
    this.outcome[row] = OUTCOME.none;
    this.startMs[row] = Number.NaN;
    this.uptime[row] = Number.NaN;
    this.uptimeMs[row] = Number.NaN;
    this.lastValue[row] = Number.NaN;
    this.lastTimeMs[row] = Number.NaN;
    this.movedAtMs[row] = Number.NaN;
    this.changedAtS[row] = 0;
    this.flags[row] = 0;
    this.orderVersion++;
    return row;
  }

  turnPage(): void {
    this.page++;
    this.repeats.length = 0;
    this.exemplars.clear();
  }

  /** The stream of a row ends: its next sample begins another one. */
  forgetStream(row: number): void {
    this.setStart(row, Number.NaN);
    this.uptime[row] = Number.NaN;
    this.uptimeMs[row] = Number.NaN;
    this.flags[row] = (this.flags[row] ?? 0) & ~ROW_FLAG.known;
    this.falls.delete(row);
  }

  setStart(row: number, startMs: number): void {
    if (Object.is(this.startMs[row], startMs)) return;
    this.startMs[row] = startMs;
    this.startsVersion++;
  }

  /** Makes room for this many rows in all if they are far more than the columns hold: one copy instead of several. */
  reserve(rows: number): void {
    if (rows > 2 * this.value.length && rows > FEW_ROWS) this.#resize(rows);
  }

  /** Shrinks columns that have grown too far, leaving some spare rows. */
  trim(): void {
    const size = this.count + (this.count >> 4) + 64;
    if (this.value.length > size) this.#resize(size);
  }

  #resize(size: number): void {
    for (const name of COLUMN_NAMES) Object.assign(this, { [name]: resized(this[name], size) });
  }
}

/** Tables with fewer rows double. */
const FEW_ROWS = 4096;

type ColumnName = {
  [Name in keyof SeriesTable]: SeriesTable[Name] extends Column ? Name : never;
}[keyof SeriesTable];

/** The columns are those arrays that begin with ROWS_MIN entries. */
const COLUMN_NAMES = Object.entries(new SeriesTable()).flatMap(([name, value]) =>
  ArrayBuffer.isView(value) && (value as Column).length === ROWS_MIN ? [name as ColumnName] : [],
);

/**
 * Bits of SeriesTable.flags. staleSent: its marker was sent; explicitTime: its newest sample had a timestamp; sent: it
 * has had a point; observed: it was a part of the newest sample of its histogram or summary; restored: this process has
 * not seen it yet; notNumber: its newest sample was NaN, or as a delta infinite, though lastValue is
 * an older number; known: its counter has a stream.
 */
export const ROW_FLAG = {
  staleSent: 1,
  explicitTime: 2,
  sent: 4,
  observed: 8,
  restored: 16,
  notNumber: 32,
  known: 64,
} as const;

/** One number for each row. */
export type Column = Float64Array | Uint32Array | Uint8Array;

/** A copy with `size` entries: cut, or filled up with zeros. */
export function resized<C extends Column>(column: C, size: number): C {
  const copy = new (column.constructor as new (size: number) => C)(size);
  copy.set(size < column.length ? column.subarray(0, size) : column);
  return copy;
}

/**
 * The memory that each kind of thing on a page costs the process, in bytes. The limits of pages and series count with
 * these numbers (config/memory-limits.ts, derive/options.ts). Measured with the bundle, the flags of the image, and
 * Node 24.21, as the highest charge of a control group minus the charge of an idle process
 * (docs/how-it-works/performance.md has the table). Each page had lines of one kind and was read, sent and stored
 * twice.
 */
export const COST = {
  /** A byte of a page: the page itself, its layout, and the garbage of growing buffers. */
  body: 1.8,
  /** A byte of the name and labels of a series, in the table and in the request. */
  text: 3.3,
  /** A series, without its text; and besides, a new one until it has its place in the payload. */
  row: 85,
  fresh: 300,
  /** A metric name; the content of a family's HELP, TYPE and UNIT lines. */
  name: 800,
  familyLines: 200,
  /** A server of a service; a scope of a server, which is a part of the request with its own Resource. */
  instance: 900,
  block: 1600,
  /** A histogram or summary. */
  compound: 1600,
  /** A series that loses labels or is renamed: its identity in the back end. */
  identity: 220,
  /** A fall of a counter. */
  fall: 120,
  /** A service, with the series that the bridge itself makes for it. */
  service: 7000,
  /** A second sample of a series on one page; an exemplar. */
  repeat: 250,
  exemplar: 800,
  /** A series that a previous process knew and no page has shown yet. */
  restored: 150,
} as const;

/**
 * A page may take this share (1/N) of limits.memory above the limit: known series go on when there is no room for new
 * ones.
 */
export const SPARE_SHARE = 32;

/** The memory that a target's table takes between pages, in bytes. */
export function tableBytes(table: SeriesTable): number {
  const { count, free, keysUsed, metricByKey, instanceByKey, blockByKey, serviceById } = table;
  return (
    (count - free.length) * COST.row +
    keysUsed * COST.text +
    metricByKey.size * COST.name +
    instanceByKey.size * COST.instance +
    blockByKey.size * COST.block +
    table.compounds.size * COST.compound +
    table.identities.size * COST.identity +
    table.falls.size * COST.fall +
    serviceById.size * COST.service +
    table.fresh.length * COST.fresh +
    (table.restored?.indexById.size ?? 0) * COST.restored
  );
}
