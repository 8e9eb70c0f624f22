// The lines before the statement of a slow-query record, and the banner that a server writes when it starts. In: one
// line after the other. Out: whether a header or banner may begin here, the attributes, and whether the header is
// complete.
//
//   # Time: 260304  9:12:07                             only if the second changed; local
//   # User@Host: app[app] @ web-1 [10.0.0.9]            a name may contain newlines
//   # Thread_id: 75  Schema: shop  QC_hit: No           pairs, two blanks apart; a value may be empty
//   # explain: …                                        and similar lines, by the server's verbosity
//   # Warning 1292 Incorrect datetime value: 'x'        quotes a value of the statement
//   use shop;                                           only if the database changed
//   SET timestamp=1772615525;                           independent of the zone; the last line
//
// Neighbouring engines write RFC 3339 after `# Time:`, `Id: 75` after the user, one blank between pairs, pairs in a line
// without `#`, and no user at all.
//
//   engined, Version: 11.4.5-log. started with:
//   Tcp port: 3306  Unix socket: /run/engine.sock
//   Time                Id Command  Argument

import { type LogAttribute, OWN_PREFIX } from '../record.ts';
import { PLACEHOLDER, redactSql } from './redact.ts';
import { fractionOf, readTimeOfLine, type WrittenTime } from './any-time.ts';
import { readStamp } from './time.ts';

const TIME_KEY = '# Time: ';
const USER_KEY = '# User@Host: ';
const THREAD_KEY = '# Thread_id: ';
const QUERY_KEY = '# Query_time: ';
const EXPLAIN_KEY = '# explain:';
const SCHEMA_KEY = '# Schema: ';
const THREAD_LINE = /^# Thread_id: \d+  Schema: .*  QC_hit: (?:Yes|No)$/;
const USE = 'use ';
/** Pairs in a line without `#`. */
const MORE_PAIRS = /^ {2}(?=[A-Z]\w*: )/;
const USER_ID = /\]\s+Id:\s*(\d{1,15})\s*$/;
const SET = 'SET ';
const CLOCK = 'timestamp=';
const PLAIN_CLOCK = `${SET}${CLOCK}`;
const PREFIX = `${OWN_PREFIX}slow_query.`;
const NAMESPACE = 'db.namespace';
const CLIENT_HOST = `${PREFIX}client_host`;
const WARNING = /^# (?:Note|Warning|Error) \d+ /;
const CLOCK_VALUE = /^(\d{1,12})(?:\.(\d{1,9}))?;?\s*$/;
/** Names of users and hosts are short: a longer text is not a header. */
const HEADER_LENGTH_MAX = 2048;
const BANNER_END = ' started with:';
const BANNER_VERSION = ', Version: ';
/** The path or name of the program. */
const BANNER_NAME = /^(?:\/[\w./-]+|[\w.-]+)$/;
const BANNER_PORT = 'Tcp port: ';
const BANNER_COLUMNS = /^Time\s+Id\s+Command/;

const SPACE = 0x20;
const DOT = 0x2e;
const ZERO = 0x30;

/** The last line seen of a possible header or banner. */
export type Candidate = 'none' | 'time' | 'user' | 'thread' | 'version' | 'port';

/** Whether it may be the first line of a header. A line with a time has no semicolon at its end. */
export function startsHeader(text: string): boolean {
  if (text.length > HEADER_LENGTH_MAX) return false;
  if (isUserLine(text) || isThreadLine(text)) return true;
  return text.startsWith(TIME_KEY) && !endsStatement(text);
}

/** The candidate of a first line. */
export function candidateOf(text: string): Candidate {
  if (isThreadLine(text)) return 'thread';
  return isUserLine(text) ? 'user' : 'time';
}

/** The first line of a header without a user. */
export function isThreadLine(text: string): boolean {
  return text.startsWith(THREAD_KEY) && THREAD_LINE.test(text);
}

