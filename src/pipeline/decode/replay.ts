// The repeating function of decode, for a page with the previous page's layout. It compares the
// text between values with the previous page's instead of parsing names and labels, and reads only
// values and timestamps. In: a Page and a table with a layout. Out: value, timeMs, seen and line as
// the full function (decode.ts) would set them. At the first difference it gives up: the full
// function then reads the page and overwrites what was written here.
//
//   keys   …\nup{a="b"} │\nup{a="c"} │…                           from: compared up to here
//           └ the same ┘ └ the same ┘
//   page   …\nup{a="b"} 17 1795321266014\nup{a="c"} 4.5 17953…    at: read up to here
//                       value   time                value   time: mostly the last line's text

import { newReport, type Page, type PageReport } from '../../model/page.ts';
import { NO_ROW, resized, type SeriesTable } from '../../model/series-table.ts';
import type { PageLayout } from '../../model/memory.ts';
import { passPlainValue, readMilliseconds, readSeconds, readValue } from './number.ts';
import { keyBytes, moveKeys } from './row-index.ts';
import { isSameText, LastTime } from './same-text.ts';

const NEWLINE = 0x0a;
const SPACE = 0x20;
const SURPRISE = -1;

/** One page being replayed. Call step() until it is no longer 'going'. */
export class Replay {
  readonly #page: Page;
  readonly #view: DataView;
  readonly #table: SeriesTable;
  readonly #layout: PageLayout;
  readonly #number = new Float64Array(1);
  readonly #lastTime = new LastTime();
  #sample = 0;
  #at = 0;
  #from = 0;

  constructor(page: Page, table: SeriesTable, layout: PageLayout) {
    this.#page = page;
    this.#table = table;
    this.#layout = layout;
    const { buffer, byteOffset, length } = page.bytes;
    this.#view = new DataView(buffer, byteOffset, length);
    table.turnPage();
  }

