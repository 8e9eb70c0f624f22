// The repeating function of encode: writes the numbers of a page into the payload of the previous page. In: a table
// with a template of these points. Out: the bytes that the full function (encode.ts) would write, or null at the first
// difference; the template is then invalid and the full function must run.
//
// A template is made from a fully encoded payload: encode notes where it writes each point. A payload
// with exemplars gives no template; one with markers is not patched as a whole.
// Each template is verified: writing the page's own numbers into it must give the same bytes.

import type { Batch, BatchPart } from '../../model/batch.ts';
import type { PointKind } from '../../model/metric.ts';
import { OUTCOME, NO_ROW, type SeriesTable } from '../../model/series-table.ts';
import {
  type Compound,
  FORM,
  type PayloadTemplate,
  type TemplateBlock,
} from '../../model/memory.ts';
import { putDouble, putFixed64, putTimeMs, varintSize, type WireWriter } from './wire.ts';

/** Points processed before the event loop gets a turn. */
const SLICE_POINTS = 2048;

/** The size of a fixed64 or double with its tag. */
const SLOT = 9;
/** start_time_unix_nano of every form, and sum of a histogram. */
const START_TAG = 0x11;
const SUM_TAG = 0x29;
const QUANTILE_TAG = 0x32;

/** Patches the table's template; yields between slices. The batch uses memory of the template or writer. */
export function* patch(
  table: SeriesTable,
  writer: WireWriter,
  madeAtMs: number,
): Generator<void, Batch | null> {
  const { template } = table;
  const isSettled = table.orderedVersion === table.orderVersion;
  if (template === null || !template.isWhole || !isSettled) return null;
  const points = countPoints(table);
  if (table.exemplars.size > 0 || points === null) return null;
  const blocks = template.blocks.filter(
    ({ block }) => table.blocks[block]?.movedPage === table.page,
  );
  // Else the payload is assembled block by block.
  const isWhole = blocks.length === template.blocks.length;
  let held = 0;
  let sinceYield = 0;
  writer.reset();
  for (const { firstPoint, pointCount, offset, length } of blocks) {
    if (!patchPoints(table, template, firstPoint, firstPoint + pointCount)) return null;
    if (!isWhole) writer.raw(template.bytes, offset, offset + length);
    held += pointCount;
    sinceYield += pointCount;
    if (sinceYield >= SLICE_POINTS) {
      sinceYield = 0;
      yield;
    }
  }
  // A point outside these blocks exists.
  if (held !== points) return null;
  const payload = isWhole ? template.bytes : writer.written();
  return { signal: 'metrics', payload, parts: partsOf(table, blocks), madeAtMs };
}

/** The parts of a payload with these blocks: adjacent blocks of one service form one part. */
export function partsOf(table: SeriesTable, blocks: readonly TemplateBlock[]): BatchPart[] {
  const parts: BatchPart[] = [];
  let offset = 0;
  for (const { service: index, points, length } of blocks) {
    const service = table.services[index]!.id;
    const last = parts.at(-1);
    if (last?.service !== service) parts.push({ service, points, offset, length });
    else {
      const sums = { points: last.points + points, length: last.length + length };
      parts[parts.length - 1] = { ...last, ...sums };
    }
    offset += length;
  }
  return parts;
}

/** How many heads have a point on this page; null if one has a marker. */
function countPoints({ outcome, order }: SeriesTable): number | null {
  let count = 0;
  for (let index = 0; index < order.length; index++) {
    const judged = outcome[order[index]!];
    if (judged === OUTCOME.stale) return null;
    if (judged === OUTCOME.point) count++;
  }
  return count;
}

/** Writes the numbers of points [from, to) of the template; false if one does not fit its form. */
export function patchPoints(
  table: SeriesTable,
  template: PayloadTemplate,
  from: number,
  to: number,
): boolean {
  const { rows, offsets, forms, bytes, view } = template;
  const { outcome, value, timeMs, startMs } = table;
  for (let point = from; point < to; point++) {
    const row = rows[point]!;
    if (outcome[row] !== OUTCOME.point) return false;
    let at = offsets[point]!;
    const start = startMs[row]!;
    const hasStart = bytes[at] === START_TAG;
    if (hasStart === Number.isNaN(start)) return false;
    if (hasStart) {
      putTimeMs(view, at + 1, start);
      at += SLOT;
    }
    putTimeMs(view, at + 1, timeMs[row]!);
    at += SLOT;
    if (forms[point] === FORM.number) putDouble(view, at + 1, value[row]!);
    else if (!patchCompound(table, template, point, at)) return false;
  }
  return true;
}

/**
 * Writes the numbers of a histogram or summary after its times, in the order of points.ts; false if its bounds or
 * quantiles differ from the template's.
 */
function patchCompound(
  table: SeriesTable,
  template: PayloadTemplate,
  point: number,
  timesEnd: number,
): boolean {
  const compound = table.compounds.get(template.rows[point]!);
  if (compound === undefined) return false;
  const { view, bytes } = template;
  const isHistogram = template.forms[point] === FORM.histogram;
  const total = table.value[compound.count]!;
  putFixed64(view, timesEnd + 1, isHistogram ? total : Math.round(total));
  let at = timesEnd + SLOT;
  const hasSum = compound.sum !== NO_ROW && table.seen[compound.sum] === table.page;
  if (isHistogram && (bytes[at] === SUM_TAG) !== hasSum) return false;
  if (hasSum || !isHistogram) {
    putDouble(view, at + 1, hasSum ? table.value[compound.sum]! : 0);
    at += SLOT;
  }
  return isHistogram
    ? patchBuckets(table, template, template.offsets[point]!, at, compound)
    : patchQuantiles(table, template, at, compound);
}

