// Encodes the sums of slow queries by digest. In: the series of one server at one time. Out: OTLP, one ResourceMetrics of
// the service. It does no IO. docs/use/logs.md describes the metrics.

import {
  openEnvelope,
  type ServiceResource,
  writeAttribute,
} from '../../pipeline/encode/identity.ts';
import { WIRE, type WireWriter } from '../../pipeline/encode/wire.ts';
import { BOUNDS_S, type DigestSeries, type DigestSums, type Statement } from './digest-table.ts';

/** The server whose statements are counted. */
export interface DigestOwner extends ServiceResource {
  /** Put before each name; may be ''. */
  readonly prefix: string;
  /** '' if the service does not name it. */
  readonly server: string;
}

export interface DigestPoints {
  readonly series: readonly DigestSeries[];
  readonly timeMs: number;
  readonly isDelta: boolean;
}

const SCOPE = 'prom2otlp/slow-queries';
/** The digest of everything that is not in the top. */
const OTHER = 'other';
const DELTA = 1;
const CUMULATIVE = 2;

const SUMS: readonly (readonly [
  name: string,
  description: string,
  unit: string,
  valueOf: (sums: DigestSums) => number,
])[] = [
  ['prom2otlp_slow_query_executions_total', 'Slow queries.', '{query}', ({ count }) => count],
  [
    'prom2otlp_slow_query_seconds_total',
    'Duration of slow queries.',
    's',
    ({ micros }) => micros / 1e6,
  ],
  [
    'prom2otlp_slow_query_lock_seconds_total',
    'Time of slow queries in locks.',
    's',
    ({ lockMicros }) => lockMicros / 1e6,
  ],
  [
    'prom2otlp_slow_query_rows_examined_total',
    'Rows that slow queries read.',
    '{row}',
    ({ rowsExamined }) => rowsExamined,
  ],
  [
    'prom2otlp_slow_query_rows_sent_total',
    'Rows that slow queries returned.',
    '{row}',
    ({ rowsSent }) => rowsSent,
  ],
  [
    'prom2otlp_slow_query_bytes_sent_total',
    'Bytes that slow queries returned.',
    'By',
    ({ bytesSent }) => bytesSent,
  ],
];
const DURATION_NAME = 'prom2otlp_slow_query_duration_seconds';
const DURATION = 'Slow queries by duration.';

// ScopeMetrics       2 metrics                   Metric    1 name, 2 description, 3 unit, 7 sum, 9 histogram
// Sum                1 data_points, 2 aggregation_temporality, 3 is_monotonic
// Histogram          1 data_points, 2 aggregation_temporality
// NumberDataPoint    7 attributes, 2 start_time_unix_nano, 3 time_unix_nano (fixed64), 4 as_double
// HistogramDataPoint 9 attributes, 2 start, 3 time, 4 count (fixed64), 5 sum (double), 6 bucket_counts (packed fixed64),
//                    7 explicit_bounds (packed double), 8 exemplars
// Exemplar           2 time_unix_nano, 3 as_double, 4 span_id, 5 trace_id (bytes)

/** Appends the points; returns their number. */
export function writeDigests(writer: WireWriter, owner: DigestOwner, points: DigestPoints): number {
  const close = openEnvelope(writer, owner, SCOPE);
  const { series, timeMs, isDelta } = points;
  const temporality = isDelta ? DELTA : CUMULATIVE;
  for (const [name, description, unit, valueOf] of SUMS) {
    const metric = beginMetric(writer, owner.prefix + name, description, unit);
    const sum = writer.begin(7);
    for (const one of series) {
      const point = writer.begin(1);
      writer.timeField(2, one.sums.startMs);
      writer.timeField(3, timeMs);
      writer.doubleField(4, valueOf(one.sums));
      writeIdentity(writer, 7, owner, one);
      writer.end(point);
    }
    writer.varintField(2, temporality);
    writer.varintField(3, 1);
    writer.end(sum);
    writer.end(metric);
  }
  const metric = beginMetric(writer, owner.prefix + DURATION_NAME, DURATION, 's');
  const histogram = writer.begin(9);
  for (const one of series) writeHistogram(writer, owner, one, timeMs);
  writer.varintField(2, temporality);
  writer.end(histogram);
  writer.end(metric);
  close();
  return series.length * (SUMS.length + 1);
}

function beginMetric(writer: WireWriter, name: string, description: string, unit: string): number {
  const mark = writer.begin(2);
  writer.string(1, name);
  writer.string(2, description);
  writer.string(3, unit);
  return mark;
}

function writeHistogram(
  writer: WireWriter,
  owner: DigestOwner,
  one: DigestSeries,
  timeMs: number,
): void {
  const { sums, exemplar } = one;
  const point = writer.begin(1);
  writer.timeField(2, sums.startMs);
  writer.timeField(3, timeMs);
  writer.tag(4, WIRE.fixed64);
  writer.fixed64(sums.count);
  writer.doubleField(5, sums.micros / 1e6);
  writer.tag(6, WIRE.bytes);
  writer.varint(sums.buckets.length * 8);
  for (const bucket of sums.buckets) writer.fixed64(bucket);
  writer.tag(7, WIRE.bytes);
  writer.varint(BOUNDS_S.length * 8);
  for (const bound of BOUNDS_S) writer.double(bound);
  if (exemplar !== null) writeExemplar(writer, exemplar);
  writeIdentity(writer, 9, owner, one);
  writer.end(point);
}

function writeExemplar(writer: WireWriter, { span, timeMs, micros }: Statement): void {
  if (span === null) return;
  const mark = writer.begin(8);
  writer.timeField(2, timeMs);
  writer.doubleField(3, micros / 1e6);
  writer.bytesField(4, Buffer.from(span.spanId, 'hex'));
  writer.bytesField(5, Buffer.from(span.traceId, 'hex'));
  writer.end(mark);
}

function writeIdentity(
  writer: WireWriter,
  field: number,
  { server }: DigestOwner,
  { digest, summary }: DigestSeries,
): void {
  if (server !== '') writeAttribute(writer, field, 'server_name', server);
  writeAttribute(writer, field, 'digest', digest ?? OTHER);
  if (summary !== '') writeAttribute(writer, field, 'db.query.summary', summary);
}