  /** Reads up to `samples` samples; 'surprised' when the page differs. */
  step(samples: number): 'going' | 'done' | 'surprised' {
    const { rows, format, end } = this.#layout;
    if (this.#page.format !== format) return 'surprised';
    if (!this.#readSamples(Math.min(this.#sample + samples, rows.length))) return 'surprised';
    if (this.#sample < rows.length) return 'going';
    const table = this.#table;
    const isWhole = this.#at + end - this.#from === this.#page.bytes.length;
    if (!isWhole || !isSameText(table.keysView, this.#from, end, this.#view, this.#at))
      return 'surprised';
    for (const metric of table.metrics)
      if (metric.seenPage === this.#layout.seenPage) metric.seenPage = table.page;
    this.#layout.seenPage = table.page;
    table.layoutMisses = 0;
    return 'done';
  }

  /** The report that the full function would give. */
  report(): PageReport {
    return newReport(this.#layout.lines, this.#layout.rows.length);
  }

  /** Reads the samples before number `last`. Uses local variables: this runs for every line. */
  #readSamples(last: number): boolean {
    const { rows, ends } = this.#layout;
    const { value, timeMs, seen, page, keysView } = this.#table;
    const { bytes } = this.#page;
    const view = this.#view;
    const number = this.#number;
    const lastTime = this.#lastTime;
    let at = this.#at;
    let from = this.#from;
    for (let sample = this.#sample; sample < last; sample++) {
      const end = ends[sample]!;
      if (!isSameText(keysView, from, end, view, at)) return false;
      at = this.#passValue(at + end - from);
      if (at === SURPRISE) return false;
      from = end;
      const row = rows[sample]!;
      value[row] = number[0]!;
      seen[row] = page;
      if (bytes[at] !== SPACE) timeMs[row] = Number.NaN;
      else {
        at = lastTime.isAt(view, at) ? at + lastTime.length : this.#passTime(at);
        if (at === SURPRISE) return false;
        timeMs[row] = lastTime.ms;
      }
    }
    this.#sample = last;
    this.#at = at;
    this.#from = from;
    return true;
  }

  /** Reads the value at `at` into #number; returns its end. */
  #passValue(at: number): number {
    const { bytes } = this.#page;
    const plainEnd = passPlainValue(bytes, at, this.#number);
    if (plainEnd >= 0) return plainEnd;
    const end = tokenEnd(bytes, at);
    return readValue(bytes, at, end, this.#number) ? end : SURPRISE;
  }

  /** Reads the timestamp after the blank at `at` into #lastTime; returns its end. */
  #passTime(at: number): number {
    const { bytes, format } = this.#page;
    const end = tokenEnd(bytes, at + 1);
    const read = format === 'text' ? readMilliseconds : readSeconds;
    if (!read(bytes, at + 1, end, this.#number)) return SURPRISE;
    this.#lastTime.note(this.#view, at, end, this.#number[0]!);
    return end;
  }
}

/** The next blank or newline. Other token ends are left to the full function. */
function tokenEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== SPACE && bytes[at] !== NEWLINE) at++;
  return at;
}

// Records the layout of a page while the full function reads it, so that the next page can be
// replayed. The skeleton (see PageLayout) replaces the key arena: it contains the keys of the
// page's rows. A page with a bad line, a repeated series or an exemplar has no layout.

/** What ends a key: blank, tab, and the closing brace. */
const SEPARATORS: ReadonlySet<number> = new Set([0x20, 0x09, 0x7d]);

/** After this many misses in a row, only every RETRY_PAGES-th page gets a layout. */
const MISSES_MAX = 3;
const RETRY_PAGES = 16;

export class LayoutBuilder {
  readonly #page: Page;
  readonly #table: SeriesTable;
  #skeleton: Buffer | null;
  #used = 0;
  /** Where the text after the last number begins. */
  #rest = 0;
  #count = 0;
  #rows = new Uint32Array(256);
  #ends = new Uint32Array(256);
  /** Where the key of each row begins in the skeleton. */
  #keyOffsets = new Uint32Array(256);

  constructor(page: Page, table: SeriesTable) {
    this.#page = page;
    this.#table = table;
    table.layout = null;
    const isWorthIt = table.layoutMisses < MISSES_MAX || table.page % RETRY_PAGES === 0;
    // The skeleton is the page without its numbers, so the page's size is enough.
    this.#skeleton = isWorthIt ? Buffer.allocUnsafeSlow(page.bytes.length) : null;
  }

  /** Adds one good sample line, by the places of its key and its numbers. */
  add(row: number, keyStart: number, valueStart: number, numbersEnd: number): void {
    if (this.#skeleton === null) return;
    // Otherwise another value could make another name: `x+1`, then `x2`.
    if (!SEPARATORS.has(this.#page.bytes[valueStart - 1]!)) return this.abandon();
    if (this.#count === this.#rows.length) this.#grow();
    const index = this.#count++;
    this.#rows[index] = row;
    this.#keyOffsets[index] = this.#used + keyStart - this.#rest;
    this.#copy(valueStart);
    this.#ends[index] = this.#used;
    this.#rest = numbersEnd;
  }

  /** Drops the layout: this page cannot be replayed. */
  abandon(): void {
    this.#skeleton = null;
  }

  /**
   * Gives the layout to the table. The keys of its rows move into the skeleton, the other keys
   * follow.
   */
  finish(lines: number): void {
    const table = this.#table;
    if (this.#skeleton === null || this.#count === 0) return;
    this.#copy(this.#page.bytes.length);
    const end = this.#used;
    const skeleton = this.#skeleton;
    for (let index = 0; index < this.#count; index++) {
      // Marks the page's rows; they get their offsets below.
      table.keyOffset[this.#rows[index]!] = NO_ROW;
    }
    const size = end + keyBytes(table);
    const isTight = skeleton.length - size <= size >> 5;
    if (size === end && isTight) table.setKeys(skeleton, end);
    else moveKeys(table, skeleton.subarray(0, end), size);
    for (let index = 0; index < this.#count; index++)
      table.keyOffset[this.#rows[index]!] = this.#keyOffsets[index]!;
    table.layout = {
      format: this.#page.format,
      lines,
      seenPage: table.page,
      rows: this.#rows.slice(0, this.#count),
      ends: this.#ends.slice(0, this.#count),
      end,
    };
  }

  /** Copies the page from the end of the last numbers up to `end`. */
  #copy(end: number): void {
    if (this.#skeleton === null) return;
    this.#page.bytes.copy(this.#skeleton, this.#used, this.#rest, end);
    this.#used += end - this.#rest;
  }

  #grow(): void {
    const size = this.#rows.length * 2;
    this.#rows = resized(this.#rows, size);
    this.#ends = resized(this.#ends, size);
    this.#keyOffsets = resized(this.#keyOffsets, size);
  }
}
