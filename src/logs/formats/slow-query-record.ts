// Reads the text of one record of the slow query log: a statement with its header. In: the text. Out: the record.
// Literals are removed from the statement, from quotations of it in the header, and from text that cannot be classified.
//
// A statement can contain the lines of a header, byte for byte. Such text is read as a record, so that no statement can
// hide one. If a statement before it was open at its end, it is doubtful: neither its statement nor its names are sent.

import { type LogAttribute, type LogRecord, OWN_PREFIX } from '../record.ts';
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
import { mayHaveComments, readComments, type StatementComments } from './trace-comment.ts';

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
