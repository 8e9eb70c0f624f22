// Flattens a request into one row per point or log record, so that a test can compare what was sent with what it expects
// without walking envelopes. Rows have the order of the request; nothing is merged or sorted but attributes.
import type {
  AnyValueJson,
  ExemplarJson,
  HistogramPointJson,
  JsonDouble,
  KeyValueJson,
  LogRecordJson,
  LogsRequestJson,
  MetricJson,
  MetricsRequestJson,
  NumberPointJson,
  PointJson,
  SummaryPointJson,
} from '../../src/pipeline/encode/otlp-fields.ts';

/** The type of a point's metric; `empty` is a metric without any data. */
export type PointType = 'gauge' | 'sum' | 'histogram' | 'summary' | 'empty';

/** A point with its surroundings. Attributes are texts such as `a=1,b=x`, sorted by name, for easy comparison. */
export interface OtlpPoint {
  readonly resource: string;
  /** The resource's service.name and service.instance.id; '' if it has none. */
  readonly serviceName: string;
  readonly serviceId: string;
  readonly scope: string;
  readonly metric: string;
  readonly type: PointType;
  readonly unit: string;
  readonly description: string;
  readonly metadata: string;
  readonly temporality: 'unspecified' | 'delta' | 'cumulative' | 'none';
  readonly isMonotonic: boolean;
  readonly attributes: string;
  /** Nanoseconds as decimal text; `0` when unknown. */
  readonly startNs: string;
  readonly timeNs: string;
  /** A number point's value; undefined when the point has none, as in a staleness marker. */
  readonly value: JsonDouble | undefined;
  /** `count=3 sum=1.5 le0.1:1 le1:1 inf:1`, or `count=2 sum=3 q0.5:1 q0.99:2`; empty for number points. */
  readonly distribution: string;
  readonly flags: number;
  readonly exemplars: readonly ExemplarJson[];
}

/** A point with its place in a request. */
export interface PlacedPoint {
  /** The attributes of its Resource. */
  readonly resource: readonly KeyValueJson[];
  readonly scope: string;
  readonly metric: MetricJson;
  readonly type: PointType;
  readonly temporality: OtlpPoint['temporality'];
  readonly point: NumberPointJson & HistogramPointJson & SummaryPointJson;
}

/** All points of the request, in its order. */
export function placedPoints({ resourceMetrics = [] }: MetricsRequestJson): PlacedPoint[] {
  return resourceMetrics.flatMap(({ resource: { attributes: resource = [] } = {}, scopeMetrics }) =>
    (scopeMetrics ?? []).flatMap(({ scope: { name: scope = '' } = {}, metrics = [] }) =>
      metrics.flatMap(metric => {
        const [type, data] = dataOf(metric);
        const hasTemporality = type === 'sum' || type === 'histogram';
        const temporality = hasTemporality
          ? (TEMPORALITIES[data.aggregationTemporality ?? 0] ?? 'unspecified')
          : 'none';
        const place = { resource, scope, metric, type, temporality } as const;
        return (data.dataPoints ?? []).map(point => ({ ...place, point }));
      }),
    ),
  );
}

/** One row per point of the request, in its order. */
export function otlpPoints(request: MetricsRequestJson): OtlpPoint[] {
  return placedPoints(request).map(({ resource, scope, metric, type, temporality, point }) => ({
    resource: attributesText(resource),
    serviceName: attributeOf(resource, 'service.name'),
    serviceId: attributeOf(resource, 'service.instance.id'),
    scope,
    metric: metric.name ?? '',
    type,
    unit: metric.unit ?? '',
    description: metric.description ?? '',
    metadata: attributesText(metric.metadata),
    temporality,
    isMonotonic: metric.sum?.isMonotonic ?? false,
    attributes: attributesText(point.attributes),
    startNs: point.startTimeUnixNano ?? '0',
    timeNs: point.timeUnixNano ?? '0',
    value: point.asInt === undefined ? point.asDouble : Number(point.asInt),
    distribution: distributionText(type, point),
    flags: point.flags ?? 0,
    exemplars: point.exemplars ?? [],
  }));
}

