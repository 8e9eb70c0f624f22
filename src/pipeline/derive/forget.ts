// What has been gone for long is given up, so that a target whose names, labels or servers change without end does
// not grow without end: rows first, whole points and single parts of them, then the metrics, blocks, components and
// services that no row refers to. Their places in the table are taken again by what comes next.

import { NO_ROW, ROLE, type SeriesTable, type ServiceSlot } from '../../model/series-table.ts';
import type { Component } from '../../model/memory.ts';
import { compactKeys, freeRow, rebuildIndex } from '../decode/row-index.ts';
import { unfile } from './compound.ts';
import { isStreamOfProcess } from './reset.ts';
import type { DeriveOptions } from './options.ts';
import { forgetIdentities, moveIdentity } from './twins.ts';

/** A series that ended this long ago is forgotten; if it comes back it is a new one. */
const FORGET_AFTER_MS: number = 60 * 60_000;

/** As many components without a row are remembered as there are others, but never fewer than this. */
const KEPT_COMPONENTS_MIN = 16;

/** How long a row is kept: also at long intervals it may be missing on a few pages. */
export function keepMsOf(options: DeriveOptions): number {
  return Math.max(FORGET_AFTER_MS, 4 * options.intervalMs);
}

/**
 * Forgets ended rows for want of room. They may come back on the next page, and nothing tells then whether they were flushed,
 * or their process restarted, in between: their streams are over.
 */
export function forgetEarly(table: SeriesTable, gone: readonly number[]): void {
  for (const row of gone) {
    const component = componentOfRow(table, row);
    if (table.head[row] === row && component !== undefined) tearStream(table, row, component);
  }
  forgetRows(table, gone);
}

/** Frees these rows, none of which is on the page. */
export function forgetRows(table: SeriesTable, gone: readonly number[]): void {
  if (gone.length === 0) return;
  const heads = new Set<number>();
  // Nothing knows of a row that never got a place.
  const placed = gone.filter(row => table.block[row] !== NO_ROW);
  const leaving = new Set(placed);
  const isLeaving = (row: number): boolean => leaving.has(row);
  for (const row of gone) if (table.block[row] === NO_ROW) freeRow(table, row);
  for (const row of placed) {
    const isHead = table.head[row] === row;
    if (isHead) noteForgotten(table, row);
    const next = unfile(table, row, isLeaving);
    if (isHead && next !== NO_ROW) moveIdentity(table, row, next);
    else if (isHead) heads.add(row);
    freeRow(table, row);
  }
  forgetIdentities(table, heads);
  freeOwnRows(table);
  dropLinks(table);
  // What else holds rows, and what stands where the keys are about to move.
  table.layout = null;
  table.savedStarts = null;
  cutFreeEnd(table);
  rebuildIndex(table, slotsFor(table.count));
  compactKeys(table);
  releasePlaces(table);
}

/** Gives back the memory of rows behind the last one that lives: what has grown for a moment must not stay large. */
function cutFreeEnd(table: SeriesTable): void {
  while (table.count > 0 && table.keyLength[table.count - 1] === 0) table.count--;
  const kept = table.free.filter(row => row < table.count);
  table.free.length = 0;
  for (const row of kept) table.free.push(row);
  if (table.value.length > SPARE_SHARE * table.count) table.trim();
}

/** Columns that are so many times longer than they need be are cut. */
const SPARE_SHARE = 2;

/** At most two of three slots are taken, and at most so many times more are there. */
function slotsFor(rows: number): number {
  return Math.max(2 ** Math.ceil(Math.log2(Math.max(rows, 1) * 1.5 + 1)), 128);
}

/** What was counted by then has been told: should the series come back, it is no growth (F8). */
function noteForgotten(table: SeriesTable, row: number): void {
  const component = componentOfRow(table, row);
  if (component === undefined) return;
  const lastMs = table.lastTimeMs[row]!;
  if (lastMs > component.firstTimeMs) component.firstTimeMs = lastMs;
  // A stream that began with the process that counts now goes on where the series comes back; any other one is over.
  const { uptimeName } = table.metrics[table.metric[row]!] ?? { uptimeName: null };
  const isWhole = isStreamOfProcess(table, row, component.uptimes.get(uptimeName ?? ''));
  if (!isWhole) tearStream(table, row, component);
}

/** A series of this component that is new, or comes back, is not dated to before the last sample of this one. */
function tearStream(table: SeriesTable, row: number, component: Component): void {
  const lastMs = table.lastTimeMs[row]!;
  const isDated = (table.metrics[table.metric[row]!]?.uptimeName ?? null) !== null;
  // NaN of a series that was never sent.
  if (isDated && !Number.isNaN(lastMs) && !(lastMs <= component.tornMs)) component.tornMs = lastMs;
}

function componentOfRow(table: SeriesTable, row: number): Component | undefined {
  return table.components[table.blocks[table.block[row]!]?.component ?? -1];
}

