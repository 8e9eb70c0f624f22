// Encodes log records as OTLP: one request per database service and scope. Records are added one by one, so that the
// caller can watch the size. Equal records give equal bytes. It does no IO.

import { type ResourceIdentity, writeAttribute, writeResource, writeScope } from './identity.ts';
import { putTimeMs, WIRE, type WireWriter } from './wire.ts';

/** Numbers are sent as int64 (they must be safe integers), or as double if marked. */
export type LogAttribute =
  | readonly [key: string, value: string | number | boolean]
  | readonly [key: string, value: number, type: 'double'];

/** One record as it is sent. */
export interface LogRecord {
  /** Whole milliseconds since the epoch: the wrapper's time of the first line, else the line's own; NaN if unknown. */
  readonly timeMs: number;
  /** 0 to 999,999. */
  readonly timeExtraNs: number;
  /** OTLP's SeverityNumber; 0 if unknown. */
  readonly severityNumber: number;
  /** As received. */
  readonly severityText: string;
  /** The message: all its lines, joined by `\n`, with literals redacted if configured. */
  readonly body: string;
  /** Set for slow-query and audit records. */
  readonly eventName: string | null;
  readonly attributes: readonly LogAttribute[];
}

const LOGS_SCOPE = 'prom2otlp/logs';

const TWO_32 = 0x1_0000_0000;

// ExportLogsServiceRequest 1 resource_logs
// ResourceLogs             1 resource, 2 scope_logs
// ScopeLogs                1 scope, 2 log_records
// LogRecord                1 time_unix_nano (fixed64), 2 severity_number (enum), 3 severity_text, 5 body (AnyValue),
//                          6 attributes (KeyValue, repeated), 11 observed_time_unix_nano (fixed64), 12 event_name
// AnyValue                 1 string_value, 2 bool_value, 3 int_value (int64), 4 double_value

/** A request being written; at most one per writer at a time. */
export class LogsRequest {
  count = 0;
  readonly #writer: WireWriter;
  readonly #marks: readonly [resourceLogs: number, scopeLogs: number];

  /** Resets the writer. `info`: the labels of the service's target_info. */
  constructor(
    writer: WireWriter,
    resource: ResourceIdentity,
    info: ReadonlyMap<string, string> = new Map(),
    scope: string = LOGS_SCOPE,
  ) {
    this.#writer = writer;
    writer.reset();
    const resourceLogs = writer.begin(1);
    writeResource(writer, 1, resource, info);
    const scopeLogs = writer.begin(2);
    writeScope(writer, 1, { name: scope, version: '', schemaUrl: '', attributes: [] });
    this.#marks = [resourceLogs, scopeLogs];
  }

  /** The size so far. */
  get bytes(): number {
    return this.#writer.length;
  }

  /** `more`: attributes in addition to the record's own. */
  add(record: LogRecord, observedAtMs: number, more: readonly LogAttribute[]): void {
    const writer = this.#writer;
    const mark = writer.begin(2);
    writeTime(writer, 1, record.timeMs, record.timeExtraNs);
    if (record.severityNumber > 0) writer.varintField(2, record.severityNumber);
    if (record.severityText !== '') writer.string(3, record.severityText);
    const body = writer.begin(5);
    writer.string(1, record.body);
    writer.end(body);
    for (const attribute of record.attributes) writeLogAttribute(writer, attribute);
    for (const attribute of more) writeLogAttribute(writer, attribute);
    writeTime(writer, 11, observedAtMs, 0);
    if (record.eventName !== null) writer.string(12, record.eventName);
    writer.end(mark);
    this.count++;
  }

  /** The whole request, in the writer's memory: valid until its next use. */
  end(): Buffer {
    const [resourceLogs, scopeLogs] = this.#marks;
    this.#writer.end(scopeLogs);
    this.#writer.end(resourceLogs);
    return this.#writer.written();
  }
}

/** Writes nothing if the time is unknown. */
function writeTime(writer: WireWriter, field: number, timeMs: number, extraNs: number): void {
  if (!(timeMs > 0)) return;
  writer.tag(field, WIRE.fixed64);
  const at = writer.length;
  writer.fixed64(0);
  putTimeMs(writer.view, at, timeMs);
  if (extraNs === 0) return;
  const low = writer.view.getUint32(at, true) + extraNs;
  writer.view.setUint32(at, low % TWO_32, true);
  if (low >= TWO_32) writer.view.setUint32(at + 4, writer.view.getUint32(at + 4, true) + 1, true);
}

function writeLogAttribute(writer: WireWriter, [key, value, type]: LogAttribute): void {
  if (typeof value === 'string') return writeAttribute(writer, 6, key, value);
  const mark = writer.begin(6);
  writer.string(1, key);
  const inner = writer.begin(2);
  if (typeof value === 'boolean') writer.varintField(2, value ? 1 : 0);
  else if (type === 'double') writer.doubleField(4, value);
  else {
    writer.tag(3, WIRE.varint);
    writeInt64(writer, value);
  }
  writer.end(inner);
  writer.end(mark);
}

/** A negative number takes ten bytes: its 64-bit two's complement. */
function writeInt64(writer: WireWriter, value: number): void {
  if (value >= 0) return writer.varint(value);
  const bytes: number[] = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); rest > 0n; rest >>= 7n)
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
  writer.raw(Uint8Array.from(bytes));
}
