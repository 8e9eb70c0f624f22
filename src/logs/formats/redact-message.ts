// Removes the literals from the messages of the error and proxy log. A message quotes SQL: statements in dumps of
// deadlocks and crashes, rows of locked records, values in error texts. In: a message. Out: the same text with `?` for
// each literal, and the context at its end, if a statement or value in it is still open. The server's own words stay:
// error codes, positions, names. Each step is linear in the text.

import {
  BEGINS_WITH_NAME,
  isOpen,
  PLACEHOLDER,
  redactSql,
  redactSqlFrom,
  type SqlContext,
} from './redact.ts';

/** `code` are the server's words, `sql` a statement; `quoted`: a quotation, such as `Query: '…`, is open. */
export type MessageContext = SqlContext | 'sql' | 'quoted';

export interface RedactedMessage {
  readonly text: string;
  readonly end: MessageContext;
  /** How many characters after it may belong to what is open; null if that is unknown. */
  readonly room: number | null;
}

/** The message without the literals of the statements and rows that it quotes. */
export function redactMessage(text: string): string {
  return readMessage(text).text;
}

/** `isCut`: the end of the message may be missing, and closes nothing. */
export function readMessage(message: string, isCut = false): RedactedMessage {
  let text = redactRows(message);
  let end: MessageContext = 'code';
  for (const quoted of VALUES) {
    const place = placeOf(text, quoted, isCut);
    if (place === null) continue;
    text = text.slice(0, place.start) + PLACEHOLDER + text.slice(place.end);
    if (!place.isClosed) end = 'quoted';
  }
  const place = MAY_ANNOUNCE.test(text) ? placeOf(text, QUOTED_STATEMENT, isCut) : null;
  if (place === null) {
    const read = redactStatements(text);
    return end === 'code' ? read : { text: read.text, end, room: null };
  }
  const before =
    redactStatements(text.slice(0, place.from)).text + text.slice(place.from, place.start);
  const statement = redactSql(text.slice(place.start, place.end), true);
  const after = redactStatements(text.slice(place.end));
  if (!place.isClosed) end = 'quoted';
  const all = before + statement + after.text;
  return end === 'code' ? { ...after, text: all } : { text: all, end, room: null };
}

/** Whether a statement or value goes on in the next line. */
export function isMessageOpen(end: MessageContext): boolean {
  return end === 'quoted' || (end !== 'sql' && isOpen(end));
}

/** The context at the end of a text that begins in another. */
export function endOfMessage(begin: MessageContext, text: string): MessageContext {
  if (begin === 'code') return readMessage(text).end;
  if (begin !== 'quoted') return ofSql(redactSqlFrom(begin === 'sql' ? 'code' : begin, text).end);
  const close = closeOf(text, 0, ALL_CLOSERS);
  return close < 0 ? 'quoted' : readMessage(text.slice(close)).end;
}

function ofSql(end: SqlContext): MessageContext {
  return end === 'code' || end === '`' ? 'sql' : end;
}

/**
 * A message of a proxy, which writes each line end and tab of a statement as two characters: they are white space. A
 * comment up to the line end goes on to the end of the message, because it may contain the two characters as well.
 */
export function readProxyMessage(message: string, isCut = false): RedactedMessage {
  if (!message.includes('\\')) return readMessage(message, isCut);
  const blank = message.replaceAll(ESCAPE, escape => BLANKS.get(escape) ?? escape);
  const read = readMessage(blank, isCut);
  const text = read.text.replaceAll(BLANK, blanks => ESCAPES.get(blanks) ?? blanks);
  return { ...read, text };
}

const ESCAPE = /\\[^]/g;
/** Stands for an escape: two blanks that no log contains. */
const BLANK = /\v[\v\f]|\f\v/g;
const BLANKS: ReadonlyMap<string, string> = new Map([
  [String.raw`\n`, '\v\v'],
  [String.raw`\t`, '\v\f'],
  [String.raw`\r`, '\f\v'],
]);
const ESCAPES: ReadonlyMap<string, string> = new Map([...BLANKS].map(([a, b]) => [b, a]));

