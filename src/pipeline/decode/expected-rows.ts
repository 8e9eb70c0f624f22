// Predicts the row of the next line on a page that is read in full although most of it is
// unchanged. Most lines keep their order: each is expected after the line that it followed on the
// former page. If the line begins with the expected row's key, its name and labels need no parsing,
// hashing or look-up. A wrong guess costs only time.

import type { SeriesTable } from '../../model/series-table.ts';
import { isSameText } from './same-text.ts';

const SPACE = 0x20;
const TAB = 0x09;
const OPEN = 0x7b;
const CLOSE = 0x7d;

export class ExpectedRows {
  /** Where the key ends on the line; set by find(). */
  keyEnd = 0;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #table: SeriesTable;
  /** The former page's rows in the order of its lines, and each row's place there + 1, or 0. */
  readonly #rows: Uint32Array;
  readonly #places: Uint32Array;
  /** The place that is expected if new series were inserted, and if they replaced others. */
  #next = 0;
  #other = 0;

  constructor(table: SeriesTable, bytes: Buffer) {
    this.#table = table;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#rows = rowsByLine(table);
    this.#places = new Uint32Array(table.count);
    for (let place = 0; place < this.#rows.length; place++)
      this.#places[this.#rows[place]!] = place + 1;
  }

  /**
   * The row whose key begins the line at `start`; -1 if the caller must look it up and call
   * found().
   */
  find(start: number): number {
    let place = this.#next;
    if (!this.#isKeyOf(place, start)) {
      place = this.#other;
      if (place === this.#next || !this.#isKeyOf(place, start)) return -1;
    }
    this.#expectFrom(place + 1);
    return this.#rows[place]!;
  }

  /** Notes the row of the line. If it is not new, the former page's lines continue after it. */
  found(row: number): void {
    const after = this.#places[row] ?? 0;
    if (after === 0) this.#other++;
    else this.#expectFrom(after);
  }

  #expectFrom(place: number): void {
    this.#next = place;
    this.#other = place;
  }

  #isKeyOf(place: number, start: number): boolean {
    if (place >= this.#rows.length) return false;
    const row = this.#rows[place]!;
    const bytes = this.#bytes;
    const { keysView, keyOffset, keyLength } = this.#table;
    const offset = keyOffset[row]!;
    const end = start + keyLength[row]!;
    if (bytes[end] !== SPACE) return false;
    if (!isSameText(keysView, offset, offset + end - start, this.#view, start)) return false;
    this.keyEnd = end;
    return bytes[end - 1] === CLOSE || !mayBeginLabels(bytes[end + 1]);
  }
}

function mayBeginLabels(byte: number | undefined): boolean {
  return byte === OPEN || byte === SPACE || byte === TAB;
}

/** A sample and its HELP, TYPE and UNIT: no usual page has more lines for each row. */
const LINES_PER_ROW = 4;

/** Rows in the order of their lines. Absent rows still have a line: the row seen last counts. */
function rowsByLine({ count, keyLength, line, seen }: SeriesTable): Uint32Array {
  const rowOfLine = new Uint32Array(LINES_PER_ROW * count + 1);
  for (let row = 0; row < count; row++) {
    const at = line[row]!;
    if (at === 0 || at >= rowOfLine.length || keyLength[row] === 0) continue;
    const same = rowOfLine[at]! - 1;
    if (same < 0 || seen[row]! >= seen[same]!) rowOfLine[at] = row + 1;
  }
  let used = 0;
  for (let at = 0; at < rowOfLine.length; at++)
    if (rowOfLine[at] !== 0) rowOfLine[used++] = rowOfLine[at]! - 1;
  return rowOfLine.subarray(0, used);
}
