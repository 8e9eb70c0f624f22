// The messages of OTLP on the wire: one table per message, in the order of the .proto files. Each
// row has a field's number, its name in OTLP/JSON, its type and its label; no message has several
// oneofs. Fields that this project neither sends nor reads (entities, string tables) are omitted
// and skipped. https://github.com/open-telemetry/opentelemetry-proto (v1.10.0)

/**
 * The form of a value on the wire and in JSON: `id` is bytes shown as hex, `bytes` are shown as
 * base64.
 */
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
  | 'sint32'
  | 'string'
  | 'uint32'
  | 'uint64';

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

type Label = 'repeated' | 'optional' | 'oneof';
type Row = readonly [number: number, name: string, type: ScalarType | Message, label?: Label];

function message(rows: readonly Row[]): Message {
  const fields: Message = [];
  fill(fields, rows);
  return fields;
}

function fill(fields: Message, rows: readonly Row[]): void {
  const oneOf = rows.filter(row => row[3] === 'oneof').map(row => row[1]);
  for (const [number, name, type, label] of rows) {
    const isRepeated = label === 'repeated';
    const hasPresence = label === 'optional' || label === 'oneof';
    const rivals = label === 'oneof' ? oneOf.filter(other => other !== name) : [];
    fields[number] = { name, type, isRepeated, hasPresence, rivals };
  }
}

// opentelemetry/proto/common/v1/common.proto

/** Contains itself through the next three messages, so its fields are added below. */
const anyValue: Message = [];

const keyValue: Message = message([
  [1, 'key', 'string'],
  [2, 'value', anyValue],
]);

const arrayValue: Message = message([[1, 'values', anyValue, 'repeated']]);

const keyValueList: Message = message([[1, 'values', keyValue, 'repeated']]);

fill(anyValue, [
  [1, 'stringValue', 'string', 'oneof'],
  [2, 'boolValue', 'bool', 'oneof'],
  [3, 'intValue', 'int64', 'oneof'],
  [4, 'doubleValue', 'double', 'oneof'],
  [5, 'arrayValue', arrayValue, 'oneof'],
  [6, 'kvlistValue', keyValueList, 'oneof'],
  [7, 'bytesValue', 'bytes', 'oneof'],
]);

const instrumentationScope: Message = message([
  [1, 'name', 'string'],
  [2, 'version', 'string'],
  [3, 'attributes', keyValue, 'repeated'],
  [4, 'droppedAttributesCount', 'uint32'],
]);

// opentelemetry/proto/resource/v1/resource.proto

const resource: Message = message([
  [1, 'attributes', keyValue, 'repeated'],
  [2, 'droppedAttributesCount', 'uint32'],
]);

// opentelemetry/proto/metrics/v1/metrics.proto

const exemplar: Message = message([
  [2, 'timeUnixNano', 'fixed64'],
  [3, 'asDouble', 'double', 'oneof'],
  [4, 'spanId', 'id'],
  [5, 'traceId', 'id'],
  [6, 'asInt', 'sfixed64', 'oneof'],
  [7, 'filteredAttributes', keyValue, 'repeated'],
]);

const numberDataPoint: Message = message([
  [2, 'startTimeUnixNano', 'fixed64'],
  [3, 'timeUnixNano', 'fixed64'],
  [4, 'asDouble', 'double', 'oneof'],
  [5, 'exemplars', exemplar, 'repeated'],
  [6, 'asInt', 'sfixed64', 'oneof'],
  [7, 'attributes', keyValue, 'repeated'],
  [8, 'flags', 'uint32'],
]);

const histogramDataPoint: Message = message([
  [2, 'startTimeUnixNano', 'fixed64'],
  [3, 'timeUnixNano', 'fixed64'],
  [4, 'count', 'fixed64'],
  [5, 'sum', 'double', 'optional'],
  [6, 'bucketCounts', 'fixed64', 'repeated'],
  [7, 'explicitBounds', 'double', 'repeated'],
  [8, 'exemplars', exemplar, 'repeated'],
  [9, 'attributes', keyValue, 'repeated'],
  [10, 'flags', 'uint32'],
  [11, 'min', 'double', 'optional'],
  [12, 'max', 'double', 'optional'],
]);

const buckets: Message = message([
  [1, 'offset', 'sint32'],
  [2, 'bucketCounts', 'uint64', 'repeated'],
]);

