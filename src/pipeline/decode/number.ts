// Reads the numbers of exposition text, mostly without making strings. Each decimal that the
// formats allow becomes the nearest double, bit for bit; hex, `0b`, `_` and empty text are refused
// (docs/how-it-works/mapping.md A2). Number() alone would accept '' and 0x1 and refuse Inf.

const ZERO = 0x30;
const NINE = 0x39;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const LETTER_E = 0x65;

/** Powers of ten that are exact as doubles: one multiplication or division by them rounds once. */
const SCALE_MAX = 22;
const EXACT_POWERS = Array.from({ length: SCALE_MAX + 1 }, (_, exponent) =>
  Number(`1e${exponent}`),
);
/** A sum of digits below this is exact, however many digits there are. */
const MANTISSA_END = 2 ** 53;
/** Larger than any 64-bit integer, even if the sum of its digits is inexact. */
const INTEGER_MAX = 2 ** 64;
/** Longer than any useful number; limits what reaches Number(). */
const LENGTH_MAX = 1100;

/**
 * Reads bytes[start, end) as a value into out[0]; false if it is not a number. Exact cases take one
 * multiplication; others are checked against the grammar and passed to Number().
 */
export function readValue(bytes: Buffer, start: number, end: number, out: Float64Array): boolean {
  let at = start;
  const isNegative = bytes[at] === MINUS;
  if (isNegative || bytes[at] === PLUS) at++;
  if (at >= end) return false;
  const first = bytes[at]!;
  if (first > NINE) {
    out[0] = specialValue(bytes, at, end, isNegative ? -1 : 1);
    return out[0] !== 0;
  }

  let mantissa = 0;
  let seen = 0;
  let scale = 0;
  let hasDot = false;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (byte >= ZERO && byte <= NINE) {
      seen++;
      mantissa = mantissa * 10 + (byte - ZERO);
      if (hasDot) scale--;
    } else if (byte === DOT && !hasDot) hasDot = true;
    else break;
  }
  if (seen === 0) return false;
  if (at < end) {
    const exponent = readExponent(bytes, at, end);
    if (Number.isNaN(exponent)) return false;
    scale += exponent;
  }
  const isExact = mantissa < MANTISSA_END && Math.abs(scale) <= SCALE_MAX;
  if (!isExact) return readSlow(bytes, start, end, out);
  const magnitude = scaled(mantissa, scale);
  out[0] = isNegative ? -magnitude : magnitude;
  return true;
}

/**
 * A faster readValue() for the usual spellings: `17`, `4.25`, `1.5e+06` before a blank or newline.
 * Returns where the value ends, or -1 if readValue() must read it.
 */
export function passPlainValue(bytes: Buffer, start: number, out: Float64Array): number {
  let at = start;
  let mantissa = 0;
  let dot = -1;
  for (; at < bytes.length; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
    else if (digit === DOT - ZERO && dot < 0) dot = at;
    else break;
  }
  if (at === start || dot === start || dot === at - 1) return -1;
  let scale = dot < 0 ? 0 : dot + 1 - at;
  if (bytes[at] === LETTER_E) {
    if (bytes[at + 1] !== PLUS) return -1;
    const tens = bytes[at + 2]! - ZERO;
    const ones = bytes[at + 3]! - ZERO;
    if (!(tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9)) return -1;
    scale += tens * 10 + ones;
    at += 4;
  }
  const isEnd = bytes[at] === SPACE || bytes[at] === NEWLINE;
  if (!isEnd || mantissa >= MANTISSA_END || Math.abs(scale) > SCALE_MAX) return -1;
  out[0] = scaled(mantissa, scale);
  return at;
}

/** Exact within the bounds: a single operation rounds once. */
function scaled(mantissa: number, scale: number): number {
  return scale < 0 ? mantissa / EXACT_POWERS[-scale]! : mantissa * EXACT_POWERS[scale]!;
}

/** The exponent at bytes[start, end), including its `e`; NaN if invalid. Huge ones are clamped. */
function readExponent(bytes: Buffer, start: number, end: number): number {
  if ((bytes[start]! | 0x20) !== 0x65) return Number.NaN;
  let at = start + 1;
  const isNegative = bytes[at] === MINUS;
  if (isNegative || bytes[at] === PLUS) at++;
  if (at >= end) return Number.NaN;
  let exponent = 0;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (byte < ZERO || byte > NINE) return Number.NaN;
    exponent = Math.min(exponent * 10 + (byte - ZERO), 1e6);
  }
  return isNegative ? -exponent : exponent;
}

/**
 * Long mantissas and large exponents: the text matches the grammar, so Number() rounds correctly.
 */
function readSlow(bytes: Buffer, start: number, end: number, out: Float64Array): boolean {
  if (end - start > LENGTH_MAX) return false;
  out[0] = Number(bytes.toString('latin1', start, end));
  return true;
}

/** NaN or an infinity, in any case; 0 for other words. */
function specialValue(bytes: Buffer, start: number, end: number, sign: number): number {
  if (end - start !== 3 && end - start !== 8) return 0;
  const word = bytes.toString('latin1', start, end).toLowerCase();
  if (word === 'nan') return Number.NaN;
  return word === 'inf' || word === 'infinity' ? sign * Infinity : 0;
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
  if (value > MANTISSA_END) return readSlow(bytes, start, end, out);
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
