// The labels of a series key as offsets, so that most new rows need no strings. In: a key that
// passed SampleLine.scan(). Out: offsets in reused columns, including labels with an empty value.
// Keys with an escape or a quoted name are refused: they need parseSeriesKey().

import { resized } from '../../model/series-table.ts';

const TAB = 0x09;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const LABELS_MIN = 16;

/** A reused reader: once read() has returned true, its columns describe the key. */
export class KeyLabels {
  /** The end of the name, which begins where the key does. */
  nameEnd = 0;
  count = 0;
  labelStart: Uint32Array = new Uint32Array(LABELS_MIN);
  labelEnd: Uint32Array = new Uint32Array(LABELS_MIN);
  /** Between the quotes. */
  valueStart: Uint32Array = new Uint32Array(LABELS_MIN);
  valueEnd: Uint32Array = new Uint32Array(LABELS_MIN);

  /** Finds the labels in bytes[start, end); false if the key needs parseSeriesKey(). */
  read(bytes: Buffer, start: number, end: number): boolean {
    this.count = 0;
    let at = start;
    while (at < end && bytes[at] !== OPEN) at++;
    this.nameEnd = at;
    while (this.nameEnd > start && isBlank(bytes[this.nameEnd - 1])) this.nameEnd--;
    if (this.nameEnd === start) return false;
    for (at++; at < end; ) {
      const byte = bytes[at]!;
      if (byte === CLOSE) return true;
      if (byte === QUOTE) return false;
      if (byte === COMMA || isBlank(byte)) {
        at++;
        continue;
      }
      at = this.#label(bytes, at, end);
      if (at < 0) return false;
    }
    return true;
  }

  /** True when no two labels have the same name. */
  isDistinct(bytes: Buffer): boolean {
    const { labelStart, labelEnd, count } = this;
    for (let i = 1; i < count; i++) {
      const start = labelStart[i]!;
      const length = labelEnd[i]! - start;
      for (let other = 0; other < i; other++) {
        const otherStart = labelStart[other]!;
        if (labelEnd[other]! - otherStart !== length) continue;
        if (isSameRun(bytes, start, otherStart, length)) return false;
      }
    }
    return true;
  }

  /** Notes the label at `start`; returns the offset after its value, or -1 at an escape. */
  #label(bytes: Buffer, start: number, end: number): number {
    const index = this.count++;
    if (index === this.labelStart.length) this.#grow();
    let at = start;
    while (at < end && bytes[at] !== EQUALS && !isBlank(bytes[at])) at++;
    this.labelStart[index] = start;
    this.labelEnd[index] = at;
    while (at < end && bytes[at] !== QUOTE) at++;
    this.valueStart[index] = ++at;
    for (; at < end; at++) {
      const byte = bytes[at]!;
      if (byte === BACKSLASH) return -1;
      if (byte === QUOTE) break;
    }
    this.valueEnd[index] = at;
    return at + 1;
  }

  #grow(): void {
    const size = this.labelStart.length * 2;
    this.labelStart = resized(this.labelStart, size);
    this.labelEnd = resized(this.labelEnd, size);
    this.valueStart = resized(this.valueStart, size);
    this.valueEnd = resized(this.valueEnd, size);
  }
}

/**
 * Whether two places have the same `length` bytes; for few bytes this is faster than
 * Buffer.compare.
 */
function isSameRun(bytes: Uint8Array, start: number, otherStart: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[start + i] !== bytes[otherStart + i]) return false;
  return true;
}

/** Whether bytes[start, end) are `text`. */
export function isText(bytes: Uint8Array, start: number, end: number, text: Uint8Array): boolean {
  const { length } = text;
  if (end - start !== length) return false;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== text[i]) return false;
  return true;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}
