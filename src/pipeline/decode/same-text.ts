// Recognizes repeated text, eight bytes at a time: equal text in two buffers, which takes most of
// the time of a page that repeats the previous one, and the newest timestamp. The bytes are read
// as doubles: V8 compares these in registers, but allocates BigInts in unoptimized code. Doubles are
// equal if and only if their bits are, with two exceptions:
//
//   NaN differs from itself   such text counts as changed: its page is always read in full
//   0 equals -0               only with seven NUL bytes: decode keeps no text with a control character

const WORD = 8;
/** One step of the loop compares two words. */
const STEP = 2 * WORD;

/**
 * Whether the bytes [start, end) of `text`, which has no NUL, are in `other` at `otherStart`.
 */
export function isSameText(
  text: DataView,
  start: number,
  end: number,
  other: DataView,
  otherStart: number,
): boolean {
  const shift = otherStart - start;
  if (end + shift > other.byteLength) return false;
  if (end - start < STEP) return isSameShortText(text, start, end, other, otherStart);
  const last = end - STEP;
  for (let at = start; ; at += STEP) {
    // The last step overlaps the previous one: faster than comparing the rest byte by byte.
    if (at > last) at = last;
    if (
      text.getFloat64(at, true) !== other.getFloat64(at + shift, true) ||
      text.getFloat64(at + WORD, true) !== other.getFloat64(at + shift + WORD, true)
    )
      return false;
    if (at === last) return true;
  }
}

function isSameShortText(
  text: DataView,
  start: number,
  end: number,
  other: DataView,
  otherStart: number,
): boolean {
  const shift = otherStart - start;
  for (let at = start; at < end; at++)
    if (text.getUint8(at) !== other.getUint8(at + shift)) return false;
  return true;
}

/**
 * The newest timestamp: usually all lines of a page have the same one. Its text is kept with the
 * bytes before and after it, so that two comparisons recognize it in either format:
 *
 *   ␣1795321266014⏎      two words that overlap or touch: 8 to 16 bytes
 *   └ head ┘
 *          └ tail ┘
 */
export class LastTime {
  ms: number = Number.NaN;
  /** The length of its text, including the blank before it. */
  length: number = WORD - 1;
  /** NaN equals nothing: no time is known at first. */
  #head = Number.NaN;
  #tail = Number.NaN;

  /** Whether the same text is at `at`, the position of its blank. */
  isAt(view: DataView, at: number): boolean {
    const tailAt = at + this.length + 1 - WORD;
    if (tailAt + WORD > view.byteLength) return false;
    return view.getFloat64(at, true) === this.#head && view.getFloat64(tailAt, true) === this.#tail;
  }

  /** Keeps the time `ms`; its blank is at `at`, its text ends at `end`. */
  note(view: DataView, at: number, end: number, ms: number): void {
    this.ms = ms;
    const isKept = end - at >= WORD - 1 && end - at < 2 * WORD && end < view.byteLength;
    this.length = isKept ? end - at : WORD - 1;
    this.#head = isKept ? view.getFloat64(at, true) : Number.NaN;
    this.#tail = isKept ? view.getFloat64(end + 1 - WORD, true) : Number.NaN;
  }
}
