// prom2otlp's own series per service and scrape (docs/how-it-works/mapping.md I4): `up` and `scrape_*`. They are
// rows of the table under keys that no page can contain, and are sent even if the scrape fails. `up`
// carries no reason as an attribute: each reason would be a series, and alerts would need sums.

import { OUTCOME, ROLE, type SeriesTable } from '../../model/series-table.ts';
import { metricOf } from '../decode/metadata.ts';
import { insertRow } from '../decode/row-index.ts';
import type { DeriveOptions, Judge } from './options.ts';
import type { PageTime } from './page-time.ts';
import { blockOf, scopeOfFamily } from './places.ts';

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
