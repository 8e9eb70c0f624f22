// Takes the literals out of SQL text: strings, numbers, hex and bit values, comments. In: a statement, whole or
// cut off. Out: the same text with `?` for each literal, and what its end stands in. One pass, linear in time
// and space; it never throws. The beginning must be known: from within a string, strings look like code and code
// like strings. Text that can be read in two ways, because a setting of the session says whether a backslash
// escapes, is replaced from there on unless its end proves one of them: too much is taken rather than too little.

import * as tokens from './sql-tokens.ts';

/** What a place in SQL text stands in: nothing special, a string, a quoted name, a comment. */
export type SqlContext = 'code' | "'" | '"' | '`' | '/*';

export interface RedactedSql {
  readonly text: string;
  /** What the end of the text stands in: `code` where it is whole. */
  readonly end: SqlContext;
  /** What stands outside of all strings cannot be SQL: it was read with the wrong idea of where they are. */
  readonly isMisread: boolean;
  /** There may be another reading: a quote stands behind a backslash, or a word right behind a string. */
  readonly isDoubtful: boolean;
  /** A word stands right behind a string, as it does where strings and code were mixed up. */
  readonly isTouched: boolean;
}

/** What a literal becomes. A list of nothing but literals behind IN becomes one. */
export const PLACEHOLDER = '?';

/** The statement without its literals; names, keywords, parameters and layout stay as they are. */
export function redactSql(sql: string): string {
  return new SqlReader(sql).read('code', false).text;
}

/** As redactSql, for a statement of which the end may be missing: then it proves nothing. */
export function redactCutSql(sql: string): string {
  return new SqlReader(sql).read('code', true).text;
}

/** As redactSql, for text that begins inside of something, and telling what its end stands in. */
export function redactSqlFrom(start: SqlContext, sql: string, isCut = false): RedactedSql {
  return new SqlReader(sql).read(start, isCut);
}

/** Text of which nobody knows what its beginning stands in: all of it may be a literal. */
export function redactUnknown(text: string): string {
  return text === '' ? '' : PLACEHOLDER;
}

/** Where it stands in `IN (` … `)`, as long as that holds nothing but literals. */
const NO_LIST = 0;
const LIST_OPENED = 1;
const BEHIND_ITEM = 2;
const BEHIND_COMMA = 3;

class SqlReader {
  readonly #sql: string;
  #out = '';
  /** All of #sql before it is in #out. */
  #copiedLength = 0;
  #end: SqlContext = 'code';
  #isMisread = false;
  #isTouched = false;
  /** The output up to the first place that may be another than it seems; null as long as there is none. */
  #outBeforeDoubt: string | null = null;
  /** The output up to the first comment with the beginning of another in it; null as long as there is none. */
  #outBeforeNested: string | null = null;
  /** Whether a backslash escapes: a setting of the session. */
  readonly #escapes: boolean;
  /** A string held a quote behind a backslash: there the two readings part. */
  #hasEscapedQuote = false;
  /** Inside of a comment that the engine executes, the end of a comment may stand. */
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

  /** Whether the text can as well be a whole statement of a session in which a backslash does not escape. */
  #hasOther(start: SqlContext): boolean {
    if (!this.#hasEscapedQuote) return false;
    const other = new SqlReader(this.#sql, false);
    other.read(start, false);
    return other.#isPlausible();
  }

  /** Reads on from where the text begins; returns where code begins. */
  #resume(start: SqlContext): number {
    if (start === 'code') return 0;
    if (start === '`') return this.#quotedName(0);
    if (start === '/*') return this.#commentText(0, 0);
    return this.#stringText(0, 0, start);
  }

