// Encodes log records as OTLP: one request per database service and scope. Records are added one by one, so that the
// caller can check the size. Equal records give equal bytes. It does no IO.

import { openEnvelope, type ServiceResource, writeAttribute } from './identity.ts';
import type { WireWriter } from './wire.ts';

/** Numbers are sent as int64 (they must be safe integers), or as double if marked. */
export type LogAttribute =
  | readonly [key: string, value: string | number | boolean]
  | readonly [key: string, value: number, type: 'double'];

/** The span that a record belongs to: ids in lower-case hex, not all zeros; W3C trace flags, 0 to 255. */
export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

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
  readonly span?: SpanLink | undefined;
}

const LOGS_SCOPE = 'prom2otlp/logs';

// ExportLogsServiceRequest 1 resource_logs
// ResourceLogs             1 resource, 2 scope_logs
// ScopeLogs                1 scope, 2 log_records
// LogRecord                1 time_unix_nano (fixed64), 2 severity_number (enum), 3 severity_text,
//                          5 body (AnyValue: 1 string_value), 6 attributes (KeyValue, repeated), 8 flags (fixed32),
//                          9 trace_id, 10 span_id (bytes), 11 observed_time_unix_nano (fixed64), 12 event_name

/** A request being written; at most one per writer at a time. */
export class LogsRequest {
  count = 0;
  readonly #writer: WireWriter;
  readonly #close: () => void;

  /** Resets the writer. */
  constructor(writer: WireWriter, resource: ServiceResource, scope: string = LOGS_SCOPE) {
    this.#writer = writer;
    writer.reset();
    this.#close = openEnvelope(writer, resource, scope);
  }

  /** The size so far. */
  get bytes(): number {
    return this.#writer.length;
  }

  /** `more`: attributes in addition to the record's own. */
  add(record: LogRecord, observedAtMs: number, more: readonly LogAttribute[]): void {
    const writer = this.#writer;
    const mark = writer.begin(2);
    if (record.timeMs > 0) writer.timeField(1, record.timeMs, record.timeExtraNs);
    if (record.severityNumber > 0) writer.varintField(2, record.severityNumber);
    if (record.severityText !== '') writer.string(3, record.severityText);
    const body = writer.begin(5);
    writer.string(1, record.body);
    writer.end(body);
    for (const attributes of [record.attributes, more])
      for (const [key, value, type] of attributes) writeAttribute(writer, 6, key, value, type);
    if (record.span !== undefined) writeSpan(writer, record.span);
    writer.timeField(11, observedAtMs);
    if (record.eventName !== null) writer.string(12, record.eventName);
    writer.end(mark);
    this.count++;
  }

  /** The whole request, in the writer's memory: valid until its next use. */
  end(): Buffer {
    this.#close();
    return this.#writer.written();
  }
}

function writeSpan(writer: WireWriter, { traceId, spanId, flags }: SpanLink): void {
  if (flags > 0) writer.fixed32Field(8, flags);
  writer.bytesField(9, Buffer.from(traceId, 'hex'));
  writer.bytesField(10, Buffer.from(spanId, 'hex'));
}
