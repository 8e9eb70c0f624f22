// encode: writes the points of a page as one OTLP request in protobuf. In: the table, and the identities of its
// services. Out: a Batch with one part per service. Each block becomes its own ResourceMetrics, so parts can be cut out
// and recombined. encode does no IO and works in slices.

import { bug } from '../../errors.ts';
import type { Batch } from '../../model/batch.ts';
import type { PayloadTemplate } from '../../model/memory.ts';
import type { Metric, PointKind } from '../../model/metric.ts';
import { OUTCOME, NO_ROW, ROLE, type SeriesTable } from '../../model/series-table.ts';
import { type ResourceIdentity, writeAttribute, writeResource, writeScope } from './identity.ts';
import {
  endOfPoint,
  formOf,
  makeTemplate,
  partsOf,
  patch,
  patchPoints,
  PointNotes,
} from './patch.ts';
import { PointWriter } from './points.ts';
import type { WireWriter } from './wire.ts';

export interface EncodeOptions {
  readonly isDelta: boolean;
  /** `prefix`: names become `<id>.<name>`. */
  readonly namespace: 'resource' | 'prefix';
  readonly dropLabels: ReadonlySet<string>;
  /** The Resource of a service, by its index in table.services. */
  readonly resourceOf: (service: number) => ResourceIdentity;
  /** True for pages of the past: the metadata of their metrics says so. */
  readonly isPast?: true;
}

/** Marks what was read from the service's history. Metadata, unlike attributes, does not make other series. */
const PAST_MARK = 'prom2otlp.backfilled';

/** Points written before the event loop gets a turn. */
const SLICE_POINTS = 256;
const TEMPORALITY_DELTA = 1;
const TEMPORALITY_CUMULATIVE = 2;

// ExportMetricsServiceRequest 1 resource_metrics
// ResourceMetrics             1 resource, 2 scope_metrics, 3 schema_url
// ScopeMetrics                1 scope, 2 metrics, 3 schema_url
// Metric                      1 name, 2 description, 3 unit, 12 metadata (KeyValue), and one of
//                             5 gauge, 7 sum, 9 histogram, 11 summary
// Gauge, Summary              1 data_points
// Sum                         1 data_points, 2 aggregation_temporality, 3 is_monotonic
// Histogram                   1 data_points, 2 aggregation_temporality
const DATA_FIELDS = { gauge: 5, sum: 7, updown: 7, histogram: 9, summary: 11 } as const;

/** Approximate size of a point without its labels. */
const POINT_BYTES = 48;

/**
 * Writes the points of this page. Yields between slices. The batch uses memory of the writer or the table and is valid
 * until the next page.
 *
 *   page                       written by
 *   with the former points     patching the template (patch.ts)
 *   any other, and the first   the full function (encode); points that the template has are taken from there
 *
 * All ways give the same bytes. The full function leaves a template of its payload.
 */
export function* encodePage(
  table: SeriesTable,
  options: EncodeOptions,
  writer: WireWriter,
  madeAtMs: number,
): Generator<void, Batch> {
  const patched = yield* patch(table, writer, madeAtMs);
  return patched ?? (yield* encode(table, writer, options, madeAtMs));
}

/** Encodes the points of the page; yields between slices. The batch is in the writer's memory. */
function* encode(
  table: SeriesTable,
  writer: WireWriter,
  options: EncodeOptions,
  madeAtMs: number,
): Generator<void, Batch> {
  const order = yield* sendOrder(table);
  writer.reset(table.keysUsed + order.length * POINT_BYTES);
  const run = new EncodeRun(table, writer, options);
  for (let at = 0; at < order.length; ) {
    const sliceEnd = Math.min(at + SLICE_POINTS, order.length);
    while (at < sliceEnd) at = run.add(at, sliceEnd);
    if (at < order.length) yield;
  }
  run.end();
  const payload = writer.written();
  table.template = yield* makeTemplate(table, payload, run.notes, run.isWhole);
  const parts = partsOf(table, run.notes.blocks);
  return { signal: 'metrics', payload, parts, madeAtMs };
}

