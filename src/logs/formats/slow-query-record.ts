// Reads the text of one record of the slow query log: a statement with its header. In: the text. Out: the record.
// Literals are removed from the statement, from quotations of it in the header, and from text that cannot be classified.
//
// A statement can contain the lines of a header, byte for byte. Such text is read as a record, so that no statement can
// hide one. If a statement before it was open at its end, it is doubtful: neither its statement nor its names are sent.

import { type LogAttribute, type LogRecord, OWN_PREFIX, type CommentOptions } from '../record.ts';
import { withoutLastToken } from './open-contexts.ts';
import type { Reading } from './record-lines.ts';
import {
  PLACEHOLDER,
  type RedactedSql,
  redactSqlFrom,
  redactUnknown,
  type SqlContext,
} from './redact.ts';
import {
  doubtfulAttributes,
  doubtfulHeader,
  plainAttributes,
  plainHeader,
  redactHeader,
  type SlowQueryHeader,
} from './slow-query-header.ts';
import type { SpanLink } from '../../pipeline/encode/logs.ts';

const SEVERITY = 13;
/** The engine writes this instead of a statement for other commands. */
const COMMAND = /^# administrator command: [\w ]+;?$/;

const SLOW_QUERY_EVENT: string = `${OWN_PREFIX}slow_query`;

/** A statement with its header. */
export interface SlowQueryText {
  readonly raw: string;
  /** The header lines read so far. */
  readonly header: SlowQueryHeader;
  /** Where the statement begins in `raw`; the length of `raw` if there is none. */
  readonly statementAt: number;
  /** The end of the part of `raw` from which nothing is missing. */
  readonly wholeTo: number;
  /** More of it may come, or was lost. */
  readonly isCut: boolean;
  /** It ends within a line. */
  readonly isWithinLine: boolean;
  /** It may be text of an earlier statement. */
  readonly isDoubtful: boolean;
}

/** The record, and the context at the end of its statement if that was read whole. */
export interface SlowQueryRead {
  readonly fields: LogRecord;
  readonly end: SqlContext | null;
  /** A comment has a `traceparent` that names no span. */
  readonly isBadTrace: boolean;
}

export function readSlowQuery(text: SlowQueryText, options: Reading): SlowQueryRead {
  const { raw, header, statementAt } = text;
  const { isRedacting, localTime } = options;
  const statement = raw.slice(statementAt);
  const { text: sent, end } = isRedacting ? redactStatement(text) : { text: statement, end: null };
  const said = commentsOf(text, options);
  const head = raw.slice(0, statementAt);
  const sentHead = isRedacting ? redactHead(head, text) : head;
  const attributes = isRedacting ? redactAttributes(text) : header.attributes;
  if (sent !== '')
    attributes.push(['db.query.text', sent.endsWith(';') ? sent.slice(0, -1) : sent]);
  attributes.push(...said.attributes);
  // The time of the header is always converted, because it shows the order of the records.
  const headerMs = header.time === null ? Number.NaN : localTime.resolve(header.time);
  const fields = {
    timeMs: Number.isNaN(header.clockMs) ? headerMs : header.clockMs,
    timeExtraNs: header.clockExtraNs,
    severityNumber: SEVERITY,
    severityText: '',
    body: sentHead === head && sent === statement ? raw : sentHead + sent,
    eventName: SLOW_QUERY_EVENT,
    attributes,
    span: said.span ?? undefined,
  };
  return { fields, end, isBadTrace: said.isBadTrace };
}

/** Nothing for text that may belong to another statement. The parts of a cut one that are there count. */
function commentsOf(text: SlowQueryText, { comments }: Reading): StatementComments {
  const { raw, statementAt, wholeTo, header, isDoubtful, isCut } = text;
  const statement = raw.slice(statementAt, wholeTo);
  const isKnown = !isDoubtful && header.isConfirmed && mayHaveComments(statement, comments);
  return readComments(isKnown ? redactSqlFrom('code', statement, isCut).comments : [], comments);
}

