// Forgets series that have been gone for long, so that ever new names, labels or servers do not
// make the table grow: first rows (whole points and single parts), then the metrics, blocks,
// instances and services without rows. Freed places in the table are reused.

import { NO_ROW, OUTCOME, type SeriesTable, type ServiceSlot } from '../../model/series-table.ts';
import type { SpareIndexes } from '../../model/memory.ts';
import { isCounting } from '../../model/metric.ts';
import { compactKeys, freeRow, rebuildIndex } from '../decode/row-index.ts';
import { unfile } from './compound.ts';
import type { DeriveOptions, Judge } from './options.ts';
import { isOpen } from './outcome.ts';
import { instanceOfRow, countRows, serviceOfRow } from './places.ts';
import { laterMs } from './reset.ts';
import { forgetIdentities, moveIdentity } from './duplicates.ts';

/** A series is forgotten this long after its end; if it returns it is new. */
const FORGET_AFTER_MS = 60 * 60_000;

/** How long an absent row is kept: for at least four intervals. */
export function keepMsOf(options: DeriveOptions): number {
  return Math.max(FORGET_AFTER_MS, 4 * options.intervalMs);
}

/**
 * The hour of an ended series does not run while its service is down: the first page after an
 * outage may lack most series. `isDown`: by service.
 */
export function stopAgeing({ table, time }: Judge, isDown: readonly boolean[]): void {
  const { head, flags, movedAtMs } = table;
  for (let row = 0; row < table.count; row++) {
    if (isDown[serviceOfRow(table, row)] !== true) continue;
    // Until its marker is due, an open series ages.
    if (head[row] === row && isOpen(flags[row]!)) continue;
    movedAtMs[row] = Math.min(movedAtMs[row]! + time.elapsedMs, time.monotonicMs);
  }
}

/** Frees these rows, none of which is on the page. */
export function forgetRows(table: SeriesTable, gone: readonly number[]): void {
  if (gone.length === 0) return;
  const heads = new Set<number>();
  // Rows that were never placed are not referenced.
  const placed = gone.filter(row => table.block[row] !== NO_ROW);
  const leaving = new Set(placed);
  for (const row of gone) if (table.block[row] === NO_ROW) freeRow(table, row);
  for (const row of placed) {
    const isHead = table.head[row] === row;
    if (isHead) noteForgotten(table, row);
    if (isCounting(table.metrics[table.metric[row]!]!)) table.startsVersion++;
    const next = unfile(table, row, leaving);
    if (isHead && next !== NO_ROW) {
      moveIdentity(table, row, next);
      movePoint(table, row, next);
    } else if (isHead) heads.add(row);
    freeRow(table, row);
  }
  forgetIdentities(table, heads);
  releaseUnused(table);
}

/** The other rows of an absent head may have made a point on this page. */
function movePoint({ outcome, timeMs }: SeriesTable, from: number, to: number): void {
  if (outcome[from] !== OUTCOME.point) return;
  outcome[to] = OUTCOME.point;
  timeMs[to] = timeMs[from]!;
}

/** Releases the memory of freed rows, and what no row refers to. */
export function releaseUnused(table: SeriesTable): void {
  freeOwnRows(table);
  dropLinks(table);
  // The layout refers to rows, and to keys that are about to move.
  table.layout = null;
  cutFreeEnd(table);
  rebuildIndex(table, slotsFor(table.count));
  compactKeys(table);
  releasePlaces(table);
}

/** Releases the memory of free rows at the end: the table must not stay large after a peak. */
function cutFreeEnd(table: SeriesTable): void {
  while (table.count > 0 && table.keyLength[table.count - 1] === 0) table.count--;
  const kept = table.free.filter(row => row < table.count);
  table.free.length = 0;
  for (const row of kept) table.free.push(row);
  if (table.value.length > SPARE_SHARE * table.count) table.trim();
}

/** Columns are cut if they are longer than needed by this factor. */
const SPARE_SHARE = 2;

/** At most two thirds of the slots are used, and the table is no larger than needed for that. */
function slotsFor(rows: number): number {
  return Math.max(2 ** Math.ceil(Math.log2(Math.max(rows, 1) * 1.5 + 1)), 128);
}