/** Writes rows in sending order and tracks the open messages: resource, scope, metric, data. */
class EncodeRun {
  readonly notes: PointNotes;
  /** False if there are stale points, which are not noted. */
  isWhole = true;
  readonly #table: SeriesTable;
  readonly #writer: WireWriter;
  readonly #options: EncodeOptions;
  readonly #points: PointWriter;
  /** The former template, from which points are copied; null if none may be copied. */
  readonly #template: PayloadTemplate | null;
  #service = -1;
  #block = -1;
  #blockStart = 0;
  #metric = -1;
  #blockPoints = 0;
  /** The open messages, outermost first, and how many points were noted when each was opened. */
  readonly #marks: number[] = [];
  readonly #firsts: number[] = [];

  constructor(table: SeriesTable, writer: WireWriter, options: EncodeOptions) {
    this.#table = table;
    this.#writer = writer;
    this.#options = options;
    this.#points = new PointWriter(writer, table, options.dropLabels);
    this.#template = table.exemplars.size === 0 ? table.template : null;
    this.notes = new PointNotes(table.order.length);
  }

  /**
   * Writes points of table.order from position `at`: as many as the template has in one run, at least
   * the points of one head, and none from `end` on. Returns the next position.
   */
  add(at: number, end: number): number {
    const table = this.#table;
    const row = table.order[at]!;
    const outcome = table.outcome[row];
    if (outcome !== OUTCOME.point && outcome !== OUTCOME.stale) return at + 1;
    const index = table.metric[row]!;
    const metric = table.metrics[index]!;
    this.#open(table.block[row]!, index, metric);
    if (this.#template !== null) {
      const next = this.#copyPoints(this.#template, metric.kind, at, end);
      if (next > at) return next;
    }
    this.#writePoint(row, metric);
    return at + 1;
  }

  /** Takes points of one metric from the template; returns the position of the first that is not there. */
  #copyPoints(template: PayloadTemplate, kind: PointKind, from: number, end: number): number {
    const { order, point: pointOf, metric, block } = this.#table;
    const { rows, starts, offsets, forms } = template;
    const head = order[from]!;
    const first = pointOf[head]!;
    // Also for V8: each index beyond 31 bits would make it discard its optimized code.
    if (first === NO_ROW) return from;
    const writer = this.#writer;
    const form = formOf(kind);
    const shift = writer.length - starts[first]!;
    let at = from;
    let copyEnd = starts[first]!;
    for (let point = first; at < end; at++, point++) {
      const row = order[at]!;
      // Another point may have a header before it.
      if (rows[point] !== row || starts[point] !== copyEnd || pointOf[row] !== point) break;
      if (metric[row] !== metric[head] || block[row] !== block[head]) break;
      if (forms[point] !== form) break;
      if (!patchPoints(this.#table, template, point, point + 1)) break;
      this.notes.add(row, form, copyEnd + shift, offsets[point]! + shift);
      copyEnd = endOfPoint(template, point);
    }
    if (at > from) writer.raw(template.bytes, starts[first], copyEnd);
    this.#blockPoints += at - from;
    return at;
  }

  /** Closes all open messages. */
  end(): void {
    this.#close(0);
  }

  #open(block: number, index: number, metric: Metric): void {
    if (block !== this.#block) this.#openBlock(block);
    if (index === this.#metric) return;
    this.#close(2);
    this.#metric = index;
    const writer = this.#writer;
    this.#begin(2);
    const { id } = this.#table.services[this.#service]!;
    const prefix = this.#options.namespace === 'prefix' ? `${id}.` : '';
    writer.string(1, prefix + metric.sentName);
    if (metric.sentDescription !== '') writer.string(2, metric.sentDescription);
    if (metric.sentUnit !== '') writer.string(3, metric.sentUnit);
    writeAttribute(writer, 12, 'prometheus.type', metric.declared);
    if (this.#options.isPast === true) writeAttribute(writer, 12, PAST_MARK, 'true');
    this.#begin(DATA_FIELDS[metric.kind]);
    this.#writeNature(metric);
  }

  #openBlock(index: number): void {
    this.#close(0);
    const block = this.#table.blocks[index]!;
    this.#service = block.service;
    this.#block = index;
    const writer = this.#writer;
    this.#blockStart = writer.length;
    this.#begin(1);
    const identity = this.#options.resourceOf(block.service);
    const { info } = this.#table.services[block.service]!;
    writeResource(writer, { identity, info });
    this.#begin(2);
    writeScope(writer, block.scope);
    // The scope's schema_url comes before the metrics: protobuf allows any field order.
    if (block.scope.schemaUrl !== '') writer.string(3, block.scope.schemaUrl);
  }

  /** Temporality and monotonicity, for the kinds that have them. */
  #writeNature(metric: Metric): void {
    const writer = this.#writer;
    if (metric.kind === 'gauge' || metric.kind === 'summary') return;
    const isDelta = this.#options.isDelta && metric.kind !== 'updown';
    writer.varintField(2, isDelta ? TEMPORALITY_DELTA : TEMPORALITY_CUMULATIVE);
    if (metric.kind === 'sum') writer.varintField(3, 1);
  }

  #writePoint(row: number, { kind }: Metric): void {
    this.#blockPoints++;
    const { length: start } = this.#writer;
    const isCompound = kind === 'histogram' || kind === 'summary';
    const size = isCompound
      ? this.#writeCompound(row, kind)
      : this.#points.number(row, kind === 'sum');
    if (this.#table.outcome[row] === OUTCOME.stale) this.isWhole = false;
    else this.notes.add(row, formOf(kind), start, this.#writer.length - size);
  }

  #writeCompound(row: number, kind: 'histogram' | 'summary'): number {
    const compound = this.#table.compounds.get(row) ?? bug(`row ${row} heads no ${kind}`);
    return this.#points[kind](row, compound);
  }

  #begin(field: number): void {
    this.#marks.push(this.#writer.begin(field));
    this.#firsts.push(this.notes.count);
  }

