// Data points of OTLP metrics. This file knows the field numbers of metrics.proto; wire.ts knows the bytes. Times and
// values come last and have a fixed width, so that the next page can be patched in.

import { OUTCOME, NO_ROW, ROLE, type SeriesTable } from '../../model/series-table.ts';
import type { Compound, Exemplar } from '../../model/memory.ts';
import { writeAttribute, writePointAttributes } from './identity.ts';
import { TIME_MS_END, WIRE, type WireWriter } from './wire.ts';

/** The flag of a point that ends its series. */
export const NO_RECORDED_VALUE = 1;
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/i;
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/i;

// NumberDataPoint    7 attributes, 8 flags (uint32), 5 exemplars, 2 start_time_unix_nano (fixed64),
//                    3 time_unix_nano (fixed64), 4 as_double (double)
// HistogramDataPoint 9 attributes, 10 flags, 8 exemplars, 7 explicit_bounds (packed double), 2 start, 3 time,
//                    4 count (fixed64), 5 sum (double), 6 bucket_counts (packed fixed64)
// SummaryDataPoint   7 attributes, 8 flags, 2 start, 3 time, 4 count (fixed64), 5 sum (double),
//                    6 quantile_values {1 quantile (double), 2 value (double)}
// Exemplar           7 filtered_attributes, 2 time_unix_nano, 3 as_double, 4 span_id (bytes), 5 trace_id (bytes)

/** Writes points as field 1. Each method returns the size of its point from the times to the end. */
export class PointWriter {
  readonly #writer: WireWriter;
  readonly #table: SeriesTable;
  readonly #dropLabels: ReadonlySet<string>;
  #mark = 0;
  #timesAt = 0;

  constructor(writer: WireWriter, table: SeriesTable, dropLabels: ReadonlySet<string>) {
    this.#writer = writer;
    this.#table = table;
    this.#dropLabels = dropLabels;
  }