/** A service that no entry names is gone with its last series: nobody waits for its `up`. */
function freeOwnRows(table: SeriesTable): void {
  const hasOwn = (slot: ServiceSlot): boolean => slot.configIndex < 0 && slot.ownRows.length > 0;
  if (!table.services.some(hasOwn)) return;
  const isAlive = new Uint8Array(table.services.length);
  for (let row = 0; row < table.count; row++) {
    const block = table.blocks[table.block[row]!];
    const isLiving = table.keyLength[row] !== 0 && table.role[row] !== ROLE.synthetic;
    if (isLiving && block !== undefined) isAlive[block.service] = 1;
  }
  for (const [index, slot] of table.services.entries()) {
    if (isAlive[index] === 1 || !hasOwn(slot)) continue;
    for (const row of slot.ownRows) freeRow(table, row);
    slot.ownRows = [];
  }
}

function dropLinks(table: SeriesTable): void {
  const isFree = (row: number): boolean => table.keyLength[row] === 0;
  for (const { uptimes } of table.components)
    for (const evidence of uptimes.values())
      evidence.rows = evidence.rows.filter(row => !isFree(row));
  for (const [counter, created] of table.createdRows)
    if (isFree(counter) || isFree(created)) table.createdRows.delete(counter);
  for (const row of table.named) if (isFree(row)) table.named.delete(row);
  for (const slot of table.services) if (isFree(slot.infoRow)) slot.infoRow = NO_ROW;
}

/** Finds the entries that no living row refers to. */
function releasePlaces(table: SeriesTable): void {
  const { metrics, blocks, components, services, spare } = table;
  const hasMetric = new Uint8Array(metrics.length);
  const hasBlock = new Uint8Array(blocks.length);
  for (let row = 0; row < table.count; row++) {
    if (table.keyLength[row] === 0) continue;
    hasMetric[table.metric[row]!] = 1;
    hasBlock[table.block[row]!] = 1;
  }
  const hasComponent = new Uint8Array(components.length);
  // A configured service keeps its slot: its `up` is sent whatever happens.
  const hasService = Uint8Array.from(services, ({ configIndex }) => (configIndex < 0 ? 0 : 1));
  for (const [index, { component, service }] of blocks.entries()) {
    if (hasBlock[index] === 0) continue;
    if (component >= 0) hasComponent[component] = 1;
    hasService[service] = 1;
  }
  keepComponents(table, hasComponent, hasService);
  release(table.metricByKey, hasMetric, spare.metrics);
  release(table.blockByKey, hasBlock, spare.blocks);
  release(table.componentByKey, hasComponent, spare.components);
  release(table.serviceById, hasService, spare.services);
  spare.metrics = cutSpareEnd(metrics, spare.metrics);
  spare.blocks = cutSpareEnd(blocks, spare.blocks);
  spare.components = cutSpareEnd(components, spare.components);
  spare.services = cutSpareEnd(services, spare.services);
}

/** Drops spare entries at the end of a list; gives those that are left. */
function cutSpareEnd(list: unknown[], spare: readonly number[]): number[] {
  const isSpare = new Uint8Array(list.length);
  for (const index of spare) isSpare[index] = 1;
  while (list.length > 0 && isSpare[list.length - 1] === 1) list.pop();
  return spare.filter(index => index < list.length);
}

/**
 * The begin of a process is kept over long absences (F5): components of configured services stay though their last row is
 * gone, those that were shown last. What is given up leaves a time: a process that began before it is not dated again.
 */
function keepComponents(table: SeriesTable, isUsed: Uint8Array, hasService: Uint8Array): void {
  const ended = [...table.componentByKey.values()]
    .filter(index => isUsed[index] === 0)
    .map(index => ({ index, provenMs: lastProvenMs(table.components[index]) }))
    .sort((a, b) => (b.provenMs || 0) - (a.provenMs || 0));
  const most = Math.max(
    KEPT_COMPONENTS_MIN,
    isUsed.reduce((sum, used) => sum + used, 0),
  );
  let kept = 0;
  for (const { index, provenMs } of ended) {
    const component = table.components[index];
    if (component === undefined) continue;
    const isConfigured = (table.services[component.service]?.configIndex ?? -1) >= 0;
    if (isConfigured && !Number.isNaN(provenMs) && kept < most) {
      kept++;
      isUsed[index] = 1;
      hasService[component.service] = 1;
    } else noteReleased(table, component);
  }
}

/** Also of a component without an uptime: a row of it that comes later may bring the uptime that dates the others. */
function noteReleased(table: SeriesTable, { firstTimeMs }: Component): void {
  // NaN if nothing of it was sent.
  if (Number.isNaN(firstTimeMs) || firstTimeMs <= table.releasedMs) return;
  table.releasedMs = firstTimeMs;
}

function lastProvenMs(component: Component | undefined): number {
  const times = [...(component?.uptimes.values() ?? [])].map(({ provenMs }) => provenMs);
  return times.reduce((newest, ms) => (ms <= newest ? newest : ms), Number.NaN);
}

/** Entries are found by their keys alone: one that has lost its key is spare. */
function release(byKey: Map<string, number>, isUsed: Uint8Array, spare: number[]): void {
  for (const [key, index] of byKey) {
    if (isUsed[index] === 1) continue;
    byKey.delete(key);
    spare.push(index);
  }
}
