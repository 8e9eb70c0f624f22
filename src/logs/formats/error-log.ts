// The engine's error log. In: a record's text. Out: time, severity and thread, and the user, host and database if the
// message names them. A record begins with one of these headers, or with another time or level (line-header.ts):
//
//   2026-03-04  9:05:33 41 [Warning] message      current versions
//   260304  9:07:01 [ERROR] message               older versions, and crashes
//   260304  9:07:01 audit_plugin: message         plugins: neither thread nor level
//   2026-03-04 09:05:33 0x7f2f8c01  Part: message the storage engine, as for a failed assertion
//
// A plugin sometimes omits the newline, so that the next header directly follows its message.

import type { LogAttribute, LogRecord } from '../record.ts';
import { type HeaderFormat, type Reading, severityOf } from './record-lines.ts';
import { levelAfter, type LineHeader, readLineHeader } from './line-header.ts';
import { readMessage } from './redact-message.ts';
import { readStamp, stampLength } from './time.ts';

/** The severity of a line with a time and no level. */
const INFO = 9;
const FATAL = 21;

const STAMP_LENGTH = stampLength('YYYY-MM-DD');
const SHORT_STAMP_LENGTH = stampLength('YYMMDD');
/** After the stamp, which is 19 or 15 characters long. */
const THREAD_AND_LEVEL = / (?:(\d+) )?\[(\w+)\](?: |$)/y;
/** A header directly after a word or punctuation; after a blank it is a time within the message. */
const GLUED_HEADER =
  /(?<=[A-Za-z_.;:!?)\]])(?:\d{6} [ \d]\d:\d\d:\d\d (?:server_audit: |\[(?:ERROR|Warning|Note)\] )|\d{4}-\d\d-\d\d [ \d]\d:\d\d:\d\d \d+ \[(?:ERROR|Warning|Note)\] )/g;
const GLUED_AT_MIN = 16;
/** The handle of a thread, the codes of an event, and what else precedes a message. */
const BEFORE_MESSAGE = /(?:[ -]+|(?:0x)?[\da-f]{4,16}(?= )|\[[\w-]+\])*/y;
const BLANK = /[ \t]/;
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
  plainHeader: text => {
    const header = ownHeader(text);
    return header === null || severityOf(header.level) === 0 ? 0 : header.messageAt;
  },
  redact: readMessage,
  read: readRecord,
};

interface Header extends LineHeader {
  readonly thread: string | null;
}

interface Found {
  readonly text: string;
  readonly header: Header | null;
}

/** The last two lines: each is asked for several times, the first again when the second completes its record. */
let newest: Found = { text: '', header: null };
let older: Found = newest;

function headerOf(text: string): Header | null {
  if (text === newest.text) return newest.header;
  if (text === older.text) return older.header;
  older = newest;
  newest = { text, header: findHeader(text) };
  return newest.header;
}

function findHeader(text: string): Header | null {
  const own = ownHeader(text);
  if (own !== null) return own;
  const header = readLineHeader(text);
  if (header === null) return null;
  THREAD_AND_LEVEL.lastIndex = header.messageAt;
  const [all = '', thread = null] = THREAD_AND_LEVEL.exec(text) ?? [];
  return { ...header, messageAt: header.messageAt + all.length, thread };
}

/** By hand, because most lines have it. */
function ownHeader(text: string): Header | null {
  let wallMs = readStamp(text, 0, 'YYYY-MM-DD');
  const isShort = Number.isNaN(wallMs);
  if (isShort) wallMs = readStamp(text, 0, 'YYMMDD');
  if (Number.isNaN(wallMs)) return null;
  const end = isShort ? SHORT_STAMP_LENGTH : STAMP_LENGTH;
  THREAD_AND_LEVEL.lastIndex = end;
  const match = THREAD_AND_LEVEL.exec(text);
  const time = { wallMs, extraNs: 0, zoneMs: null, lacks: 'nothing', end } as const;
  if (match === null) {
    const isEnd = end === text.length || BLANK.test(text.charAt(end));
    return isEnd ? { time, thread: null, level: levelAfter(text, end), messageAt: end } : null;
  }
  const [all, thread = null, level = ''] = match;
  return { time, thread, level, messageAt: end + all.length };
}

function furtherStarts(text: string): readonly number[] {
  if (text.length < 2 * GLUED_AT_MIN || headerOf(text) === null) return NO_STARTS;
  GLUED_HEADER.lastIndex = GLUED_AT_MIN;
  if (!GLUED_HEADER.test(text)) return NO_STARTS;
  GLUED_HEADER.lastIndex = GLUED_AT_MIN;
  return [...text.matchAll(GLUED_HEADER)].map(match => match.index);
}

function readRecord(raw: string, body: string, { localTime }: Reading): LogRecord {
  const header = headerOf(raw.slice(0, lineEnd(raw)));
  const level = header?.level ?? '';
  const severityNumber = level === '' ? INFO : severityOf(level);
  BEFORE_MESSAGE.lastIndex = header?.messageAt ?? 0;
  BEFORE_MESSAGE.test(raw);
  const message = raw.slice(BEFORE_MESSAGE.lastIndex);
  const time = header?.time ?? null;
  return {
    // A line without a time of its own has that of the line before it.
    timeMs: time === null ? localTime.lastMs : localTime.resolve(time),
    timeExtraNs: time?.extraNs ?? 0,
    severityNumber: CRASH.test(message) ? FATAL : severityNumber,
    severityText: level,
    body,
    eventName: null,
    attributes: attributesOf(header?.thread ?? null, message),
  };
}

function lineEnd(raw: string): number {
  const newline = raw.indexOf('\n');
  return newline < 0 ? raw.length : newline;
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
