// Removes the literals from SQL text: strings, numbers, hex and bit values, comments. In: a statement, whole or cut off.
// Out: the same text with `?` for each literal, and the context at its end. One pass, linear in time and space; it never
// throws. The context at the beginning must be known: seen from within a string, strings look like code and code like
// strings. If a text has two readings, because a setting of the session decides whether a backslash escapes, it is
// replaced from there on, unless its end proves one reading: too much is removed rather than too little.

/** The context of a position in SQL text: code, a string, a quoted name, a comment. */
export type SqlContext = 'code' | "'" | '"' | '`' | '/*';

export interface RedactedSql {
  readonly text: string;
  /** The context at the end of the text: `code` if it is whole. */
  readonly end: SqlContext;
  /** The text outside of strings cannot be SQL: the reading confused strings and code. */
  readonly isMisread: boolean;
  /** There may be another reading: a quote follows a backslash, or a word directly follows a string. */
  readonly isDoubtful: boolean;
  /** A word directly follows a string, as if strings and code were confused. */
  readonly isTouched: boolean;
}

/** Replaces a literal, or a whole list of literals after IN. */
export const PLACEHOLDER = '?';

/** The statement without its literals; names, keywords, parameters and layout do not change. */
export function redactSql(sql: string): string {
  return new SqlReader(sql).read('code', false).text;
}

/** Like redactSql, for a statement whose end may be missing, so that the end proves nothing. */
export function redactCutSql(sql: string): string {
  return new SqlReader(sql).read('code', true).text;
}

/** Like redactSql, for text that begins in a known context; also returns the context at the end. */
export function redactSqlFrom(start: SqlContext, sql: string, isCut = false): RedactedSql {
  return new SqlReader(sql).read(start, isCut);
}

/** Text with an unknown context at its beginning: all of it may be a literal. */
export function redactUnknown(text: string): string {
  return text === '' ? '' : PLACEHOLDER;
}

const SPACE = 0x20;
const EXCLAMATION = 0x21;
const DOUBLE_QUOTE = 0x22;
const HASH = 0x23;
const SINGLE_QUOTE = 0x27;
const OPEN = 0x28;
const STAR = 0x2a;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const SLASH = 0x2f;
const CAPITAL_M = 0x4d;
const CAPITAL_N = 0x4e;
const BACKSLASH = 0x5c;
const BACKTICK = 0x60;
const PLUS = 0x2b;
const ZERO = 0x30;
const UNDERSCORE = 0x5f;
/** An ASCII letter OR this is its lower case. */
const LOWER_CASE = 0x20;
const LOWER_B = 0x62;
const LOWER_E = 0x65;
const LOWER_I = 0x69;
const LOWER_N = 0x6e;
const LOWER_X = 0x78;

/** The tokens that a character outside of strings may begin. */
const OTHER = 0;
const BLANK = 1;
const WORD = 2;
const DIGIT = 3;
const QUOTE = 4;
const MARK = 5;

const KINDS = new Uint8Array(128).fill(OTHER);
KINDS.fill(BLANK, 0, SPACE + 1);
setKind('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$', WORD);
setKind('0123456789', DIGIT);
setKind(`'"`, QUOTE);
setKind('`(,.-#/*\\', MARK);

function setKind(characters: string, kind: number): void {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
}

/** The position within `IN (` … `)`, as long as the list contains only literals. */
const NO_LIST = 0;
const LIST_OPENED = 1;
const AFTER_ITEM = 2;
const AFTER_COMMA = 3;

class SqlReader {
  readonly #sql: string;
  #out = '';
  /** All of #sql before it is in #out. */
  #copiedLength = 0;
  #end: SqlContext = 'code';
  #isMisread = false;
  #isTouched = false;
  /** The output up to the first doubtful position; null if there is none so far. */
  #outBeforeDoubt: string | null = null;
  /** The output up to the first comment that contains the beginning of another; null if there is none so far. */
  #outBeforeNested: string | null = null;
  /** Whether a backslash escapes: a setting of the session. */
  readonly #escapes: boolean;
  /** A string contains a quote after a backslash, where the two readings differ. */
  #hasEscapedQuote = false;
  /** Within a comment that the engine executes, whose end is expected. */
  #isExecuted = false;
  #list = NO_LIST;

  constructor(sql: string, escapes = true) {
    this.#sql = sql;
    this.#escapes = escapes;
  }

