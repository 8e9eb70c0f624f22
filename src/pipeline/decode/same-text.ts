// Compares text of two buffers, eight bytes at a time: a page that repeats the one before costs mostly this.
// Eight bytes are read as one double, since doubles compare in registers where BigInts become objects until V8 has
// optimized. They are equal just when their bits are, with two exceptions:
//
//   NaN is unlike itself   the text counts as changed: a page with bytes like these is read in full every time
//   0 equals -0            only where seven bytes are NUL: isComparable() refuses such a text beforehand

const WORD = 8;
/** Two words are compared with one step of the loop. */
const STEP = 2 * WORD;
const NUL = 0;

/** Whether isSameText() may be asked about `text`. */
export function isComparable(text: Buffer): boolean {
  return !text.includes(NUL);
}

/** Whether `other` has at `otherStart` the bytes [start, end) of `text`, which must be comparable. */
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
  for (let at = start; at < last; at += STEP)
    if (!isSameStep(text, at, other, at + shift)) return false;
  // The last step overlaps with the one before: cheaper than the rest byte by byte.
  return isSameStep(text, last, other, last + shift);
}

function isSameStep(text: DataView, at: number, other: DataView, otherAt: number): boolean {
  return (
    text.getFloat64(at, true) === other.getFloat64(otherAt, true) &&
    text.getFloat64(at + WORD, true) === other.getFloat64(otherAt + WORD, true)
  );
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
