// Removes the literals from SQL text: strings, numbers, hex and bit values, comments. In: a statement, whole or cut off.
// Out: the same text with `?` for each literal, and the context at its end. One pass, linear in time and space; it never
// throws. The context at the beginning must be known: seen from within a string, strings look like code and code like
// strings. A text may have two readings, because a setting of the session decides whether a backslash escapes. Unless
// its end proves one reading, it is replaced from the first doubtful position on: rather too much than too little.

/** The context of a position in SQL text: code, a string, a quoted name, a comment, a comment up to the line end. */
export type SqlContext = 'code' | "'" | '"' | '`' | '/*' | '--';

export interface RedactedSql {
  readonly text: string;
  /** The context at the end of the text; see isOpen. */
  readonly end: SqlContext;
  /** The text outside of strings cannot be SQL: the reading confused strings and code. */
  readonly isMisread: boolean;
  /** There may be another reading: a quote follows a backslash, or a word directly follows a string. */
  readonly isDoubtful: boolean;
  /** A word directly follows a string, as if strings and code were confused. */
  readonly isTouched: boolean;
  /** The closed comments, with their marks; [] if they may be text of strings. */
  readonly comments: readonly string[];
}

/** Replaces a literal, or a whole list of literals after IN. */
export const PLACEHOLDER = '?';

/**
 * The statement without its literals; names, keywords, parameters and layout do not change. `isCut`: its end may be
 * missing, and proves nothing.
 */
export function redactSql(sql: string, isCut = false): string {
  return redactSqlFrom('code', sql, isCut).text;
}

/** Like redactSql, for text that begins in a known context; also returns the context at the end. */
export function redactSqlFrom(start: SqlContext, sql: string, isCut = false): RedactedSql {
  return new SqlReader(sql).read(start, isCut);
}

/** Whether a literal or comment goes on in the next line. A name is no literal. */
export function isOpen(end: SqlContext): boolean {
  return end === "'" || end === '"' || end === '/*';
}

/** Text with an unknown context at its beginning: all of it may be a literal. */
export function redactUnknown(text: string): string {
  return text === '' ? '' : PLACEHOLDER;
}

/** A character that may be part of a name: ASCII, or any other beyond it. */
const NAME = String.raw`[\w$\x80-\uffff]`;
/** 0x1F, 0b01, 1.5e3, also cut off after its `e`; a digit also begins names. */
const NUMBER = [
  String.raw`0[xX][\da-fA-F]+(?!${NAME})`,
  String.raw`0[bB][01]+(?!${NAME})`,
  String.raw`(?:\d+\.\d*|\.\d+)(?:[eE](?:[+-]?\d+|(?!${NAME})))?`,
  // The engine begins a new word after the digits of an exponent.
  String.raw`\d+(?:[eE][+-]?\d+|[eE]?(?!${NAME}))`,
].join('|');
const SIGN = String.raw`(?<=(?:^|[(,=<>+\-*/%!&|^~])[\x00- ]*)-`;

