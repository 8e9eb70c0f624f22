// What stands open in a statement that comes line by line. In: the text so far, and how far it was looked through
// before. Out: the string or comment that its end stands in. Each part is looked through once.

import { type RedactedSql, redactSqlFrom, type SqlContext } from './redact.ts';

/** How far a statement was looked through. */
export interface Scan {
  readonly at: number;
  /** What stands open there. */
  readonly context: SqlContext;
  /** What was seen so far cannot have been read rightly: see RedactedSql. */
  readonly isMisread: boolean;
}

const QUOTES = /['"`]|\/\*/;

/** Looks on to `end`; `sql` is what lies between without its literals, where it had to be read. */
export function scanOn(
  scan: Scan,
  raw: string,
  end: number,
): { readonly scan: Scan; readonly sql: RedactedSql | null } {
  const text = raw.slice(scan.at, end);
  if (scan.context === 'code' && !QUOTES.test(text))
    return { scan: { ...scan, at: end }, sql: null };
  const sql = redactSqlFrom(scan.context, text);
  const isMisread = scan.isMisread || sql.isMisread;
  return { scan: { at: end, context: sql.end, isMisread }, sql };
}
