// The types of OTLP/JSON, as decoded by otlp-json.ts and sent by http/json. An absent field has its
// default (0, empty, false) or, where OTLP makes a difference, is not set. 64-bit integers are
// decimal strings, times in nanoseconds; ids are hex, bytes base64.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding

export type JsonDouble = number | 'NaN' | 'Infinity' | '-Infinity';

/** At most one member is set. */
export interface AnyValueJson {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string;
  readonly doubleValue?: JsonDouble;
  readonly arrayValue?: { readonly values?: readonly AnyValueJson[] };
  readonly kvlistValue?: { readonly values?: readonly KeyValueJson[] };
  readonly bytesValue?: string;
}

export interface KeyValueJson {
  readonly key?: string;
  readonly value?: AnyValueJson;
}

interface Attributed {
  readonly attributes?: readonly KeyValueJson[];
}

export interface ResourceJson extends Attributed {
  readonly droppedAttributesCount?: number;
}

export interface ScopeJson extends Attributed {
  readonly name?: string;
  readonly version?: string;
  readonly droppedAttributesCount?: number;
}

export interface ExemplarJson {
  readonly filteredAttributes?: readonly KeyValueJson[];
  readonly timeUnixNano?: string;
  readonly asDouble?: JsonDouble;
  readonly asInt?: string;
  readonly spanId?: string;
  readonly traceId?: string;
}

/** The common fields of all kinds of points. */
export interface PointJson extends Attributed {
  readonly startTimeUnixNano?: string;
  readonly timeUnixNano?: string;
  readonly exemplars?: readonly ExemplarJson[];
  readonly flags?: number;
}

export interface NumberPointJson extends PointJson {
  readonly asDouble?: JsonDouble;
  readonly asInt?: string;
}

export interface HistogramPointJson extends PointJson {
  readonly count?: string;
  readonly sum?: JsonDouble;
  readonly bucketCounts?: readonly string[];
  readonly explicitBounds?: readonly JsonDouble[];
  readonly min?: JsonDouble;
  readonly max?: JsonDouble;
}

export interface BucketsJson {
  readonly offset?: number;
  readonly bucketCounts?: readonly string[];
}

export interface ExponentialHistogramPointJson extends PointJson {
  readonly count?: string;
  readonly sum?: JsonDouble;
  readonly scale?: number;
  readonly zeroCount?: string;
  readonly positive?: BucketsJson;
  readonly negative?: BucketsJson;
  readonly min?: JsonDouble;
  readonly max?: JsonDouble;
  readonly zeroThreshold?: JsonDouble;
}

export interface SummaryPointJson extends PointJson {
  readonly count?: string;
  readonly sum?: JsonDouble;
  readonly quantileValues?: readonly {
    readonly quantile?: JsonDouble;
    readonly value?: JsonDouble;
  }[];
}

interface Points<Point> {
  readonly dataPoints?: readonly Point[];
  /** 1 delta, 2 cumulative. */
  readonly aggregationTemporality?: number;
}

/** One of the five kinds of data is set. */
export interface MetricJson {
  readonly name?: string;
  readonly description?: string;
  readonly unit?: string;
  readonly gauge?: Points<NumberPointJson>;
  readonly sum?: Points<NumberPointJson> & { readonly isMonotonic?: boolean };
  readonly histogram?: Points<HistogramPointJson>;
  readonly exponentialHistogram?: Points<ExponentialHistogramPointJson>;
  readonly summary?: Points<SummaryPointJson>;
  readonly metadata?: readonly KeyValueJson[];
}

export interface ScopeMetricsJson {
  readonly scope?: ScopeJson;
  readonly metrics?: readonly MetricJson[];
  readonly schemaUrl?: string;
}

export interface ResourceMetricsJson {
  readonly resource?: ResourceJson;
  readonly scopeMetrics?: readonly ScopeMetricsJson[];
  readonly schemaUrl?: string;
}

export interface MetricsRequestJson {
  readonly resourceMetrics?: readonly ResourceMetricsJson[];
}

export interface LogRecordJson extends Attributed {
  readonly timeUnixNano?: string;
  readonly observedTimeUnixNano?: string;
  readonly severityNumber?: number;
  readonly severityText?: string;
  readonly body?: AnyValueJson;
  readonly droppedAttributesCount?: number;
  readonly flags?: number;
  readonly traceId?: string;
  readonly spanId?: string;
  readonly eventName?: string;
}

export interface ScopeLogsJson {
  readonly scope?: ScopeJson;
  readonly logRecords?: readonly LogRecordJson[];
  readonly schemaUrl?: string;
}

export interface ResourceLogsJson {
  readonly resource?: ResourceJson;
  readonly scopeLogs?: readonly ScopeLogsJson[];
  readonly schemaUrl?: string;
}

export interface LogsRequestJson {
  readonly resourceLogs?: readonly ResourceLogsJson[];
}
