// encode: writes the points of a page as one OTLP request in protobuf. In: the table, and the identities of its
// services. Out: a Batch with one part per service. Each block becomes its own ResourceMetrics, so parts can be cut out
// and recombined. It does no IO and works in slices.

import { bug } from '../../errors.ts';
import type { Batch, BatchPart } from '../../model/batch.ts';
import { mayRepeat } from '../../model/memory.ts';
import { isCompound, type Metric } from '../../model/metric.ts';
import { FATE, NO_ROW, ROLE, type SeriesTable } from '../../model/series-table.ts';
import { type ResourceIdentity, writeAttribute, writeResource, writeScope } from './identity.ts';
import { makeTemplate, patch } from './patch.ts';
import {
  type PointContext,
  writeHistogramPoint,
  writeNumberPoint,
  writeSummaryPoint,
} from './points.ts';
import type { WireWriter } from './wire.ts';

export interface EncodeOptions {
  readonly isDelta: boolean;
  /** `prefix`: names become `<id>.<name>`. */
  readonly namespace: 'resource' | 'prefix';
  readonly dropLabels: ReadonlySet<string>;
  /** The Resource of a service, by its index in table.services. */
  readonly resourceOf: (service: number) => ResourceIdentity;
}

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
 *   page      written by                        kept for the next page
 *   first     the full function (encode)        a template of the payload, once its order is settled
 *   repeated  patching the template (patch.ts)  the template
 *
 * Both ways give the same bytes. At the first difference the full function takes over and the template is dropped; a
 * target whose templates often fail gets fewer (mayRepeat() in memory.ts).
 */
export function* encodePage(
  table: SeriesTable,
  options: EncodeOptions,
  writer: WireWriter,
  madeAtMs: number,
): Generator<void, Batch> {
  const patched = yield* patch(table, writer, madeAtMs);
  if (patched !== null) {
    table.templateMisses = 0;
    return patched;
  }
  if (table.template !== null) table.templateMisses++;
  const isSettled = table.orderedVersion === table.orderVersion;
  table.template = null;
  const batch = yield* encode(table, writer, options, madeAtMs);
  if (isSettled && mayRepeat(table.templateMisses, table.page))
    table.template = yield* makeTemplate(table, batch.payload);
  return batch;
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
  for (let from = 0; from < order.length; from += SLICE_POINTS) {
    const to = Math.min(from + SLICE_POINTS, order.length);
    for (let i = from; i < to; i++) run.add(order[i]!);
    if (to < order.length) yield;
  }
  run.end();
  return { signal: 'metrics', payload: writer.written(), parts: run.parts, madeAtMs };
}

/** Writes rows in sending order and tracks the open messages: resource, scope, metric, data. */
class EncodeRun {
  readonly parts: BatchPart[] = [];
  readonly #table: SeriesTable;
  readonly #writer: WireWriter;
  readonly #options: EncodeOptions;
  readonly #points: PointContext;
  readonly #repeats: ReadonlySet<number>;
  #service = -1;
  #block = -1;
  #metric = -1;
  #partStart = 0;
  #partPoints = 0;
  /** The open messages, outermost first. */
  #marks: number[] = [];

  constructor(table: SeriesTable, writer: WireWriter, options: EncodeOptions) {
    this.#table = table;
    this.#writer = writer;
    this.#options = options;
    this.#points = { table, dropLabels: options.dropLabels };
    const further = table.repeats.filter(({ fate }) => fate === FATE.point);
    this.#repeats = new Set(further.map(({ row }) => row));
  }

  /** Writes the point of a head if it has one on this page. */
  add(row: number): void {
    const table = this.#table;
    const fate = table.fate[row];
    const hasPoint = fate === FATE.point || fate === FATE.stale;
    if (!hasPoint && !this.#repeats.has(row)) return;
    const index = table.metric[row]!;
    const metric = table.metrics[index]!;
    this.#open(table.block[row]!, index, metric);
    if (hasPoint) this.#writePoint(row, metric);
    if (this.#repeats.has(row)) this.#writeRepeats(row);
  }

  /** Closes all open messages. */
  end(): void {
    this.#close(0);
    this.#endPart();
  }

  #open(block: number, index: number, metric: Metric): void {
    if (block !== this.#block) this.#openBlock(block);
    if (index === this.#metric) return;
    this.#close(2);
    this.#metric = index;
    const writer = this.#writer;
    this.#marks.push(writer.begin(2));
    const { id } = this.#table.services[this.#service]!;
    const prefix = this.#options.namespace === 'prefix' ? `${id}.` : '';
    writer.string(1, prefix + metric.sentName);
    if (metric.sentDescription !== '') writer.string(2, metric.sentDescription);
    if (metric.sentUnit !== '') writer.string(3, metric.sentUnit);
    writeAttribute(writer, 12, 'prometheus.type', metric.declared);
    this.#marks.push(writer.begin(DATA_FIELDS[metric.kind]));
    this.#writeNature(metric);
  }

  #openBlock(index: number): void {
    this.#close(0);
    const block = this.#table.blocks[index]!;
    if (block.service !== this.#service) this.#endPart();
    this.#service = block.service;
    this.#block = index;
    const writer = this.#writer;
    this.#marks.push(writer.begin(1));
    const { info } = this.#table.services[block.service]!;
    writeResource(writer, 1, this.#options.resourceOf(block.service), info);
    this.#marks.push(writer.begin(2));
    writeScope(writer, 1, block.scope);
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

  #writePoint(row: number, metric: Metric): void {
    const table = this.#table;
    this.#partPoints++;
    if (isCompound(metric)) {
      const compound = table.compounds.get(row) ?? bug(`row ${row} heads no ${metric.kind}`);
      const write = metric.kind === 'histogram' ? writeHistogramPoint : writeSummaryPoint;
      write(this.#writer, this.#points, row, compound);
      return;
    }
    const startMs = metric.kind === 'sum' ? table.startMs[row]! : Number.NaN;
    const timeMs = table.timeMs[row]!;
    writeNumberPoint(this.#writer, this.#points, row, {
      startMs,
      timeMs,
      value: table.value[row]!,
    });
  }

  #writeRepeats(row: number): void {
    for (const sample of this.#table.repeats) {
      if (sample.row !== row || sample.fate !== FATE.point) continue;
      this.#partPoints++;
      writeNumberPoint(this.#writer, this.#points, row, sample);
    }
  }

  /** Closes open messages until `depth` are left. */
  #close(depth: number): void {
    while (this.#marks.length > depth) {
      this.#writer.end(this.#marks.pop()!);
    }
    if (depth < 4) this.#metric = -1;
    if (depth === 0) this.#block = -1;
  }

  #endPart(): void {
    const length = this.#writer.length - this.#partStart;
    if (this.#partPoints > 0) {
      const service = this.#table.services[this.#service]!.id;
      const points = this.#partPoints;
      this.parts.push({ service, points, offset: this.#partStart, length });
    }
    this.#partStart = this.#writer.length;
    this.#partPoints = 0;
  }
}

// The sending order: by service, block and metric; rows of one metric keep their order. A stable counting sort over the
// heads of all points, repeated only after rows or metrics changed.

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