  /** What begins at `at`, outside of everything; returns where the next begins. */
  #token(at: number): number {
    const code = this.#sql.charCodeAt(at);
    switch (tokens.kindOf(code)) {
      case tokens.BLANK:
        return at + 1;
      case tokens.WORD:
        return this.#word(at);
      case tokens.DIGIT:
        return this.#number(at, at);
      case tokens.QUOTE:
        return this.#string(at, at);
      case tokens.MARK:
        return this.#mark(at, code);
      default:
        this.#list = NO_LIST;
        return at + 1;
    }
  }

  #word(at: number): number {
    const end = tokens.wordEnd(this.#sql, at);
    const next = this.#sql.charCodeAt(end);
    const isQuote = next === tokens.SINGLE_QUOTE || next === tokens.DOUBLE_QUOTE;
    if (isQuote && tokens.isStringPrefix(this.#sql, at, end)) return this.#string(at, end);
    this.#list = NO_LIST;
    return end;
  }

  /** A number that stands at `at` and may have its sign at `start`, or a name that begins with a digit. */
  #number(start: number, at: number): number {
    const end = tokens.numberEnd(this.#sql, at);
    return end > at ? this.#literal(start, end) : this.#word(at);
  }

  /** A string whose quote stands at `at` and its prefix at `start`. */
  #string(start: number, at: number): number {
    const isSingle = this.#sql.charCodeAt(at) === tokens.SINGLE_QUOTE;
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
        if (tokens.isWordCode(sql.charCodeAt(close + 1))) this.#touched(start);
        return this.#literal(start, close + 1);
      }
    }
  }

  /** A word right behind a string is rare in SQL, and common where a quote within a string was taken for its end. */
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

  /** Whatever else may begin something longer than itself. */
  #mark(at: number, code: number): number {
    const sql = this.#sql;
    const next = sql.charCodeAt(at + 1);
    switch (code) {
      case tokens.COMMA:
        this.#list = this.#list === BEHIND_ITEM ? BEHIND_COMMA : NO_LIST;
        return at + 1;
      case tokens.OPEN:
        this.#list = tokens.isBehindIn(sql, at) ? LIST_OPENED : NO_LIST;
        return at + 1;
      case tokens.BACKTICK:
        return this.#quotedName(at + 1);
      case tokens.HASH:
        return this.#lineComment(at, '# ');
      case tokens.MINUS:
        if (next === tokens.MINUS && !(sql.charCodeAt(at + 2) > tokens.SPACE)) {
          return this.#lineComment(at, '-- ');
        }
        if (tokens.startsNumber(sql, at + 1) && tokens.isSign(sql, at)) {
          return this.#number(at, at + 1);
        }
        break;
      case tokens.DOT:
        if (tokens.startsNumber(sql, at) && !tokens.isWordCode(sql.charCodeAt(at - 1))) {
          return this.#number(at, at);
        }
        break;
      case tokens.SLASH:
        if (next === tokens.STAR) return this.#comment(at);
        break;
      case tokens.STAR:
        if (next === tokens.SLASH) return this.#commentEnd(at);
        break;
      case tokens.BACKSLASH:
        // Outside of strings it stands in \N alone, which is an old way to write NULL.
        if (next !== tokens.CAPITAL_N) this.#misread(at);
    }
    this.#list = NO_LIST;
    return at + 1;
  }

  /** Nothing that SQL has stands at `at`. */
  #misread(at: number): void {
    this.#isMisread = true;
    this.#doubt(at);
  }

  /** A name that is never closed is none: what follows it is read as code. */
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
    const markAt = code === tokens.CAPITAL_M ? at + 3 : at + 2;
    if (this.#sql.charCodeAt(markAt) !== tokens.EXCLAMATION) return this.#commentText(at, at + 2);
    this.#isExecuted = true;
    // The engine's version, from which on it executes the text, is no literal.
    return tokens.wordEnd(this.#sql, markAt);
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

  /** An end too many: a comment before it ended only here, for a reader that lets comments stand in comments. */
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
    if (this.#list === BEHIND_COMMA) this.#copiedLength = end;
    else this.#replace(start, end, PLACEHOLDER);
    if (this.#list !== NO_LIST) this.#list = BEHIND_ITEM;
    return end;
  }

  #replace(start: number, end: number, by: string): number {
    this.#out += this.#sql.slice(this.#copiedLength, start) + by;
    this.#copiedLength = end;
    return end;
  }
}

/** Whether an odd number of backslashes stands before `at`, counted back to `from`. */
function isEscaped(sql: string, from: number, at: number): boolean {
  let before = at;
  while (before > from && sql.charCodeAt(before - 1) === tokens.BACKSLASH) before--;
  return (at - before) % 2 === 1;
}