/**
 * Samples up to now were counted and had a stream: if the series returns, they are not growth (F8),
 * and its start is later.
 */
function noteForgotten(table: SeriesTable, row: number): void {
  const instance = instanceOfRow(table, row);
  if (instance === undefined) return;
  const lastMs = table.lastTimeMs[row]!;
  if (lastMs > instance.firstTimeMs) instance.firstTimeMs = lastMs;
  if (isCounting(table.metrics[table.metric[row]!]!))
    instance.forgottenMs = laterMs(instance.forgottenMs, lastMs);
}

/** Frees prom2otlp's own series of unconfigured services that have no other series left. */
function freeOwnRows(table: SeriesTable): void {
  const hasOwn = (slot: ServiceSlot): boolean => slot.configIndex < 0 && slot.ownRows.length > 0;
  if (!table.services.some(hasOwn)) return;
  const counts = countRows(table, 'all');
  for (const [index, slot] of table.services.entries()) {
    if (counts[index]! > 0 || !hasOwn(slot)) continue;
    for (const row of slot.ownRows) freeRow(table, row);
    slot.ownRows = [];
  }
}

function dropLinks(table: SeriesTable): void {
  const isFree = (row: number): boolean => table.keyLength[row] === 0;
  for (const { uptimes } of table.instances)
    for (const uptime of uptimes.values()) uptime.rows = uptime.rows.filter(row => !isFree(row));
  for (const [counter, created] of table.createdRows)
    if (isFree(counter) || isFree(created)) table.createdRows.delete(counter);
  for (const rows of [table.named, table.unrenamed])
    for (const row of rows) if (isFree(row)) rows.delete(row);
  for (const row of table.falls.keys()) if (isFree(row)) table.falls.delete(row);
  for (const slot of table.services) if (isFree(slot.infoRow)) slot.infoRow = NO_ROW;
}

/** Frees the entries that no row refers to. */
function releasePlaces(table: SeriesTable): void {
  const { metrics, blocks, instances, services } = table;
  const hasMetric = new Uint8Array(metrics.length);
  const hasBlock = new Uint8Array(blocks.length);
  for (let row = 0; row < table.count; row++) {
    if (table.keyLength[row] === 0) continue;
    hasMetric[table.metric[row]!] = 1;
    hasBlock[table.block[row]!] = 1;
  }
  const hasInstance = new Uint8Array(instances.length);
  // A configured service keeps its slot: its `up` is always sent.
  const hasService = Uint8Array.from(services, ({ configIndex }) => (configIndex < 0 ? 0 : 1));
  for (const [index, { instance, service }] of blocks.entries()) {
    if (hasBlock[index] === 0) continue;
    if (instance >= 0) hasInstance[instance] = 1;
    hasService[service] = 1;
  }
  noteReleased(table, hasInstance);
  release(table, 'metrics', table.metricByKey, hasMetric);
  release(table, 'blocks', table.blockByKey, hasBlock);
  release(table, 'instances', table.instanceByKey, hasInstance);
  release(table, 'services', table.serviceById, hasService);
}

/** Removes the keys of unused entries, which makes them spare. Drops spare entries at the end. */
function release(
  table: SeriesTable,
  name: keyof SpareIndexes,
  byKey: Map<string, number>,
  isUsed: Uint8Array,
): void {
  for (const [key, index] of byKey) if (isUsed[index] === 0) byKey.delete(key);
  const list: unknown[] = table[name];
  while (list.length > 0 && isUsed[list.length - 1] === 0) list.pop();
  table.spare[name] = [...list.keys()].filter(index => isUsed[index] === 0);
}

/** A series of an instance that returns has no start before the last time of a forgotten one. */
function noteReleased(table: SeriesTable, isUsed: Uint8Array): void {
  for (const index of table.instanceByKey.values()) {
    if (isUsed[index] === 1) continue;
    const { firstTimeMs, forgottenMs } = table.instances[index]!;
    table.releasedMs = laterMs(table.releasedMs, laterMs(firstTimeMs, forgottenMs));
  }
}
