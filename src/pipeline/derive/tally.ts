// What became of the samples of each service on one page: the numbers from which failures of a single service,
// the account and the bridge's own series are made.

import type { SampleCount } from '../../model/batch.ts';
import type { PageReport } from '../../model/page.ts';
import { type Block, FATE, FATE_NAMES, ROLE, type SeriesTable } from '../../model/series-table.ts';
import type { Refused } from './admission.ts';
import { soleService, type DeriveOptions } from './options.ts';

/** Counts of one service while its page is judged. */
export interface Tally {
  /** '' while the service is fine; else why it is down on this page. */
  reason: string;
  badLines: number;
  /** Series that this page shows for the first time, or again after their end. */
  added: number;
  /** Points made of samples. */
  points: number;
  /** Markers of series that have ended. */
  stale: number;
  /** Samples by fate. */
  readonly fates: Uint32Array;
}

/** One tally per service; `reason` is why there is no page at all, or ''. */
export function newTallies(table: SeriesTable, reason: string): Tally[] {
  return table.services.map(() => ({
    reason,
    badLines: 0,
    added: 0,
    points: 0,
    stale: 0,
    fates: new Uint32Array(FATE_NAMES.length),
  }));
}

/** Attributes the bad lines of a page, and finds the services that fail alone by them or by their size (A6, A7). */
export function tallyPage(
  table: SeriesTable,
  report: PageReport,
  options: DeriveOptions,
  refused: Refused | null,
): Tally[] {
  const tallies = newTallies(table, '');
  for (const [id, count] of refused?.byService ?? []) {
    const tally = tallies[table.serviceById.get(id) ?? -1];
    if (tally !== undefined) tally.fates[FATE.seriesLimit] = count;
  }
  for (const [namespace, count] of report.badByNamespace) {
    const tally = tallies[serviceOfNamespace(table, namespace, options)];
    if (tally !== undefined) tally.badLines += count;
  }
  if (report.badLines === 0 && report.samples <= options.serviceSamplesMax) return tallies;
  const samples = countSamples(table);
  for (const [index, tally] of tallies.entries()) {
    const good = samples[index]! + tally.fates[FATE.seriesLimit]!;
    const { badLines } = tally;
    if (good > options.serviceSamplesMax) tally.reason = 'service_samples';
    else if (badLines > 0 && badLines > options.badShare * (good + badLines))
      tally.reason = 'bad_lines';
  }
  return tallies;
}

/** Good samples on this page by service: needed beforehand only where one of them may fail. */
function countSamples(table: SeriesTable): Uint32Array {
  const { seen, page, role, block } = table;
  const byBlock = new Uint32Array(table.blocks.length);
  for (let row = 0; row < table.count; row++)
    if (seen[row] === page && role[row] !== ROLE.synthetic) {
      const index = block[row]!;
      byBlock[index] = byBlock[index]! + 1;
    }
  const counts = new Uint32Array(table.services.length);
  for (const [index, { service }] of table.blocks.entries())
    counts[service] = counts[service]! + byBlock[index]!;
  for (const { row } of table.repeats) {
    const service = serviceOfRow(table, row);
    counts[service] = counts[service]! + 1;
  }
  return counts;
}

/** Counts the rows that are new on this page. */
export function countAdded(
  table: SeriesTable,
  tallies: readonly Tally[],
  rows: readonly number[],
): void {
  for (const row of rows) {
    if (table.keyLength[row] === 0) continue;
    const tally = tallies[serviceOfRow(table, row)];
    if (tally !== undefined) tally.added++;
  }
}

/** Index of the service that a row belongs to. */
export function serviceOfRow(table: SeriesTable, row: number): number {
  return blockOfRow(table, row)?.service ?? 0;
}

/** The block that a row belongs to. */
export function blockOfRow(table: SeriesTable, row: number): Block | undefined {
  return table.blocks[table.block[row]!];
}

/** Counts one sample. */
export function countFate(tally: Tally | undefined, fate: number): void {
  if (tally !== undefined) tally.fates[fate] = tally.fates[fate]! + 1;
}

/** Good samples of the service on this page; each has met one fate by the end. */
export function samplesOf(tally: Tally): number {
  return tally.fates.reduce((sum, count) => sum + count, 0);
}

/** Samples that made points, as parts of histograms and summaries too. */
function usedOf(tally: Tally): number {
  return tally.fates[FATE.point]! + tally.fates[FATE.part]!;
}

/**
 * Samples by service and fate, for the account: all sample lines of the page, with those that could not be read.
 * Bad lines of no service that is known stand under ''.
 */
export function readsOf(
  table: SeriesTable,
  tallies: readonly Tally[],
  report: PageReport | null,
  refused: Refused | null,
): SampleCount[] {
  const reads: SampleCount[] = [];
  let strayLines = report?.badLines ?? 0;
  for (const [index, tally] of tallies.entries()) {
    const service = table.services[index]?.id ?? '';
    const add = (fate: string, count: number): void => {
      if (count > 0) reads.push({ service, fate, count });
    };
    add('used', usedOf(tally));
    for (const [fate, count] of tally.fates.entries())
      if (fate !== FATE.point && fate !== FATE.part) add(FATE_NAMES[fate] ?? '', count);
    add('bad_line', tally.badLines);
    strayLines -= tally.badLines;
  }
  if (strayLines > 0) reads.push({ service: '', fate: 'bad_line', count: strayLines });
  const addStray = (fate: number, count: number): void => {
    if (count > 0) reads.push({ service: '', fate: FATE_NAMES[fate] ?? '', count });
  };
  // A service that no entry names is gone with its last series.
  let homeless = 0;
  for (const [id, count] of refused?.byService ?? [])
    if (!table.serviceById.has(id)) homeless += count;
  addStray(FATE.seriesLimit, homeless);
  addStray(FATE.serviceLimit, refused?.ofServices ?? 0);
  return reads;
}

function serviceOfNamespace(table: SeriesTable, namespace: string, options: DeriveOptions): number {
  const id = namespace === '' ? (soleService(options) ?? '') : namespace;
  return table.serviceById.get(id) ?? -1;
}
