// One sample line of a generated page: the text before its value, and how the value moves from poll to poll:
//
//   value of poll n   (first + (n * step) % span) / divisor
//
// The first number and the step are whole and below 2^53, and the divisor is exact, so a value is rounded once.

export interface CorpusLine {
  /** The HELP and TYPE lines directly above, if there are any, then name, labels and the space. */
  readonly before: string;
  readonly first: number;
  readonly step: number;
  /** Infinity for a value that only rises. */
  readonly span: number;
  readonly divisor: number;
  /** The value is the seconds since the server's start instead. */
  readonly isUptime: boolean;
  /** The offset in `before` of five digits that are changed to make a new series, or -1. */
  readonly churnAt: number;
}

const STEADY = { first: 1, step: 0, span: Infinity, divisor: 1, isUptime: false, churnAt: -1 };

/** A value that never changes; only its timestamp moves. */
export function steadyLine(before: string): CorpusLine {
  return { ...STEADY, before };
}

export function uptimeLine(before: string): CorpusLine {
  return { ...STEADY, before, isUptime: true };
}

/** A count of 3 to 11 digits, which only rises. */
export function risingLine(before: string, hash: number): CorpusLine {
  const first = firstOf(3 + (hash % 9), hash);
  return { ...STEADY, before, first, step: stepOf(first / 1000, hash >>> 3) };
}

/** Part of a histogram: cumulative counts that rise evenly, so that they stay in order. */
export function bucketLine(before: string, index: number): CorpusLine {
  return { ...STEADY, before, first: 100_000 + 20_000 * index, step: 1 + index };
}

/** A value that goes up and down: a whole number, a size, a decimal, or, for a fifth, a number of 16 or 17 digits. */
export function swayingLine(before: string, hash: number): CorpusLine {
  const share = (hash >>> 4) % 100;
  if (share >= 90) {
    const half = 2 ** 52;
    const first = half + Math.floor((half / 2) * fraction(hash));
    const step = stepOf(half / 500, hash >>> 5);
    return { ...STEADY, before, first, step, span: half / 4, divisor: 2 * half };
  }
  const { digits, places } = shapeOf(share, hash >>> 11);
  const first = firstOf(digits, hash);
  const span = Math.max(2, Math.floor(first / 2));
  return {
    ...STEADY,
    before,
    first,
    step: stepOf(first / 500, hash >>> 5),
    span,
    divisor: 10 ** places,
  };
}

/** The digits of a value, and how many of them are behind the dot. */
function shapeOf(share: number, hash: number): { digits: number; places: number } {
  if (share < 35) return { digits: 1 + (hash % 6), places: 0 };
  if (share < 60) return { digits: 7 + (hash % 5), places: 0 };
  if (share >= 80) return { digits: 16, places: 15 };
  const places = 2 + (hash % 5);
  return { digits: places + 1 + (hash % 3), places };
}

function firstOf(digits: number, hash: number): number {
  if (digits === 1) return 2 + (hash % 3);
  return Math.floor(10 ** (digits - 1) * (1 + 3 * fraction(hash)));
}

/** From 1 on, up to `most`. */
function stepOf(most: number, hash: number): number {
  return 1 + Math.floor(most * fraction(hash));
}

/** In [0, 1), from a hash. */
function fraction(hash: number): number {
  return ((Math.imul(hash, 0x9e3779b1) >>> 8) & 0xffff) / 0x1_0000;
}
