// Histograms and summaries: several rows of the page form one point of OTLP (docs/how-it-works/mapping.md D, E).
// This file assigns rows to points and judges whether the rows of a page form a valid point.

import { OUTCOME, NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import type { Compound } from '../../model/memory.ts';
import { readValue } from '../decode/number.ts';
import { labelValue, type SeriesKey } from '../decode/series-key.ts';
import type { Judge } from './options.ts';

/**
 * Assigns a row to its point, found by its metric and its labels without the bound. The first row
 * becomes the head. Returns false for a row that the format does not provide for: it stays alone.
 */
export function fileInCompound(table: SeriesTable, row: number, key: SeriesKey): boolean {
  const role = table.role[row];
  if (role === ROLE.scalar || role === ROLE.gaugePart) return false;
  const boundLabel = role === ROLE.bucket ? 'le' : role === ROLE.quantile ? 'quantile' : '';
  const bound = boundOf(key, boundLabel);
  if (role === ROLE.quantile && (bound < 0 || bound > 1)) return false;
  const labels = key.labels.filter(([label]) => label !== boundLabel);
  const sorted = labels.toSorted(([a], [b]) => (a < b ? -1 : 1));
  const id = JSON.stringify([table.metric[row], sorted]);
  const head = table.compoundByKey.get(id) ?? row;
  let compound = table.compounds.get(head);
  if (compound === undefined) {
    compound = { key: id, rows: [], bounds: [], ...NO_PARTS };
    table.compoundByKey.set(id, head);
    table.compounds.set(head, compound);
  }
  table.head[row] = head;
  if (role === ROLE.count) compound.count = row;
  else if (role === ROLE.sum) compound.sum = row;
  else if (role === ROLE.created) compound.created = row;
  else insertBound(compound, row, bound);
  return true;
}

const NO_PARTS = { count: NO_ROW, sum: NO_ROW, created: NO_ROW, isRespelled: false } as const;

/** A missing or invalid bound is NaN: such a point is refused later. */
function boundOf(key: SeriesKey, label: string): number {
  const text = Buffer.from(labelValue(key, label));
  const number = new Float64Array(1);
  return readValue(text, 0, text.length, number) ? number[0]! : Number.NaN;
}

function insertBound(compound: Compound, row: number, bound: number): void {
  const { bounds } = compound;
  let at = bounds.length;
  // NaN comes last.
  const isBehind = (other: number): boolean =>
    other > bound || (Number.isNaN(other) && !Number.isNaN(bound));
  while (at > 0 && isBehind(bounds[at - 1]!)) at--;
  if (bounds[at - 1] === bound) compound.isRespelled = true;
  compound.rows.splice(at, 0, row);
  compound.bounds.splice(at, 0, bound);
}

/**
 * Takes a row out of its point. If it was the head, another row becomes the head and inherits the
 * series; if no other row can, the point is removed and each row is alone. Returns the point's
 * head, or NO_ROW if the point is removed. `leaving`: rows that leave too and must not be heads.
 */
export function unfile(
  table: SeriesTable,
  row: number,
  leaving: Pick<ReadonlySet<number>, 'has'>,
): number {
  const head = table.head[row]!;
  const compound = table.compounds.get(head);
  table.head[row] = row;
  table.flags[row] = table.flags[row]! & ~ROW_FLAG.observed;
  if (compound === undefined) return NO_ROW;
  const at = compound.rows.indexOf(row);
  if (at >= 0) {
    compound.rows.splice(at, 1);
    compound.bounds.splice(at, 1);
  }
  if (compound.count === row) compound.count = NO_ROW;
  if (compound.sum === row) compound.sum = NO_ROW;
  if (compound.created === row) compound.created = NO_ROW;
  if (head !== row) return head;
  table.compounds.delete(head);
  const rows = rowsOf(compound);
  const next = rows.find(part => !leaving.has(part));
  for (const part of rows) table.head[part] = next ?? part;
  if (next === undefined) {
    table.compoundByKey.delete(compound.key);
    return NO_ROW;
  }
  table.compounds.set(next, compound);
  table.compoundByKey.set(compound.key, next);
  moveSeries(table, head, next);
  table.orderVersion++;
  return next;
}

/** Moves a series to another row: its times, start and flags. The old row begins a new series. */
export function moveSeries(table: SeriesTable, from: number, to: number): void {
  const { startMs, uptime, uptimeMs, lastTimeMs, movedAtMs, flags, falls } = table;
  table.setStart(to, startMs[from]!);
  uptime[to] = uptime[from]!;
  uptimeMs[to] = uptimeMs[from]!;
  const fall = falls.get(from);
  if (fall === undefined) falls.delete(to);
  else falls.set(to, fall);
  table.lastTimeMs[to] = lastTimeMs[from]!;
  movedAtMs[to] = movedAtMs[from]!;
  table.changedAtS[to] = table.changedAtS[from]!;
  // Being part of the newest sample belongs to the row, not to the series.
  flags[to] = (flags[from]! & ~ROW_FLAG.observed) | (flags[to]! & ROW_FLAG.observed);
  forgetSeries(table, from);
}

/** Forgets the series of a row. */
export function forgetSeries(table: SeriesTable, row: number): void {
  table.forgetStream(row);
  table.lastTimeMs[row] = Number.NaN;
  table.movedAtMs[row] = Number.NaN;
  table.changedAtS[row] = 0;
  table.flags[row] = table.flags[row]! & ROW_FLAG.observed;
}

/** All rows of a point: bounds, count, sum and creation time. */
export function rowsOf({ rows, count, sum, created }: Compound): number[] {
  return [...rows, count, sum, created].filter(row => row !== NO_ROW);
}

export function isOnPage(table: SeriesTable, row: number): boolean {
  return row !== NO_ROW && table.seen[row] === table.page;
}

/**
 * Rows with the same bound or quantile (`le="1"` and `le="1.0"`) are one part with two spellings:
 * the one on this page continues the absent one. Call this before judging the point.
 */
export function settleSpellings(table: SeriesTable, compound: Compound): void {
  if (!compound.isRespelled) return;
  const { rows, bounds } = compound;
  const { observed } = ROW_FLAG;
  // Rows with the same bound are adjacent.
  for (let from = 0, to = 0; from < rows.length; from = to) {
    do to++;
    while (to < rows.length && bounds[to] === bounds[from]);
    if (to - from === 1) continue;
    const spellings = rows.slice(from, to);
    const heir = spellings.find(row => isOnPage(table, row));
    if (heir === undefined) continue;
    for (const row of spellings) {
      if (isOnPage(table, row) || Number.isNaN(table.lastValue[row])) continue;
      table.lastValue[heir] = table.lastValue[row]!;
      table.lastValue[row] = Number.NaN;
      table.flags[heir]! |= table.flags[row]! & observed;
      table.flags[row]! &= ~observed;
    }
  }
}

/** Collects the rows of a point that are on this page, bounds first, without the creation time. */
export function partsOf(table: SeriesTable, compound: Compound, parts: number[]): void {
  parts.length = 0;
  for (const row of compound.rows) if (isOnPage(table, row)) parts.push(row);
  if (isOnPage(table, compound.count)) parts.push(compound.count);
  if (isOnPage(table, compound.sum)) parts.push(compound.sum);
}

/** OUTCOME.point if the parts on this page form a valid point, else the reason to drop it. */
export function judgeCompound(
  judge: Judge,
  head: number,
  compound: Compound,
  parts: readonly number[],
): number {
  const { table, options } = judge;
  const isHistogram = table.metrics[table.metric[head]!]!.kind === 'histogram';
  const invalid = isHistogram ? OUTCOME.histogramInvalid : OUTCOME.summaryInvalid;
  const { count } = compound;
  if (!isOnPage(table, count) || !isCount(table.value[count]!)) return invalid;
  if (options.honorTimestamps && !agreeInTime(table, parts)) return invalid;
  const hasGoodBounds = isHistogram ? hasRisingBuckets : hasGoodQuantiles;
  return hasGoodBounds(table, compound) ? OUTCOME.point : invalid;
}

/**
 * A whole number below 2^63: OTLP's counts have 64 bits, and many back ends read them as signed.
 */
function isCount(value: number): boolean {
  return value >= 0 && value < 2 ** 63 && Number.isInteger(value);
}

function agreeInTime(table: SeriesTable, parts: readonly number[]): boolean {
  const timeMs = table.timeMs[parts[0]!]!;
  for (const row of parts) if (!Object.is(table.timeMs[row], timeMs)) return false;
  return true;
}

/** Cumulative buckets rise with their bounds up to the count, and no bound occurs twice. */
function hasRisingBuckets(table: SeriesTable, compound: Compound): boolean {
  let lastCount = 0;
  let lastBound = Number.NaN;
  for (let i = 0; i < compound.rows.length; i++) {
    const row = compound.rows[i]!;
    if (!isOnPage(table, row)) continue;
    const bound = compound.bounds[i]!;
    const count = table.value[row]!;
    if (Number.isNaN(bound) || bound === lastBound || bound === -Infinity) return false;
    if (!isCount(count) || count < lastCount) return false;
    lastCount = count;
    lastBound = bound;
  }
  return table.value[compound.count]! >= lastCount;
}

/** No quantile is missing, invalid or duplicate. Values may be anything, including NaN. */
function hasGoodQuantiles(table: SeriesTable, compound: Compound): boolean {
  let last = Number.NaN;
  for (const [i, row] of compound.rows.entries()) {
    if (!isOnPage(table, row)) continue;
    const quantile = compound.bounds[i]!;
    if (Number.isNaN(quantile) || quantile === last) return false;
    last = quantile;
  }
  return true;
}
