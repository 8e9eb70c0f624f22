// The order in which points are sent: by service, block, metric, then as they came. One stable counting sort
// over the heads of all points, made anew only when rows came or went.

import { NO_ROW, ROLE, type SeriesTable } from '../../model/series-table.ts';

/** table.order, brought up to date. Yields between the passes over all rows. */
export function* sendOrder(table: SeriesTable): Generator<void, Uint32Array> {
  if (!table.isOrderStale) return table.order;
  const heads = new Uint32Array(table.count);
  let count = 0;
  for (let row = 0; row < table.count; row++) if (isHead(table, row)) heads[count++] = row;
  yield;
  const blockRanks = rankBlocks(table);
  const byMetric = countingSort(
    heads.subarray(0, count),
    table.metrics.length,
    row => table.metric[row]!,
  );
  yield;
  table.order = countingSort(byMetric, table.blocks.length, row => {
    const block = table.block[row]!;
    // Rows of pages that could not be used have no block yet, and no point on this page.
    return block === NO_ROW ? 0 : blockRanks[block]!;
  });
  table.isOrderStale = false;
  return table.order;
}

function isHead(table: SeriesTable, row: number): boolean {
  if (table.keyLength[row] === 0 || table.head[row] !== row) return false;
  const role = table.role[row];
  const isAlone = role === ROLE.scalar || role === ROLE.synthetic;
  return isAlone || table.compounds.has(row);
}

/** Blocks of one service stand together, so that a service is one run of the payload. */
function rankBlocks(table: SeriesTable): Uint32Array {
  const indexes = table.blocks.map((_, index) => index);
  const serviceOf = (index: number): number => table.blocks[index]!.service;
  indexes.sort((a, b) => serviceOf(a) - serviceOf(b) || a - b);
  const ranks = new Uint32Array(indexes.length);
  for (const [rank, index] of indexes.entries()) ranks[index] = rank;
  return ranks;
}

function countingSort(
  rows: Uint32Array,
  keyCount: number,
  keyOf: (row: number) => number,
): Uint32Array {
  const starts = new Uint32Array(keyCount + 1);
  for (const row of rows) {
    const next = keyOf(row) + 1;
    starts[next] = starts[next]! + 1;
  }
  for (let key = 1; key <= keyCount; key++) starts[key] = starts[key]! + starts[key - 1]!;
  const sorted = new Uint32Array(rows.length);
  for (const row of rows) {
    const key = keyOf(row);
    const at = starts[key]!;
    sorted[at] = row;
    starts[key] = at + 1;
  }
  return sorted;
}
