// Reads the text of one record of the slow query log: a statement with its header, a banner, or other lines. In: the
// text. Out: the record, and the context at its end, such as an open string. Literals are removed from the statement,
// from quotations of it in the header, and from text that cannot be classified.
//
// A statement can contain the lines of a header, byte for byte, and whether a quote is still open can depend on the
// session's settings. Then no reader can distinguish the next record from a string. Such text is read as a record, so
// that no statement can hide one, and marked as doubtful. Only the parts of it that look like a header are sent.

import { type LogRecord, OWN_PREFIX } from '../record.ts';
import type { Reading } from './record-lines.ts';
import {
  PLACEHOLDER,
  type RedactedSql,
  redactSqlFrom,
  redactUnknown,
  type SqlContext,
} from './redact.ts';
import {
  plainAttributes,
  plainHeader,
  redactHeader,
  type SlowQueryHeader,
} from './slow-query-header.ts';

const SEVERITY = 13;
/** The engine writes this instead of a statement for other commands. */
const COMMAND = /^# administrator command: [\w ]+;?$/;
const OPENERS = /['"`]|\/\*/;
/** The doubt ends after this many records in a row. */
const DOUBTS_MAX = 16;

const SLOW_QUERY_EVENT: string = `${OWN_PREFIX}slow_query`;

/** The doubt whether a record is text of an earlier statement. */
export interface Doubt {
  /** The context at the record's beginning if it is such text. */
  readonly context: SqlContext;
  /** The number of doubtful records in a row, including this one. */
  readonly count: number;
}

/** A statement with its header, or the rest of one. */
export interface SlowQueryText {
  readonly raw: string;
  /** The header lines read so far. */
  readonly header: SlowQueryHeader;
  /** Where the statement begins in `raw`; the length of `raw` if there is none. */
  readonly statementAt: number;
  /** The context at the statement's beginning; null if unknown. */
  readonly context: SqlContext | null;
  /** The end of the part of `raw` from which nothing is missing. */
  readonly wholeTo: number;
  /** More of it may come, or was lost. */
  readonly isCut: boolean;
  readonly doubt: Doubt | null;
}

/** The context right after a record. */
export interface Aftermath {
  /** For the rest of its statement; null if unknown. */
  readonly context: SqlContext | null;
  /** For the next record. */
  readonly doubt: Doubt | null;
}

export function readSlowQuery(
  text: SlowQueryText,
  options: Reading,
): { readonly fields: LogRecord; readonly aftermath: Aftermath } {
  const { raw, header, statementAt, doubt } = text;
  const { isRedacting, localTime } = options;
  const isKnown = doubt === null && header.isProven && text.context !== null;
  const reading = readStatement(text, isRedacting && isKnown);
  const statement = raw.slice(statementAt);
  const sent = isRedacting ? redactStatement(text, isKnown ? reading : null) : statement;
  const head = raw.slice(0, statementAt);
  const sentHead = isRedacting ? redactHead(head, text) : head;
  const isNamesOnly = isRedacting && (isHeadDoubtful(text) || header.hasWarning);
  const attributes = isNamesOnly ? plainAttributes(header.attributes) : header.attributes;
  if (sent !== '')
    attributes.push(['db.query.text', sent.endsWith(';') ? sent.slice(0, -1) : sent]);
  // The time of the header is always converted, because it shows the order of the records.
  const headerMs = localTime.toEpochMs(header.localMs);
  const fields = {
    timeMs: Number.isNaN(header.clockMs) ? headerMs : header.clockMs,
    timeExtraNs: header.clockExtraNs,
    severityNumber: SEVERITY,
    severityText: '',
    body: sentHead === head && sent === statement ? raw : sentHead + sent,
    eventName: SLOW_QUERY_EVENT,
    attributes,
  };
  return { fields, aftermath: aftermathOf(text, reading, isKnown) };
}

/** True if the head may be text of a statement. */
function isHeadDoubtful({ doubt, header }: SlowQueryText): boolean {
  return doubt !== null || !header.isProven;
}

function redactHead(head: string, text: SlowQueryText): string {
  if (isHeadDoubtful(text)) return plainHeader(head);
  return text.header.quotesStatement ? redactHeader(head) : head;
}

/** The complete part of the statement; null if it need not be read. */
function readStatement(text: SlowQueryText, isWanted: boolean): RedactedSql | null {
  const { raw, statementAt, wholeTo, isCut } = text;
  const context = text.context ?? 'code';
  const statement = raw.slice(statementAt, wholeTo);
  if (!isWanted && context === 'code' && !OPENERS.test(statement)) return null;
  return redactSqlFrom(context, statement, isCut || wholeTo < raw.length);
}

function redactStatement(text: SlowQueryText, reading: RedactedSql | null): string {
  const { raw, statementAt, wholeTo } = text;
  const statement = raw.slice(statementAt);
  if (reading === null) return redactUnknown(statement);
  if (COMMAND.test(statement)) return statement;
  return wholeTo < raw.length ? `${reading.text}\n${PLACEHOLDER}` : reading.text;
}

function aftermathOf(
  text: SlowQueryText,
  reading: RedactedSql | null,
  isKnown: boolean,
): Aftermath {
  const { raw, doubt, wholeTo, context } = text;
  const { end, isMisread, isDoubtful } = reading ?? NOTHING_OPEN;
  const isWhole = wholeTo === raw.length;
  const isSure = isKnown && isWhole && !isDoubtful && !isMisread && end !== '`';
  const isOpen = context !== null && isWhole && !isMisread && end !== 'code';
  const count = (doubt?.count ?? 0) + 1;
  let next: Doubt | null = isOpen ? { context: end, count } : null;
  if (doubt !== null) {
    const asText = redactSqlFrom(doubt.context, raw);
    const isText = !asText.isMisread && !asText.isTouched && asText.end !== 'code';
    if (isText) next = { context: asText.end, count };
  }
  if (count > DOUBTS_MAX) next = null;
  return { context: isSure ? end : null, doubt: next };
}

const NOTHING_OPEN = { end: 'code', isMisread: false, isDoubtful: false } as const;
