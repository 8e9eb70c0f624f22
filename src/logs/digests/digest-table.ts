// The sums of one server's slow queries by digest. In: statements in the order of the log. Out: the sums of the digests
// that cost most, and of all others together. Pure: its time is that of the newest record, so that the same bytes of the
// log always give the same sums.
//
//   - A digest among the `top` has sums of its own from then on; until then, and after it has left, its statements count
//     to `other`. So nothing counts twice, no sum falls, and all sums together are those of the log.
//   - The top is chosen by the seconds of the last hour, every ten minutes. While there is room, a digest enters at once.
//   - A digest that left keeps its sums for a day, and goes on with them if it returns.

import type { SpanLink } from '../../pipeline/encode/logs.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/clock.ts';

/** One statement. Times are in whole microseconds, as in the log, so that sums are exact. */
export interface Statement {
  /** When the server logged it; NaN if unknown. */
  readonly timeMs: number;
  /** Null if its text is unknown: it counts to `other`. */
  readonly digest: string | null;
  readonly summary: string;
  readonly micros: number;
  readonly lockMicros: number;
  readonly rowsExamined: number;
  readonly rowsSent: number;
  readonly bytesSent: number;
  readonly span: SpanLink | null;
}

/** Sums since `startMs`. */
export interface DigestSums {
  startMs: number;
  count: number;
  micros: number;
  lockMicros: number;
  rowsExamined: number;
  rowsSent: number;
  bytesSent: number;
  /** Statements by duration: up to each of BOUNDS_S, and above the last. */
  buckets: number[];
}

interface Entry {
  readonly summary: string;
  /** Null until it first enters the top. */
  sums: DigestSums | null;
  isTop: boolean;
  /** Microseconds in each ten minutes of the last hour, the present ones last. */
  recent: number[];
  lastMs: number;
}

/** What a table saves; plain data. Without the digests that have no sums: after a restart, their last hour begins anew. */
export interface SavedTable {
  readonly newestMs: number;
  readonly sentMs: number;
  /** Null if all statements were of the top. */
  readonly other: DigestSums | null;
  readonly entries: readonly (readonly [digest: string, entry: Entry])[];
}

/** A series to send. */
export interface DigestSeries {
  /** Null for `other`. */
  readonly digest: string | null;
  readonly summary: string;
  readonly sums: DigestSums;
  /** The last statement with a span since the last points. */
  readonly exemplar: Statement | null;
}

export interface TableLimits {
  readonly top: number;
  /** Digests to remember; further ones count to `other`. */
  readonly tracked: number;
}

/** Bounds of the histogram in seconds. */
export const BOUNDS_S: readonly number[] = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];
const SLOT_MS = 10 * MINUTE_MS;
const SLOTS = 6;

export class DigestTable {
  readonly #limits: TableLimits;
  readonly #entries = new Map<string, Entry>();
  #other: DigestSums | null = null;
  #newestMs = -Infinity;
  #sentMs = -Infinity;
  #topCount = 0;
  #exemplars = new Map<string | null, Statement>();
  /** Statements of digests beyond the limit, since the last look. */
  untracked = 0;

