// The messages of OTLP on the wire, and their types in OTLP/JSON: one table per message, in the order of the .proto
// files. A row has a field's number, its name in OTLP/JSON, its type (a scalar, or another message) and its label; no
// message has several oneofs. Fields that this project neither sends nor reads (exponential histograms, entities,
// string tables) are omitted and skipped.
// https://github.com/open-telemetry/opentelemetry-proto (v1.10.0)

/** An `id` is bytes shown as hex, `bytes` are shown as base64. */
export type ScalarType =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'enum'
  | 'fixed32'
  | 'fixed64'
  | 'id'
  | 'int64'
  | 'sfixed64'
  | 'string'
  | 'uint32';

const OTLP = {
  // opentelemetry/proto/common/v1/common.proto
  keyValue: [
    [1, 'key', 'string'],
    [2, 'value', 'anyValue'],
  ],
  arrayValue: [[1, 'values', 'anyValue', 'repeated']],
  keyValueList: [[1, 'values', 'keyValue', 'repeated']],
  anyValue: [
    [1, 'stringValue', 'string', 'oneof'],
    [2, 'boolValue', 'bool', 'oneof'],
    [3, 'intValue', 'int64', 'oneof'],
    [4, 'doubleValue', 'double', 'oneof'],
    [5, 'arrayValue', 'arrayValue', 'oneof'],
    [6, 'kvlistValue', 'keyValueList', 'oneof'],
    [7, 'bytesValue', 'bytes', 'oneof'],
  ],
  instrumentationScope: [
    [1, 'name', 'string'],
    [2, 'version', 'string'],
    [3, 'attributes', 'keyValue', 'repeated'],
    [4, 'droppedAttributesCount', 'uint32'],
  ],
  // opentelemetry/proto/resource/v1/resource.proto
  resource: [
    [1, 'attributes', 'keyValue', 'repeated'],
    [2, 'droppedAttributesCount', 'uint32'],
  ],
  // opentelemetry/proto/metrics/v1/metrics.proto
  exemplar: [
    [2, 'timeUnixNano', 'fixed64'],
    [3, 'asDouble', 'double', 'oneof'],
    [4, 'spanId', 'id'],
    [5, 'traceId', 'id'],
    [6, 'asInt', 'sfixed64', 'oneof'],
    [7, 'filteredAttributes', 'keyValue', 'repeated'],
  ],
  numberDataPoint: [
    [2, 'startTimeUnixNano', 'fixed64'],
    [3, 'timeUnixNano', 'fixed64'],
    [4, 'asDouble', 'double', 'oneof'],
    [5, 'exemplars', 'exemplar', 'repeated'],
    [6, 'asInt', 'sfixed64', 'oneof'],
    [7, 'attributes', 'keyValue', 'repeated'],
    [8, 'flags', 'uint32'],
  ],
  histogramDataPoint: [
    [2, 'startTimeUnixNano', 'fixed64'],
    [3, 'timeUnixNano', 'fixed64'],
    [4, 'count', 'fixed64'],
    [5, 'sum', 'double', 'optional'],
    [6, 'bucketCounts', 'fixed64', 'repeated'],
    [7, 'explicitBounds', 'double', 'repeated'],
    [8, 'exemplars', 'exemplar', 'repeated'],
    [9, 'attributes', 'keyValue', 'repeated'],
    [10, 'flags', 'uint32'],
  ],
  valueAtQuantile: [
    [1, 'quantile', 'double'],
    [2, 'value', 'double'],
  ],
  summaryDataPoint: [
    [2, 'startTimeUnixNano', 'fixed64'],
    [3, 'timeUnixNano', 'fixed64'],
    [4, 'count', 'fixed64'],
    [5, 'sum', 'double'],
    [6, 'quantileValues', 'valueAtQuantile', 'repeated'],
    [7, 'attributes', 'keyValue', 'repeated'],
    [8, 'flags', 'uint32'],
  ],
  gauge: [[1, 'dataPoints', 'numberDataPoint', 'repeated']],
  sum: [
    [1, 'dataPoints', 'numberDataPoint', 'repeated'],
    [2, 'aggregationTemporality', 'enum'],
    [3, 'isMonotonic', 'bool'],
  ],
  histogram: [
    [1, 'dataPoints', 'histogramDataPoint', 'repeated'],
    [2, 'aggregationTemporality', 'enum'],
  ],
  summary: [[1, 'dataPoints', 'summaryDataPoint', 'repeated']],
  metric: [
    [1, 'name', 'string'],
    [2, 'description', 'string'],
    [3, 'unit', 'string'],
    [5, 'gauge', 'gauge', 'oneof'],
    [7, 'sum', 'sum', 'oneof'],
    [9, 'histogram', 'histogram', 'oneof'],
    [11, 'summary', 'summary', 'oneof'],
    [12, 'metadata', 'keyValue', 'repeated'],
  ],
  scopeMetrics: [
    [1, 'scope', 'instrumentationScope'],
    [2, 'metrics', 'metric', 'repeated'],
    [3, 'schemaUrl', 'string'],
  ],
  resourceMetrics: [
    [1, 'resource', 'resource'],
    [2, 'scopeMetrics', 'scopeMetrics', 'repeated'],
    [3, 'schemaUrl', 'string'],
  ],
  metricsRequest: [[1, 'resourceMetrics', 'resourceMetrics', 'repeated']],
  // opentelemetry/proto/logs/v1/logs.proto
  logRecord: [
    [1, 'timeUnixNano', 'fixed64'],
    [2, 'severityNumber', 'enum'],
    [3, 'severityText', 'string'],
    [5, 'body', 'anyValue'],
    [6, 'attributes', 'keyValue', 'repeated'],
    [7, 'droppedAttributesCount', 'uint32'],
    [8, 'flags', 'fixed32'],
    [9, 'traceId', 'id'],
    [10, 'spanId', 'id'],
    [11, 'observedTimeUnixNano', 'fixed64'],
    [12, 'eventName', 'string'],
  ],
  scopeLogs: [
    [1, 'scope', 'instrumentationScope'],
    [2, 'logRecords', 'logRecord', 'repeated'],
    [3, 'schemaUrl', 'string'],
  ],
  resourceLogs: [
    [1, 'resource', 'resource'],
    [2, 'scopeLogs', 'scopeLogs', 'repeated'],
    [3, 'schemaUrl', 'string'],
  ],
  logsRequest: [[1, 'resourceLogs', 'resourceLogs', 'repeated']],
} as const;

