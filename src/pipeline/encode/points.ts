// Data points of OTLP metrics. Knows the field numbers of metrics.proto; wire.ts knows the bytes. A point's
// times and value come last and at fixed width, so that the next page may be patched into the same bytes.

import { FATE, NO_ROW, ROLE, type SeriesTable } from '../../model/series-table.ts';
import type { Exemplar } from '../../model/memory.ts';
import type { Compound } from '../../model/memory.ts';
import { writeAttribute, writePointAttributes } from './identity.ts';
import { WIRE, type WireWriter } from './wire.ts';

const NO_RECORDED_VALUE = 1;
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/i;
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/i;

// NumberDataPoint    7 attributes, 8 flags (uint32), 5 exemplars, 2 start_time_unix_nano (fixed64),
//                    3 time_unix_nano (fixed64), 4 as_double (double)
// HistogramDataPoint 9 attributes, 10 flags, 8 exemplars, 7 explicit_bounds (packed double), 2 start, 3 time,
//                    4 count (fixed64), 5 sum (double), 6 bucket_counts (packed fixed64)
// SummaryDataPoint   7 attributes, 8 flags, 2 start, 3 time, 4 count (fixed64), 5 sum (double),
//                    6 quantile_values {1 quantile (double), 2 value (double)}
// Exemplar           7 filtered_attributes, 2 time_unix_nano, 3 as_double, 4 span_id (bytes), 5 trace_id (bytes)

/** The table, and the labels that are not sent. */
export interface PointContext {
  readonly table: SeriesTable;
  readonly dropLabels: ReadonlySet<string>;
}

/** Times and value of one number; startMs is NaN where the point has no start. */
export interface NumberAt {
  readonly startMs: number;
  readonly timeMs: number;
  readonly value: number;
}

/** Writes the NumberDataPoint of a row as field 1. `isStale` leaves the value out and sets the flag. */
export function writeNumberPoint(
  writer: WireWriter,
  context: PointContext,
  row: number,
  at: NumberAt,
): void {
  const { table } = context;
  const isStale = table.fate[row] === FATE.stale;
  const mark = writer.begin(1);
  writePointAttributes(writer, 7, table, row, context.dropLabels);
  if (isStale) writeVarintField(writer, 8, NO_RECORDED_VALUE);
  const exemplar = table.exemplars.size === 0 ? undefined : table.exemplars.get(row);
  if (exemplar !== undefined && !isStale) writeExemplar(writer, 5, exemplar, at.timeMs);
  writeTimes(writer, at.startMs, at.timeMs);
  if (!isStale) writeDoubleField(writer, 4, at.value);
  writer.end(mark);
}

/**
 * Writes the HistogramDataPoint of a head as field 1. A stale one keeps its bounds with zero counts, and a sum of zero
 * if it had one: back ends end the series that they made of it one by one, and only those that they find.
 */
export function writeHistogramPoint(
  writer: WireWriter,
  context: PointContext,
  head: number,
  compound: Compound,
): void {
  const { table } = context;
  const isStale = table.fate[head] === FATE.stale;
  const timeMs = table.timeMs[head]!;
  const bounds: number[] = [];
  const counts: number[] = [];
  const mark = writer.begin(1);
  writePointAttributes(writer, 9, table, head, context.dropLabels);
  if (isStale) writeVarintField(writer, 10, NO_RECORDED_VALUE);
  let last = 0;
  for (const [i, row] of compound.rows.entries()) {
    const bound = compound.bounds[i]!;
    if (!isStale && table.seen[row] !== table.page) continue;
    // A former summary still has its quantiles here.
    if (table.role[row] !== ROLE.bucket) continue;
    const exemplar = isStale ? undefined : table.exemplars.get(row);
    if (exemplar !== undefined) writeExemplar(writer, 8, exemplar, timeMs);
    if (!Number.isFinite(bound) || bound === bounds.at(-1)) continue;
    const total = isStale ? 0 : table.value[row]!;
    bounds.push(bound);
    counts.push(total - last);
    last = total;
  }
  writePacked(writer, 7, bounds, 'double');
  writeTimes(writer, table.startMs[head]!, timeMs);
  const count = isStale ? 0 : table.value[compound.count]!;
  writer.tag(4, WIRE.fixed64);
  writer.fixed64(count);
  const hasSum = compound.sum !== NO_ROW && (isStale || table.seen[compound.sum] === table.page);
  if (hasSum) writeDoubleField(writer, 5, isStale ? 0 : table.value[compound.sum]!);
  counts.push(count - last);
  writePacked(writer, 6, counts, 'fixed64');
  writer.end(mark);
}

/** Writes the SummaryDataPoint of a head as field 1. A stale one keeps its quantiles, for the same reason. */
export function writeSummaryPoint(
  writer: WireWriter,
  context: PointContext,
  head: number,
  compound: Compound,
): void {
  const { table } = context;
  const isStale = table.fate[head] === FATE.stale;
  const mark = writer.begin(1);
  writePointAttributes(writer, 7, table, head, context.dropLabels);
  if (isStale) writeVarintField(writer, 8, NO_RECORDED_VALUE);
  writeTimes(writer, table.startMs[head]!, table.timeMs[head]!);
  const hasSum = compound.sum !== NO_ROW && table.seen[compound.sum] === table.page;
  writer.tag(4, WIRE.fixed64);
  writer.fixed64(isStale ? 0 : table.value[compound.count]!);
  writeDoubleField(writer, 5, hasSum && !isStale ? table.value[compound.sum]! : 0);
  let last = Number.NaN;
  for (const [i, row] of compound.rows.entries()) {
    const quantile = compound.bounds[i]!;
    if (!isStale && table.seen[row] !== table.page) continue;
    // A marker has all rows: also buckets of a former histogram, bounds that are no quantile, and two spellings of one.
    if (table.role[row] !== ROLE.quantile || !(quantile <= 1) || quantile === last) continue;
    last = quantile;
    const inner = writer.begin(6);
    writeDoubleField(writer, 1, quantile);
    writeDoubleField(writer, 2, isStale ? 0 : table.value[row]!);
    writer.end(inner);
  }
  writer.end(mark);
}

/**
 * An id that is not valid hex, or all zero, stays an ordinary attribute (H). One without a time has that of its
 * sample: back ends take no time for 1970.
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
  writeTimeField(writer, 2, Number.isNaN(exemplar.timeMs) ? sampleMs : exemplar.timeMs);
  writeDoubleField(writer, 3, exemplar.value);
  writer.end(mark);
}

function writeTimes(writer: WireWriter, startMs: number, timeMs: number): void {
  writeTimeField(writer, 2, startMs);
  writeTimeField(writer, 3, timeMs);
}

function writeTimeField(writer: WireWriter, field: number, timeMs: number): void {
  if (Number.isNaN(timeMs)) return;
  writer.tag(field, WIRE.fixed64);
  writer.fixed64Ms(timeMs);
}

function writeDoubleField(writer: WireWriter, field: number, value: number): void {
  writer.tag(field, WIRE.fixed64);
  writer.double(value);
}

function writeVarintField(writer: WireWriter, field: number, value: number): void {
  writer.tag(field, WIRE.varint);
  writer.varint(value);
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