const exponentialHistogramDataPoint: Message = message([
  [1, 'attributes', keyValue, 'repeated'],
  [2, 'startTimeUnixNano', 'fixed64'],
  [3, 'timeUnixNano', 'fixed64'],
  [4, 'count', 'fixed64'],
  [5, 'sum', 'double', 'optional'],
  [6, 'scale', 'sint32'],
  [7, 'zeroCount', 'fixed64'],
  [8, 'positive', buckets],
  [9, 'negative', buckets],
  [10, 'flags', 'uint32'],
  [11, 'exemplars', exemplar, 'repeated'],
  [12, 'min', 'double', 'optional'],
  [13, 'max', 'double', 'optional'],
  [14, 'zeroThreshold', 'double'],
]);

const valueAtQuantile: Message = message([
  [1, 'quantile', 'double'],
  [2, 'value', 'double'],
]);

const summaryDataPoint: Message = message([
  [2, 'startTimeUnixNano', 'fixed64'],
  [3, 'timeUnixNano', 'fixed64'],
  [4, 'count', 'fixed64'],
  [5, 'sum', 'double'],
  [6, 'quantileValues', valueAtQuantile, 'repeated'],
  [7, 'attributes', keyValue, 'repeated'],
  [8, 'flags', 'uint32'],
]);

const gauge: Message = message([[1, 'dataPoints', numberDataPoint, 'repeated']]);

const sum: Message = message([
  [1, 'dataPoints', numberDataPoint, 'repeated'],
  [2, 'aggregationTemporality', 'enum'],
  [3, 'isMonotonic', 'bool'],
]);

const histogram: Message = message([
  [1, 'dataPoints', histogramDataPoint, 'repeated'],
  [2, 'aggregationTemporality', 'enum'],
]);

const exponentialHistogram: Message = message([
  [1, 'dataPoints', exponentialHistogramDataPoint, 'repeated'],
  [2, 'aggregationTemporality', 'enum'],
]);

const summary: Message = message([[1, 'dataPoints', summaryDataPoint, 'repeated']]);

const metric: Message = message([
  [1, 'name', 'string'],
  [2, 'description', 'string'],
  [3, 'unit', 'string'],
  [5, 'gauge', gauge, 'oneof'],
  [7, 'sum', sum, 'oneof'],
  [9, 'histogram', histogram, 'oneof'],
  [10, 'exponentialHistogram', exponentialHistogram, 'oneof'],
  [11, 'summary', summary, 'oneof'],
  [12, 'metadata', keyValue, 'repeated'],
]);

const scopeMetrics: Message = message([
  [1, 'scope', instrumentationScope],
  [2, 'metrics', metric, 'repeated'],
  [3, 'schemaUrl', 'string'],
]);

const resourceMetrics: Message = message([
  [1, 'resource', resource],
  [2, 'scopeMetrics', scopeMetrics, 'repeated'],
  [3, 'schemaUrl', 'string'],
]);

/** opentelemetry/proto/collector/metrics/v1/metrics_service.proto: ExportMetricsServiceRequest. */
export const metricsRequest: Message = message([
  [1, 'resourceMetrics', resourceMetrics, 'repeated'],
]);

// opentelemetry/proto/logs/v1/logs.proto

const logRecord: Message = message([
  [1, 'timeUnixNano', 'fixed64'],
  [2, 'severityNumber', 'enum'],
  [3, 'severityText', 'string'],
  [5, 'body', anyValue],
  [6, 'attributes', keyValue, 'repeated'],
  [7, 'droppedAttributesCount', 'uint32'],
  [8, 'flags', 'fixed32'],
  [9, 'traceId', 'id'],
  [10, 'spanId', 'id'],
  [11, 'observedTimeUnixNano', 'fixed64'],
  [12, 'eventName', 'string'],
]);

const scopeLogs: Message = message([
  [1, 'scope', instrumentationScope],
  [2, 'logRecords', logRecord, 'repeated'],
  [3, 'schemaUrl', 'string'],
]);

const resourceLogs: Message = message([
  [1, 'resource', resource],
  [2, 'scopeLogs', scopeLogs, 'repeated'],
  [3, 'schemaUrl', 'string'],
]);

/** opentelemetry/proto/collector/logs/v1/logs_service.proto: ExportLogsServiceRequest. */
export const logsRequest: Message = message([[1, 'resourceLogs', resourceLogs, 'repeated']]);