/**
 * The rest of a message whose beginning is missing: it may begin in a statement, even in a string. It is read as a
 * statement if its quotes have only this reading. Otherwise all of it is replaced.
 */
export function redactRest(rest: string): string {
  const text = redactRows(rest);
  const { text: redacted, end, isDoubtful } = redactSqlFrom('code', text, true);
  const isCode = !isDoubtful && !isOpen(end) && end !== '`' && !text.includes('*/');
  return isCode && !mayBeginIn("'", text) && !mayBeginIn('"', text) ? redacted : PLACEHOLDER;
}

/** Whether a string may be open at the beginning: not if a word directly follows its end, which is the first quote. */
function mayBeginIn(quote: "'" | '"', text: string): boolean {
  const at = text.indexOf(quote);
  if (at < 0) return false;
  BEGINS_WITH_NAME.lastIndex = at + 1;
  return !BEGINS_WITH_NAME.test(text) || !redactSqlFrom(quote, text, true).isTouched;
}

// Rows that the storage engine shows. Their text may contain anything but a newline.

/** A column of a locked record, as `3: len 1; hex 62; asc b;;`, and a page, which has no number. */
const COLUMN = /((?:\b\d+: |^ ?)len \d+; hex ).*/gm;
const COLUMN_REDACTED = `$1${PLACEHOLDER}; asc ${PLACEHOLDER};;`;
/** A row that was not found: `TUPLE (info_bits=0, 1 fields): {[3]abc(0x616263)} at: …`. */
const ROW = /\b((?:TUPLE|RECORD) ?\(info_bits=).*/g;
/** A line of a page in hexadecimal, after the name of the part. */
const PAGE_LINE = /((?:\] |^|\d {1,2})\w+: )[\da-f]{64}$/gim;

const PAGE_TEXT = /[\da-f]{64}/i;

function redactRows(text: string): string {
  // Most messages show no rows: cheap tests.
  if (!text.includes('; hex ') && !text.includes('(info_bits=') && !PAGE_TEXT.test(text))
    return text;
  return text
    .replace(COLUMN, COLUMN_REDACTED)
    .replace(ROW, `$1${PLACEHOLDER}`)
    .replace(PAGE_LINE, `$1${PLACEHOLDER}`);
}

interface Quoted {
  readonly opener: RegExp;
  /** The ends of the quoted text; the last match counts, because the text may contain any of them. */
  readonly closers: readonly string[];
}

