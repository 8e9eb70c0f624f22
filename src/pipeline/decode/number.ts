// Reads the numbers of exposition text, mostly without making strings. Each decimal that the
// formats allow becomes the nearest double, bit for bit; hex, `0b`, `_` and empty text are refused
// (otlp-mapping A2). Number() alone would accept '' and 0x1 and refuse Inf.

const ZERO = 0x30;
const NINE = 0x39;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const LETTER_E = 0x65;

/** Powers of ten that are exact as doubles. */
const SCALE_MAX = 22;
const EXACT_POWERS = Array.from({ length: SCALE_MAX + 1 }, (_, exponent) =>
  Number(`1e${exponent}`),
);
/** A sum of digits below this is exact, however many digits there are. */
const MANTISSA_END = 2 ** 53;
/** Larger than any 64-bit integer, even if the sum of its digits is inexact. */
const INTEGER_MAX = 2 ** 64;
/** Longer than any useful number. */
const LENGTH_MAX = 1100;

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const SPECIAL = /^([+-]?)(?:(nan)|inf|infinity)$/i;

/** The number that a word is; null if it is none. */
export function numberOf(word: string): number | null {
  if (DECIMAL.test(word)) return Number(word);
  const [isSpecial, sign, nan] = SPECIAL.exec(word) ?? [];
  if (isSpecial === undefined) return null;
  return nan === undefined ? Number(`${sign}Infinity`) : Number.NaN;
}

/** Reads bytes[start, end) as a value into out[0]; false if it is not a number. */
export function readValue(bytes: Buffer, start: number, end: number, out: Float64Array): boolean {
  if (passPlainValue(bytes, start, out) === end) return true;
  const isShort = end - start <= LENGTH_MAX;
  const number = isShort ? numberOf(bytes.toString('latin1', start, end)) : null;
  out[0] = number ?? 0;
  return number !== null;
}

/**
 * Reads a value in the usual spellings, `17`, `-4.25`, `1.5e+06` or `1e-05`, before a blank or newline: one
 * multiplication or division. Returns where it ends, or -1 if readValue() must read it.
 */
export function passPlainValue(bytes: Buffer, start: number, out: Float64Array): number {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  let at = first;
  let mantissa = 0;
  let dot = -1;
  for (; at < bytes.length; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
    else if (digit === DOT - ZERO && dot < 0) dot = at;
    else break;
  }
  if (at === first || dot === first || dot === at - 1) return -1;
  let scale = dot < 0 ? 0 : dot + 1 - at;
  if (bytes[at] === LETTER_E) {
    const sign = bytes[at + 1];
    if (sign !== PLUS && sign !== MINUS) return -1;
    const tens = bytes[at + 2]! - ZERO;
    const ones = bytes[at + 3]! - ZERO;
    if (!(tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9)) return -1;
    scale += sign === PLUS ? tens * 10 + ones : -(tens * 10 + ones);
    at += 4;
  }
  const isEnd = bytes[at] === SPACE || bytes[at] === NEWLINE;
  if (!isEnd || mantissa >= MANTISSA_END || Math.abs(scale) > SCALE_MAX) return -1;
  // Exact within these bounds: a single operation rounds once.
  const power = EXACT_POWERS[Math.abs(scale)]!;
  const magnitude = scale < 0 ? mantissa / power : mantissa * power;
  out[0] = isNegative ? -magnitude : magnitude;
  return at;
}

/** Reads integer milliseconds (text 0.0.4); false for anything else. */
export function readMilliseconds(
  bytes: Buffer,
  start: number,
  end: number,
  out: Float64Array,
): boolean {
  let at = start;
  const isNegative = bytes[at] === MINUS;
  if (isNegative || bytes[at] === PLUS) at++;
  if (at >= end) return false;
  let value = 0;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (byte < ZERO || byte > NINE) return false;
    value = value * 10 + (byte - ZERO);
    if (value > INTEGER_MAX) return false;
  }
  // Beyond 2^53 the sum is inexact.
  if (value > MANTISSA_END) return readValue(bytes, start, end, out);
  out[0] = isNegative ? -value : value;
  return true;
}

/** Reads seconds as a float (OpenMetrics); gives milliseconds, rounded. */
export function readSeconds(bytes: Buffer, start: number, end: number, out: Float64Array): boolean {
  if (!readValue(bytes, start, end, out)) return false;
  const milliseconds = Math.round(out[0]! * 1000);
  if (!Number.isFinite(milliseconds)) return false;
  out[0] = milliseconds;
  return true;
}
