// From the end of a gRPC call to one of the four kinds of SendResult. The rules, J being section J of the mapping:
//
//   status                                                              kind      rule
//   OK                                                                  accepted  J.4
//   CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE,   retry     J.6
//   DATA_LOSS; RESOURCE_EXHAUSTED with a RetryInfo
//   INVALID_ARGUMENT; RESOURCE_EXHAUSTED and OUT_OF_RANGE in the        split     J.3, as 400 and 413
//   words of a server's limit for messages
//   UNAUTHENTICATED, PERMISSION_DENIED, NOT_FOUND, UNIMPLEMENTED        hold      J.3, as 401, 403, 404, 405
//   all others                                                          hold      J.3, as 500
//
// google.rpc.Status  3 details  repeated Any          google.protobuf.Any    1 type_url  2 value
// google.rpc.RetryInfo  1 retry_delay  Duration       google.protobuf.Duration  1 seconds  2 nanos

import type { Signal } from '../../model/batch.ts';
import { WireError, WireReader } from '../encode/wire-reader.ts';
import { WIRE } from '../encode/wire.ts';
import { oneLine, readPartialSuccess } from './answer.ts';
import type { SendResult } from './transport.ts';

/** How a call ended. */
export interface GrpcAnswer {
  readonly code: number;
  /** The back end's words (`grpc-message`). */
  readonly details: string;
  /** The trailer `grpc-status-details-bin`, if there was one. */
  readonly statusDetails: Buffer | null;
  /** The response; empty unless the code is OK. */
  readonly body: Buffer;
}

interface Status {
  readonly name: string;
  readonly kind: SendResult['kind'];
  /** What to look at when the back end keeps refusing. */
  readonly hint?: string;
}

/** By code: google.golang.org/grpc/codes, grpc.io/docs/guides/status-codes. */
const STATUSES: readonly Status[] = [
  { name: 'OK', kind: 'accepted' },
  { name: 'CANCELLED', kind: 'retry' },
  { name: 'UNKNOWN', kind: 'hold' },
  { name: 'INVALID_ARGUMENT', kind: 'split' },
  { name: 'DEADLINE_EXCEEDED', kind: 'retry' },
  { name: 'NOT_FOUND', kind: 'hold', hint: 'check otlp.endpoint' },
  { name: 'ALREADY_EXISTS', kind: 'hold' },
  { name: 'PERMISSION_DENIED', kind: 'hold', hint: 'check otlp.headers and what they may write' },
  { name: 'RESOURCE_EXHAUSTED', kind: 'hold', hint: 'see the quota or the limits of the back end' },
  { name: 'FAILED_PRECONDITION', kind: 'hold' },
  { name: 'ABORTED', kind: 'retry' },
  { name: 'OUT_OF_RANGE', kind: 'retry' },
  { name: 'UNIMPLEMENTED', kind: 'hold', hint: 'check otlp.endpoint and otlp.protocol' },
  { name: 'INTERNAL', kind: 'hold' },
  { name: 'UNAVAILABLE', kind: 'retry' },
  { name: 'DATA_LOSS', kind: 'retry' },
  { name: 'UNAUTHENTICATED', kind: 'hold', hint: 'check otlp.headers' },
];

/** They say something about our key, path or protocol, and nothing about content. */
const SETTINGS: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'UNIMPLEMENTED',
  'UNAUTHENTICATED',
]);

const RESOURCE_EXHAUSTED = 8;
const OUT_OF_RANGE = 11;

/** How servers in Go, Java, C++, C#, Rust and JavaScript say that a message is larger than they take. */
const TOO_LARGE = /messag.*(?:larger than|exceeds|too large)/i;

/** True for what a rotated key may cure. */
export function isKeyRefused(code: number): boolean {
  const { name } = statusOf(code);
  return name === 'UNAUTHENTICATED' || name === 'PERMISSION_DENIED';
}

/** `redact` takes secrets out of the back end's words, before they are cut. */
export function classifyGrpcAnswer(
  answer: GrpcAnswer,
  context: { readonly signal: Signal; readonly redact: (text: string) => string },
): SendResult {
  const { code, body } = answer;
  const { name, kind, hint } = statusOf(code);
  if (kind === 'accepted') {
    const { rejected, message } = readPartialSuccess(context.signal, 'protobuf', body);
    return { kind, rejected, message: oneLine(context.redact(message)) };
  }
  const said = oneLine(context.redact(answer.details));
  const words = `the back end answered ${name}${said === '' ? '' : `: ${said}`}`;
  const isLimited = code === RESOURCE_EXHAUSTED || code === OUT_OF_RANGE;
  if (isLimited && TOO_LARGE.test(said))
    return { kind: 'split', status: code, reason: `${words}; lower otlp.max_request` };
  const retryAfterMs = readRetryDelay(answer.statusDetails);
  const isThrottled = code === RESOURCE_EXHAUSTED;
  if (kind === 'retry' || (isThrottled && retryAfterMs !== null))
    return { kind: 'retry', reason: words, retryAfterMs, isThrottled };
  const reason = hint === undefined ? words : `${words}; ${hint}`;
  if (kind === 'split') return { kind, status: code, reason };
  return { kind, status: code, reason, mayBeContent: !SETTINGS.has(name) };
}

function statusOf(code: number): Status {
  return STATUSES[code] ?? { name: `status ${String(code)}`, kind: 'hold' };
}

/** The pause that a RetryInfo among the details asks for; null when there is none that can be read. */
export function readRetryDelay(statusDetails: Buffer | null): number | null {
  if (statusDetails === null) return null;
  try {
    for (const any of fieldsOf(statusDetails, 3)) {
      const typeUrl = fieldsOf(any, 1)[0]?.toString() ?? '';
      if (!typeUrl.endsWith('/google.rpc.RetryInfo')) continue;
      const duration = fieldsOf(fieldsOf(any, 2)[0] ?? NO_BYTES, 1)[0] ?? NO_BYTES;
      return readDuration(duration);
    }
    return null;
  } catch (error) {
    if (error instanceof WireError) return null;
    throw error;
  }
}

const NO_BYTES = Buffer.alloc(0);

/** The values of one length-delimited field of a message. */
function fieldsOf(message: Buffer, field: number): readonly Buffer[] {
  const reader = new WireReader(message, 'status details');
  const values: Buffer[] = [];
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === ((field << 3) | WIRE.bytes)) values.push(reader.view());
    else reader.skip(tag & 7);
  }
  return values;
}

/** In whole milliseconds, rounded up; never negative. */
function readDuration(message: Buffer): number {
  const reader = new WireReader(message, 'status details');
  let seconds = 0;
  let nanos = 0;
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | WIRE.varint)) seconds = Number(reader.int64());
    else if (tag === ((2 << 3) | WIRE.varint)) nanos = reader.int32();
    else reader.skip(tag & 7);
  }
  const ms = Math.ceil(seconds * 1000 + nanos / 1e6);
  return Math.min(Math.max(ms, 0), Number.MAX_SAFE_INTEGER);
}