  constructor(limits: TableLimits, saved: SavedTable | null = null) {
    this.#limits = limits;
    if (saved === null) return;
    this.#newestMs = saved.newestMs;
    this.#sentMs = saved.sentMs;
    this.#other = saved.other;
    for (const [digest, entry] of saved.entries) this.#entries.set(digest, entry);
    this.#rank();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Counts a statement; true if its digest has entered the top for the first time. */
  add(statement: Statement): boolean {
    const { timeMs, digest } = statement;
    if (timeMs > this.#newestMs) this.#advance(timeMs);
    const entry = digest === null ? null : this.#entryOf(digest, statement);
    if (entry !== null) {
      entry.recent[SLOTS] = (entry.recent[SLOTS] ?? 0) + statement.micros;
      entry.lastMs = this.#newestMs;
    }
    const isNew = entry?.isTop === true && entry.sums === null;
    if (entry?.isTop === true) entry.sums ??= newSums(this.#startOf(statement));
    else this.#other ??= newSums(this.#startOf(statement));
    const sums = entry?.isTop === true ? entry.sums : this.#other;
    if (sums !== null) count(sums, statement);
    if (statement.span !== null)
      this.#exemplars.set(entry?.isTop === true ? digest : null, statement);
    return isNew;
  }

  /**
   * The series to send at `timeMs`, the time of the newest record; null while that has not risen since the last points:
   * statements that came late join the next ones. With `isDelta`, the sums begin anew after it.
   */
  take(
    isDelta: boolean,
  ): { readonly timeMs: number; readonly series: readonly DigestSeries[] } | null {
    const timeMs = this.#newestMs;
    if (!(timeMs > this.#sentMs)) return null;
    const series = this.#series();
    this.#sentMs = timeMs;
    this.#exemplars = new Map();
    if (isDelta) {
      for (const entry of this.#entries.values())
        if (entry.sums !== null) entry.sums = newSums(timeMs);
      if (this.#other !== null) this.#other = newSums(timeMs);
    }
    return { timeMs, series };
  }

  /** What a new table needs to go on; null before the first record. */
  save(): SavedTable | null {
    if (!Number.isFinite(this.#newestMs)) return null;
    const sentMs = Number.isFinite(this.#sentMs) ? this.#sentMs : 0;
    return {
      newestMs: this.#newestMs,
      sentMs,
      other: this.#other,
      entries: [...this.#entries].filter(([, { sums }]) => sums !== null),
    };
  }

  #series(): readonly DigestSeries[] {
    const own = [...this.#entries].flatMap(([digest, { isTop, sums, summary }]) =>
      isTop && sums !== null
        ? [{ digest, summary, sums: copyOf(sums), exemplar: this.#exemplars.get(digest) ?? null }]
        : [],
    );
    if (this.#other === null) return own;
    const exemplar = this.#exemplars.get(null) ?? null;
    return [...own, { digest: null, summary: '', sums: copyOf(this.#other), exemplar }];
  }

  /** Null if there are too many digests. */
  #entryOf(digest: string, { summary }: Statement): Entry | null {
    const known = this.#entries.get(digest);
    const isRoom = this.#topCount < this.#limits.top;
    if (known !== undefined) {
      if (!known.isTop && isRoom) this.#enter(known);
      return known;
    }
    if (this.#entries.size >= this.#limits.tracked) {
      this.untracked++;
      return null;
    }
    const recent = Array.from({ length: SLOTS + 1 }, () => 0);
    const entry: Entry = { summary, sums: null, isTop: false, recent, lastMs: this.#newestMs };
    if (isRoom) this.#enter(entry);
    this.#entries.set(digest, entry);
    return entry;
  }

  #enter(entry: Entry): void {
    entry.isTop = true;
    this.#topCount++;
  }

  /** The server began a statement before it logged it, and no later than the newest record. */
  #startOf({ micros }: Statement): number {
    return this.#newestMs - Math.max(1, Math.ceil(micros / 1000));
  }

  #advance(timeMs: number): void {
    const slots = Math.floor(timeMs / SLOT_MS) - Math.floor(this.#newestMs / SLOT_MS);
    this.#newestMs = timeMs;
    if (!(slots > 0)) return;
    for (const [digest, entry] of this.#entries) {
      const kept = entry.recent.slice(Math.min(slots, SLOTS + 1));
      entry.recent = [...kept, ...Array.from({ length: SLOTS + 1 - kept.length }, () => 0)];
      const keptMs = entry.sums === null ? (SLOTS + 1) * SLOT_MS : DAY_MS;
      if (entry.lastMs < timeMs - keptMs) this.#entries.delete(digest);
    }
    this.#rank();
  }

  #rank(): void {
    const costs = [...this.#entries.values()]
      .map(entry => ({ entry, micros: entry.recent.reduce((sum, part) => sum + part, 0) }))
      .sort((a, b) => b.micros - a.micros || Number(b.entry.isTop) - Number(a.entry.isTop));
    this.#topCount = 0;
    for (const [place, { entry, micros }] of costs.entries()) {
      // While there is room, a quiet digest of the top stays.
      entry.isTop = place < this.#limits.top && (micros > 0 || entry.isTop);
      if (entry.isTop) this.#topCount++;
    }
  }
}

function newSums(startMs: number): DigestSums {
  return {
    startMs,
    count: 0,
    micros: 0,
    lockMicros: 0,
    rowsExamined: 0,
    rowsSent: 0,
    bytesSent: 0,
    buckets: Array.from({ length: BOUNDS_S.length + 1 }, () => 0),
  };
}

function copyOf(sums: DigestSums): DigestSums {
  return { ...sums, buckets: [...sums.buckets] };
}

function count(sums: DigestSums, statement: Statement): void {
  sums.count++;
  sums.micros += statement.micros;
  sums.lockMicros += statement.lockMicros;
  sums.rowsExamined += statement.rowsExamined;
  sums.rowsSent += statement.rowsSent;
  sums.bytesSent += statement.bytesSent;
  const seconds = statement.micros / 1e6;
  const over = BOUNDS_S.findIndex(bound => seconds <= bound);
  const bucket = over < 0 ? BOUNDS_S.length : over;
  sums.buckets[bucket] = (sums.buckets[bucket] ?? 0) + 1;
}