// The types of OTLP/JSON. An absent field has its default (0, empty, false) or, where OTLP makes a difference, is not
// set. 64-bit integers are decimal strings, times in nanoseconds. At most one member of a oneof is set.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding

type MessageName = keyof typeof OTLP;
type Label = 'repeated' | 'optional' | 'oneof';
type Row = readonly [number, name: string, type: ScalarType | MessageName, label?: Label];

export type JsonDouble = number | 'NaN' | 'Infinity' | '-Infinity';

type MessageJson<Name extends MessageName> = {
  readonly [Field in (typeof OTLP)[Name][number] as Field[1]]?: FieldJson<Field>;
};
type FieldJson<Field> = Field extends readonly [number, string, infer Type, 'repeated']
  ? readonly ValueJson<Type>[]
  : Field extends readonly [number, string, infer Type, ...unknown[]]
    ? ValueJson<Type>
    : never;
type ValueJson<Type> = Type extends MessageName
  ? MessageJson<Type>
  : Type extends 'double'
    ? JsonDouble
    : Type extends 'bool'
      ? boolean
      : Type extends 'enum' | 'fixed32' | 'uint32'
        ? number
        : string;

export type AnyValueJson = MessageJson<'anyValue'>;
export type KeyValueJson = MessageJson<'keyValue'>;
export type ExemplarJson = MessageJson<'exemplar'>;
export type NumberPointJson = MessageJson<'numberDataPoint'>;
export type HistogramPointJson = MessageJson<'histogramDataPoint'>;
export type SummaryPointJson = MessageJson<'summaryDataPoint'>;
/** The common fields of all kinds of points. */
export type PointJson = Omit<NumberPointJson, 'asDouble' | 'asInt'>;
/** One of the four kinds of data is set. */
export type MetricJson = MessageJson<'metric'>;
export type MetricsRequestJson = MessageJson<'metricsRequest'>;
export type LogRecordJson = MessageJson<'logRecord'>;
export type LogsRequestJson = MessageJson<'logsRequest'>;

// The same tables for the decoder.

export interface MessageField {
  readonly name: string;
  readonly type: ScalarType | Message;
  readonly isRepeated: boolean;
  /** False if the default value means the same as an absent field: JSON omits it. */
  readonly hasPresence: boolean;
  /** Other members of the same oneof: the last one on the wire wins. */
  readonly rivals: readonly string[];
}

/** Fields by number. */
export type Message = (MessageField | undefined)[];

const messages = new Map<string, Message>(Object.keys(OTLP).map(name => [name, []]));
for (const [name, rows] of Object.entries<readonly Row[]>(OTLP))
  for (const [number, field, type, label] of rows)
    messages.get(name)![number] = {
      name: field,
      type: messages.get(type) ?? (type as ScalarType),
      isRepeated: label === 'repeated',
      hasPresence: label === 'optional' || label === 'oneof',
      rivals: rows
        .filter(row => label === 'oneof' && row[3] === 'oneof' && row[1] !== field)
        .map(row => row[1]),
    };

/** ExportMetricsServiceRequest. */
export const metricsRequest: Message = messages.get('metricsRequest')!;
/** ExportLogsServiceRequest. */
export const logsRequest: Message = messages.get('logsRequest')!;
