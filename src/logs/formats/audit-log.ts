// The audit log, one record per line, similar to CSV:
//
//   20260304 09:12:07,db-0,app,10.0.0.9,75,311,QUERY,shop,'select \'a,b\', 1',0
//   time,server,user,host[:port],connection,query,operation,database,object,code[,tls]
//
// The time has the form that the server's configuration gives it; a form that cannot be read leaves the other fields.
// The first eight commas are separators. The object is a quoted statement, with backslashes before special characters
// (including newlines, so that a record is one line), or a name, or empty, or the TLS version of a connection. In: a
// line. Out: the record's fields, or null if the line does not match exactly: if quotes are not escaped, or the line is
// cut off, the end of the statement is unknown.

import { type LogAttribute, type LogRecord, OWN_PREFIX } from '../record.ts';
import type { LineFormat, Reading } from './record-lines.ts';
import { redactSql, redactUnknown } from './redact.ts';
import { readWholeTime } from './any-time.ts';
import { type LocalTime, readStamp, stampLength } from './time.ts';

const AUDIT_EVENT: string = `${OWN_PREFIX}audit`;

const INFO = 9;
const ERROR = 17;
const COMMAS_BEFORE_OBJECT = 8;
/** The end of a head with more commas: in the time, or in the user's name, which the server does not escape. */
const HEAD_END = /,(\d+),(\d+),([A-Z_]+),([^,]*),/;
/** The time, the server, the user and the host. */
const FIELDS_BEFORE_CONNECTION = 4;
/** A time with a weekday, a fraction and a year after commas. */
const TIME_PARTS_MAX = 4;
/** Whatever may be a time in an unknown form. */
const TIME = /^(?=.*\d)[\w :.,+/-]{1,64}$/;
/** After an IPv6 address without brackets there may be the word for a missing port, and no number. */
const HOST_AND_PORT = /^(?:\[([^\]]+)\]|([^:]*(?=:\w*$)|.*(?=:unavailable$))):(?:(\d+)|[a-z]+)$/;
const PORT_MAX = 65_535;
const DIGITS = /^\d*$/;
const OPERATION_NAME = /^[A-Z_]+$/;
const RETURN_CODE = /^-?\d{0,5}$/;
const TLS_VERSION = /^(?:TLS|SSL)v?[\d.]+$/i;
/** Characters after a backslash in the log, and their meaning. */
const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const ESCAPED = /[\b\f\n\r\t\\']/g;
const ESCAPED_AS: ReadonlyMap<string, string> = new Map(
  Object.entries(ESCAPES).map(([letter, character]) => [character, letter]),
);

interface AuditLine {
  readonly head: readonly string[];
  /** Where the object begins. */
  readonly objectAt: number;
  /** Exclusive. */
  readonly objectEnd: number;
  readonly isQuoted: boolean;
  /** The return code, and the TLS version if there is one. */
  readonly tail: readonly string[];
}

export const AUDIT_LOG: LineFormat = { name: 'audit-log/1', read: readLine, redact: redactLine };

/** Null when it does not have this format. */
function readLine(text: string, { localTime, isRedacting }: Reading): LogRecord | null {
  const line = cutLine(text);
  if (line === null) return null;
  const object = text.slice(line.objectAt, line.objectEnd);
  const query = line.isQuoted ? unescapeQuery(object) : null;
  // The server silently truncates statements over its limit.
  const sentQuery = query !== null && isRedacting ? redactSql(query, true) : query;
  const isSame = sentQuery === query;
  const [returnCode = ''] = line.tail;
  const isFailed =
    line.head[OPERATION] === 'FAILED_CONNECT' || (returnCode !== '' && returnCode !== '0');
  return {
    ...timeOf(line.head[TIME_AT] ?? '', localTime),
    severityNumber: isFailed ? ERROR : INFO,
    severityText: '',
    body: isSame ? text : withQuery(text, line, sentQuery ?? ''),
    eventName: AUDIT_EVENT,
    attributes: attributesOf(line, object, sentQuery),
  };
}

/** A line that does not parse, without the text after the server's own fields, which may be from a statement. */
function redactLine(text: string): string {
  const head = cutHead(text);
  if (head === null) return redactUnknown(text);
  return text.slice(0, head.objectAt) + redactUnknown(text.slice(head.objectAt));
}

/** NaN if its form is unknown. */
function timeOf(text: string, localTime: LocalTime): Pick<LogRecord, 'timeMs' | 'timeExtraNs'> {
  const localMs = text.length === STAMP_LENGTH ? readStamp(text, 0, 'YYYYMMDD') : Number.NaN;
  if (!Number.isNaN(localMs)) return { timeMs: localTime.toEpochMs(localMs), timeExtraNs: 0 };
  const time = readWholeTime(text);
  if (time === null || time.lacks === 'date') return { timeMs: Number.NaN, timeExtraNs: 0 };
  return { timeMs: localTime.resolve(time), timeExtraNs: time.extraNs };
}

const TIME_AT = 0;
const STAMP_LENGTH = stampLength('YYYYMMDD');
const SERVER = 1;
const USER = 2;
const HOST = 3;
const CONNECTION = 4;
const QUERY = 5;
const OPERATION = 6;
const DATABASE = 7;

function cutLine(text: string): AuditLine | null {
  const start = cutHead(text);
  if (start === null) return null;
  const { head } = start;
  const isQuoted = text.charAt(start.objectAt) === "'";
  const objectAt = isQuoted ? start.objectAt + 1 : start.objectAt;
  const objectEnd = isQuoted ? quoteEnd(text, objectAt) : text.indexOf(',', objectAt);
  if (objectEnd < 0) return null;
  const isStatement = head[OPERATION]?.startsWith('QUERY') === true;
  if (isStatement && !isQuoted && objectEnd > objectAt) return null;
  const tailAt = isQuoted ? objectEnd + 1 : objectEnd;
  if (text.charAt(tailAt) !== ',') return null;
  const tail = text.slice(tailAt + 1).split(',');
  return isTail(tail) ? { head, objectAt, objectEnd, isQuoted, tail } : null;
}

/** The fields before the object; null if they are not names and numbers of the server. */
function cutHead(text: string): Pick<AuditLine, 'head' | 'objectAt'> | null {
  const head: string[] = [];
  let at = 0;
  while (head.length < COMMAS_BEFORE_OBJECT) {
    const comma = text.indexOf(',', at);
    if (comma < 0) return null;
    head.push(text.slice(at, comma));
    at = comma + 1;
  }
  const isHead =
    DIGITS.test(head[CONNECTION] ?? '') &&
    DIGITS.test(head[QUERY] ?? '') &&
    OPERATION_NAME.test(head[OPERATION] ?? '');
  if (isHead && TIME.test(head[TIME_AT] ?? '')) return { head, objectAt: at };
  const end = HEAD_END.exec(text);
  if (end === null) return null;
  const fields = fieldsBefore(text.slice(0, end.index).split(','));
  if (fields === null) return null;
  return { head: [...fields, ...end.slice(1)], objectAt: end.index + end[0].length };
}

/** Time, server, user and host of a head with more commas than fields: the longest time that can be read. */
function fieldsBefore(parts: readonly string[]): readonly string[] | null {
  const longest = parts.length - FIELDS_BEFORE_CONNECTION + 1;
  if (longest < 1) return null;
  const withTime = (count: number): string[] => [
    parts.slice(0, count).join(','),
    parts[count] ?? '',
    parts.slice(count + 1, -1).join(','),
    parts.at(-1) ?? '',
  ];
  for (let count = Math.min(longest, TIME_PARTS_MAX); count > 0; count--)
    if (readWholeTime(parts.slice(0, count).join(',')) !== null) return withTime(count);
  const fields = withTime(longest);
  return TIME.test(fields[TIME_AT] ?? '') ? fields : null;
}

/** True for the fields that the server writes after the object, false for text of a statement. */
function isTail(tail: readonly string[]): boolean {
  const returnCode = tail[0] ?? '';
  if (returnCode !== '0' && !RETURN_CODE.test(returnCode)) return false;
  return (
    tail.length === 1 || (tail.length === 2 && (tail[1] === '' || TLS_VERSION.test(tail[1] ?? '')))
  );
}

/** The first quote without a backslash before it; -1 when there is none. */
function quoteEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x27) return at;
    if (code === 0x5c) at++;
  }
  return -1;
}