/** True for the line that almost every header has. */
export function isUserLine(text: string): boolean {
  return text.startsWith(USER_KEY);
}

/** Whether a statement may end here. */
export function endsStatement(text: string): boolean {
  return text.endsWith(';');
}

/** Where a banner begins in the line; -1 if none does. */
export function findBanner(text: string): number {
  if (!text.endsWith(BANNER_END)) return -1;
  const versionAt = text.indexOf(BANNER_VERSION);
  // The program's name cannot be distinguished from text before it: then the banner begins with the version.
  return versionAt > 0 && BANNER_NAME.test(text.slice(0, versionAt)) ? 0 : versionAt;
}

/** The second and third line of a banner. */
export function isBannerRest(text: string): boolean {
  return text.startsWith(BANNER_PORT) || BANNER_COLUMNS.test(text);
}

/** The candidate after this line: `none` if it is complete, null if the line does not belong to it. */
export function nextOfCandidate(candidate: Candidate, text: string): Candidate | null {
  if (text.length > HEADER_LENGTH_MAX) return null;
  if (candidate === 'time') {
    if (isUserLine(text)) return 'user';
    return isThreadLine(text) ? 'thread' : null;
  }
  if (candidate === 'thread') return text.startsWith(QUERY_KEY) ? 'none' : null;
  if (candidate === 'version') return text.startsWith(BANNER_PORT) ? 'port' : null;
  if (candidate === 'port') return BANNER_COLUMNS.test(text) ? 'none' : null;
  return isSecondLine(text) ? 'none' : null;
}

/** Whether a line continues the user's name at the end of `before`, the header so far. */
export function isRestOfName(before: string, text: string): boolean {
  const isShort = before.length + text.length <= HEADER_LENGTH_MAX;
  return isShort && !startsHeader(text) && !hasUserEnd(before.slice(before.indexOf(USER_KEY)));
}

/** Whether a user line ends with `[login] @ host [address]`. If its name has newlines, its last line has the host. */
function hasUserEnd(user: string): boolean {
  const loginAt = user.indexOf('[');
  if (loginAt < 0) return false;
  const hostAt = user.indexOf('] @ ', Math.max(loginAt, user.lastIndexOf('\n')));
  const addressAt = hostAt < 0 ? -1 : user.indexOf('[', hostAt);
  return addressAt > 0 && user.includes(']', addressAt);
}

/** True for the line after the user line in every header. */
function isSecondLine(text: string): boolean {
  return [THREAD_KEY, QUERY_KEY, SCHEMA_KEY].some(key => text.startsWith(key));
}

export class SlowQueryHeader {
  /** When the statement began, from `SET timestamp`; NaN before that line. */
  clockMs: number = Number.NaN;
  /** The clock's remaining nanoseconds. */
  clockExtraNs = 0;
  /** From `# Time:`; null if it is missing. */
  time: WrittenTime | null = null;
  readonly attributes: LogAttribute[] = [];
  hasUser = false;
  /** The line after the user line was read: this is a header, and not just a line that looks like one. */
  isConfirmed = false;
  /** The clock was read: the statement follows. */
  isComplete = false;
  /** A line quotes a part of the statement. */
  quotesStatement = false;
  /** A line is a warning, whose value may contain newlines: every line up to the clock may be part of it. */
  hasWarning = false;
  /** A user line whose name continues in the next line. */
  #openUser = '';

  /** Takes the next line; false if it is not part of a header, and so begins the statement. */
  take(line: string): boolean {
    if (this.#openUser !== '' && !isSecondLine(line)) {
      this.#takeUser(`${this.#openUser}\n${line}`);
      return true;
    }
    if (line.startsWith(SET)) return this.#takeSet(line);
    if (line.startsWith('#')) this.#takeComment(line);
    else if (line.startsWith(USE)) this.#takeUse(line);
    else if (this.isConfirmed && MORE_PAIRS.test(line)) addPairs(this.attributes, line);
    else return this.hasWarning;
    return true;
  }