/** The amount that a point has counted: a distribution's count, or a number's value. */
export function amountOf({ distribution, value }: OtlpPoint): number {
  return Number(/^count=(\d+)/.exec(distribution)?.[1] ?? value);
}

/** Series that the program adds to every scrape of a service. */
export const ADDED_SERIES: ReadonlySet<string> = new Set([
  'up',
  'scrape_duration_seconds',
  'scrape_samples_scraped',
  'scrape_samples_post_metric_relabeling',
  'scrape_series_added',
  'scrape_body_size_bytes',
]);

/** A log record with the attributes of its Resource. */
export interface OtlpLog {
  readonly resource: readonly KeyValueJson[];
  readonly scope: string;
  readonly record: LogRecordJson;
}

/** One row per record of the request, in its order. */
export function otlpLogs({ resourceLogs = [] }: LogsRequestJson): OtlpLog[] {
  return resourceLogs.flatMap(({ resource: { attributes: resource = [] } = {}, scopeLogs = [] }) =>
    scopeLogs.flatMap(({ scope: { name: scope = '' } = {}, logRecords = [] }) =>
      logRecords.map(record => ({ resource, scope, record })),
    ),
  );
}

/** Attributes as texts by their names. */
export function attributesOf(attributes: readonly KeyValueJson[] = []): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key = '', value }) => [key, anyValueText(value)] as const),
  );
}

/** `a=1,b=x`, sorted by name. */
export function attributesText(attributes: readonly KeyValueJson[] = []): string {
  return attributes
    .map(({ key, value }) => `${key ?? ''}=${anyValueText(value)}`)
    .sort()
    .join(',');
}

function attributeOf(attributes: readonly KeyValueJson[], key: string): string {
  return anyValueText(attributes.find(attribute => attribute.key === key)?.value);
}

function anyValueText(value: AnyValueJson = {}): string {
  const { arrayValue, kvlistValue } = value;
  if (arrayValue !== undefined) return `[${(arrayValue.values ?? []).map(anyValueText).join(',')}]`;
  if (kvlistValue !== undefined) return `{${attributesText(kvlistValue.values)}}`;
  return Object.values(value).map(String).join('');
}

const TEMPORALITIES = ['unspecified', 'delta', 'cumulative'] as const;

interface AnyData {
  readonly dataPoints?: readonly PointJson[];
  readonly aggregationTemporality?: number;
}

function dataOf(metric: MetricJson): [PointType, AnyData] {
  if (metric.gauge !== undefined) return ['gauge', metric.gauge];
  if (metric.sum !== undefined) return ['sum', metric.sum];
  if (metric.histogram !== undefined) return ['histogram', metric.histogram];
  if (metric.summary !== undefined) return ['summary', metric.summary];
  return ['empty', { dataPoints: [{}] }];
}

function distributionText(type: PointType, point: PlacedPoint['point']): string {
  if (type === 'gauge' || type === 'sum' || type === 'empty') return '';
  const { count = '0', bucketCounts = [], explicitBounds = [], quantileValues = [] } = point;
  // A summary's sum cannot be unset, a histogram's can.
  const sum = point.sum ?? (type === 'summary' ? 0 : undefined);
  const buckets = bucketCounts.map((bucket, i) => {
    const bound = explicitBounds[i];
    return bound === undefined ? `inf:${bucket}` : `le${String(bound)}:${bucket}`;
  });
  const quantiles = quantileValues.map(
    ({ quantile = 0, value = 0 }) => `q${String(quantile)}:${String(value)}`,
  );
  const head = sum === undefined ? [`count=${count}`] : [`count=${count}`, `sum=${String(sum)}`];
  return [...head, ...buckets, ...quantiles].join(' ');
}
