// Guesses the row of the next line on a page that is read in full though most of it was there before: series keep their
// order, so it is the row behind the one before, or behind the one that has taken another's place. A guess counts
// only where the line begins with that row's key: then name and labels need not be cut, hashed and looked up.

import type { SeriesTable } from '../../model/series-table.ts';

const SPACE = 0x20;
const CLOSE = 0x7d;

export class ExpectedRows {
  /** Where the key ends on the line, after find() has found it. */
  keyEnd = 0;
  readonly #table: SeriesTable;
  #next = 0;
  #other = 0;

  constructor(table: SeriesTable) {
    this.#table = table;
  }

  /** The row whose key the line at `start` begins with, or -1 where it must be looked up: then tell it by found(). */
  find(bytes: Buffer, start: number): number {
    const next = this.#next;
    if (this.#isKey(next, bytes, start)) {
      this.#next = next + 1;
      return next;
    }
    const other = this.#other;
    if (!this.#isKey(other, bytes, start)) return -1;
    this.#next = other + 1;
    this.#other = next + 1;
    return other;
  }

  /** The line was that of another row: it may have come in the place of the one that was expected. */
  found(row: number): void {
    this.#next++;
    this.#other = row + 1;
  }

  /** A key without labels is not taken: what follows the blank might still belong to it. */
  #isKey(row: number, bytes: Buffer, start: number): boolean {
    const { keys, keyOffset, keyLength, count } = this.#table;
    const length = row < count ? keyLength[row]! : 0;
    const end = start + length;
    if (length === 0 || bytes[end] !== SPACE || bytes[end - 1] !== CLOSE) return false;
    const offset = keyOffset[row]!;
    if (keys.compare(bytes, start, end, offset, offset + length) !== 0) return false;
    this.keyEnd = end;
    return true;
  }
}
