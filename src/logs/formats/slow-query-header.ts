// The lines before the statement of a slow-query record. In: line by line. Out: what they say, as attributes, and
// when the last of them has come.
//
//   # Time: 260304  9:12:07                             only where the second changed; local
//   # User@Host: app[app] @ web-1 [10.0.0.9]
//   # Thread_id: 75  Schema: shop  QC_hit: No           pairs, two blanks apart; a value may be empty
//   # explain: …                                        and more of that kind, by the server's verbosity
//   # Warning 1292 Incorrect datetime value: 'x'        which quotes what was in the statement
//   use shop;                                           only where the database changed
//   SET timestamp=1772615525;                           the clock that needs no zone; the last line

import { type LogAttribute, OWN_PREFIX } from '../record.ts';
import { readStamp } from './local-time.ts';
import { PLACEHOLDER, redactSql } from './redact.ts';
import { addPairs } from './slow-query-pairs.ts';
import { HASH } from './sql-tokens.ts';

export const TIME_KEY = '# Time: ';
export const USER_KEY = '# User@Host: ';
const EXPLAIN_KEY = '# explain:';
const USE = 'use ';
const SET = 'SET ';
const CLOCK = 'timestamp=';
const PLAIN_CLOCK = `${SET}${CLOCK}`;
const WARNING = /^# (?:Note|Warning|Error) \d+ /;
const CLOCK_VALUE = /^(\d{1,12})(?:\.(\d{1,9}))?;?\s*$/;
const LOWER_E = 0x65;
const LOWER_U = 0x75;
const CAPITAL_S = 0x53;
const NAMESPACE = 'db.namespace';
const CLIENT_HOST = `${OWN_PREFIX}slow_query.client_host`;

export class SlowQueryHeader {
  /** When the statement began, as SET says; NaN as long as it has not. */
  clockMs: number = Number.NaN;
  /** What the clock has beyond whole milliseconds. */
  clockExtraNs = 0;
  /** Of `# Time:`, as if its zone were UTC; NaN where it is missing. */
  localMs: number = Number.NaN;
  readonly attributes: LogAttribute[] = [];
  hasUser = false;
  /** The clock has come: the statement is next. */
  isComplete = false;
  /** A line quotes what was in the statement. */
  quotesStatement = false;

  /** Takes the next line; false when it belongs to no header, and so begins the statement. */
  take(line: string): boolean {
    switch (line.charCodeAt(0)) {
      case HASH:
        this.#takeComment(line);
        return true;
      case LOWER_U:
        if (!line.startsWith(USE)) return false;
        this.#takeUse(line);
        return true;
      case CAPITAL_S:
        return this.#takeSet(line);
      default:
        return false;
    }
  }

  #takeComment(line: string): void {
    if (line.charCodeAt(2) === LOWER_E && line.startsWith(EXPLAIN_KEY)) return;
    if (line.startsWith(USER_KEY)) {
      this.hasUser = true;
      addUser(this.attributes, line.slice(USER_KEY.length));
    } else if (line.startsWith(TIME_KEY)) {
      this.localMs = readStamp(line, TIME_KEY.length, 'YYMMDD');
    } else if (!addPairs(this.attributes, line)) {
      this.quotesStatement ||= WARNING.test(line);
    }
  }

  /** The database, where the pairs have not said it. */
  #takeUse(line: string): void {
    if (this.attributes.some(([key]) => key === NAMESPACE)) return;
    const name = line.slice(USE.length).trim().replace(/;$/, '');
    const isQuoted = name.startsWith('`') && name.endsWith('`') && name.length > 1;
    const database = isQuoted ? name.slice(1, -1).replaceAll('``', '`') : name;
    if (database !== '') this.attributes.push([NAMESPACE, database]);
  }

  #takeSet(line: string): boolean {
    const isPlain = line.startsWith(PLAIN_CLOCK);
    if (!isPlain && !line.startsWith(SET)) return false;
    // SET last_insert_id=5,insert_id=7,timestamp=…; of a statement that depends on them
    const clockAt = isPlain ? PLAIN_CLOCK.length : line.lastIndexOf(`,${CLOCK}`) + 1 + CLOCK.length;
    if (clockAt === CLOCK.length) return true;
    this.isComplete = true;
    this.quotesStatement ||= !isPlain;
    const match = CLOCK_VALUE.exec(line.slice(clockAt));
    if (match === null) return true;
    const fractionNs = match[2] === undefined ? 0 : Number(match[2].padEnd(9, '0'));
    this.clockMs = Number(match[1]) * 1000 + Math.floor(fractionNs / 1_000_000);
    this.clockExtraNs = fractionNs % 1_000_000;
    return true;
  }
}

/** Reads the header that a record's text begins with; gives where the statement begins, be it beyond the text. */
export function readHeader(raw: string): { header: SlowQueryHeader; statementAt: number } {
  const header = new SlowQueryHeader();
  let at = 0;
  while (at < raw.length && !header.isComplete) {
    const newline = raw.indexOf('\n', at);
    const end = newline < 0 ? raw.length : newline;
    if (!header.take(raw.slice(at, end))) break;
    at = end + 1;
  }
  return { header, statementAt: at };
}

/** `privileges[login] @ host [address]`, of which each may be empty. */
function addUser(attributes: LogAttribute[], text: string): void {
  const loginAt = text.indexOf('[') + 1;
  const hostAt = text.indexOf('] @ ', loginAt);
  const addressAt = text.lastIndexOf(' [');
  if (loginAt === 0 || hostAt < 0 || addressAt < hostAt) return;
  const login = text.slice(loginAt, hostAt);
  const user = login === '' ? text.slice(0, loginAt - 1) : login;
  const host = text.slice(hostAt + 4, addressAt);
  const address = text.slice(addressAt + 2, text.lastIndexOf(']'));
  if (user !== '') attributes.push(['user.name', user]);
  if (address !== '') attributes.push(['client.address', address]);
  else if (host !== '') attributes.push(['client.address', host]);
  if (address !== '' && host !== '') attributes.push([CLIENT_HOST, host]);
}

/** The header without what its warnings quote, each in a way of its own, and without ids that the statement put in. */
export function redactHeader(text: string): string {
  const lines = text.split('\n').map(line => {
    const warning = WARNING.exec(line);
    if (warning !== null) return warning[0] + PLACEHOLDER;
    if (!line.startsWith(SET) || line.startsWith(PLAIN_CLOCK)) return line;
    const clockAt = Math.max(line.lastIndexOf(CLOCK), 0);
    return redactSql(line.slice(0, clockAt)) + line.slice(clockAt);
  });
  return lines.join('\n');
}
