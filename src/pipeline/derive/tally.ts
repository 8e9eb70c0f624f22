// The outcome of each service's samples on one page: numbers for failures of single services and for
// the account, and prom2otlp's own series per service and scrape (docs/how-it-works/mapping.md I4): `up` and
// `scrape_*`. These are rows of the table under keys that no page can contain, and are sent even if
// the scrape fails.

import type { SampleCount } from '../../model/batch.ts';
import type { PageReport } from '../../model/page.ts';
import { OUTCOME, OUTCOME_NAMES, ROLE, type SeriesTable } from '../../model/series-table.ts';
import { metricOf } from '../decode/metadata.ts';
import { insertRow } from '../decode/row-index.ts';
import { type DeriveOptions, type Judge, serviceIdOf } from './options.ts';
import type { PageTime } from './page-time.ts';
import { blockOf, countRows, isScraped, scopeOfFamily, serviceOfRow } from './places.ts';

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

// The own series.

type OwnSeries = readonly [name: string, unit: string, description: string];

/** The own series of each service (I4). Scraped series with these names are renamed. */
export const SCRAPE_SERIES: readonly OwnSeries[] = [
  ['up', '', '1 when the last scrape of this service was good, else 0.'],
  ['scrape_duration_seconds', 's', 'How long the scrape took.'],
  ['scrape_samples_scraped', '', 'Samples of this service on the page.'],
  ['scrape_samples_post_metric_relabeling', '', 'Samples of this service that the filters left.'],
  ['scrape_series_added', '', 'Series of this service that were new on this page.'],
  ['scrape_body_size_bytes', 'By', 'Size of the inflated page, which may hold other services too.'],
];
/** No name on a page can begin with this byte. */
const KEY_MARK = '\u0001';

/** Sets the series of a service for this page; `values` in the order of SCRAPE_SERIES. */
export function setScrapeSeries(
  { table, options, time }: Judge,
  service: number,
  values: readonly number[],
): void {
  for (const [i, row] of ownRowsOf(table, service, options).entries())
    setPoint(table, row, values[i]!, time);
}

function setPoint(table: SeriesTable, row: number, value: number, time: PageTime): void {
  const lastMs = table.lastTimeMs[row]!;
  // A time from a wrong clock is ignored. Times of two scrapes within a millisecond still increase.
  const timeMs = lastMs >= time.nowMs && lastMs <= time.futureMs ? lastMs + 1 : time.nowMs;
  table.value[row] = value;
  table.timeMs[row] = timeMs;
  table.lastTimeMs[row] = timeMs;
  table.seen[row] = table.page;
  table.outcome[row] = OUTCOME.point;
  table.blocks[table.block[row]!]!.movedPage = table.page;
}

function ownRowsOf(table: SeriesTable, service: number, options: DeriveOptions): readonly number[] {
  const slot = table.services[service]!;
  if (slot.ownRows.length > 0) return slot.ownRows;
  const block = blockOf(table, service, -1, scopeOfFamily('other', options));
  slot.ownRows = SCRAPE_SERIES.map((series, index) => {
    const key = Buffer.from(`${KEY_MARK}${service}${KEY_MARK}${series[0]}`);
    const place = { keyStart: 0, keyEnd: key.length, hash: (service * 8 + index + 1) >>> 0 };
    const row = insertRow(table, key, place);
    table.role[row] = ROLE.synthetic;
    table.metric[row] = ownMetric(table, series);
    table.block[row] = block;
    return row;
  });
  return slot.ownRows;
}

function ownMetric(table: SeriesTable, [name, unit, description]: OwnSeries): number {
  const index = metricOf(table, name, `${KEY_MARK}${name}`, 'gauge');
  const metric = table.metrics[index]!;
  metric.changed = false;
  metric.hasType = true;
  metric.sentUnit = unit;
  metric.sentDescription = description;
  return index;
}