/** Packed bucket counts: tag, length, n + 1 fixed64. The n bounds end where the times begin. */
function patchBuckets(
  table: SeriesTable,
  { view, bytes }: PayloadTemplate,
  times: number,
  start: number,
  compound: Compound,
): boolean {
  const length = lengthAt(bytes, start + 1);
  let at = start + 1 + varintSize(length);
  const end = at + length - 8;
  let boundAt = times - (length - 8);
  let last = 0;
  for (const [i, row] of compound.rows.entries()) {
    const bound = compound.bounds[i]!;
    if (table.seen[row] !== table.page || bound === Infinity) continue;
    if (at === end || !Object.is(view.getFloat64(boundAt, true), bound)) return false;
    const count = table.value[row]!;
    putFixed64(view, at, count - last);
    last = count;
    at += 8;
    boundAt += 8;
  }
  if (at !== end) return false;
  putFixed64(view, at, table.value[compound.count]! - last);
  return true;
}

/** Quantiles up to the end of the point: tag, length (18), quantile and value. */
function patchQuantiles(
  table: SeriesTable,
  { view, bytes }: PayloadTemplate,
  start: number,
  compound: Compound,
): boolean {
  let at = start;
  for (const [i, row] of compound.rows.entries()) {
    if (table.seen[row] !== table.page) continue;
    const quantile = compound.bounds[i]!;
    if (bytes[at] !== QUANTILE_TAG || !Object.is(view.getFloat64(at + 3, true), quantile))
      return false;
    putDouble(view, at + 2 + SLOT + 1, table.value[row]!);
    at += 2 + 2 * SLOT;
  }
  return bytes[at] !== QUANTILE_TAG;
}

// Making a template.

/** Where the points of a payload are, noted while it is written. */
export class PointNotes {
  count = 0;
  readonly blocks: TemplateBlock[] = [];
  readonly rows: Uint32Array;
  readonly starts: Uint32Array;
  readonly offsets: Uint32Array;
  readonly forms: Uint8Array;

  /** For at most `points` points. */
  constructor(points: number) {
    this.rows = new Uint32Array(points);
    this.starts = new Uint32Array(points);
    this.offsets = new Uint32Array(points);
    this.forms = new Uint8Array(points);
  }

  add(row: number, form: number, start: number, offset: number): void {
    const point = this.count++;
    this.rows[point] = row;
    this.forms[point] = form;
    this.starts[point] = start;
    this.offsets[point] = offset;
  }

  /** The points from `first` on have moved: an open message needed a longer length. */
  move(first: number, by: number): void {
    const { starts, offsets, count } = this;
    for (let point = first; point < count; point++) {
      starts[point] = starts[point]! + by;
      offsets[point] = offsets[point]! + by;
    }
  }
}

/**
 * Makes a template from `payload`, which must not change until the end; `isWhole`: it has only the
 * noted points. Yields between slices. null if this is not possible.
 */
export function* makeTemplate(
  table: SeriesTable,
  payload: Buffer,
  { count, ...notes }: PointNotes,
  isWhole: boolean,
): Generator<void, PayloadTemplate | null> {
  if (table.exemplars.size > 0) return null;
  const bytes = copyOf(payload, table.template?.bytes.buffer);
  const rows = notes.rows.subarray(0, count);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const template: PayloadTemplate = { ...notes, rows, bytes, view, isWhole };
  for (let from = 0; from < count; from += SLICE_POINTS) {
    const to = Math.min(from + SLICE_POINTS, count);
    if (!patchPoints(table, template, from, to)) return null;
    for (let point = from; point < to; point++) table.point[rows[point]!] = point;
    yield;
  }
  return bytes.equals(payload) ? template : null;
}

/** A copy in the former template's memory if it fits; in new memory with some room if points come and go. */
function copyOf(payload: Buffer, former: ArrayBufferLike | undefined): Buffer {
  const { length } = payload;
  const fits =
    former !== undefined && former.byteLength >= length && former.byteLength < 2 * length;
  const memory = fits
    ? Buffer.from(former, 0, length)
    : Buffer.allocUnsafeSlow(former === undefined ? length : length + (length >> 4));
  payload.copy(memory);
  return memory.subarray(0, length);
}

/** The form of points of this kind. */
export function formOf(kind: PointKind): number {
  return kind === 'histogram' || kind === 'summary' ? FORM[kind] : FORM.number;
}

/** Where a point of the template ends. */
export function endOfPoint({ bytes, starts }: PayloadTemplate, point: number): number {
  const at = starts[point]! + 1;
  const length = lengthAt(bytes, at);
  return at + varintSize(length) + length;
}

function lengthAt(bytes: Buffer, start: number): number {
  let length = 0;
  for (let at = start, power = 1; ; at++, power *= 128) {
    const byte = bytes[at]!;
    length += (byte & 0x7f) * power;
    if (byte < 0x80) return length;
  }
}
