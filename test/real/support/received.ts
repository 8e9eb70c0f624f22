// What a collector wrote to its file, as series: every OTLP point taken apart again into what a page would
// show of it, a histogram into buckets, sum and count. Plain readings of OTLP/JSON, sharing nothing with the
// program's encoder. Whatever is read goes through the gate of wire-sanity.ts.

import { readFile } from 'node:fs/promises';
import type {
  HistogramPointJson,
  MetricJson,
  MetricsRequestJson,
  NumberPointJson,
  SummaryPointJson,
} from '../../../src/pipeline/encode/otlp-fields.ts';
import { attributesOf } from '../../support/otlp-points.ts';
import { WireGate } from '../../support/wire-sanity.ts';
import { seriesKey } from './exposition.ts';

type AnyPoint = NumberPointJson & HistogramPointJson & SummaryPointJson;

interface Data {
  readonly dataPoints?: readonly AnyPoint[];
  readonly aggregationTemporality?: number;
}

export interface ReceivedPoint {
  readonly resource: Readonly<Record<string, string>>;
  readonly scope: string;
  readonly name: string;
  readonly type: 'gauge' | 'sum' | 'histogram' | 'summary';
  readonly unit: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly isMonotonic: boolean;
  readonly isCumulative: boolean;
  /** Milliseconds; NaN where there is none. */
  readonly timeMs: number;
  readonly startMs: number;
  /** True for a point that only says that the series has ended. */
  readonly isStale: boolean;
  /** The series of a page that the point stands for, by `seriesKey`; empty when stale. */
  readonly series: ReadonlyMap<string, number>;
}

const CUMULATIVE = 2;
const NO_RECORDED_VALUE = 1;

/**
 * All metric points of the file, in the order in which they were accepted. Throws when they are not sane, unless it is
 * not this program that has sent them.
 */
export async function readReceived(
  file: string,
  { isOurs = true }: { readonly isOurs?: boolean } = {},
): Promise<ReceivedPoint[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter(line => line !== '');
  const requests = lines.map(line => JSON.parse(line) as MetricsRequestJson);
  const gate = new WireGate({ mayResend: true });
  for (const request of isOurs ? requests : []) gate.take(request);
  gate.expectSane();
  return requests.flatMap(requestPoints);
}

function requestPoints(request: MetricsRequestJson): ReceivedPoint[] {
  const points: ReceivedPoint[] = [];
  for (const { resource, scopeMetrics = [] } of request.resourceMetrics ?? []) {
    const labels = attributesOf(resource?.attributes);
    for (const { scope, metrics = [] } of scopeMetrics) {
      for (const metric of metrics) points.push(...metricPoints(metric, labels, scope?.name ?? ''));
    }
  }
  return points;
}

function metricPoints(
  metric: MetricJson,
  resource: Record<string, string>,
  scope: string,
): ReceivedPoint[] {
  const points: ReceivedPoint[] = [];
  const { name = '' } = metric;
  for (const type of ['gauge', 'sum', 'histogram', 'summary'] as const) {
    const data: Data | undefined = metric[type];
    for (const point of data?.dataPoints ?? []) {
      const labels = attributesOf(point.attributes);
      const isStale = ((point.flags ?? 0) & NO_RECORDED_VALUE) !== 0;
      points.push({
        resource,
        scope,
        name,
        type,
        labels,
        isStale,
        unit: metric.unit ?? '',
        description: metric.description ?? '',
        metadata: attributesOf(metric.metadata),
        isMonotonic: metric.sum?.isMonotonic === true,
        isCumulative: data?.aggregationTemporality === CUMULATIVE,
        timeMs: Number(point.timeUnixNano ?? Number.NaN) / 1e6,
        startMs: Number(point.startTimeUnixNano ?? Number.NaN) / 1e6,
        series: new Map(isStale ? [] : pointSeries(name, type, labels, point)),
      });
    }
  }
  return points;
}

function pointSeries(
  name: string,
  type: ReceivedPoint['type'],
  labels: Record<string, string>,
  point: AnyPoint,
): [string, number][] {
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
