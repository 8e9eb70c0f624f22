// Takes the literals out of the SQL that a server quotes in its own messages: statements in dumps of deadlocks
// and crashes, rows of locked records, values in the texts of errors. In: a whole record of any log. Out: the
// same text, with `?` for what came out of a statement or a row; the server's own words and numbers stay. Each
// step is linear in the text.

import { PLACEHOLDER, redactCutSql, redactSqlFrom, type SqlContext } from './redact.ts';

/** The message without the literals of the statements and rows in it. */
export function redactMessage(text: string): string {
  let redacted = text.replace(LOCKED_ROW, `$1${PLACEHOLDER}; asc ${PLACEHOLDER};;`);
  for (const quoted of VALUES) {
    const place = placeOf(redacted, quoted);
    if (place !== null) {
      redacted = redacted.slice(0, place.start) + PLACEHOLDER + redacted.slice(place.end);
    }
  }
  const place = placeOf(redacted, QUOTED_STATEMENT);
  if (place === null) return redactStatements(redacted);
  const { start, end } = place;
  const before = redactStatements(redacted.slice(0, start));
  return before + redactCutSql(redacted.slice(start, end)) + redactStatements(redacted.slice(end));
}

/** A column of a locked record: `3: len 1; hex 62; asc b;;`, whose text may hold anything but a newline. */
const LOCKED_ROW = /(\b\d+: len \d+; hex ).*/g;

interface Quoted {
  readonly opener: string;
  /** What the quoted text ends before; the last one counts, since the text may hold any of them. */
  readonly closers: readonly string[];
}

/** Texts of errors that quote a value or a piece of a statement, without escaping what is in it. */
const VALUES: readonly Quoted[] = [
  { opener: "Duplicate entry '", closers: ["' for key "] },
  { opener: " value: '", closers: ["' for column ", "' for function ", "' at row "] },
  { opener: "syntax to use near '", closers: ["' at line "] },
];
/** What replication stopped at. */
const QUOTED_STATEMENT: Quoted = {
  opener: "Query: '",
  closers: ["', Gtid ", "', Internal ", "', Error_code"],
};

function placeOf(text: string, { opener, closers }: Quoted): { start: number; end: number } | null {
  const openerAt = text.indexOf(opener);
  if (openerAt < 0) return null;
  const start = openerAt + opener.length;
  const close = Math.max(...closers.map(closer => text.lastIndexOf(closer)));
  return { start, end: close < start ? text.length : close };
}

/** Where a statement begins: behind the words that announce one, or with the words that one begins with. */
const ANNOUNCED = [
  String.raw`\bQuery \(\w+\): `,
  String.raw`\b(?:Statement|SQL|query): (?!')`,
  String.raw`, query id \d+ [^\n]{0,1000}\n`,
];
const BEGUN = [
  String.raw`select\s+(?!command denied)`,
  String.raw`(?:insert|replace)\s+(?:\w+\s+){0,3}into\s`,
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
  String.raw`change\s+master\s`,
  String.raw`kill\s+(?:query\s|connection\s)`,
];
const STATEMENT = new RegExp(`(${ANNOUNCED.join('|')})|\\b(?:${BEGUN.join('|')})`, 'gi');

/** What follows a statement in a dump, at the beginning of a line. */
const BEHIND_STATEMENT =
  /^(?:\*\*\* |RECORD LOCKS |TABLE LOCK |Record lock|---|Connection ID |Status: |Optimizer switch: |Writing a core)/gm;

function redactStatements(text: string): string {
  let redacted = '';
  let copiedLength = 0;
  STATEMENT.lastIndex = 0;
  for (;;) {
    const match = STATEMENT.exec(text);
    if (match === null) break;
    const start = match.index + (match[1]?.length ?? 0);
    const end = statementEnd(text, start);
    redacted += text.slice(copiedLength, start) + redactCutSql(text.slice(start, end));
    copiedLength = end;
    STATEMENT.lastIndex = end;
  }
  return copiedLength === 0 ? text : redacted + text.slice(copiedLength);
}

/** Before the next part of the dump; what looks like that may stand in the statement's strings. */
function statementEnd(text: string, start: number): number {
  let at = start;
  let context: SqlContext = 'code';
  BEHIND_STATEMENT.lastIndex = start;
  for (;;) {
    const match = BEHIND_STATEMENT.exec(text);
    if (match === null) return text.length;
    const { end } = redactSqlFrom(context, text.slice(at, match.index));
    if (end === 'code' || end === '`') return match.index;
    context = end;
    at = match.index;
  }
}
