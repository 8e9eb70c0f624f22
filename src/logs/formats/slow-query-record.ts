// One record of the slow query log, read out of its text. In: the text of a statement with its header, of a
// banner, or of what belongs to neither. Out: what is sent of it. Literals are taken out of the statement, of
// what the header quotes of it, and of text of which nobody knows what it is.

import { OWN_PREFIX } from '../record.ts';
import type { LocalTime } from './local-time.ts';
import type { RecordFields } from './record-lines.ts';
import { type RedactedSql, redactSqlFrom, redactSqlPiece, type SqlContext } from './redact.ts';
import { readHeader, redactHeader, type SlowQueryHeader } from './slow-query-header.ts';

const SEVERITY = 13;
const INFO = 9;
/** Clocks of records are whole seconds. */
const CLOCK_SLACK_MS = 2000;
/** What the engine writes in the place of a statement for a command that is none. */
const COMMAND = /^# administrator command: [\w ]+;?$/;

export const SLOW_QUERY_EVENT: string = `${OWN_PREFIX}slow_query`;
const QUERY_TIME = `${SLOW_QUERY_EVENT}.query_time_s`;

/** A statement with its header, or the rest of one. */
export interface SlowQueryText {
  readonly raw: string;
  /** What was read of the header. */
  readonly header: SlowQueryHeader;
  /** Where the statement begins in `raw`; its length where there is none. */
  readonly statementAt: number;
  /** What the statement's beginning stands in; null where nobody knows. */
  readonly context: SqlContext | null;
  /** The statement, read from its beginning, where that was done before. */
  readonly reading: RedactedSql | null;
}

export interface SlowQueryOptions {
  readonly localTime: LocalTime;
  readonly isRedacting: boolean;
}

export function readSlowQuery(text: SlowQueryText, options: SlowQueryOptions): RecordFields {
  const { raw, header, statementAt } = text;
  const { isRedacting, localTime } = options;
  const statement = raw.slice(statementAt);
  const sent = isRedacting ? redactStatement(statement, text) : statement;
  const isHeaderSame = !isRedacting || !header.quotesStatement;
  const { attributes } = header;
  if (sent !== '')
    attributes.push(['db.query.text', sent.endsWith(';') ? sent.slice(0, -1) : sent]);
  const isClocked = !Number.isNaN(header.clockMs);
  let body = raw;
  if (!isHeaderSame) body = redactHeader(raw.slice(0, statementAt)) + sent;
  else if (sent !== statement) body = raw.slice(0, statementAt) + sent;
  return {
    timeMs: isClocked ? header.clockMs : localTime.toEpochMs(header.localMs),
    timeExtraNs: header.clockExtraNs,
    severityNumber: SEVERITY,
    severityText: '',
    body,
    eventName: SLOW_QUERY_EVENT,
    attributes,
  };
}

function redactStatement(statement: string, { context, reading }: SlowQueryText): string {
  if (COMMAND.test(statement)) return statement;
  if (context === null) return redactSqlPiece(statement);
  return (reading ?? redactSqlFrom(context, statement)).text;
}

/** What the server writes when it starts. */
export function readBanner(raw: string): RecordFields {
  return { ...NO_FIELDS, severityNumber: INFO, body: raw };
}

/** Lines of which nobody knows what they belong to. */
export function readOrphan(raw: string, { isRedacting }: SlowQueryOptions): RecordFields {
  return { ...NO_FIELDS, body: isRedacting ? redactSqlPiece(raw) : raw };
}

/** Whether records that stand in the text of another are older than it: copied from a log, not written behind it. */
export function isExcerpt([outer = '', ...inner]: readonly string[]): boolean {
  const endMs = endOfStatementMs(outer);
  return inner.some(raw => endOfStatementMs(raw) < endMs - CLOCK_SLACK_MS);
}

/** By the record's own clock; NaN where the header does not say. */
function endOfStatementMs(raw: string): number {
  const { clockMs, attributes } = readHeader(raw).header;
  const seconds = attributes.find(([key]) => key === QUERY_TIME)?.[1];
  return clockMs + (typeof seconds === 'number' ? seconds * 1000 : 0);
}

const NO_FIELDS: RecordFields = {
  timeMs: Number.NaN,
  timeExtraNs: 0,
  severityNumber: 0,
  severityText: '',
  body: '',
  eventName: null,
  attributes: [],
};
