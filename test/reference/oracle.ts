// An encoder and decoder of OTLP that shares nothing with src/: protobufjs over the official .proto files in proto/.
// It speaks the same OTLP/JSON (ids hex, 64-bit integers as strings), so that results can be compared as they are.
import { join } from 'node:path';
import protobuf from 'protobufjs';
import type { LogsRequestJson, MetricsRequestJson } from '../../src/pipeline/encode/otlp-fields.ts';

const PROTO_DIRECTORY = join(import.meta.dirname, 'proto');
const SERVICE = 'opentelemetry.proto.collector';

const root = new protobuf.Root();
// The files import each other by their full path.
root.resolvePath = (_origin, target) => join(PROTO_DIRECTORY, target);
root.loadSync([
  'opentelemetry/proto/collector/metrics/v1/metrics_service.proto',
  'opentelemetry/proto/collector/logs/v1/logs_service.proto',
]);

const metricsRequest = root.lookupType(`${SERVICE}.metrics.v1.ExportMetricsServiceRequest`);
const logsRequest = root.lookupType(`${SERVICE}.logs.v1.ExportLogsServiceRequest`);

/** An ExportMetricsServiceRequest as OTLP/JSON; throws when protobufjs cannot read the bytes. */
export function oracleDecodeMetrics(bytes: Uint8Array): MetricsRequestJson {
  return decode(metricsRequest, bytes) as MetricsRequestJson;
}

/** A request as the object of protobufjs, without a copy: there may be millions of points. */
export interface MetricsMessage {
  readonly resourceMetrics: readonly ResourceMessage[];
}

export interface ResourceMessage {
  readonly resource: { readonly attributes: readonly AttributeMessage[] };
  readonly scopeMetrics: readonly {
    readonly metrics: readonly {
      readonly name: string;
      readonly sum?: { readonly dataPoints: readonly NumberMessage[] } | null;
      readonly gauge?: { readonly dataPoints: readonly NumberMessage[] } | null;
    }[];
  }[];
}

export interface NumberMessage {
  readonly attributes: readonly AttributeMessage[];
  readonly startTimeUnixNano: LongNumber;
  readonly timeUnixNano: LongNumber;
  readonly asDouble: number;
  readonly flags: number;
}

interface AttributeMessage {
  readonly key: string;
  readonly value: { readonly stringValue: string };
}

interface LongNumber {
  toNumber(): number;
}

export function oracleMetricsMessage(bytes: Uint8Array): MetricsMessage {
  return metricsRequest.decode(bytes) as unknown as MetricsMessage;
}

export function oracleDecodeLogs(bytes: Uint8Array): LogsRequestJson {
  return decode(logsRequest, bytes) as LogsRequestJson;
}

/** Encodes a request in OTLP/JSON as protobuf. Throws if the .proto files do not have one of its names. */
export function oracleEncodeMetrics(request: MetricsRequestJson): Buffer {
  return encode(metricsRequest, request);
}

export function oracleEncodeLogs(request: LogsRequestJson): Buffer {
  return encode(logsRequest, request);
}

function decode(type: protobuf.Type, bytes: Uint8Array): unknown {
  const message = type.decode(bytes);
  const options = { longs: String, enums: Number, bytes: Array, json: true };
  return mapBytes(type.toObject(message, options), (name, value) =>
    Array.isArray(value) && value.every(item => typeof item === 'number') && isBytes(name)
      ? Buffer.from(value).toString(encodingOf(name))
      : value,
  );
}

function encode(type: protobuf.Type, request: object): Buffer {
  const plain = mapBytes(request, (name, value) =>
    typeof value === 'string' && isBytes(name) ? Buffer.from(value, encodingOf(name)) : value,
  );
  assertKnownNames(type, plain as Record<string, unknown>);
  return Buffer.from(type.encode(type.fromObject(plain as Record<string, unknown>)).finish());
}

const isBytes = (name: string): boolean => /^(?:traceId|spanId|bytesValue)$/.test(name);

const encodingOf = (name: string): BufferEncoding => (name === 'bytesValue' ? 'base64' : 'hex');

/** A copy with `change` applied to every member. */
function mapBytes(value: unknown, change: (name: string, value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(item => mapBytes(item, change));
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, mapBytes(change(name, item), change)]),
  );
}

/** Throws at unknown names. protobufjs ignores them, which would hide a typing error in a test. */
function assertKnownNames(type: protobuf.Type, value: Record<string, unknown>): void {
  for (const [name, item] of Object.entries(value)) {
    const field = type.fields[name]?.resolve();
    if (field === undefined) throw new Error(`${type.name} has no field ${name}`);
    if (!(field.resolvedType instanceof protobuf.Type)) continue;
    for (const nested of Array.isArray(item) ? item : [item]) {
      assertKnownNames(field.resolvedType, nested as Record<string, unknown>);
    }
  }
}
