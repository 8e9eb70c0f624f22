// The pairs in a slow-query header, `# Key: value  Key: value`, two blanks apart. In: a line. Out: attributes.
// Most of what a slow query log says stands here, and the same keys follow each other in every record, so that
// each remembers which one followed it last.

import { type LogAttribute, OWN_PREFIX } from '../record.ts';
import { isWordCode, SPACE } from './sql-tokens.ts';

type Kind = 'integer' | 'double' | 'flag' | 'text';

interface Key {
  /** As it stands in the log, with its colon. */
  readonly text: string;
  readonly attribute: string;
  readonly kind: Kind;
  next: Key | null;
}

const PREFIX = `${OWN_PREFIX}slow_query.`;
const PAIRS_AT = 2;
const COLON = 0x3a;
const DOT = 0x2e;
const ZERO = 0x30;
const CAPITAL_Y = 0x59;
const ATTRIBUTES_MAX = 64;
/** So many digits are an exact number for sure. */
const DIGITS_MAX = 15;

const KEYS = new Map<string, Key>();
define('Thread_id', 'thread.id', 'integer');
define('Schema', 'db.namespace', 'text');
define('Rows_sent', 'db.response.returned_rows', 'integer');
define('Query_time', `${PREFIX}query_time_s`, 'double');
define('Lock_time', `${PREFIX}lock_time_s`, 'double');
define('Pages_read_time', `${PREFIX}pages_read_time_ms`, 'double');
define('Engine_time', `${PREFIX}engine_time_ms`, 'double');
defineOwn('integer', 'Rows_examined Rows_affected Bytes_sent Tmp_tables Tmp_disk_tables');
defineOwn('integer', 'Tmp_table_sizes Merge_passes Pages_accessed Pages_read');
defineOwn('integer', 'Pages_prefetched Pages_updated Old_rows_read');
defineOwn('flag', 'QC_hit Full_scan Full_join Tmp_table Tmp_table_on_disk Filesort');
defineOwn('flag', 'Filesort_on_disk Priority_queue');

function define(name: string, attribute: string, kind: Kind): Key {
  const key: Key = { text: `${name}:`, attribute, kind, next: null };
  KEYS.set(name, key);
  return key;
}

function defineOwn(kind: Kind, names: string): void {
  for (const name of names.split(' ')) define(name, PREFIX + name.toLowerCase(), kind);
}

/** The key that was read last, by any reader: a guess at what comes next, and nothing more. */
let lastKey: Key | null = null;

/** Adds what a line of the header says; false when it holds no pairs. */
export function addPairs(attributes: LogAttribute[], line: string): boolean {
  let at = PAIRS_AT;
  while (at < line.length && attributes.length < ATTRIBUTES_MAX) {
    const key = keyAt(line, at);
    if (key === null) return false;
    at += key.text.length;
    if (line.charCodeAt(at) === SPACE) at++;
    const end = valueEnd(line, at);
    if (end > at) attributes.push(attributeOf(key, line, at, end));
    at = end + 2;
  }
  return true;
}

function keyAt(line: string, at: number): Key | null {
  const guess = lastKey?.next;
  if (guess !== undefined && guess !== null && line.startsWith(guess.text, at)) {
    lastKey = guess;
    return guess;
  }
  let end = at;
  while (isWordCode(line.charCodeAt(end))) end++;
  if (end === at || line.charCodeAt(end) !== COLON) return null;
  const name = line.slice(at, end);
  const key = KEYS.get(name);
  if (key === undefined) {
    return { text: `${name}:`, attribute: PREFIX + name.toLowerCase(), kind: 'text', next: null };
  }
  if (lastKey !== null) lastKey.next = key;
  lastKey = key;
  return key;
}

/** Where the next two blanks stand, or the line ends. */
function valueEnd(line: string, start: number): number {
  let at = start;
  while (at < line.length) {
    if (line.charCodeAt(at) === SPACE && line.charCodeAt(at + 1) === SPACE) return at;
    at++;
  }
  return at;
}

function attributeOf(
  { attribute, kind }: Key,
  line: string,
  at: number,
  end: number,
): LogAttribute {
  if (kind === 'flag') return [attribute, line.charCodeAt(at) === CAPITAL_Y];
  const number = kind === 'text' ? Number.NaN : decimal(line, at, end);
  if (kind === 'double' && Number.isFinite(number)) return [attribute, number, 'double'];
  if (kind === 'integer' && Number.isSafeInteger(number)) return [attribute, number];
  return [attribute, line.slice(at, end)];
}

/** The number that fills [at, end); NaN when that is none. */
function decimal(line: string, at: number, end: number): number {
  let digits = 0;
  let scale = 1;
  let hasPoint = false;
  for (let index = at; index < end; index++) {
    const digit = line.charCodeAt(index) - ZERO;
    if (digit >= 0 && digit <= 9) {
      digits = digits * 10 + digit;
      if (hasPoint) scale *= 10;
    } else if (digit === DOT - ZERO && !hasPoint) hasPoint = true;
    else return Number.NaN;
  }
  // Within that many digits both are exact, and so is the rounding of their quotient.
  if (end - at <= DIGITS_MAX) return digits / scale;
  return Number(line.slice(at, end));
}
