// The engine's error log. In: a record's text. Out: time, severity and thread, and the user, host and database if the
// message names them. A record begins with one of these headers:
//
//   2026-03-04  9:05:33 41 [Warning] message      current versions
//   260304  9:07:01 [ERROR] message               older versions, and crashes
//   260304  9:07:01 audit_plugin: message         plugins: neither thread nor level
//   2026-03-04 09:05:33 0x7f2f8c01  Part: message the storage engine, as for a failed assertion
//   2026-03-04 09:05:33 0x7f2f8c01 … MONITOR OUTPUT
//
// A plugin sometimes omits the newline, so that the next header directly follows its message.

import type { LogAttribute, LogRecord } from '../record.ts';
import { type HeaderFormat, type Reading, severityOf } from './record-lines.ts';
import { redactMessage } from './redact.ts';
import { readStamp, stampLength } from './time.ts';

/** The severity of a line with a time and no level. */
const INFO = 9;
const FATAL = 21;

const STAMP_LENGTH = stampLength('YYYY-MM-DD');
const SHORT_STAMP_LENGTH = stampLength('YYMMDD');
/** After the stamp, which is 19 or 15 characters long. */
const THREAD_AND_LEVEL = / (?:(\d+) )?\[(\w+)\](?: |$)/y;
const COMPONENT = /(?: 0x[\da-f]+)? {1,2}(?=[\w.-]+: |\w+ MONITOR OUTPUT)/y;
/** A header directly after a word or punctuation; after a blank it is a time within the message. */
const GLUED_HEADER =
  /(?<=[A-Za-z_.;:!?)\]])(?:\d{6} [ \d]\d:\d\d:\d\d (?:server_audit: |\[(?:ERROR|Warning|Note)\] )|\d{4}-\d\d-\d\d [ \d]\d:\d\d:\d\d \d+ \[(?:ERROR|Warning|Note)\] )/g;
const GLUED_AT_MIN = 16;
const CRASH = /^(?:\S+ got (?:signal \d|exception 0x)|\w+: Assertion failure )/;
const ABORTED =
  /^Aborted connection \d+ to db: '(.{0,300}?)' user: '(.{0,300}?)' host: '(.{0,300}?)'/;
const DENIED = /^Access denied for user '(.{0,300}?)'@'(.{0,300}?)'/;
/** The engine's placeholders for values that it does not know yet. */
const UNCONNECTED = 'unconnected';
const UNAUTHENTICATED = 'unauthenticated';
const CONNECTING = 'connecting host';
const NO_STARTS: readonly number[] = [];

export const ERROR_LOG: HeaderFormat = {
  name: 'error-log/1',
  startsRecord: text => headerOf(text) !== null,
  furtherStarts,
  read: readRecord,
};

interface Header {
  /** The local time, as if its zone were UTC. */
  readonly localMs: number;
  readonly thread: string | null;
  readonly level: string | null;
  readonly messageAt: number;
}

function headerOf(text: string): Header | null {
  let localMs = readStamp(text, 0, 'YYYY-MM-DD');
  const isShort = Number.isNaN(localMs);
  if (isShort) localMs = readStamp(text, 0, 'YYMMDD');
  if (Number.isNaN(localMs)) return null;
  const stampEnd = isShort ? SHORT_STAMP_LENGTH : STAMP_LENGTH;
  THREAD_AND_LEVEL.lastIndex = stampEnd;
  const match = THREAD_AND_LEVEL.exec(text);
  if (match !== null) {
    const messageAt = stampEnd + match[0].length;
    return { localMs, thread: match[1] ?? null, level: match[2] ?? null, messageAt };
  }
  COMPONENT.lastIndex = stampEnd;
  return COMPONENT.test(text)
    ? { localMs, thread: null, level: null, messageAt: COMPONENT.lastIndex }
    : null;
}

function furtherStarts(text: string): readonly number[] {
  if (text.length < 2 * GLUED_AT_MIN || headerOf(text) === null) return NO_STARTS;
  GLUED_HEADER.lastIndex = GLUED_AT_MIN;
  if (!GLUED_HEADER.test(text)) return NO_STARTS;
  GLUED_HEADER.lastIndex = GLUED_AT_MIN;
  return [...text.matchAll(GLUED_HEADER)].map(match => match.index);
}

function readRecord(raw: string, { localTime, isRedacting }: Reading): LogRecord {
  const header = headerOf(raw);
  const level = header?.level ?? null;
  const severityNumber = level === null ? INFO : severityOf(level);
  const message = raw.slice(header?.messageAt ?? 0);
  return {
    timeMs: localTime.toEpochMs(header?.localMs ?? Number.NaN),
    timeExtraNs: 0,
    severityNumber: CRASH.test(message) ? FATAL : severityNumber,
    severityText: level ?? '',
    body: isRedacting ? redactMessage(raw) : raw,
    eventName: null,
    attributes: attributesOf(header?.thread ?? null, message),
  };
}

function attributesOf(thread: string | null, message: string): LogAttribute[] {
  const attributes: LogAttribute[] = [];
  const threadId = Number(thread ?? Number.NaN);
  if (Number.isSafeInteger(threadId)) attributes.push(['thread.id', threadId]);
  const aborted = ABORTED.exec(message);
  const denied = DENIED.exec(message);
  const [, user, host] = denied ?? aborted?.slice(1) ?? [];
  const database = aborted?.[1];
  if (database !== undefined && database !== UNCONNECTED) {
    attributes.push(['db.namespace', database]);
  }
  if (user !== undefined && user !== UNAUTHENTICATED) attributes.push(['user.name', user]);
  if (host !== undefined && host !== CONNECTING) attributes.push(['client.address', host]);
  return attributes;
}