/** Where a literal, a quoted name or a comment begins or, in text that is not SQL, seems to. */
const TOKEN = new RegExp(
  [
    // x'…', b'…', n'…', _charset'…'
    String.raw`(?:(?<!${NAME})(?:_${NAME}*|[xXbBnN]))?['"]`,
    String.raw`(?<!${NAME})(?:${NUMBER})`,
    String.raw`${SIGN}(?=\.?\d)(?:${NUMBER})`,
    String.raw`--(?![^\x00- ])`,
    // A comment that the engine executes, with the version of the engine, which is no literal.
    String.raw`/\*M?!${NAME}*`,
    String.raw`/\*|\*/`,
    // Outside of strings a backslash occurs only in \N, an old form of NULL.
    String.raw`\\(?!N)`,
    '[`#]',
  ].join('|'),
  'g',
);
/** At the beginning of a list of literals. */
const AFTER_IN = new RegExp(String.raw`(?<=(?<!${NAME})[iI][nN][\x00- ]*\([\x00- ]*)`, 'y');
export const BEGINS_WITH_NAME: RegExp = new RegExp(NAME, 'y');

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
  /** The last literal, which ends at #literalEnd, is in a list after IN. */
  #isListed = false;
  #literalEnd = 0;
  readonly #comments: string[] = [];

  constructor(sql: string, escapes = true) {
    this.#sql = sql;
    this.#escapes = escapes;
  }

  read(start: SqlContext, isCut: boolean): RedactedSql {
    const { length } = this.#sql;
    let at = this.#resume(start);
    for (;;) {
      TOKEN.lastIndex = at;
      const match = TOKEN.exec(this.#sql);
      if (match === null) break;
      at = this.#token(match[0], match.index);
    }
    const isDoubtful = this.#outBeforeDoubt !== null;
    if (this.#outBeforeDoubt !== null && (isCut || !this.#isPlausible() || this.#hasOther(start))) {
      this.#comments.length = 0;
      this.#out = this.#outBeforeDoubt + PLACEHOLDER;
      this.#copiedLength = length;
    }
    const isSame = this.#copiedLength === 0;
    const text = isSame ? this.#sql : this.#out + this.#sql.slice(this.#copiedLength);
    const isTouched = this.#isTouched;
    const comments = this.#comments;
    return { text, end: this.#end, isMisread: this.#isMisread, isDoubtful, isTouched, comments };
  }

  /** Whether it can be a whole statement. */
  #isPlausible(): boolean {
    return (this.#end === 'code' || this.#end === '--') && !this.#isMisread;
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
    if (start === '--') return this.#lineComment(0, '--');
    if (start === '`') return this.#quotedName(0);
    if (start === '/*') return this.#commentText(0, 0);
    return this.#stringText(0, 0, start);
  }

  /** Reads what begins with this token; returns where it ends. */
  #token(token: string, at: number): number {
    const end = at + token.length;
    const last = token.at(-1);
    if (last === "'" || last === '"') return this.#stringText(at, end, last);
    if (last === '`') return this.#quotedName(end);
    if (token === '#' || token === '--') return this.#lineComment(at, token);
    if (token === '/*') return this.#commentText(at, end);
    if (token === '*/') return this.#commentEnd(at);
    if (token.startsWith('/*')) this.#isExecuted = true;
    else if (token === '\\') this.#misread(at);
    else this.#literal(at, end);
    return end;
  }

  #stringText(start: number, textAt: number, quote: "'" | '"'): number {
    const sql = this.#sql;
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
      } else if (sql[close + 1] === quote) {
        at = close + 2;
      } else {
        BEGINS_WITH_NAME.lastIndex = close + 1;
        if (BEGINS_WITH_NAME.test(sql)) this.#touched(start);
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

  /** The text at `at` is not SQL. */
  #misread(at: number): void {
    this.#isMisread = true;
    this.#doubt(at);
  }

  /** A backtick that is never closed begins no name: the text after it is read as code. */
  #quotedName(textAt: number): number {
    const close = this.#sql.indexOf('`', textAt);
    if (close >= 0) return close + 1;
    this.#end = '`';
    return textAt;
  }

  #lineComment(at: number, mark: string): number {
    const newline = this.#sql.indexOf('\n', at);
    if (newline < 0) this.#end = '--';
    const end = newline < 0 ? this.#sql.length : newline;
    return this.#replace(at, end, `${mark} ${PLACEHOLDER}`);
  }

  #commentText(start: number, textAt: number): number {
    const close = this.#sql.indexOf('*/', textAt);
    if (close < 0) this.#end = '/*';
    const end = close < 0 ? this.#sql.length : close + 2;
    if (close >= 0) this.#comments.push(this.#sql.slice(start, end));
    if (this.#outBeforeNested === null) {
      const nestedAt = this.#sql.indexOf('/*', textAt);
      if (nestedAt >= 0 && nestedAt < end) this.#outBeforeNested = this.#outBefore(start);
    }
    return this.#replace(start, end, close < 0 ? `/* ${PLACEHOLDER}` : `/* ${PLACEHOLDER} */`);
  }

  /** Reads the end of a comment. If it is unexpected, comments may be nested, and an earlier one may end only here. */
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
    const commas = this.#isListed ? commasBetween(this.#sql, this.#literalEnd, start) : -1;
    this.#literalEnd = end;
    if (commas === 1) {
      this.#copiedLength = end;
      return end;
    }
    AFTER_IN.lastIndex = start;
    // Without a comma, two strings make up one item.
    this.#isListed = commas === 0 || AFTER_IN.test(this.#sql);
    return this.#replace(start, end, PLACEHOLDER);
  }

  #replace(start: number, end: number, by: string): number {
    this.#out += this.#sql.slice(this.#copiedLength, start) + by;
    this.#copiedLength = end;
    return end;
  }
}

const SPACE = 0x20;
const COMMA = 0x2c;

/** How many commas are between two items of a list, among blanks only; -1 for other text or more than one. */
function commasBetween(sql: string, from: number, to: number): number {
  let commas = 0;
  for (let at = from; at < to; at++) {
    const code = sql.charCodeAt(at);
    if (code > SPACE && (code !== COMMA || ++commas > 1)) return -1;
  }
  return commas;
}

/** Whether an odd number of backslashes precedes `at`, counted back to `from`. */
function isEscaped(sql: string, from: number, at: number): boolean {
  let before = at;
  while (before > from && sql[before - 1] === '\\') before--;
  return (at - before) % 2 === 1;
}
