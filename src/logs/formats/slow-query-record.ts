// One record of the slow query log, read out of its text. In: the text of a statement with its header, of a
// banner, or of what belongs to neither. Out: what is sent of it, and what its end stands in. Literals are taken out
// of the statement, of what the header quotes of it, and of text of which nobody knows what it is.
//
// A statement can hold the lines of a header, byte for byte, and a quote can be open that the session's settings
// close: no reader can tell the next record from a string then. It is read as a record, so that nobody can hide one,
// and in doubt: it is marked, and of its text only what stands in a header's form leaves.

import { type LogRecord, OWN_PREFIX } from '../record.ts';
import { textRecord } from './record-lines.ts';
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
import type { LocalTime } from './time.ts';

const SEVERITY = 13;
const INFO = 9;
/** What the engine writes in the place of a statement for a command that is none. */
const COMMAND = /^# administrator command: [\w ]+;?$/;
const OPENERS = /['"`]|\/\*/;
/** So many records in a row may be the text of one statement: nobody holds a quote open for ever. */
const DOUBTS_MAX = 16;

const SLOW_QUERY_EVENT: string = `${OWN_PREFIX}slow_query`;

/** That a record may be text of a statement before it. */
export interface Doubt {
  /** What its beginning stands in then. */
  readonly context: SqlContext;
  /** How many records in a row are in doubt, with this one. */
  readonly count: number;
}

/** A statement with its header, or the rest of one. */
export interface SlowQueryText {
  readonly raw: string;
  /** What was read of the header. */
  readonly header: SlowQueryHeader;
  /** Where the statement begins in `raw`; its length where there is none. */
  readonly statementAt: number;
  /** What the statement's beginning stands in; null where nobody knows. */
  readonly context: SqlContext | null;
  /** Up to where in `raw` nothing is missing. */
  readonly wholeTo: number;
  /** More of it may come, or is gone. */
  readonly isCut: boolean;
  readonly doubt: Doubt | null;
}

/** What the place behind a record stands in. */
export interface Behind {
  /** For the rest of its statement; null where nobody knows. */
  readonly context: SqlContext | null;
  /** For another record. */
  readonly doubt: Doubt | null;
}

export interface SlowQueryOptions {
  readonly localTime: LocalTime;
  readonly isRedacting: boolean;
}

export function readSlowQuery(
  text: SlowQueryText,
  options: SlowQueryOptions,
): { readonly fields: LogRecord; readonly behind: Behind } {
  const { raw, header, statementAt, doubt } = text;
  const { isRedacting, localTime } = options;
  const isKnown = doubt === null && header.isProven && text.context !== null;
  const reading = readStatement(text, isRedacting && isKnown);
  const statement = raw.slice(statementAt);
  const sent = isRedacting ? redactStatement(text, isKnown ? reading : null) : statement;
  const head = raw.slice(0, statementAt);
  const sentHead = isRedacting ? redactHead(head, text) : head;
  const isNamesOnly = isRedacting && isHeadDoubtful(text);
  const attributes = isNamesOnly ? plainAttributes(header.attributes) : header.attributes;
  if (sent !== '')
    attributes.push(['db.query.text', sent.endsWith(';') ? sent.slice(0, -1) : sent]);
  // The time of the header is read even where the clock is better: it says in which order the records were written.
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
  return { fields, behind: behindOf(text, reading, isKnown) };
}

/** It may be text of a statement. */
function isHeadDoubtful({ doubt, header }: SlowQueryText): boolean {
  return doubt !== null || !header.isProven;
}

function redactHead(head: string, text: SlowQueryText): string {
  if (isHeadDoubtful(text)) return plainHeader(head);
  return text.header.quotesStatement ? redactHeader(head) : head;
}

/** The statement as far as nothing of it is missing; null where there is nothing to find in it. */
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

function behindOf(text: SlowQueryText, reading: RedactedSql | null, isKnown: boolean): Behind {
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

/** What the server writes when it starts. */
export function readBanner(raw: string): LogRecord {
  return { ...textRecord(raw), severityNumber: INFO };
}

/** Lines of which nobody knows what they belong to. */
export function readOrphan(raw: string, { isRedacting }: SlowQueryOptions): LogRecord {
  return textRecord(isRedacting ? redactUnknown(raw) : raw);
}
