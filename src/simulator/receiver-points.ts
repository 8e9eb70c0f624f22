// Reads a decoded OTLP request (OTLP/JSON in shape) into flat points: one object per point with its metric,
// resource and scope, which is what tests and the demo look at.

import type {
  AnyValueJson,
  JsonDouble,
  KeyValueJson,
  LogsRequestJson,
  MetricJson,
  MetricsRequestJson,
  PointJson,
} from '../pipeline/encode/otlp-shape.ts';

export type ReceivedKind = 'sum' | 'updown' | 'gauge' | 'histogram' | 'summary' | 'other';

export interface ReceivedPoint {
  readonly name: string;
  readonly kind: ReceivedKind;
  readonly unit: string;
  /** `delta`, or whatever else it is. */
  readonly isDelta: boolean;
  readonly resource: Readonly<Record<string, string>>;
  readonly scope: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Nanoseconds; 0 where there is none. */
  readonly startTimeUnixNano: bigint;
  readonly timeUnixNano: bigint;
  /** Of sums and gauges; NaN for other kinds. */
  readonly value: number;
  /** True for a staleness marker: a point that says that there is no value. */
  readonly isStale: boolean;
}

/** The points of a metrics request, in its order. */
export function* pointsOf(request: MetricsRequestJson): Generator<ReceivedPoint> {
  for (const { resource, scopeMetrics = [] } of request.resourceMetrics ?? []) {
    const resourceAttributes = textAttributes(resource?.attributes);
    for (const { scope, metrics = [] } of scopeMetrics) {
      for (const metric of metrics) {
        const shared = { resource: resourceAttributes, scope: scope?.name ?? '' };
        for (const point of metricPoints(metric)) yield { ...point, ...shared };
      }
    }
  }
}

/** How many log records a logs request holds. */
export function logRecordCount(request: LogsRequestJson): number {
  let count = 0;
  for (const { scopeLogs = [] } of request.resourceLogs ?? []) {
    for (const { logRecords = [] } of scopeLogs) count += logRecords.length;
  }
  return count;
}

const NO_RECORDED_VALUE = 1;
const DELTA = 1;

function* metricPoints(metric: MetricJson): Generator<Omit<ReceivedPoint, 'resource' | 'scope'>> {
  const { name = '', unit = '', sum, gauge, histogram, summary } = metric;
  const kind = kindOf(metric);
  const data = sum ?? gauge ?? histogram ?? summary ?? metric.exponentialHistogram;
  const temporality = (sum ?? histogram)?.aggregationTemporality;
  const points: readonly PointJson[] = data?.dataPoints ?? [];
  for (const point of points) {
    yield {
      name,
      kind,
      unit,
      isDelta: temporality === DELTA,
      attributes: textAttributes(point.attributes),
      startTimeUnixNano: BigInt(point.startTimeUnixNano ?? 0),
      timeUnixNano: BigInt(point.timeUnixNano ?? 0),
      value: valueOf(point),
      isStale: ((point.flags ?? 0) & NO_RECORDED_VALUE) !== 0,
    };
  }
}

function kindOf({ sum, gauge, histogram, summary }: MetricJson): ReceivedKind {
  if (sum !== undefined) return sum.isMonotonic === true ? 'sum' : 'updown';
  if (gauge !== undefined) return 'gauge';
  if (histogram !== undefined) return 'histogram';
  return summary === undefined ? 'other' : 'summary';
}

function valueOf(point: PointJson & { asDouble?: JsonDouble; asInt?: string }): number {
  // NaN and the infinities are written as texts that Number() reads.
  return Number(point.asDouble ?? point.asInt ?? NaN);
}

function textAttributes(attributes: readonly KeyValueJson[] = []): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key = '', value = {} }) => [key, textOf(value)]));
}

function textOf(value: AnyValueJson): string {
  const scalar = value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue;
  return scalar === undefined ? JSON.stringify(value) : String(scalar);
}
