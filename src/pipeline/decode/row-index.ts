// Finds the row of a series by its key: open addressing over the hashes in the SeriesTable, so
// that a million series cost 8 MB and no object each. Keys are equal when their bytes are, or when they name
// the same series with the labels in another order or other escapes.

import type { SeriesTable } from '../../model/series-table.ts';
import { duplicateLabel, isSameSeries, parseSeriesKey } from './series-key.ts';

/** A key's place in its bytes, and its hash, as SampleLine gives them. */
export interface KeyPlace {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly hash: number;
}

/** The row of the scanned series, or -1. A key in another spelling replaces the stored one. */
export function findRow(table: SeriesTable, bytes: Buffer, place: KeyPlace): number {
  return search(table, bytes, place, true);
}

/** The same for a key that is on no page: it replaces none. */
export function lookUpRow(table: SeriesTable, bytes: Buffer, place: KeyPlace): number {
  return search(table, bytes, place, false);
}

function search(table: SeriesTable, bytes: Buffer, place: KeyPlace, isOnPage: boolean): number {
  const mask = table.slots.length - 1;
  const { hash } = place;
  for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
    const row = table.slots[slot]! - 1;
    if (row < 0) return -1;
    if (table.hash[row] !== hash) continue;
    if (isStoredKey(table, row, bytes, place)) return row;
    if (!isRespelled(table, row, bytes, place)) continue;
    if (isOnPage) {
      // The saved state goes by the text of the key.
      table.savedStarts = null;
      storeKey(table, row, bytes, place);
    }
    return row;
  }
}

/** Adds a row for a series that findRow() did not find. */
export function insertRow(table: SeriesTable, bytes: Buffer, place: KeyPlace): number {
  const row = table.addRow();
  storeKey(table, row, bytes, place);
  table.hash[row] = place.hash;
  // At most two of three slots are taken.
  if ((table.count - table.free.length) * 3 > table.slots.length * 2)
    rebuildIndex(table, table.slots.length * 2);
  else putSlot(table, row);
  return row;
}

/** Frees a row: its series is gone for good. The caller rebuilds the index after a round of these. */
export function freeRow(table: SeriesTable, row: number): void {
  table.keyLength[row] = 0;
  table.isOrderStale = true;
  table.free.push(row);
}

/** Makes the index anew with `size` slots (a power of two), leaving freed rows out. */
export function rebuildIndex(table: SeriesTable, size: number = table.slots.length): void {
  table.slots = new Uint32Array(size);
  for (let row = 0; row < table.count; row++) if (table.keyLength[row] !== 0) putSlot(table, row);
}

/** Packs the keys of living rows together once more than half of the arena is waste. A layout keeps them in place. */
export function compactKeys(table: SeriesTable): void {
  if (table.layout !== null) return;
  let living = 0;
  for (let row = 0; row < table.count; row++) living += table.keyLength[row]!;
  if (table.keysUsed < 64 * 1024 || living * 2 > table.keysUsed) return;
  const packed = Buffer.allocUnsafe(Math.max(living, 4096));
  let used = 0;
  for (let row = 0; row < table.count; row++) {
    const length = table.keyLength[row]!;
    const offset = table.keyOffset[row]!;
    table.keys.copy(packed, used, offset, offset + length);
    table.keyOffset[row] = used;
    used += length;
  }
  table.setKeys(packed);
  table.keysUsed = used;
}

function putSlot(table: SeriesTable, row: number): void {
  const mask = table.slots.length - 1;
  let slot = table.hash[row]! & mask;
  while (table.slots[slot] !== 0) slot = (slot + 1) & mask;
  table.slots[slot] = row + 1;
}

function isStoredKey(table: SeriesTable, row: number, bytes: Buffer, place: KeyPlace): boolean {
  const length = table.keyLength[row]!;
  if (length !== place.keyEnd - place.keyStart) return false;
  const offset = table.keyOffset[row]!;
  return table.keys.compare(bytes, place.keyStart, place.keyEnd, offset, offset + length) === 0;
}

/** A key that has a label twice is no series: it must not pass for one that is known. */
function isRespelled(table: SeriesTable, row: number, bytes: Buffer, place: KeyPlace): boolean {
  const key = parseSeriesKey(bytes, place.keyStart, place.keyEnd);
  if (duplicateLabel(key) !== null) return false;
  const offset = table.keyOffset[row]!;
  const stored = parseSeriesKey(table.keys, offset, offset + table.keyLength[row]!);
  return isSameSeries(stored, key);
}

function storeKey(table: SeriesTable, row: number, bytes: Buffer, place: KeyPlace): void {
  const length = place.keyEnd - place.keyStart;
  const needed = table.keysUsed + length;
  if (needed > table.keys.length) {
    const grown = Buffer.allocUnsafe(Math.max(needed, Math.ceil(table.keys.length * 1.5)));
    table.keys.copy(grown, 0, 0, table.keysUsed);
    table.setKeys(grown);
  }
  bytes.copy(table.keys, table.keysUsed, place.keyStart, place.keyEnd);
  table.keyOffset[row] = table.keysUsed;
  table.keyLength[row] = length;
  table.keyCheck[row] = 0;
  table.keysUsed = needed;
}
