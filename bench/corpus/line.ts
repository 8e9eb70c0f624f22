// One sample line of a generated page: the text before its value, and how the value is written and moves. A value is
// written at fixed width, so that a page is laid out once and each poll only patches digits:
//
//   mantissa of poll n   first + (n * step) % span
//   text                 mantissa, with a dot before the last `places` digits, then `e+NN` where there is an exponent
//   a double             its mantissa of 53 bits as a fraction of 2^53, with the 17 digits that any double may need

export interface CorpusLine {
  /** The HELP and TYPE lines directly above, if there are any, then name, labels and the space. */
  readonly before: string;
  /** The first mantissa; every poll writes as many digits as this one has. */
  readonly first: number;
  readonly step: number;
  /** Infinity for a value that only rises. */
  readonly span: number;
  readonly places: number;
  readonly exponent: number | null;
  /** Written as 0.ddddddddddddddddd: see DOUBLE. */
  readonly isDouble: boolean;
  /** The value is the seconds since the server's start instead of a mantissa that moves by itself. */
  readonly isUptime: boolean;
  /** The offset in `before` of five digits that are changed to make a new series, or -1. */
  readonly churnAt: number;
}

const FIXED = { isDouble: false, isUptime: false, churnAt: -1 } as const;

/** Mantissas of at most this many digits, as they are made here, are exact in a double. */
const DIGITS_MAX = 16;

/** Doubles from 0.5 up to 1, by their mantissas. */
export const DOUBLE: Readonly<Record<'divisor' | 'mantissaMin' | 'digits' | 'length', number>> = {
  divisor: 2 ** 53,
  mantissaMin: 2 ** 52,
  digits: 17,
  length: 19,
};

/** A count, which only rises. From a million on, it is written with an exponent. */
export function risingLine(before: string, hash: number): CorpusLine {
  const digits = 3 + (hash % 9);
  const first = firstOf(digits, hash);
  const step = 1 + Math.floor((first / 1000) * fraction(hash >>> 3));
  const line = { ...FIXED, before, first, step, span: Infinity, places: 0, exponent: null };
  return digits <= 6
    ? line
    : { ...line, ...withLastDigit(first, step), places: digits - 1, exponent: digits - 1 };
}

/** A value that goes up and down: a whole number, a size with an exponent, a decimal, or a double with all digits. */
export function swayingLine(before: string, hash: number): CorpusLine {
  const share = (hash >>> 4) % 100;
  if (share >= 90) return doubleLine(before, hash);
  const shape = share < 35 ? WHOLE : share < 60 ? SIZE : share < 80 ? DECIMAL : FULL;
  const { digits, places, exponent } = shape(hash >>> 11);
  const first = firstOf(digits, hash);
  const step = 1 + Math.floor((first / 500) * fraction(hash >>> 5));
  const half = Math.floor(first / 2);
  const moving =
    places === 0
      ? { first, step, span: Math.max(2, half) }
      : { ...withLastDigit(first, step), span: half - (half % 10) };
  return { ...FIXED, before, ...moving, places, exponent };
}

/** In [0.5, 0.875), so that the text has the same length at every poll. */
function doubleLine(before: string, hash: number): CorpusLine {
  const first = DOUBLE.mantissaMin + Math.floor((DOUBLE.mantissaMin / 2) * fraction(hash));
  const step = 1 + Math.floor((DOUBLE.mantissaMin / 500) * fraction(hash >>> 5));
  const span = DOUBLE.mantissaMin / 4;
  return { ...FIXED, before, first, step, span, places: 0, exponent: null, isDouble: true };
}

/** A value that never changes; only its timestamp moves. */
export function steadyLine(before: string): CorpusLine {
  return { ...FIXED, before, first: 1, step: 0, span: Infinity, places: 0, exponent: null };
}

export function uptimeLine(before: string): CorpusLine {
  return { ...steadyLine(before), first: 100_000, isUptime: true };
}

/** Part of a histogram: cumulative counts that rise evenly, so that they stay in order. */
export function bucketLine(before: string, index: number): CorpusLine {
  const first = 100_000 + 20_000 * index;
  return { ...steadyLine(before), first, step: 1 + index, span: Infinity };
}

interface Shape {
  readonly digits: number;
  readonly places: number;
  readonly exponent: number | null;
}

const WHOLE = (hash: number): Shape => ({ digits: 1 + (hash % 6), places: 0, exponent: null });
const SIZE = (hash: number): Shape => {
  const digits = 7 + (hash % 5);
  return { digits, places: digits - 1, exponent: digits - 1 };
};
const DECIMAL = (hash: number): Shape => {
  const places = 2 + (hash % 5);
  return { digits: places + 1 + (hash % 3), places, exponent: null };
};
const FULL = (): Shape => ({ digits: DIGITS_MAX, places: DIGITS_MAX - 1, exponent: null });

/** A number of `digits` digits that can rise by more than half without another digit. */
function firstOf(digits: number, hash: number): number {
  if (digits === 1) return 2 + (hash % 3);
  return Math.floor(10 ** (digits - 1) * (1 + 3 * fraction(hash)));
}

/** Exporters cut trailing zeros off: the last digit is made 1 to 9. Steps and spans of whole tens keep it. */
function withLastDigit(first: number, step: number): { first: number; step: number } {
  return { first: first - (first % 10) + 1 + (first % 9), step: Math.max(10, step - (step % 10)) };
}

/** In [0, 1), from a hash. */
function fraction(hash: number): number {
  return ((Math.imul(hash, 0x9e3779b1) >>> 8) & 0xffff) / 0x1_0000;
}