/** Unescapes by hand, because a regular expression takes a quarter of the time of a record. */
function unescapeQuery(object: string): string {
  let query = '';
  let copiedLength = 0;
  for (;;) {
    const backslash = object.indexOf('\\', copiedLength);
    if (backslash < 0) return copiedLength === 0 ? object : query + object.slice(copiedLength);
    const char = object.charAt(backslash + 1);
    query += object.slice(copiedLength, backslash) + (ESCAPES[char] ?? char);
    copiedLength = backslash + 2;
  }
}

function withQuery(text: string, line: AuditLine, query: string): string {
  const escaped = query.replace(ESCAPED, char => `\\${ESCAPED_AS.get(char) ?? char}`);
  return text.slice(0, line.objectAt) + escaped + text.slice(line.objectEnd);
}

function attributesOf(line: AuditLine, object: string, query: string | null): LogAttribute[] {
  const { head, tail } = line;
  const attributes: LogAttribute[] = [];
  const operation = head[OPERATION] ?? '';
  const add = (key: string, value = ''): void => {
    if (value !== '') attributes.push([key, value]);
  };
  const addInteger = (key: string, value = ''): void => {
    const number = value === '' ? Number.NaN : Number(value);
    if (Number.isSafeInteger(number)) attributes.push([key, number]);
    else add(key, value);
  };
  add(`${AUDIT_EVENT}.operation`, operation);
  add(`${AUDIT_EVENT}.server`, head[SERVER]);
  add('user.name', head[USER]);
  const { address, port } = addressOf(head[HOST] ?? '');
  add('client.address', address);
  if (port > 0) attributes.push(['client.port', port]);
  addInteger('thread.id', head[CONNECTION]);
  addInteger(`${AUDIT_EVENT}.query_id`, head[QUERY]);
  add('db.namespace', head[DATABASE]);
  const isTls = operation.endsWith('CONNECT') && object.startsWith('TLS');
  if (query !== null) add('db.query.text', query);
  else if (!operation.endsWith('CONNECT')) add('db.collection.name', object);
  else if (!isTls) add(`${AUDIT_EVENT}.object`, object);
  add('db.response.status_code', tail[0]);
  add(`${AUDIT_EVENT}.tls`, isTls ? object : tail[1]);
  return attributes;
}

/** `host:port` of newer servers, where the port may be a word. */
function addressOf(host: string): { address: string; port: number } {
  const match = HOST_AND_PORT.exec(host);
  if (match === null) return { address: host, port: 0 };
  const port = Number(match[3] ?? 0);
  return { address: match[1] ?? match[2] ?? host, port: port <= PORT_MAX ? port : 0 };
}
