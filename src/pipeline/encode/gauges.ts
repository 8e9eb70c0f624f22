// Encodes prom2otlp's own gauges about a database service. In: names, numbers and one time. Out: protobuf, one
// ResourceMetrics per service. It does no IO.

import { openEnvelope, type ServiceResource, writeAttribute } from './identity.ts';
import { NO_RECORDED_VALUE } from './points.ts';
import type { WireWriter } from './wire.ts';

export interface Gauge {
  readonly name: string;
  readonly description: string;
  /** '' for counts. */
  readonly unit: string;
  readonly points: readonly GaugePoint[];
}

export interface GaugePoint {
  readonly attributes: readonly (readonly [key: string, value: string])[];
  /** null ends the series at the back end. */
  readonly value: number | null;
}

export interface GaugeOwner extends ServiceResource {
  readonly scope: string;
  /** Put before each name; may be ''. */
  readonly prefix: string;
}

/**
 * By series, the gauge that ends it once it has no value any more. Without this gauge, a back end would show the last
 * value for minutes.
 */
export function endsOf(gauges: readonly Gauge[]): ReadonlyMap<string, Gauge> {
  const ends = gauges.flatMap(gauge =>
    gauge.points.map(({ attributes }): readonly [series: string, end: Gauge] => [
      JSON.stringify([gauge.name, attributes]),
      { ...gauge, points: [{ attributes, value: null }] },
    ]),
  );
  return new Map(ends);
}

/** The ends of the series that existed before and do not exist now. */
export function endedSince(
  before: ReadonlyMap<string, Gauge>,
  now: ReadonlyMap<string, Gauge>,
): readonly Gauge[] {
  return [...before].flatMap(([series, end]) => (now.has(series) ? [] : [end]));
}

// The messages of encode.ts, and of each point
// NumberDataPoint 7 attributes, 8 flags (uint32), 3 time_unix_nano (fixed64), 4 as_double (double)

/** Appends the gauges of one service; returns the number of points. */
export function writeGauges(
  writer: WireWriter,
  owner: GaugeOwner,
  gauges: readonly Gauge[],
  timeMs: number,
): number {
  const close = openEnvelope(writer, owner, owner.scope);
  let count = 0;
  for (const { name, description, unit, points } of gauges) {
    if (points.length === 0) continue;
    const metric = writer.begin(2);
    writer.string(1, owner.prefix + name);
    writer.string(2, description);
    if (unit !== '') writer.string(3, unit);
    const gauge = writer.begin(5);
    for (const point of points) writePoint(writer, point, timeMs);
    writer.end(gauge);
    writer.end(metric);
    count += points.length;
  }
  close();
  return count;
}

function writePoint(writer: WireWriter, { attributes, value }: GaugePoint, timeMs: number): void {
  const mark = writer.begin(1);
  for (const [key, text] of attributes) writeAttribute(writer, 7, key, text);
  if (value === null) writer.varintField(8, NO_RECORDED_VALUE);
  writer.timeField(3, timeMs);
  if (value !== null) writer.doubleField(4, value);
  writer.end(mark);
}
