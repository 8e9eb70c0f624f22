// Converts OTLP protobuf to OTLP/JSON: the program's only decoder of OTLP, for http/json, `show encode`, `queue export`
// and the demo's receiver. Default values are omitted unless the field is optional or in a oneof. Enums are integers,
// 64-bit integers decimal strings, ids hex, other bytes base64, NaN and infinities strings.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
import type { Signal } from '../../model/batch.ts';
import {
  type JsonDouble,
  logsRequest,
  type LogsRequestJson,
  type Message,
  type MessageField,
  metricsRequest,
  type MetricsRequestJson,
  type ScalarType,
} from './otlp-fields.ts';
import { WIRE } from './wire.ts';
import { WireReader } from './wire-reader.ts';

/** Messages can be recursive (AnyValue): deeper input is refused, as by other decoders. */
export const NESTING_DEPTH_MAX = 100;

/** An ExportMetricsServiceRequest as OTLP/JSON. Throws a WireError when the bytes are damaged. */
export function decodeMetricsRequest(bytes: Uint8Array): MetricsRequestJson {
  return readMessage(new WireReader(bytes, 'metrics request'), metricsRequest, {}, 1);
}

/** An ExportLogsServiceRequest as OTLP/JSON. Throws a WireError when the bytes are damaged. */
export function decodeLogsRequest(bytes: Uint8Array): LogsRequestJson {
  return readMessage(new WireReader(bytes, 'logs request'), logsRequest, {}, 1);
}

/** The text of an http/json body. Throws a WireError when the bytes are damaged. */
export function otlpJson(signal: Signal, bytes: Uint8Array): string {
  const request = signal === 'metrics' ? decodeMetricsRequest(bytes) : decodeLogsRequest(bytes);
  // A replacer costs time for each value and is rarely needed.
  const mayHoldOne = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(
    NEGATIVE_ZERO,
  );
  return mayHoldOne ? JSON.stringify(request, keepNegativeZero) : JSON.stringify(request);
}

/** The bytes of a double -0. */
const NEGATIVE_ZERO = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0x80]);
// Exists in Node, but not yet in TypeScript's types.
const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => object };

/** JSON has a negative zero, but JSON.stringify() writes it as 0. */
function keepNegativeZero(_key: string, value: unknown): unknown {
  return Object.is(value, -0) ? rawJSON('-0') : value;
}

type JsonObject = Record<string, unknown>;

/** Reads to the end of the reader; merges into `into`. */
function readMessage(
  reader: WireReader,
  message: Message,
  into: JsonObject,
  depth: number,
): JsonObject {
  if (depth > NESTING_DEPTH_MAX) reader.fail(`more than ${String(NESTING_DEPTH_MAX)} levels`);
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    const wireType = tag & 7;
    const field = message[tag >>> 3];
    if (field === undefined) {
      reader.skip(wireType);
      continue;
    }
    for (const rival of field.rivals) delete into[rival];
    const { name, type } = field;
    if (typeof type === 'string') {
      readScalar(reader, field, wireType, into);
    } else {
      if (wireType !== WIRE.bytes) failWireType(reader, name, wireType);
      const outerEnd = reader.enter();
      if (field.isRepeated) append(into, name, readMessage(reader, type, {}, depth + 1));
      // The parts of a split message are merged.
      else into[name] = readMessage(reader, type, (into[name] ?? {}) as JsonObject, depth + 1);
      reader.leave(outerEnd);
    }
  }
  return into;
}

function readScalar(
  reader: WireReader,
  field: MessageField,
  wireType: number,
  into: JsonObject,
): void {
  const { name, isRepeated } = field;
  const scalar = SCALARS[field.type as ScalarType];
  if (isRepeated && wireType === WIRE.bytes && scalar.wireType !== WIRE.bytes) {
    const outerEnd = reader.enter();
    while (!reader.isAtEnd) append(into, name, scalar.read(reader));
    reader.leave(outerEnd);
    return;
  }
  if (wireType !== scalar.wireType) failWireType(reader, name, wireType);
  const value = scalar.read(reader);
  if (isRepeated) append(into, name, value);
  else if (field.hasPresence || !isDefault(value)) into[name] = value;
  else delete into[name];
}

/** A negative zero is not a default: it has a bit set. */
function isDefault(value: unknown): boolean {
  return Object.is(value, 0) || value === '' || value === '0' || value === false;
}

function append(into: JsonObject, name: string, value: unknown): void {
  const list = into[name] as unknown[] | undefined;
  if (list === undefined) into[name] = [value];
  else list.push(value);
}

function failWireType(reader: WireReader, name: string, wireType: number): never {
  reader.fail(`field ${name} with wire type ${String(wireType)}`);
}

interface Scalar {
  readonly wireType: number;
  readonly read: (reader: WireReader) => unknown;
}

const SCALARS: Readonly<Record<ScalarType, Scalar>> = {
  bool: { wireType: WIRE.varint, read: reader => reader.bool() },
  bytes: { wireType: WIRE.bytes, read: reader => reader.view().toString('base64') },
  double: { wireType: WIRE.fixed64, read: reader => jsonDouble(reader.double()) },
  enum: { wireType: WIRE.varint, read: reader => reader.int32() },
  fixed32: { wireType: WIRE.fixed32, read: reader => reader.fixed32() },
  fixed64: { wireType: WIRE.fixed64, read: reader => reader.fixed64() },
  id: { wireType: WIRE.bytes, read: reader => reader.view().toString('hex') },
  int64: { wireType: WIRE.varint, read: reader => reader.int64() },
  sfixed64: { wireType: WIRE.fixed64, read: reader => reader.sfixed64() },
  string: { wireType: WIRE.bytes, read: reader => reader.string() },
  uint32: { wireType: WIRE.varint, read: reader => reader.uint32() },
};

function jsonDouble(value: number): JsonDouble {
  if (Number.isFinite(value)) return value;
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? 'Infinity' : '-Infinity';
}
