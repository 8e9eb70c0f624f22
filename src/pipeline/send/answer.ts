// Reads the body of a back end's answer: the partial success of an accepted request, or the message of a refused one,
// in protobuf or JSON. Nothing here can fail: an unreadable body gives an empty message. Messages are returned
// unchanged: the caller redacts secrets, then shortens the text.
//
// Export{Metrics,Logs}ServiceResponse  1 partial_success   message
// Export{Metrics,Logs}PartialSuccess   1 rejected_…        int64
//                                      2 error_message     string
// google.rpc.Status                    2 message           string

import { membersOf, parseJson } from '../../lib/json.ts';
import type { Signal } from '../../model/batch.ts';
import { fieldsOf, orElse, WireReader } from '../encode/wire-reader.ts';
import { WIRE } from '../encode/wire.ts';

export interface PartialSuccess {
  readonly rejected: number;
  readonly message: string;
}

export type BodyFormat = 'protobuf' | 'json' | 'html' | 'text';

/** The most bytes of an answer that are read (J.5). */
export const ANSWER_BYTES_MAX: number = 4 * 1024 * 1024;
/** The most characters of a back end's message that are shown or kept. */
export const MESSAGE_LENGTH_MAX = 300;

/** How far a web page is looked for: it may begin with blank lines. */
const MARKUP_LOOK_BYTES = 256;

const PARTIAL_SUCCESS = 1;
const REJECTED_TAG = (1 << 3) | WIRE.varint;
/** The same in PartialSuccess and in google.rpc.Status. */
const MESSAGE_FIELD = 2;
const MESSAGE_TAG = (MESSAGE_FIELD << 3) | WIRE.bytes;

const REJECTED_NAMES: Readonly<Record<Signal, readonly string[]>> = {
  metrics: ['rejectedDataPoints', 'rejected_data_points'],
  logs: ['rejectedLogRecords', 'rejected_log_records'],
};

/** The format that Content-Type names; undefined when it is absent or unknown. */
export function bodyFormat(contentType: string): BodyFormat | undefined {
  const type = contentType.split(';')[0]?.trim().toLowerCase();
  if (type === 'application/x-protobuf' || type === 'application/protobuf') return 'protobuf';
  if (type === 'application/json') return 'json';
  if (type === 'text/html') return 'html';
  return type === 'text/plain' ? 'text' : undefined;
}

/** The partial success of an accepted request; nothing rejected when the body does not say so. */
export function readPartialSuccess(
  signal: Signal,
  format: BodyFormat,
  body: Buffer,
): PartialSuccess {
  if (format === 'protobuf') return orElse(NOTHING, () => readPartialSuccessMessage(body));
  if (format !== 'json') return NOTHING;
  const answer = membersOf(parseJson(body.toString('utf8')));
  const partial = membersOf(answer['partialSuccess'] ?? answer['partial_success']);
  const rejected = REJECTED_NAMES[signal]
    .map(name => partial[name])
    .find(value => value !== undefined);
  const message = partial['errorMessage'] ?? partial['error_message'];
  return { rejected: countOf(rejected), message: textOf(message) };
}

/** The message of a refusal: from google.rpc.Status, or any other text in the body. */
export function readErrorMessage(format: BodyFormat | undefined, body: Buffer): string {
  if (format === 'html') return '';
  if (format === 'protobuf') return orElse('', () => readStatusMessage(body));
  const text = body.toString('utf8');
  const status = membersOf(parseJson(text));
  const error = membersOf(status['error']);
  const message = [status['message'], error['message'], status['error']].find(
    value => typeof value === 'string' && value !== '',
  );
  if (message !== undefined) return textOf(message);
  return format === 'json' || isMarkup(body) ? '' : text;
}

/** A web page, whatever its Content-Type. In protobuf `\n<` begins a partial success of 60 bytes, but no letter follows. */
export function isMarkup(body: Buffer): boolean {
  return /^(?:\xef\xbb\xbf)?\s*<[!?a-z]/i.test(body.toString('latin1', 0, MARKUP_LOOK_BYTES));
}

/** One printable line of at most MESSAGE_LENGTH_MAX characters. */
export function oneLine(text: string): string {
  // Bounds the work on a long text.
  const start = text.trimStart().slice(0, 4 * MESSAGE_LENGTH_MAX);
  const line = start.replace(/[\s\p{C}]+/gu, ' ').trim();
  return line.length <= MESSAGE_LENGTH_MAX ? line : `${line.slice(0, MESSAGE_LENGTH_MAX - 1)}…`;
}

const NOTHING: PartialSuccess = { rejected: 0, message: '' };

function readPartialSuccessMessage(body: Buffer): PartialSuccess {
  let rejected = 0;
  let message = '';
  for (const part of fieldsOf(body, PARTIAL_SUCCESS, 'answer')) {
    const reader = new WireReader(part, 'answer');
    while (!reader.isAtEnd) {
      const tag = reader.tag();
      if (tag === REJECTED_TAG) rejected = countOf(reader.int64());
      else if (tag === MESSAGE_TAG) message = reader.string();
      else reader.skip(tag & 7);
    }
  }
  return { rejected, message };
}

function readStatusMessage(body: Buffer): string {
  return fieldsOf(body, MESSAGE_FIELD, 'answer').at(-1)?.toString() ?? '';
}

/** A number of points; 64-bit integers are strings in OTLP/JSON. Anything else counts as 0. */
function countOf(value: unknown): number {
  const count = typeof value === 'number' || typeof value === 'string' ? Number(value) : 0;
  return Number.isFinite(count) && count > 0 ? Math.floor(count) : 0;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