  /** The NumberDataPoint of a row; a sum has the start, unless that is NaN. A stale one has the flag instead of a value. */
  number(row: number, isSum: boolean): number {
    const { exemplars, startMs, timeMs, value, line } = this.#table;
    const isStale = this.#begin(row, 7, 8);
    const exemplar = exemplars.size === 0 ? undefined : exemplars.get(line[row]!);
    if (exemplar !== undefined && !isStale) writeExemplar(this.#writer, 5, exemplar, timeMs[row]!);
    this.#times(isSum ? startMs[row]! : Number.NaN, timeMs[row]!);
    if (!isStale) this.#writer.doubleField(4, value[row]!);
    return this.#end();
  }

  /**
   * The HistogramDataPoint of a head. A stale one has its bounds with zero counts, and a zero sum if it had a sum: back
   * ends end each series derived from it, and only the ones present.
   */
  histogram(head: number, compound: Compound): number {
    const table = this.#table;
    const writer = this.#writer;
    const timeMs = table.timeMs[head]!;
    const bounds: number[] = [];
    const counts: number[] = [];
    const isStale = this.#begin(head, 9, 10);
    let last = 0;
    for (const [i, row] of compound.rows.entries()) {
      const bound = compound.bounds[i]!;
      if (!isStale && table.seen[row] !== table.page) continue;
      // A former summary's quantiles are here too.
      if (table.role[row] !== ROLE.bucket) continue;
      const exemplar = isStale ? undefined : table.exemplars.get(table.line[row]!);
      if (exemplar !== undefined) writeExemplar(writer, 8, exemplar, timeMs);
      if (!Number.isFinite(bound) || bound === bounds.at(-1)) continue;
      const total = isStale ? 0 : table.value[row]!;
      bounds.push(bound);
      counts.push(total - last);
      last = total;
    }
    writePacked(writer, 7, bounds, 'double');
    this.#times(table.startMs[head]!, timeMs);
    const count = this.#count(compound, isStale);
    const hasSum = compound.sum !== NO_ROW && (isStale || table.seen[compound.sum] === table.page);
    if (hasSum) writer.doubleField(5, isStale ? 0 : table.value[compound.sum]!);
    counts.push(count - last);
    writePacked(writer, 6, counts, 'fixed64');
    return this.#end();
  }

  /** The SummaryDataPoint of a head. A stale one has its quantiles, for the same reason. */
  summary(head: number, compound: Compound): number {
    const table = this.#table;
    const writer = this.#writer;
    const isStale = this.#begin(head, 7, 8);
    this.#times(table.startMs[head]!, table.timeMs[head]!);
    this.#count(compound, isStale);
    const hasSum = compound.sum !== NO_ROW && table.seen[compound.sum] === table.page;
    writer.doubleField(5, hasSum && !isStale ? table.value[compound.sum]! : 0);
    let last = Number.NaN;
    for (const [i, row] of compound.rows.entries()) {
      const quantile = compound.bounds[i]!;
      if (!isStale && table.seen[row] !== table.page) continue;
      // A marker has all rows, including a former histogram's buckets, invalid quantiles and respelled ones.
      if (table.role[row] !== ROLE.quantile || !(quantile <= 1) || quantile === last) continue;
      last = quantile;
      const inner = writer.begin(6);
      writer.doubleField(1, quantile);
      writer.doubleField(2, isStale ? 0 : table.value[row]!);
      writer.end(inner);
    }
    return this.#end();
  }

  /** Returns whether the point ends its series. */
  #begin(row: number, attributes: number, flags: number): boolean {
    this.#mark = this.#writer.begin(1);
    writePointAttributes(this.#writer, attributes, this.#table, row, this.#dropLabels);
    const isStale = this.#table.outcome[row] === OUTCOME.stale;
    if (isStale) this.#writer.varintField(flags, NO_RECORDED_VALUE);
    return isStale;
  }

  #times(startMs: number, timeMs: number): void {
    this.#timesAt = this.#writer.length;
    if (!Number.isNaN(startMs)) this.#writer.timeField(2, startMs);
    if (!Number.isNaN(timeMs)) this.#writer.timeField(3, timeMs);
  }

  #count(compound: Compound, isStale: boolean): number {
    const count = isStale ? 0 : this.#table.value[compound.count]!;
    this.#writer.tag(4, WIRE.fixed64);
    this.#writer.fixed64(count);
    return count;
  }

  #end(): number {
    const size = this.#writer.length - this.#timesAt;
    this.#writer.end(this.#mark);
    return size;
  }
}

/**
 * An id that is zero or not valid hex stays an attribute (H). An exemplar without a time gets its sample's time: back
 * ends refuse a time in 1970.
 */
function writeExemplar(
  writer: WireWriter,
  field: number,
  exemplar: Exemplar,
  sampleMs: number,
): void {
  const mark = writer.begin(field);
  for (const [label, value] of exemplar.labels) {
    if (label === 'trace_id' && TRACE_ID.test(value))
      writer.bytesField(5, Buffer.from(value, 'hex'));
    else if (label === 'span_id' && SPAN_ID.test(value))
      writer.bytesField(4, Buffer.from(value, 'hex'));
    else writeAttribute(writer, 7, label, value);
  }
  // Back ends refuse the time 0, which stands for one that the format cannot hold.
  const isTime = exemplar.timeMs > 0 && exemplar.timeMs < TIME_MS_END;
  const timeMs = isTime ? exemplar.timeMs : sampleMs;
  if (!Number.isNaN(timeMs)) writer.timeField(2, timeMs);
  writer.doubleField(3, exemplar.value);
  writer.end(mark);
}

function writePacked(
  writer: WireWriter,
  field: number,
  values: readonly number[],
  form: 'double' | 'fixed64',
): void {
  if (values.length === 0) return;
  writer.tag(field, WIRE.bytes);
  writer.varint(values.length * 8);
  for (const value of values) {
    if (form === 'double') writer.double(value);
    else writer.fixed64(value);
  }
}
