// Reads the OTLP/JSON that a Collector wrote to its file, as series: splits every point into the series that a
// page would show, a histogram into buckets, sum and count. Shares nothing with the program's encoder. Checks
// the program's requests with wire-sanity.ts.

import { attributesOf, type PlacedPoint, placedPoints } from '../../support/otlp-points.ts';
import { WireGate } from '../../support/wire-sanity.ts';
import { readRequests } from '../parts/collector.ts';
import { seriesKey } from './exposition.ts';

export interface ReceivedPoint {
  readonly resource: Readonly<Record<string, string>>;
  readonly scope: string;
  readonly name: string;
  readonly type: PlacedPoint['type'];
  readonly unit: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly isMonotonic: boolean;
  readonly isCumulative: boolean;
  /** NaN if the point has no such time. */
  readonly timeMs: number;
  readonly startMs: number;
  /** True for a staleness marker. */
  readonly isStale: boolean;
  /** The series of a page that the point contains, by `seriesKey`; empty for a staleness marker. */
  readonly series: ReadonlyMap<string, number>;
}

const NO_RECORDED_VALUE = 1;

/**
 * All metric points of the file, in the order in which they were accepted. If this program has sent them (`isOurs`),
 * throws when they are not sane.
 */
export async function readReceived(
  file: string,
  { isOurs = true }: { readonly isOurs?: boolean } = {},
): Promise<ReceivedPoint[]> {
  const requests = await readRequests(file);
  const gate = new WireGate({ mayResend: true });
  for (const request of isOurs ? requests : []) gate.take(request);
  gate.expectSane();
  return requests.flatMap(placedPoints).map(receivedPoint);
}

function receivedPoint(placed: PlacedPoint): ReceivedPoint {
  const { resource, scope, metric, type, temporality, point } = placed;
  const isStale = ((point.flags ?? 0) & NO_RECORDED_VALUE) !== 0;
  return {
    resource: attributesOf(resource),
    scope,
    name: metric.name ?? '',
    type,
    labels: attributesOf(point.attributes),
    isStale,
    unit: metric.unit ?? '',
    description: metric.description ?? '',
    metadata: attributesOf(metric.metadata),
    isMonotonic: metric.sum?.isMonotonic === true,
    isCumulative: temporality === 'cumulative',
    timeMs: Number(point.timeUnixNano ?? Number.NaN) / 1e6,
    startMs: Number(point.startTimeUnixNano ?? Number.NaN) / 1e6,
    series: new Map(isStale ? [] : pointSeries(placed)),
  };
}

function pointSeries({ metric: { name = '' }, type, point }: PlacedPoint): [string, number][] {
  const labels = attributesOf(point.attributes);
  const one = (suffix: string, more: Record<string, string>, value: number): [string, number] => [
    seriesKey(name + suffix, { ...labels, ...more }),
    value,
  ];
  if (type === 'gauge' || type === 'sum')
    return [one('', {}, toNumber(point.asDouble ?? point.asInt))];
  const series = [one('_count', {}, toNumber(point.count ?? 0))];
  if (type === 'summary' || point.sum !== undefined) {
    series.push(one('_sum', {}, toNumber(point.sum ?? 0)));
  }
  if (type === 'summary') {
    for (const { quantile = 0, value = 0 } of point.quantileValues ?? []) {
      series.push(one('', { quantile: String(toNumber(quantile)) }, toNumber(value)));
    }
    return series;
  }
  let below = 0;
  for (const [index, count] of (point.bucketCounts ?? []).entries()) {
    below += toNumber(count);
    const bound = point.explicitBounds?.[index] ?? Number.POSITIVE_INFINITY;
    series.push(one('_bucket', { le: String(bound) }, below));
  }
  return series;
}

function toNumber(value: number | string = Number.NaN): number {
  return Number(value);
}