function redactHead(
  head: string,
  { isDoubtful, header, isWithinLine, ...text }: SlowQueryText,
): string {
  if (isDoubtful) return doubtfulHeader(head);
  const isEnd = isWithinLine && text.statementAt === text.raw.length;
  const sent = header.isConfirmed
    ? header.quotesStatement
      ? redactHeader(head)
      : head
    : plainHeader(head);
  return isEnd ? withoutLastToken(sent, PLACEHOLDER) : sent;
}

function redactAttributes({ isDoubtful, header }: SlowQueryText): LogAttribute[] {
  if (isDoubtful) return doubtfulAttributes(header.attributes);
  const isPlain = !header.isConfirmed || header.hasWarning;
  return isPlain ? plainAttributes(header.attributes) : header.attributes;
}

function redactStatement(
  text: SlowQueryText,
): Pick<RedactedSql, 'text'> & { end: SqlContext | null } {
  const { raw, statementAt, wholeTo, header, isDoubtful, isCut, isWithinLine } = text;
  const statement = raw.slice(statementAt);
  if (isDoubtful || !header.isConfirmed) return { text: redactUnknown(statement), end: null };
  if (COMMAND.test(statement)) return { text: statement, end: null };
  const isWhole = wholeTo === raw.length;
  const read = redactSqlFrom('code', raw.slice(statementAt, wholeTo), isCut || !isWhole);
  if (!isWhole) return { text: `${read.text}\n${PLACEHOLDER}`, end: null };
  if (!isWithinLine) return read;
  return { text: withoutLastToken(read.text, PLACEHOLDER), end: null };
}

// Reads the comments that applications add to their statements, in the form of sqlcommenter: `key='value'`, joined by
// commas, both URL-encoded. In: the comments of a statement, without literals around them. Out: the span that sent the
// statement, and the values of chosen keys. It throws on nothing: a comment in another form says nothing.
// https://google.github.io/sqlcommenter/spec/ and https://www.w3.org/TR/trace-context/

/** What the comments of a statement say. */
export interface StatementComments {
  readonly span: SpanLink | null;
  /** There was a `traceparent` that names no span, and none that does. */
  readonly isBadTrace: boolean;
  readonly attributes: readonly LogAttribute[];
}

const NOTHING: StatementComments = { span: null, isBadTrace: false, attributes: [] };
/** A value may contain escaped quotes. */
const PAIR = /([\w%.~-]{1,128})='((?:[^'\\]|\\.){0,1024})'/g;
const TRACE_PARENT = 'traceparent';
/** Version, trace id, span id, flags; later versions may add more. */
const SPAN = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Whether a statement may have comments that say something: most have none. */
function mayHaveComments(statement: string, { isTracing, keys }: CommentOptions): boolean {
  if (!isTracing && keys.length === 0) return false;
  return statement.includes("='") && statement.includes('/*');
}

/** If several comments name a span, the last one counts: it was added nearest to the database. */
function readComments(
  comments: readonly string[],
  { isTracing, keys }: CommentOptions,
): StatementComments {
  if (comments.length === 0) return NOTHING;
  const values = new Map<string, string>();
  let span: SpanLink | null = null;
  let isBadTrace = false;
  for (const [, key = '', value = ''] of comments.flatMap(text => [...text.matchAll(PAIR)])) {
    const [name, decoded] = [decode(key), decode(value.replaceAll(/\\(.)/g, '$1'))];
    if (name === null || decoded === null) isBadTrace ||= key === TRACE_PARENT;
    else if (name !== TRACE_PARENT) values.set(name, decoded);
    else {
      const read = readSpan(decoded);
      span = read ?? span;
      isBadTrace ||= read === null;
    }
  }
  const attributes = keys.flatMap(key => {
    const value = values.get(key);
    return value === undefined ? [] : [[`${OWN_PREFIX}query.${key}`, value] as const];
  });
  if (!isTracing) return { ...NOTHING, attributes };
  return { span, isBadTrace: isBadTrace && span === null, attributes };
}

/** Null for ids of zeros, and for what is no `traceparent`. */
function readSpan(value: string): SpanLink | null {
  const [, version = '', traceId = '', spanId = '', flags = '', more = ''] = SPAN.exec(value) ?? [];
  const isVersion = version !== '' && version !== 'ff' && (version !== '00' || more === '');
  if (!isVersion || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
