// The outcome of each service's samples on one page: numbers for failures of single services, for
// the account and for prom2otlp's own series.

import type { SampleCount } from '../../model/batch.ts';
import type { PageReport } from '../../model/page.ts';
import { OUTCOME, OUTCOME_NAMES, type SeriesTable } from '../../model/series-table.ts';
import { serviceIdOf, type Judge } from './options.ts';
import { countRows, isScraped, serviceOfRow } from './places.ts';

/** The counts of one service on one page. */
export interface Tally {
  /** '' if the service is up; else why it is down on this page. */
  reason: string;
  badLines: number;
  /** Series that are new on this page, or return after their end. */
  added: number;
  /** Points made from samples. */
  points: number;
  /** Markers of ended series. */
  stale: number;
  /** Samples by outcome. */
  readonly outcomes: Uint32Array;
}

/**
 * Makes one tally per service. Assigns the refused samples and the bad lines to services, and finds
 * services that fail because of their bad lines (A6). `reason`: why there is no report, or ''.
 */
export function tallyPage(
  { table, options }: Judge,
  report: PageReport | null,
  reason: string,
): Tally[] {
  const tallies = table.services.map(() => ({
    reason,
    badLines: 0,
    added: 0,
    points: 0,
    stale: 0,
    outcomes: new Uint32Array(OUTCOME_NAMES.length),
  }));
  if (report === null) return tallies;
  const tallyOf = (namespace: string): Tally | undefined =>
    tallies[table.serviceById.get(serviceIdOf(namespace, options)) ?? -1];
  for (const [namespace, count] of report.refused.byNamespace) {
    const tally = tallyOf(namespace);
    if (tally !== undefined) tally.outcomes[OUTCOME.seriesLimit]! += count;
  }
  for (const [namespace, count] of report.badByNamespace) {
    const tally = tallyOf(namespace);
    if (tally !== undefined) tally.badLines += count;
  }
  if (report.badLines === 0) return tallies;
  const samples = countRows(table, 'on page');
  for (const { row } of table.repeats) samples[serviceOfRow(table, row)]!++;
  for (const [index, tally] of tallies.entries()) {
    const good = samples[index]! + tally.outcomes[OUTCOME.seriesLimit]!;
    const { badLines } = tally;
    if (badLines > options.badShare * (good + badLines)) tally.reason = 'bad_lines';
  }
  return tallies;
}

/** Counts the new rows of this page. */
export function countAdded(
  table: SeriesTable,
  tallies: readonly Tally[],
  rows: readonly number[],
): void {
  for (const row of rows) {
    const tally = tallies[serviceOfRow(table, row)];
    if (isScraped(table, row) && tally !== undefined) tally.added++;
  }
}

/** Good samples of the service on this page: at the end each has one outcome. */
export function samplesOf(tally: Tally): number {
  return tally.outcomes.reduce((sum, count) => sum + count, 0);
}

/**
 * Samples by service and outcome, for the account: all sample lines of the page, including bad ones.
 * Those of no known service count under ''.
 */
export function readsOf(
  table: SeriesTable,
  tallies: readonly Tally[],
  report: PageReport | null,
): SampleCount[] {
  const reads: SampleCount[] = [];
  const add = (service: string, outcome: string, count: number): void => {
    if (count > 0) reads.push({ service, outcome, count });
  };
  let strayLines = report?.badLines ?? 0;
  let strayRefused = report?.refused.samples ?? 0;
  for (const [index, { outcomes, badLines }] of tallies.entries()) {
    const service = table.services[index]!.id;
    // Parts of histograms and summaries are used as well.
    add(service, 'used', outcomes[OUTCOME.point]! + outcomes[OUTCOME.part]!);
    for (const [outcome, count] of outcomes.entries())
      if (outcome !== OUTCOME.point && outcome !== OUTCOME.part)
        add(service, OUTCOME_NAMES[outcome]!, count);
    add(service, 'bad_line', badLines);
    strayLines -= badLines;
    strayRefused -= outcomes[OUTCOME.seriesLimit]!;
  }
  add('', 'bad_line', strayLines);
  add('', OUTCOME_NAMES[OUTCOME.seriesLimit]!, strayRefused);
  return reads;
}