  #takeComment(line: string): void {
    if (line.startsWith(EXPLAIN_KEY)) return;
    if (line.startsWith(USER_KEY)) {
      this.hasUser = true;
      this.#takeUser(line);
    } else if (line.startsWith(TIME_KEY)) {
      this.time = readHeaderTime(line);
    } else {
      if (!this.isConfirmed)
        this.isConfirmed = this.hasUser ? isSecondLine(line) : isThreadLine(line);
      this.#openUser = '';
      if (!addPairs(this.attributes, line)) this.hasWarning ||= WARNING.test(line);
      this.quotesStatement ||= this.hasWarning;
    }
  }

  #takeUser(text: string): void {
    const isWhole = addUser(this.attributes, text.slice(USER_KEY.length));
    const id = USER_ID.exec(text)?.[1];
    if (isWhole && id !== undefined) this.attributes.push(['thread.id', Number(id)]);
    this.#openUser = isWhole || text.length > HEADER_LENGTH_MAX ? '' : text;
  }

  /** Adds the database if the pairs did not contain it. */
  #takeUse(line: string): void {
    if (this.attributes.some(([key]) => key === NAMESPACE)) return;
    const name = line.slice(USE.length).trim().replace(/;$/, '');
    const isQuoted = name.startsWith('`') && name.endsWith('`') && name.length > 1;
    const database = isQuoted ? name.slice(1, -1).replaceAll('``', '`') : name;
    if (database !== '') this.attributes.push([NAMESPACE, database]);
  }

  #takeSet(line: string): boolean {
    const isPlain = line.startsWith(PLAIN_CLOCK);
    // SET last_insert_id=5,insert_id=7,timestamp=…; for a statement that depends on them.
    const clockAt = isPlain ? PLAIN_CLOCK.length : line.lastIndexOf(`,${CLOCK}`) + 1 + CLOCK.length;
    if (clockAt === CLOCK.length) return true;
    this.isComplete = true;
    this.quotesStatement ||= !isPlain;
    const match = CLOCK_VALUE.exec(line.slice(clockAt));
    if (match === null) return true;
    const { ms, extraNs } = fractionOf(match[2]);
    this.clockMs = Number(match[1]) * 1000 + ms;
    this.clockExtraNs = extraNs;
    return true;
  }
}

/** By hand in the engine's own form, because most records have it. */
function readHeaderTime(line: string): WrittenTime | null {
  const wallMs = readStamp(line, TIME_KEY.length, 'YYMMDD');
  if (Number.isNaN(wallMs)) return readTimeOfLine(line, TIME_KEY.length);
  return { wallMs, extraNs: 0, zoneMs: null, lacks: 'nothing', end: line.length };
}

/** Passes the first lines of a record's text to a header. */
export function takeLines(header: SlowQueryHeader, raw: string): void {
  let at = 0;
  while (at < raw.length && !header.isComplete) {
    const newline = raw.indexOf('\n', at);
    const end = newline < 0 ? raw.length : newline;
    if (!header.take(raw.slice(at, end))) break;
    at = end + 1;
  }
}

/** Reads `privileges[login] @ host [address]`, each of which may be empty; false if it is incomplete. */
function addUser(attributes: LogAttribute[], text: string): boolean {
  const loginAt = text.indexOf('[') + 1;
  const hostAt = text.indexOf('] @ ', loginAt);
  const addressAt = text.lastIndexOf(' [');
  if (loginAt === 0 || hostAt < 0 || addressAt < hostAt) return false;
  const login = text.slice(loginAt, hostAt);
  const user = login === '' ? text.slice(0, loginAt - 1) : login;
  const host = text.slice(hostAt + 4, addressAt);
  const address = text.slice(addressAt + 2, text.lastIndexOf(']'));
  if (user !== '') attributes.push(['user.name', user]);
  if (address !== '') attributes.push(['client.address', address]);
  else if (host !== '') attributes.push(['client.address', host]);
  if (address !== '' && host !== '') attributes.push([CLIENT_HOST, host]);
  return true;
}