  read(start: SqlContext, isCut: boolean): RedactedSql {
    const { length } = this.#sql;
    let at = this.#resume(start);
    while (at < length) at = this.#token(at);
    const isDoubtful = this.#outBeforeDoubt !== null;
    if (this.#outBeforeDoubt !== null && (isCut || !this.#isPlausible() || this.#hasOther(start))) {
      this.#out = this.#outBeforeDoubt + PLACEHOLDER;
      this.#copiedLength = length;
    }
    const isSame = this.#copiedLength === 0;
    const text = isSame ? this.#sql : this.#out + this.#sql.slice(this.#copiedLength);
    const isTouched = this.#isTouched;
    return { text, end: this.#end, isMisread: this.#isMisread, isDoubtful, isTouched };
  }

  /** Whether it can be a whole statement. */
  #isPlausible(): boolean {
    return this.#end === 'code' && !this.#isMisread;
  }

  /** Whether the text is also a whole statement in a session in which a backslash does not escape. */
  #hasOther(start: SqlContext): boolean {
    if (!this.#hasEscapedQuote) return false;
    const other = new SqlReader(this.#sql, false);
    other.read(start, false);
    return other.#isPlausible();
  }

  /** Reads the rest of an open string, name or comment; returns where code begins. */
  #resume(start: SqlContext): number {
    if (start === 'code') return 0;
    if (start === '`') return this.#quotedName(0);
    if (start === '/*') return this.#commentText(0, 0);
    return this.#stringText(0, 0, start);
  }

  /** Reads the token of code at `at`; returns where the next one begins. */
  #token(at: number): number {
    const code = this.#sql.charCodeAt(at);
    switch (kindOf(code)) {
      case BLANK:
        return at + 1;
      case WORD:
        return this.#word(at);
      case DIGIT:
        return this.#number(at, at);
      case QUOTE:
        return this.#string(at, at);
      case MARK:
        return this.#mark(at, code);
      default:
        this.#list = NO_LIST;
        return at + 1;
    }
  }

  #word(at: number): number {
    const end = wordEnd(this.#sql, at);
    const next = this.#sql.charCodeAt(end);
    const isQuote = next === SINGLE_QUOTE || next === DOUBLE_QUOTE;
    if (isQuote && isStringPrefix(this.#sql, at, end)) return this.#string(at, end);
    this.#list = NO_LIST;
    return end;
  }

  /** A number at `at`, with an optional sign at `start`, or a name that begins with a digit. */
  #number(start: number, at: number): number {
    const end = numberEnd(this.#sql, at);
    return end > at ? this.#literal(start, end) : this.#word(at);
  }

  /** A string with its quote at `at` and its prefix at `start`. */
  #string(start: number, at: number): number {
    const isSingle = this.#sql.charCodeAt(at) === SINGLE_QUOTE;
    return this.#stringText(start, at + 1, isSingle ? "'" : '"');
  }

  #stringText(start: number, textAt: number, quote: "'" | '"'): number {
    const sql = this.#sql;
    const quoteCode = quote.charCodeAt(0);
    for (let at = textAt; ; ) {
      const close = sql.indexOf(quote, at);
      if (close < 0) {
        this.#end = quote;
        return this.#literal(start, sql.length);
      }
      if (this.#escapes && isEscaped(sql, textAt, close)) {
        this.#hasEscapedQuote = true;
        this.#doubt(start);
        at = close + 1;
      } else if (sql.charCodeAt(close + 1) === quoteCode) {
        at = close + 2;
      } else {
        if (isWordCode(sql.charCodeAt(close + 1))) this.#touched(start);
        return this.#literal(start, close + 1);
      }
    }
  }

  /** A word directly after a string is rare in SQL, but common if a quote within a string was taken for its end. */
  #touched(start: number): void {
    this.#isTouched = true;
    this.#isMisread ||= this.#hasEscapedQuote;
    this.#doubt(start);
  }

  #doubt(start: number): void {
    this.#outBeforeDoubt ??= this.#outBefore(start);
  }

  #outBefore(start: number): string {
    return this.#out + this.#sql.slice(this.#copiedLength, start);
  }

  /** Other characters that may begin a longer token. */
  #mark(at: number, code: number): number {
    const sql = this.#sql;
    const next = sql.charCodeAt(at + 1);
    switch (code) {
      case COMMA:
        this.#list = this.#list === AFTER_ITEM ? AFTER_COMMA : NO_LIST;
        return at + 1;
      case OPEN:
        this.#list = isAfterIn(sql, at) ? LIST_OPENED : NO_LIST;
        return at + 1;
      case BACKTICK:
        return this.#quotedName(at + 1);
      case HASH:
        return this.#lineComment(at, '# ');
      case MINUS:
        if (next === MINUS && !(sql.charCodeAt(at + 2) > SPACE)) {
          return this.#lineComment(at, '-- ');
        }
        if (startsNumber(sql, at + 1) && isSign(sql, at)) {
          return this.#number(at, at + 1);
        }
        break;
      case DOT:
        if (startsNumber(sql, at) && !isWordCode(sql.charCodeAt(at - 1))) {
          return this.#number(at, at);
        }
        break;
      case SLASH:
        if (next === STAR) return this.#comment(at);
        break;
      case STAR:
        if (next === SLASH) return this.#commentEnd(at);
        break;
      case BACKSLASH:
        // Outside of strings it occurs only in \N, an old form of NULL.
        if (next !== CAPITAL_N) this.#misread(at);
    }
    this.#list = NO_LIST;
    return at + 1;
  }

  /** The text at `at` is not SQL. */
  #misread(at: number): void {
    this.#isMisread = true;
    this.#doubt(at);
  }

  /** A backtick that is never closed begins no name: the text after it is read as code. */
  #quotedName(textAt: number): number {
    this.#list = NO_LIST;
    const close = this.#sql.indexOf('`', textAt);
    if (close >= 0) return close + 1;
    this.#end = '`';
    return textAt;
  }

  #lineComment(at: number, mark: string): number {
    const newline = this.#sql.indexOf('\n', at);
    const end = newline < 0 ? this.#sql.length : newline;
    return this.#replace(at, end, mark + PLACEHOLDER);
  }

  #comment(at: number): number {
    const code = this.#sql.charCodeAt(at + 2);
    const markAt = code === CAPITAL_M ? at + 3 : at + 2;
    if (this.#sql.charCodeAt(markAt) !== EXCLAMATION) return this.#commentText(at, at + 2);
    this.#isExecuted = true;
    // The number after it is a version of the engine, not a literal.
    return wordEnd(this.#sql, markAt);
  }

  #commentText(start: number, textAt: number): number {
    const close = this.#sql.indexOf('*/', textAt);
    if (close < 0) this.#end = '/*';
    const end = close < 0 ? this.#sql.length : close + 2;
    if (this.#outBeforeNested === null) {
      const nestedAt = this.#sql.indexOf('/*', textAt);
      if (nestedAt >= 0 && nestedAt < end) this.#outBeforeNested = this.#outBefore(start);
    }
    return this.#replace(start, end, close < 0 ? `/* ${PLACEHOLDER}` : `/* ${PLACEHOLDER} */`);
  }

  /** An unexpected end of a comment: with nested comments an earlier one would end only here. */
  #commentEnd(at: number): number {
    if (!this.#isExecuted) {
      this.#misread(at);
      const nested = this.#outBeforeNested;
      if (nested !== null && nested.length < (this.#outBeforeDoubt?.length ?? Infinity))
        this.#outBeforeDoubt = nested;
    }
    this.#isExecuted = false;
    return at + 2;
  }

  #literal(start: number, end: number): number {
    if (this.#list === AFTER_COMMA) this.#copiedLength = end;
    else this.#replace(start, end, PLACEHOLDER);
    if (this.#list !== NO_LIST) this.#list = AFTER_ITEM;
    return end;
  }

  #replace(start: number, end: number, by: string): number {
    this.#out += this.#sql.slice(this.#copiedLength, start) + by;
    this.#copiedLength = end;
    return end;
  }
}

