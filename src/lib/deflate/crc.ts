// The CRC-32 of gzip as arithmetic, for bytes that are known but for a few numbers among them. The register of a run is
// linear: that of two runs laid over each other (XOR) is the XOR of theirs, and zeros behind a run only *shift* its
// register. So the register of a long text follows from its constant part, worked out once, and from its numbers:
//
//   text       a b c 1 2 3 d e f 4 5 6 g      register(text)
//   constant   a b c 0 0 0 d e f 0 0 0 g    = register(constant)
//   numbers    0 0 0 1 2 3 0 0 0 4 5 6 0      ^ shift(absorb(shift(absorb(0, 123), 3), 456), 1)
//
// Registers here begin with 0 and are not inverted at the end, unlike those of gzip: see finish(). RFC 1952, section 8.

const POLYNOMIAL = 0xedb88320;
/** Tables for shifts of 0 to 31 bytes, and of 0 to 31 times 32 bytes. */
const DIGITS = 32;
const SHORT_MAX = DIGITS * DIGITS;

/** BYTE[k * 256 + b]: the register of byte b and k zeros behind it. */
const BYTE = byteTables();
/** x^(2^n) modulo the polynomial, by n. */
const SQUARES = squares();
/** See shiftTables(); made once. */
let shifts: Uint32Array | null = null;

/** The register after eight more bytes: two words, little endian. */
export function absorb(register: number, low: number, high: number): number {
  const first = register ^ low;
  return (
    (BYTE[1792 + (first & 0xff)] ?? 0) ^
    (BYTE[1536 + ((first >>> 8) & 0xff)] ?? 0) ^
    (BYTE[1280 + ((first >>> 16) & 0xff)] ?? 0) ^
    (BYTE[1024 + (first >>> 24)] ?? 0) ^
    (BYTE[768 + (high & 0xff)] ?? 0) ^
    (BYTE[512 + ((high >>> 8) & 0xff)] ?? 0) ^
    (BYTE[256 + ((high >>> 16) & 0xff)] ?? 0) ^
    (BYTE[high >>> 24] ?? 0)
  );
}

/** The register after so many zeros. */
export function shift(register: number, bytes: number): number {
  if (bytes >= SHORT_MAX) return multiply(powerOf(bytes), register >>> 0);
  const tables = shifts ?? allShifts();
  let at = (bytes & (DIGITS - 1)) << 10;
  let result =
    (tables[at + (register & 0xff)] ?? 0) ^
    (tables[at + 256 + ((register >>> 8) & 0xff)] ?? 0) ^
    (tables[at + 512 + ((register >>> 16) & 0xff)] ?? 0) ^
    (tables[at + 768 + (register >>> 24)] ?? 0);
  if (bytes < DIGITS) return result;
  at = (DIGITS + (bytes >>> 5)) << 10;
  result =
    (tables[at + (result & 0xff)] ?? 0) ^
    (tables[at + 256 + ((result >>> 8) & 0xff)] ?? 0) ^
    (tables[at + 512 + ((result >>> 16) & 0xff)] ?? 0) ^
    (tables[at + 768 + (result >>> 24)] ?? 0);
  return result;
}

/** The register of `bytes` bytes whose checksum is this one; see finish(). */
export function registerOf(checksum: number, bytes: number): number {
  return finish(checksum, bytes);
}

/** The checksum that gzip wants, of the register of `bytes` bytes. */
export function finish(register: number, bytes: number): number {
  return (register ^ shift(0xffffffff, bytes) ^ 0xffffffff) >>> 0;
}

function byteTables(): Uint32Array {
  const tables = new Uint32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let register = byte;
    for (let bit = 0; bit < 8; bit++)
      register = (register & 1) === 1 ? (register >>> 1) ^ POLYNOMIAL : register >>> 1;
    tables[byte] = register;
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256] ?? 0;
    tables[at] = (tables[before & 0xff] ?? 0) ^ (before >>> 8);
  }
  return tables;
}

/**
 * Makes what `shift` looks up, if it is not there; yields between steps. 64 tables of 1,024: [d] shifts by d bytes, [32 + d]
 * by 32 d bytes. Each has 256 registers for every byte of the one that is shifted.
 */
export function* shiftTables(): Generator<void, Uint32Array> {
  if (shifts !== null) return shifts;
  const tables = new Uint32Array(2 * DIGITS * 1024);
  for (let digit = 0; digit < 2 * DIGITS; digit++) {
    fillShifts(tables, digit);
    yield;
  }
  return (shifts = tables);
}

function allShifts(): Uint32Array {
  const steps = shiftTables();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function fillShifts(tables: Uint32Array, digit: number): void {
  const to = digit << 10;
  const by32 = (DIGITS + 1) << 10;
  // By 32 bytes is by one more than 31.
  const from = to === by32 ? (DIGITS - 1) << 10 : to - 1024;
  for (let place = 0; place < 1024; place++) {
    const before = tables[from + place] ?? 0;
    if (digit === 0 || digit === DIGITS)
      tables[to + place] = ((place & 0xff) << (8 * (place >>> 8))) >>> 0;
    else if (to <= by32) tables[to + place] = (BYTE[before & 0xff] ?? 0) ^ (before >>> 8);
    else
      tables[to + place] =
        (tables[by32 + (before & 0xff)] ?? 0) ^
        (tables[by32 + 256 + ((before >>> 8) & 0xff)] ?? 0) ^
        (tables[by32 + 512 + ((before >>> 16) & 0xff)] ?? 0) ^
        (tables[by32 + 768 + (before >>> 24)] ?? 0);
  }
}

/** x^(8 bytes): to shift is to multiply by it. */
function powerOf(bytes: number): number {
  let power = 0x80000000;
  for (let rest = bytes, n = 3; rest > 0; rest = Math.floor(rest / 2), n++)
    if (rest % 2 === 1) power = multiply(SQUARES[n & 31] ?? 0, power);
  return power;
}

function squares(): Uint32Array {
  const powers = new Uint32Array(32);
  powers[0] = 0x40000000;
  for (let n = 1; n < 32; n++) powers[n] = multiply(powers[n - 1] ?? 0, powers[n - 1] ?? 0);
  return powers;
}

/** The product of two polynomials, modulo that of the CRC; bit 31 is the coefficient of 1. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let rest = a; rest !== 0; rest = (rest << 1) >>> 0) {
    if (rest >= 0x80000000) product ^= b;
    b = (b & 1) === 1 ? (b >>> 1) ^ POLYNOMIAL : b >>> 1;
  }
  return product >>> 0;
}