  /** Closes open messages until `depth` are left. */
  #close(depth: number): void {
    let first = this.notes.count;
    while (this.#marks.length > depth) {
      const moved = this.#writer.end(this.#marks.pop()!);
      first = this.#firsts.pop()!;
      if (moved > 0) this.notes.move(first, moved);
    }
    if (depth < 4) this.#metric = -1;
    if (depth > 0 || this.#block < 0) return;
    this.notes.blocks.push({
      block: this.#block,
      service: this.#service,
      offset: this.#blockStart,
      length: this.#writer.length - this.#blockStart,
      points: this.#blockPoints,
      firstPoint: first,
      pointCount: this.notes.count - first,
    });
    this.#block = -1;
    this.#blockPoints = 0;
  }
}

// The sending order: by service, block and metric; rows of one metric keep their order. A stable
// counting sort over the heads of all points, repeated only after rows or metrics changed.

/** table.order, updated if needed. Yields between the passes over all rows. */
function* sendOrder(table: SeriesTable): Generator<void, Uint32Array> {
  const version = table.orderVersion;
  if (table.orderedVersion === version) return table.order;
  const heads = new Uint32Array(table.count);
  let count = 0;
  for (let row = 0; row < table.count; row++) if (isHead(table, row)) heads[count++] = row;
  yield;
  const blockRanks = rankBlocks(table);
  const byMetric = countingSort(
    heads.subarray(0, count),
    table.metrics.length,
    row => table.metric[row]!,
  );
  yield;
  table.order = countingSort(byMetric, table.blocks.length, row => {
    const block = table.block[row]!;
    // Rows of unusable pages have no block yet, and no point on this page.
    return block === NO_ROW ? 0 : blockRanks[block]!;
  });
  table.orderedVersion = version;
  return table.order;
}

function isHead(table: SeriesTable, row: number): boolean {
  if (table.keyLength[row] === 0 || table.head[row] !== row) return false;
  const role = table.role[row];
  const isAlone = role === ROLE.scalar || role === ROLE.synthetic;
  return isAlone || table.compounds.has(row);
}

/** Blocks of one service are adjacent, so that each service is one range of the payload. */
function rankBlocks(table: SeriesTable): Uint32Array {
  const indexes = table.blocks.map((_, index) => index);
  const serviceOf = (index: number): number => table.blocks[index]!.service;
  indexes.sort((a, b) => serviceOf(a) - serviceOf(b) || a - b);
  const ranks = new Uint32Array(indexes.length);
  for (const [rank, index] of indexes.entries()) ranks[index] = rank;
  return ranks;
}

function countingSort(
  rows: Uint32Array,
  keyCount: number,
  keyOf: (row: number) => number,
): Uint32Array {
  const starts = new Uint32Array(keyCount + 1);
  for (const row of rows) {
    const next = keyOf(row) + 1;
    starts[next] = starts[next]! + 1;
  }
  for (let key = 1; key <= keyCount; key++) starts[key] = starts[key]! + starts[key - 1]!;
  const sorted = new Uint32Array(rows.length);
  for (const row of rows) {
    const key = keyOf(row);
    const at = starts[key]!;
    sorted[at] = row;
    starts[key] = at + 1;
  }
  return sorted;
}
