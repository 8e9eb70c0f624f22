// Records the layout of a page while the full function reads it, so that the next page can be
// replayed. The skeleton (see PageLayout) replaces the key arena: it contains the keys of the
// page's rows. A page with a bad line, a repeated series or an exemplar has no layout.

import type { Page } from '../../model/page.ts';
import { NO_ROW, resized, type SeriesTable } from '../../model/series-table.ts';
import { keyBytes, moveKeys } from './row-index.ts';

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
