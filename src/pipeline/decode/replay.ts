// The repeating function of decode: a page that is laid out as the last one. Instead of parsing names and labels it
// compares the text between values with the last page's, and reads only values and timestamps. In: a Page and
// a table with a layout. Out: what the full function (decode.ts) would have put into value, timeMs, seen and line,
// or false at the first surprise; then the full function must read the page, and puts right what was begun here.

import type { Page, PageReport, SeriesTable } from '../../model.ts';
import type { PageLayout } from '../../repeating.ts';
import { readMilliseconds, readSeconds, readValue } from './number.ts';

const NEWLINE = 0x0a;
const SPACE = 0x20;
const ZERO = 0x30;
const DOT = 0x2e;
const PLUS = 0x2b;
const LETTER_E = 0x65;
/** A mantissa of so many digits, and such a power of ten, are exact in doubles: one operation rounds once. */
const DIGITS_MAX = 15;
const SCALE_MAX = 22;
const POWERS = Array.from({ length: SCALE_MAX + 1 }, (_, exponent) => Number(`1e${exponent}`));

/** One page being replayed. Call step() until it is no longer 'going'. */
export class Replay {
  readonly #page: Page;
  readonly #view: DataView;
  readonly #table: SeriesTable;
  readonly #layout: PageLayout;
  readonly #number = new Float64Array(1);
  #sample = 0;
  #at = 0;
  #segmentStart = 0;

  constructor(page: Page, table: SeriesTable, layout: PageLayout) {
    this.#page = page;
    this.#table = table;
    this.#layout = layout;
    const { buffer, byteOffset, length } = page.bytes;
    this.#view = new DataView(buffer, byteOffset, length);
    table.page++;
    table.repeats.length = 0;
    table.exemplars.clear();
  }

  /** Reads up to `samples` samples: 'done' with the page, 'surprised' by it, or 'going' on. */
  step(samples: number): 'going' | 'done' | 'surprised' {
    const { rows, ends, format, end } = this.#layout;
    if (this.#page.format !== format) return 'surprised';
    const table = this.#table;
    const { value, timeMs, seen, page } = table;
    const last = Math.min(this.#sample + samples, rows.length);
    for (; this.#sample < last; this.#sample++) {
      const segmentEnd = ends[this.#sample] ?? 0;
      if (!this.#passSegment(segmentEnd)) return 'surprised';
      if (!this.#passValue()) return 'surprised';
      const row = rows[this.#sample] ?? 0;
      value[row] = this.#number[0] ?? 0;
      seen[row] = page;
      if (this.#page.bytes[this.#at] !== SPACE) timeMs[row] = Number.NaN;
      else if (this.#passTime()) timeMs[row] = this.#number[0] ?? 0;
      else return 'surprised';
    }
    if (this.#sample < rows.length) return 'going';
    if (!this.#passSegment(end) || this.#at !== this.#page.bytes.length) return 'surprised';
    for (const metric of table.metrics)
      if (metric.seenPage === this.#layout.seenPage) metric.seenPage = page;
    this.#layout.seenPage = page;
    table.layoutMisses = 0;
    return 'done';
  }

  /** What the full function would report of the same page. */
  report(): PageReport {
    return {
      isUsable: true,
      lines: this.#layout.lines,
      samples: this.#layout.rows.length,
      badLines: 0,
      badByNamespace: new Map(),
      problems: [],
      limit: null,
    };
  }

  /** Compares the page's bytes at #at with the skeleton up to `end`, eight at a time. */
  #passSegment(end: number): boolean {
    const { keys, keysView } = this.#table;
    const { bytes } = this.#page;
    const view = this.#view;
    let from = this.#segmentStart;
    let at = this.#at;
    if (at + (end - from) > bytes.length) return false;
    for (; from + 8 <= end; from += 8, at += 8) {
      if (keysView.getInt32(from, true) !== view.getInt32(at, true)) return false;
      if (keysView.getInt32(from + 4, true) !== view.getInt32(at + 4, true)) return false;
    }
    for (; from < end; from++, at++) if (keys[from] !== bytes[at]) return false;
    this.#segmentStart = end;
    this.#at = at;
    return true;
  }

  /** Reads the value at #at into #number and steps behind it. */
  #passValue(): boolean {
    const { bytes } = this.#page;
    let at = this.#at;
    let mantissa = 0;
    let dot = -1;
    for (; at < bytes.length; at++) {
      const digit = (bytes[at] ?? 0) - ZERO;
      if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
      else if (digit === DOT - ZERO && dot < 0) dot = at;
      else break;
    }
    const length = at - this.#at;
    const isExact = length > 0 && length <= DIGITS_MAX && dot !== this.#at && dot !== at - 1;
    if (!isExact) return this.#passAnyValue();
    let scale = dot < 0 ? 0 : dot + 1 - at;
    if (bytes[at] === LETTER_E) {
      // `e+NN`, as large numbers are mostly written.
      const tens = (bytes[at + 2] ?? 0) - ZERO;
      const ones = (bytes[at + 3] ?? 0) - ZERO;
      const isPlain = bytes[at + 1] === PLUS && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9;
      if (!isPlain) return this.#passAnyValue();
      scale += tens * 10 + ones;
      at += 4;
    }
    const isEnd = bytes[at] === SPACE || bytes[at] === NEWLINE;
    if (!isEnd || scale > SCALE_MAX) return this.#passAnyValue();
    this.#number[0] =
      scale < 0 ? mantissa / (POWERS[-scale] ?? 1) : mantissa * (POWERS[scale] ?? 1);
    this.#at = at;
    return true;
  }

  #passAnyValue(): boolean {
    const end = this.#tokenEnd();
    if (!readValue(this.#page.bytes, this.#at, end, this.#number)) return false;
    this.#at = end;
    return true;
  }

  /** Reads the timestamp behind the blank at #at. */
  #passTime(): boolean {
    this.#at++;
    const { bytes, format } = this.#page;
    let at = this.#at;
    let milliseconds = 0;
    for (; at < bytes.length; at++) {
      const digit = (bytes[at] ?? 0) - ZERO;
      if (digit < 0 || digit > 9) break;
      milliseconds = milliseconds * 10 + digit;
    }
    const isPlain = at > this.#at && at - this.#at <= DIGITS_MAX && bytes[at] === NEWLINE;
    if (isPlain && format === 'text') {
      this.#number[0] = milliseconds;
      this.#at = at;
      return true;
    }
    const end = this.#tokenEnd();
    const read = format === 'text' ? readMilliseconds : readSeconds;
    if (!read(bytes, this.#at, end, this.#number)) return false;
    this.#at = end;
    return true;
  }

  /** The next blank or newline; what else may stand there is left to the full function. */
  #tokenEnd(): number {
    const { bytes } = this.#page;
    let at = this.#at;
    while (at < bytes.length && bytes[at] !== SPACE && bytes[at] !== NEWLINE) at++;
    return at;
  }
}