/** Whether an odd number of backslashes precedes `at`, counted back to `from`. */
function isEscaped(sql: string, from: number, at: number): boolean {
  let before = at;
  while (before > from && sql.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}

// Tokens and their ends. A position beyond the end of the text never matches.

/** The kind of a UTF-16 code unit; those beyond ASCII may be part of a name. */
function kindOf(code: number): number {
  return code < 128 ? (KINDS[code] ?? OTHER) : WORD;
}

/** Whether the code unit may be part of a name; false for NaN, the end of the text. */
export function isWordCode(code: number): boolean {
  return code < 128 ? KINDS[code] === WORD || KINDS[code] === DIGIT : code >= 128;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= 0x39;
}

function isHexDigit(code: number): boolean {
  const lower = code | LOWER_CASE;
  return isDigit(code) || (lower >= 0x61 && lower <= 0x66);
}

/** The end of the name or keyword at `at`. */
function wordEnd(sql: string, at: number): number {
  let end = at + 1;
  while (isWordCode(sql.charCodeAt(end))) end++;
  return end;
}

/** Whether a digit, or a point and a digit, is at `at`. */
function startsNumber(sql: string, at: number): boolean {
  const code = sql.charCodeAt(at);
  return isDigit(code) || (code === DOT && isDigit(sql.charCodeAt(at + 1)));
}

/** The end of the number at `at`; `at` itself if it is a name that begins with a digit. */
function numberEnd(sql: string, at: number): number {
  const prefixed = prefixedNumberEnd(sql, at);
  if (prefixed > at) return prefixed;
  let end = digitsEnd(sql, at);
  const hasPoint = sql.charCodeAt(end) === DOT;
  if (hasPoint) end = digitsEnd(sql, end + 1);
  end = exponentEnd(sql, end);
  return isWordCode(sql.charCodeAt(end)) && !hasPoint ? at : end;
}

/** 0x1F and 0b01; `at` for anything else. */
function prefixedNumberEnd(sql: string, at: number): number {
  if (sql.charCodeAt(at) !== ZERO) return at;
  const letter = sql.charCodeAt(at + 1) | LOWER_CASE;
  let end = at + 2;
  if (letter === LOWER_X) while (isHexDigit(sql.charCodeAt(end))) end++;
  else if (letter === LOWER_B) while ((sql.charCodeAt(end) | 1) === (ZERO | 1)) end++;
  return end > at + 2 && !isWordCode(sql.charCodeAt(end)) ? end : at;
}

/** Also accepts a number that was cut off after its `e`. */
function exponentEnd(sql: string, at: number): number {
  if ((sql.charCodeAt(at) | LOWER_CASE) !== LOWER_E) return at;
  const sign = sql.charCodeAt(at + 1);
  const digitsAt = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
  const end = digitsEnd(sql, digitsAt);
  if (end > digitsAt) return end;
  return isWordCode(sql.charCodeAt(at + 1)) ? at : at + 1;
}

function digitsEnd(sql: string, at: number): number {
  let end = at;
  while (isDigit(sql.charCodeAt(end))) end++;
  return end;
}

/** Whether the word belongs to the string after it: x'…', b'…', n'…', _charset'…'. */
function isStringPrefix(sql: string, start: number, end: number): boolean {
  const code = sql.charCodeAt(start);
  if (code === UNDERSCORE) return true;
  const lower = code | LOWER_CASE;
  return end === start + 1 && (lower === LOWER_X || lower === LOWER_B || lower === LOWER_N);
}

/** Whether a minus at `at` is a sign rather than a subtraction, by the character before it. */
function isSign(sql: string, at: number): boolean {
  const before = beforeBlanks(sql, at);
  return before < 0 || '(,=<>+-*/%!&|^~'.includes(sql.charAt(before));
}

/** Whether the word before `at` is IN. */
function isAfterIn(sql: string, at: number): boolean {
  const last = beforeBlanks(sql, at);
  return (
    (sql.charCodeAt(last) | LOWER_CASE) === LOWER_N &&
    (sql.charCodeAt(last - 1) | LOWER_CASE) === LOWER_I &&
    !isWordCode(sql.charCodeAt(last - 2))
  );
}

/** The last index before `at` without a blank; -1 if there is none. */
function beforeBlanks(sql: string, at: number): number {
  let before = at - 1;
  while (before >= 0 && kindOf(sql.charCodeAt(before)) === BLANK) before--;
  return before;
}

// Messages of the server that quote SQL: statements in dumps of deadlocks and crashes, rows of locked records, values in
// error texts. The server's own text does not change. Each step is linear in the text.

/** The message without the literals of the statements and rows that it quotes. */
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

/** A column of a locked record: `3: len 1; hex 62; asc b;;`; its text may contain anything but a newline. */
const LOCKED_ROW = /(\b\d+: len \d+; hex ).*/g;

interface Quoted {
  readonly opener: string;
  /** The ends of the quoted text; the last match counts, because the text may contain any of them. */
  readonly closers: readonly string[];
}

/** Error texts that quote a value or a piece of a statement without escaping it. */
const VALUES: readonly Quoted[] = [
  { opener: "Duplicate entry '", closers: ["' for key "] },
  { opener: " value: '", closers: ["' for column ", "' for function ", "' at row "] },
  { opener: "syntax to use near '", closers: ["' at line "] },
];
/** The statement at which replication stopped. */
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

/** A statement begins after an announcement, or with its first words. */
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

/** The line after a statement in a dump. */
const AFTER_STATEMENT =
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

/** The statement ends before the next part of the dump; a string in it may look like such a part. */
function statementEnd(text: string, start: number): number {
  let at = start;
  let context: SqlContext = 'code';
  AFTER_STATEMENT.lastIndex = start;
  for (;;) {
    const match = AFTER_STATEMENT.exec(text);
    if (match === null) return text.length;
    const { end } = redactSqlFrom(context, text.slice(at, match.index));
    if (end === 'code' || end === '`') return match.index;
    context = end;
    at = match.index;
  }
}