/** The header without the texts of its warnings, which quote values, and without ids from the statement. */
export function redactHeader(text: string): string {
  let hasWarning = false;
  const lines = text.split('\n').map(line => {
    const warning = WARNING.exec(line);
    if (warning !== null) {
      hasWarning = true;
      return warning[0] + PLACEHOLDER;
    }
    if (hasWarning) return plainHeader(line);
    if (!line.startsWith(SET) || line.startsWith(PLAIN_CLOCK)) return line;
    const clockAt = Math.max(line.lastIndexOf(CLOCK), 0);
    return redactSql(line.slice(0, clockAt)) + line.slice(clockAt);
  });
  return lines.join('\n');
}

/**
 * Header lines with only names, numbers and flags. The pattern can match a text in one way only, so that it is fast: a
 * blank after a colon belongs to a missing value only before two more blanks or the end.
 */
const PLAIN_LINE =
  /^(?:# (?:Time|User@Host): .*|# Thread_id: \d+(?:  Schema: .*)?|#(?: {1,2}\w+:(?: ?(?:[\d.]+|Yes|No)| (?=  |$))?)*|SET timestamp=[\d.]+;|)$/;
const NAMES: ReadonlySet<string> = new Set([NAMESPACE, 'user.name', 'client.address', CLIENT_HOST]);

/** Keeps only names, numbers and flags of a text that may be a header or part of a statement. */
export function plainHeader(text: string): string {
  const lines = text.split('\n').map(line => (PLAIN_LINE.test(line) ? line : PLACEHOLDER));
  return lines.join('\n');
}

/** Like plainHeader, for attributes. */
export function plainAttributes(attributes: readonly LogAttribute[]): LogAttribute[] {
  return attributes.filter(([key, value]) => typeof value !== 'string' || NAMES.has(key));
}

/** A line of numbers and flags with keys that a header has. */
const NUMBER_PAIR = / {1,2}(\w+):(?: ?([\d.]+|Yes|No)| (?=  |$))/y;
const NUMERIC_TIME = /^# Time: [\d:TZ.+ -]{1,40}$/;
const CLOCK_LINE = /^SET timestamp=[\d.]+;$/;
const THREAD_AND_SCHEMA = /^(# Thread_id: \d+  Schema: ).*?(  QC_hit: (?:Yes|No))?$/;

/** Only the numbers and flags of a text that may be part of a statement. */
export function doubtfulHeader(text: string): string {
  return text.split('\n').map(doubtfulLine).join('\n');
}

function doubtfulLine(line: string): string {
  if (line === '' || line === '#' || NUMERIC_TIME.test(line) || CLOCK_LINE.test(line)) return line;
  if (isUserLine(line)) return USER_KEY + PLACEHOLDER;
  const [, thread, rest = ''] = THREAD_AND_SCHEMA.exec(line) ?? [];
  if (thread !== undefined) return thread + PLACEHOLDER + rest;
  let at = 1;
  while (line.startsWith('#') && at < line.length) {
    NUMBER_PAIR.lastIndex = at;
    const match = NUMBER_PAIR.exec(line);
    if (match === null || !MEANINGS.has(match[1] ?? '')) break;
    at = NUMBER_PAIR.lastIndex;
  }
  return at === line.length ? line : PLACEHOLDER;
}

/** Like doubtfulHeader, for attributes. */
export function doubtfulAttributes(attributes: readonly LogAttribute[]): LogAttribute[] {
  return attributes.flatMap(([key, value, type]): LogAttribute[] => {
    if (typeof value !== 'string') return [[key, value, type] as LogAttribute];
    return NAMES.has(key) ? [[key, PLACEHOLDER]] : [];
  });
}

type Kind = 'integer' | 'double' | 'flag' | 'text';

/** The attribute of a key, and the type of its value. */
type KeyMeaning = readonly [attribute: string, kind: Kind];

const MEANINGS: ReadonlyMap<string, KeyMeaning> = new Map<string, KeyMeaning>([
  ['Thread_id', ['thread.id', 'integer']],
  ['Schema', [NAMESPACE, 'text']],
  ['Rows_sent', ['db.response.returned_rows', 'integer']],
  ['Query_time', [`${PREFIX}query_time_s`, 'double']],
  ['Lock_time', [`${PREFIX}lock_time_s`, 'double']],
  ['Pages_read_time', [`${PREFIX}pages_read_time_ms`, 'double']],
  ['Engine_time', [`${PREFIX}engine_time_ms`, 'double']],
  ...own('integer', 'Rows_examined Rows_affected Bytes_sent Tmp_tables Tmp_disk_tables'),
  ...own('integer', 'Tmp_table_sizes Merge_passes Pages_accessed Pages_read'),
  ...own('integer', 'Pages_prefetched Pages_updated Old_rows_read'),
  ...own('flag', 'QC_hit Full_scan Full_join Tmp_table Tmp_table_on_disk Filesort'),
  ...own('flag', 'Filesort_on_disk Priority_queue'),
]);

function own(kind: Kind, names: string): (readonly [string, KeyMeaning])[] {
  return names.split(' ').map(name => [name, [PREFIX + name.toLowerCase(), kind]]);
}

const KEY = /^[\w$\x80-\uffff]+$/;
const PAIRS_AT = 2;
const ATTRIBUTES_MAX = 64;
/** A number of this many digits is exact. */
const DIGITS_MAX = 15;

/** Adds the pairs of a line, `# Key: value  Key: value`, which make up most of a header; false at any other text. */
function addPairs(attributes: LogAttribute[], line: string): boolean {
  let at = PAIRS_AT;
  while (at < line.length && attributes.length < ATTRIBUTES_MAX) {
    const colon = line.indexOf(':', at);
    const name = line.slice(at, Math.max(colon, at));
    const meaning = MEANINGS.get(name);
    if (meaning === undefined && !KEY.test(name)) return false;
    const valueAt = colon + (line.charCodeAt(colon + 1) === SPACE ? 2 : 1);
    const [key, kind] = meaning ?? [PREFIX + name.toLowerCase(), 'text'];
    // A number ends before one blank, any other value before two.
    const isNumber = kind !== 'text' && kind !== 'flag';
    const blank = line.indexOf(isNumber ? ' ' : '  ', valueAt);
    const end = blank < 0 ? line.length : blank;
    if (end > valueAt) attributes.push(attributeOf(key, kind, line.slice(valueAt, end)));
    at = end;
    while (line.charCodeAt(at) === SPACE) at++;
  }
  return true;
}

function attributeOf(key: string, kind: Kind, value: string): LogAttribute {
  if (kind === 'flag') return [key, value.startsWith('Y')];
  const number = kind === 'text' ? Number.NaN : decimal(value);
  if (kind === 'double' && Number.isFinite(number)) return [key, number, 'double'];
  if (kind === 'integer' && Number.isSafeInteger(number)) return [key, number];
  return [key, value];
}

/** Reads a number by hand, because `Number` of a fraction takes most of a header's time. NaN if it is not a number. */
function decimal(text: string): number {
  let digits = 0;
  let scale = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit >= 0 && digit <= 9) {
      digits = digits * 10 + digit;
      scale *= 10;
    } else if (digit === DOT - ZERO && scale === 0) scale = 1;
    else return Number.NaN;
  }
  // Both are exact, so the quotient is rounded correctly.
  return text.length <= DIGITS_MAX ? digits / (scale || 1) : Number(text);
}
