// The outcome of each service's samples on one page: numbers for failures of single services, for
// the account and for prom2otlp's own series.

import type { SampleCount } from '../../model/batch.ts';
import type { PageReport } from '../../model/page.ts';
import { OUTCOME, OUTCOME_NAMES, type SeriesTable } from '../../model/series-table.ts';
import type { Refused } from './admission.ts';
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
 * Makes one tally per service. Assigns the bad lines to services, and finds services that fail
 * because of these or their size (A6, A7). `reason`: why there is no report, or ''.
 */
export function tallyPage(
  { table, options }: Judge,
  report: PageReport | null,
  reason: string,
  refused: Refused | null,
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
  for (const [id, count] of refused?.byService ?? []) {
    const tally = tallies[table.serviceById.get(id) ?? -1];
    if (tally !== undefined) tally.outcomes[OUTCOME.seriesLimit] = count;
  }
  for (const [namespace, count] of report.badByNamespace) {
    const tally = tallies[table.serviceById.get(serviceIdOf(namespace, options)) ?? -1];
    if (tally !== undefined) tally.badLines += count;
  }
  const { serviceSamples } = options.limits;
  if (report.badLines === 0 && report.samples <= serviceSamples) return tallies;
  const samples = countRows(table, 'on page');
  for (const { row } of table.repeats) samples[serviceOfRow(table, row)]!++;
  for (const [index, tally] of tallies.entries()) {
    const good = samples[index]! + tally.outcomes[OUTCOME.seriesLimit]!;
    const { badLines } = tally;
    if (good > serviceSamples) tally.reason = 'service_samples';
    else if (badLines > 0 && badLines > options.badShare * (good + badLines))
      tally.reason = 'bad_lines';
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
 * Bad lines of no known service count under ''.
 */
export function readsOf(
  table: SeriesTable,
  tallies: readonly Tally[],
  report: PageReport | null,
  refused: Refused | null,
): SampleCount[] {
  const reads: SampleCount[] = [];
  const add = (service: string, outcome: string, count: number): void => {
    if (count > 0) reads.push({ service, outcome, count });
  };
  let strayLines = report?.badLines ?? 0;
  for (const [index, { outcomes, badLines }] of tallies.entries()) {
    const service = table.services[index]!.id;
    // Parts of histograms and summaries are used as well.
    add(service, 'used', outcomes[OUTCOME.point]! + outcomes[OUTCOME.part]!);
    for (const [outcome, count] of outcomes.entries())
      if (outcome !== OUTCOME.point && outcome !== OUTCOME.part)
        add(service, OUTCOME_NAMES[outcome]!, count);
    add(service, 'bad_line', badLines);
    strayLines -= badLines;
  }
  add('', 'bad_line', strayLines);
  // An unconfigured service is forgotten with its last series.
  let homeless = 0;
  for (const [id, count] of refused?.byService ?? [])
    if (!table.serviceById.has(id)) homeless += count;
  add('', OUTCOME_NAMES[OUTCOME.seriesLimit]!, homeless);
  add('', OUTCOME_NAMES[OUTCOME.serviceLimit]!, refused?.ofServices ?? 0);
  return reads;
}
