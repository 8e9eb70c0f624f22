// What the characters of SQL text are and where its tokens end. In: the text and an offset; out: offsets. Pure
// functions of a few comparisons each; reading beyond the end of the text is allowed and answers no.

export const SPACE = 0x20;
export const EXCLAMATION = 0x21;
export const DOUBLE_QUOTE = 0x22;
export const HASH = 0x23;
export const SINGLE_QUOTE = 0x27;
export const OPEN = 0x28;
export const STAR = 0x2a;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const SLASH = 0x2f;
export const CAPITAL_M = 0x4d;
export const CAPITAL_N = 0x4e;
export const BACKSLASH = 0x5c;
export const BACKTICK = 0x60;
const PLUS = 0x2b;
const ZERO = 0x30;
const UNDERSCORE = 0x5f;
/** Or-ed with an ASCII letter it gives the lower case. */
const LOWER_CASE = 0x20;
const LOWER_B = 0x62;
const LOWER_E = 0x65;
const LOWER_I = 0x69;
const LOWER_N = 0x6e;
const LOWER_X = 0x78;

/** What a character outside of all strings may begin. */
export const OTHER = 0;
export const BLANK = 1;
export const WORD = 2;
export const DIGIT = 3;
export const QUOTE = 4;
export const MARK = 5;

const KINDS = new Uint8Array(128).fill(OTHER);
KINDS.fill(BLANK, 0, SPACE + 1);
setKind('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$', WORD);
setKind('0123456789', DIGIT);
setKind(`'"`, QUOTE);
setKind('`(,.-#/*\\', MARK);

function setKind(characters: string, kind: number): void {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
}

/** The kind of a UTF-16 code unit; all beyond ASCII may stand in a name. */
export function kindOf(code: number): number {
  return code < 128 ? (KINDS[code] ?? OTHER) : WORD;
}

/** Whether the code unit may go on a name; NaN, which is the end of the text, may not. */
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

/** Where the name or keyword that stands at `at` ends. */
export function wordEnd(sql: string, at: number): number {
  let end = at + 1;
  while (isWordCode(sql.charCodeAt(end))) end++;
  return end;
}

/** Whether a digit, or a point and a digit, stands at `at`. */
export function startsNumber(sql: string, at: number): boolean {
  const code = sql.charCodeAt(at);
  return isDigit(code) || (code === DOT && isDigit(sql.charCodeAt(at + 1)));
}

/** Where the number that starts at `at` ends; `at` itself when that is a name which begins with a digit. */
export function numberEnd(sql: string, at: number): number {
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

/** With a number that was cut off behind its `e`, which is no name. */
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

/** Whether the word belongs to the string behind it: x'…', b'…', n'…', _charset'…'. */
export function isStringPrefix(sql: string, start: number, end: number): boolean {
  const code = sql.charCodeAt(start);
  if (code === UNDERSCORE) return true;
  const lower = code | LOWER_CASE;
  return end === start + 1 && (lower === LOWER_X || lower === LOWER_B || lower === LOWER_N);
}

/** Whether a minus at `at` is a sign and not a subtraction, by what stands before it. */
export function isSign(sql: string, at: number): boolean {
  const before = beforeBlanks(sql, at);
  return before < 0 || '(,=<>+-*/%!&|^~'.includes(sql.charAt(before));
}

/** Whether the word before `at` is IN. */
export function isBehindIn(sql: string, at: number): boolean {
  const last = beforeBlanks(sql, at);
  return (
    (sql.charCodeAt(last) | LOWER_CASE) === LOWER_N &&
    (sql.charCodeAt(last - 1) | LOWER_CASE) === LOWER_I &&
    !isWordCode(sql.charCodeAt(last - 2))
  );
}

/** The last place before `at` that holds no blank; -1 where there is none. */
function beforeBlanks(sql: string, at: number): number {
  let before = at - 1;
  while (before >= 0 && kindOf(sql.charCodeAt(before)) === BLANK) before--;
  return before;
}
