// Finds the row of a series by its key. The index uses open addressing over the hashes in the
// SeriesTable: a million series take 8 MB and no objects. Keys are equal if their bytes are, or if
// they name the same series with another order of labels or other escapes.

import { NO_ROW, type SeriesTable } from '../../model/series-table.ts';
import { hashOfSeries } from './sample-line.ts';
import {
  duplicateLabel,
  isSameSeries,
  keyOfRow,
  parseSeriesKey,
  type SeriesKey,
} from './series-key.ts';

/** A key's offsets and hash, as SampleLine provides them. */
export interface KeyPlace {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly hash: number;
}

/** The row of the series with this name and these labels in any order, or -1. */
export function findSeries(table: SeriesTable, name: string, labels: SeriesKey['labels']): number {
  const hash = hashOfSeries(name, labels);
  const mask = table.slots.length - 1;
  for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
    const row = table.slots[slot]! - 1;
    if (row < 0) return -1;
    if (table.hash[row] === hash && isSameSeries(keyOfRow(table, row), { name, labels }))
      return row;
  }
}

/** The row of the scanned series, or -1. A key with another spelling replaces the stored one. */
export function findRow(table: SeriesTable, bytes: Buffer, place: KeyPlace): number {
  const mask = table.slots.length - 1;
  const { hash } = place;
  for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
    const row = table.slots[slot]! - 1;
    if (row < 0) return -1;
    if (table.hash[row] !== hash) continue;
    if (isStoredKey(table, row, bytes, place)) return row;
    if (!isRespelled(table, row, bytes, place)) continue;
    storeKey(table, row, bytes, place);
    return row;
  }
}

/** Adds a row for a series that findRow() did not find. */
export function insertRow(table: SeriesTable, bytes: Buffer, place: KeyPlace): number {
  const row = table.addRow();
  storeKey(table, row, bytes, place);
  table.hash[row] = place.hash;
  // At most two thirds of the slots are used.
  if ((table.count - table.free.length) * 3 > table.slots.length * 2)
    rebuildIndex(table, table.slots.length * 2);
  else putSlot(table, row);
  return row;
}

/**
 * Frees the row of a series that is gone. The caller rebuilds the index once for all freed rows.
 */
export function freeRow(table: SeriesTable, row: number): void {
  table.keyLength[row] = 0;
  table.orderVersion++;
  table.free.push(row);
}

/** Rebuilds the index with `size` slots (a power of two), without the freed rows. */
export function rebuildIndex(table: SeriesTable, size: number = table.slots.length): void {
  table.slots = new Uint32Array(size);
  for (let row = 0; row < table.count; row++) if (table.keyLength[row] !== 0) putSlot(table, row);
}

const COMPACTED_BYTES_MIN = 64 * 1024;

/** Compacts the keys if living rows use at most half of the arena. A layout keeps them in place. */
export function compactKeys(table: SeriesTable): void {
  if (table.layout !== null || table.keysUsed < COMPACTED_BYTES_MIN) return;
  const living = keyBytes(table);
  if (living * 2 <= table.keysUsed) moveKeys(table, Buffer.alloc(0), Math.max(living, 4096));
}

/** The size of all keys that moveKeys() moves. */
export function keyBytes(table: SeriesTable): number {
  let bytes = 0;
  for (let row = 0; row < table.count; row++)
    if (table.keyOffset[row] !== NO_ROW) bytes += table.keyLength[row]!;
  return bytes;
}

/**
 * Moves all keys into an arena of `size` bytes that begins with `head`, which already has the keys
 * with the offset NO_ROW.
 */
export function moveKeys(table: SeriesTable, head: Buffer, size: number): void {
  const keys = Buffer.allocUnsafeSlow(size);
  head.copy(keys);
  let used = head.length;
  for (let row = 0; row < table.count; row++) {
    const offset = table.keyOffset[row]!;
    const length = table.keyLength[row]!;
    // A freed row may point anywhere.
    if (length === 0 || offset === NO_ROW) continue;
    table.keys.copy(keys, used, offset, offset + length);
    table.keyOffset[row] = used;
    used += length;
  }
  table.setKeys(keys, used);
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

/** A key with a duplicate label is invalid and must not match a known series. */
function isRespelled(table: SeriesTable, row: number, bytes: Buffer, place: KeyPlace): boolean {
  const key = parseSeriesKey(bytes, place.keyStart, place.keyEnd);
  if (duplicateLabel(key) !== null) return false;
  return isSameSeries(keyOfRow(table, row), key);
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
  table.point[row] = NO_ROW;
  table.keysUsed = needed;
}