/** Error texts that quote a value or a piece of a statement without escaping it. */
const VALUES: readonly Quoted[] = [
  { opener: /Duplicate entry '/, closers: ["' for key "] },
  { opener: / value: '/, closers: ["' for column ", "' for function ", "' at row "] },
  { opener: /syntax to use near '/, closers: ["' at line "] },
];
/** Words that announce a statement: not those that name a part of the server. */
const ANNOUNCER = String.raw`(?:\b(?:query|statement|stmt|sql)\b(?<!\b(?:slave|replica|source|master) \w+)(?! ?(?:error|state|thread|mode|syntax))|\bCOM_\w+)(?:[^\n:.,;'"\x60(]|\([^)\n]{0,80}\)){0,60}: `;
/** Most messages quote no statement: a cheap test. */
const MAY_ANNOUNCE = /: ['\x60]/;
/** The statement at which replication stopped, or that a proxy quotes. */
const QUOTED_STATEMENT: Quoted = {
  opener: new RegExp(String.raw`${ANNOUNCER}(?:'|\x60)`, 'i'),
  closers: ["'", '`'].flatMap(quote =>
    [
      ', Gtid ',
      '. Gtid ',
      ', Internal ',
      '. Internal ',
      ', Error_code',
      '. Error_code',
      '. Closing ',
    ].map(words => quote + words),
  ),
};
const ALL_CLOSERS = [...VALUES, QUOTED_STATEMENT].flatMap(({ closers }) => closers);
/** The server's own end of a message. Before it a long statement lacks its end, and its quote. */
const SERVER_END =
  /[.,] (?:Gtid [\d,-]{5,100}[.,] )?(?:Internal (?:[\w ]{1,40} )?error code|Error_code): (?:MY-)?\d{1,6}\s*$/;
/** A quote that ends a line, and the text. */
const LAST_QUOTE = /['`][.;]?\s*$/;
/** Before a quote that opens a string, and closes no quotation. */
const OPENS =
  /(?:[^\w)\x60;/]|\b(?:_\w+|n|like|and|or|not|in|is|as|by|select|when|then|else|values?))$/i;

function placeOf(text: string, { opener, closers }: Quoted, isCut: boolean): Place | null {
  const match = opener.exec(text);
  if (match === null) return null;
  const from = match.index;
  const start = from + match[0].length;
  if (isCut) return { from, start, end: text.length, isClosed: false };
  const close = closeOf(text, start, closers);
  const end = close < 0 ? closingLineEnd(text, start) : close;
  return { from, start, end: end < 0 ? text.length : end, isClosed: end >= 0 };
}

interface Place {
  /** The index of the words before the quotation. */
  readonly from: number;
  readonly start: number;
  readonly end: number;
  readonly isClosed: boolean;
}

/** Where a quotation ends; -1 if its end does not stand there. */
function closeOf(text: string, start: number, closers: readonly string[]): number {
  const close = Math.max(...closers.map(closer => text.lastIndexOf(closer)));
  if (close >= start) return close;
  const end = SERVER_END.exec(text.slice(-200));
  if (end === null) return -1;
  const at = text.length - Math.min(text.length, 200) + end.index;
  return at < start ? -1 : at;
}

/** The quote at the end of the line that closes a quotation, if that is a whole statement or value; else -1. */
function closingLineEnd(text: string, start: number): number {
  const length = LAST_QUOTE.exec(text)?.[0].length ?? 0;
  const end = text.length - length;
  if (length === 0 || end <= start) return -1;
  const quoted = text.slice(start, end);
  return !OPENS.test(quoted) && !isOpen(redactSqlFrom('code', quoted).end) ? end : -1;
}

/** The engine shows at most 1023 bytes of a transaction's statement, and cuts it anywhere: here is room for more. */
const DUMPED_LENGTH_MAX = 4096;
const DUMP = String.raw`, query id \d+ [^\n]{0,1000}\n`;
const DUMPED = new RegExp(DUMP, 'gi');
const ANNOUNCED_OTHERWISE = new RegExp(ANNOUNCER, 'i');

/** A statement begins after an announcement, or with its first words. */
const ANNOUNCED = [
  ANNOUNCER,
  DUMP,
  // A line of the general log: the statement, or the command that has one.
  String.raw`\t *\d+ (?:Query|Execute|Prepare|Field List|Long Data|Create DB|Drop DB)\t`,
];
const BEGUN = [
  String.raw`select\s+(?!command denied)`,
  String.raw`(?:insert|replace)\s+(?:\w+\s+){0,3}into\s`,
  String.raw`(?:insert|replace)\s+(?:\w+\s+){0,2}\S+\s+set\s+(?:\x60[^\x60]*\x60|"[^"]*"|[\w.$@\u0080-\uffff])+\s*:?=`,
  String.raw`update\s[^]{1,200}?\sset\s`,
  String.raw`delete\s+(?:\w+\s+){0,3}from\s`,
  String.raw`values\s*\(`,
  String.raw`call\s+[\w.\x60]+\s*\(`,
  String.raw`set\s+(?:@|global\s|session\s|names\s|password\b)`,
  String.raw`(?:create|alter)\s+(?:or\s+replace\s+)?user\s`,
  String.raw`identified\s+(?:by|via|with)\s`,
  String.raw`load\s+(?:data|xml)\s`,
  String.raw`execute\s+immediate\s`,
  String.raw`prepare\s+\S+\s+from\s`,
  String.raw`change\s+(?:master|replication\s+source)\s+to\s+(?!executed|for\s+channel\s+'[^']*'\s+executed)`,
  String.raw`kill\s+(?:query\s|connection\s)`,
];
const STATEMENT = new RegExp(`(${ANNOUNCED.join('|')})|\\b(?:${BEGUN.join('|')})`, 'gi');

/** The line after a statement in a dump. */
const AFTER_STATEMENT =
  /^(?:\*\*\* |RECORD LOCKS |TABLE LOCK |Record lock|---|Connection ID |Status: |Optimizer switch: |Writing a core|[-\d:.TZ ]{0,32}\t[\t ]*\d+ [A-Z][A-Za-z ]{2,20}(?:\t|$))/gm;

function redactStatements(text: string): RedactedMessage {
  let redacted = '';
  let copiedLength = 0;
  let end: MessageContext = 'code';
  let room: number | null = null;
  STATEMENT.lastIndex = 0;
  for (;;) {
    const match = STATEMENT.exec(text);
    if (match === null) break;
    const announcement = match[1] ?? '';
    const start = match.index + announcement.length;
    const isDumped = announcement.startsWith(', ');
    const statement = isDumped ? dumpedEnd(text, start) : statementEnd(text, start);
    const { readTo, at } = statement;
    redacted += text.slice(copiedLength, start) + redactSql(text.slice(start, readTo), true);
    // Words that only look like a statement leave nothing open.
    if (announcement !== '') ({ end, room } = statement);
    copiedLength = at;
    STATEMENT.lastIndex = at;
  }
  return { text: copiedLength === 0 ? text : redacted + text.slice(copiedLength), end, room };
}

interface StatementEnd extends Pick<RedactedMessage, 'end' | 'room'> {
  /** What follows it, up to `at`, is not sent: it may be text of a string. */
  readonly readTo: number;
  readonly at: number;
}

/** The statement ends before the next part of the dump; a string in it may look like such a part. */
function statementEnd(text: string, start: number): StatementEnd {
  const toEnd = (end: SqlContext): StatementEnd => {
    return { readTo: text.length, at: text.length, end: ofSql(end), room: null };
  };
  let at = start;
  let context: SqlContext = 'code';
  for (let next = nextPart(text, start); ; next = nextPart(text, next + 1)) {
    const { end, isMisread } = redactSqlFrom(context, text.slice(at, next));
    if (next === text.length) return toEnd(end);
    // Then a string may still be open.
    if (isMisread) return toEnd(redactSqlFrom(end, text.slice(next)).end);
    if (!isOpen(end)) return { readTo: next, at: next, end: 'code', room: null };
    context = end;
    at = next;
  }
}

/**
 * The same of a statement that the engine may have cut. If a string is open where the next part begins, nothing more is
 * read up to the end of the longest statement: the statements of other transactions may follow.
 */
function dumpedEnd(text: string, start: number): StatementEnd {
  const readTo = Math.min(nextPart(text, start), start + DUMPED_LENGTH_MAX);
  const { end, isMisread } = redactSqlFrom('code', text.slice(start, readTo));
  if (!isOpen(end) && !isMisread) return { readTo, at: readTo, end: ofSql(end), room: null };
  const to = dumpsEnd(text, start);
  const lineEnd = text.indexOf('\n', to);
  const at = lineEnd < 0 ? text.length : lineEnd;
  return { readTo, at, end: isOpen(end) ? ofSql(end) : "'", room: to - text.length };
}

/** Where the statements of dumps end that begin before the end of this one. */
function dumpsEnd(text: string, start: number): number {
  let to = start + DUMPED_LENGTH_MAX;
  DUMPED.lastIndex = start;
  for (;;) {
    const match = DUMPED.exec(text);
    if (match === null || match.index >= to) break;
    to = DUMPED.lastIndex + DUMPED_LENGTH_MAX;
  }
  return ANNOUNCED_OTHERWISE.test(text.slice(start, to)) ? Math.max(to, text.length) : to;
}

function nextPart(text: string, start: number): number {
  AFTER_STATEMENT.lastIndex = start;
  return AFTER_STATEMENT.exec(text)?.index ?? text.length;
}
