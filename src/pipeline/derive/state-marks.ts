// The marks of the state: of each row the time of its newest sample, its flags, and the value where a fall of it means
// something. Rows that stand behind each other mostly have the same time and flags, so these are kept by runs of rows;
// of gauges no value is missed, and none is kept. Making them is a part of every page's cost.
//
//   by run   timeMs │ flags, with the bit that says whether values are kept │ rows        by kept row   value

import type { Metric } from '../../model/metric.ts';
import type { SeriesTable } from '../../model/series-table.ts';
import type { RestoredState } from '../../model/memory.ts';
import { doublesOf, integersOf, type StateColumn } from './state-columns.ts';

/** Beside the bits of ROW_FLAG: the rows of the run have values. */
const HAS_VALUE = 0x80;
const RUNS_MIN = 64;

/** What the marks say of all rows. */
export type ReadMarks = Pick<RestoredState, 'lastTimeMs' | 'flags' | 'lastValue'>;

/** Columns of marks that grow as rows are added, in memory that is used again. */
export class Marks {
  #timeMs = new Float64Array(RUNS_MIN);
  #flags = new Uint8Array(RUNS_MIN);
  #rows = new Uint32Array(RUNS_MIN);
  #runs = 0;
  #value = new Float64Array(0);
  #values = 0;

  /** Begins anew, for up to so many rows. */
  begin(rows: number): void {
    this.#runs = 0;
    this.#values = 0;
    if (this.#value.length < rows) this.#value = new Float64Array(rows);
  }

  /** The bytes that are held for the next marks. */
  get heldBytes(): number {
    return this.#value.byteLength + this.#timeMs.length * 13;
  }

  /** Adds what the table knows of rows[from, to); `isCounting` is by metric. */
  take(
    { lastTimeMs, flags, lastValue, metric }: SeriesTable,
    rows: Uint32Array,
    from: number,
    to: number,
    isCounting: Uint8Array,
  ): void {
    const value = this.#value;
    let values = this.#values;
    let runMs = Number.NaN;
    let runFlags = -1;
    let first = from;
    for (let i = from; i < to; i++) {
      const row = rows[i]!;
      const rowMs = lastTimeMs[row]!;
      const hasValue = isCounting[metric[row]!] === 1;
      const rowFlags = flags[row]! | (hasValue ? HAS_VALUE : 0);
      if (hasValue) value[values++] = lastValue[row]!;
      if (rowFlags === runFlags && (rowMs === runMs || (rowMs !== rowMs && runMs !== runMs)))
        continue;
      if (i > first) this.#addRun(runMs, runFlags, i - first);
      first = i;
      runMs = rowMs;
      runFlags = rowFlags;
    }
    if (to > first) this.#addRun(runMs, runFlags, to - first);
    this.#values = values;
  }

  /** Adds one row that was read from marks; without a value that is NaN. */
  add(timeMs: number, flags: number, value: number): void {
    const hasValue = !Number.isNaN(value);
    if (hasValue) this.#value[this.#values++] = value;
    this.#addRun(timeMs, flags | (hasValue ? HAS_VALUE : 0), 1);
  }

  /** Valid until the next begin(). */
  columns(): readonly [StateColumn, StateColumn, StateColumn, StateColumn] {
    const runs = this.#runs;
    return [
      this.#timeMs.subarray(0, runs),
      this.#flags.subarray(0, runs),
      this.#rows.subarray(0, runs),
      this.#value.subarray(0, this.#values),
    ];
  }

  #addRun(timeMs: number, flags: number, rows: number): void {
    const run = this.#runs++;
    if (run === this.#timeMs.length) this.#grow();
    this.#timeMs[run] = timeMs;
    this.#flags[run] = flags;
    this.#rows[run] = rows;
  }

  #grow(): void {
    const size = this.#timeMs.length * 2;
    const [timeMs, flags, rows] = [this.#timeMs, this.#flags, this.#rows];
    (this.#timeMs = new Float64Array(size)).set(timeMs);
    (this.#flags = new Uint8Array(size)).set(flags);
    (this.#rows = new Uint32Array(size)).set(rows);
  }
}

/** Counters, histograms and summaries: a fall of their value means something. 1 for those, by metric. */
export function countingMetrics(metrics: readonly Metric[]): Uint8Array {
  return Uint8Array.from(metrics, ({ kind }) => (kind === 'gauge' || kind === 'updown' ? 0 : 1));
}

/** Reads the marks of `count` rows; null when they are those of other rows. */
export function readMarks(
  count: number,
  timesOfRuns: Buffer,
  flagsOfRuns: Buffer,
  rowsOfRuns: Buffer,
  keptValues: Buffer,
): ReadMarks | null {
  const [times, rows, values] = [
    doublesOf(timesOfRuns),
    integersOf(rowsOfRuns),
    doublesOf(keptValues),
  ];
  if (times.length !== rows.length || flagsOfRuns.length !== rows.length) return null;
  if (rows.reduce((sum, length) => sum + length, 0) !== count) return null;
  const lastTimeMs = new Float64Array(count);
  const flags = new Uint8Array(count);
  const lastValue = new Float64Array(count).fill(Number.NaN);
  let [at, used] = [0, 0];
  for (const [run, length] of rows.entries()) {
    const runFlags = flagsOfRuns[run]!;
    lastTimeMs.fill(times[run]!, at, at + length);
    flags.fill(runFlags & ~HAS_VALUE, at, at + length);
    if ((runFlags & HAS_VALUE) !== 0) {
      lastValue.set(values.subarray(used, used + length), at);
      used += length;
    }
    at += length;
  }
  return used === values.length ? { lastTimeMs, flags, lastValue } : null;
}
