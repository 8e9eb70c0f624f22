// The shape of the last good pages, for a report to the maintainers: which metrics there are, what became of their types, and
// how many series and labels each has. In: the SeriesTables of the targets, which are only read. Out: plain data without
// the name or the value of a label.

import type { Metric } from '../model/metric.ts';
import { ROLE, type SeriesTable } from '../model/series-table.ts';
import { keyOfRow } from '../pipeline/decode/series-key.ts';

export interface MetricShape {
  /** As on the page; of a histogram or summary, without the suffixes of its parts. */
  readonly name: string;
  readonly family: Metric['family'];
  /** What the TYPE line says, what it became in OTLP, and what decided that. */
  readonly declared: Metric['declared'];
  readonly type: Metric['kind'];
  readonly typeSource: Metric['typeSource'];
  /** A histogram or summary is one series. */
  readonly series: number;
  /** Different names of labels, `namespace` among them; those of the parts of a histogram or summary as well. */
  readonly labels: number;
  /** The number of targets whose pages have it. */
  readonly targets: number;
}

/** The last page of one target. */
export interface PageShape {
  readonly metrics: number;
  /** Series by the family of their metrics. */
  readonly families: Readonly<Partial<Record<Metric['family'], number>>>;
}

export interface ShapeReport {
  /** In the order of the targets; PAGES_MAX at most. */
  readonly pages: readonly PageShape[];
  /** Of all pages, by name; METRICS_MAX at most. */
  readonly metrics: readonly MetricShape[];
  /** The number of metrics that the list leaves out. */
  readonly metricsLeftOut: number;
}

/** The service has some 200 metrics; an issue of a tracker takes 65,536 characters. */
const METRICS_MAX = 400;
/** More targets than a reader looks at. */
export const PAGES_MAX = 20;
/** Labels are read in so many series of a metric: a page of a million series must not hold up the daemon. */
const LABELS_READ_MAX = 100;

interface Count {
  readonly metric: Metric;
  series: number;
  targets: number;
  readonly labels: Set<string>;
}

export function shapeReport(tables: readonly SeriesTable[]): ShapeReport {
  const counts = new Map<string, Count>();
  const pages = tables.map(table => countTable(table, counts));
  const metrics = [...counts.values()].map(shapeOf);
  metrics.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return {
    pages: pages.slice(0, PAGES_MAX),
    metrics: metrics.slice(0, METRICS_MAX),
    metricsLeftOut: Math.max(metrics.length - METRICS_MAX, 0),
  };
}

function countTable(table: SeriesTable, counts: Map<string, Count>): PageShape {
  /** By the index of the metric. */
  const found = new Map<number, Count>();
  const families: Partial<Record<Metric['family'], number>> = {};
  const rows = rowsOfPage(table);
  // After a failed scrape, the last page that had series.
  const page = rows.reduce((last, row) => Math.max(last, table.seen[row] ?? 0), 0);
  for (const row of rows) {
    const index = table.metric[row] ?? 0;
    const metric = table.metrics[index];
    if (table.seen[row] !== page || metric === undefined) continue;
    const count = found.get(index) ?? countOf(metric, counts);
    if (!found.has(index)) count.targets++;
    found.set(index, count);
    count.series++;
    families[metric.family] = (families[metric.family] ?? 0) + 1;
    if (count.series > LABELS_READ_MAX) continue;
    for (const [label] of keyOfRow(table, row).labels) count.labels.add(label);
  }
  return { metrics: found.size, families };
}

/** The count of the metrics of all pages that are alike: two services may declare one name with two types. */
function countOf(metric: Metric, counts: Map<string, Count>): Count {
  const key = `${metric.name} ${metric.declared} ${metric.kind} ${metric.typeSource}`;
  const count = counts.get(key) ?? { metric, series: 0, targets: 0, labels: new Set() };
  counts.set(key, count);
  return count;
}

/** The rows that begin a series of the page: not the parts of a histogram or summary, nor what prom2otlp adds. */
function rowsOfPage({ count, keyLength, head, role }: SeriesTable): readonly number[] {
  const rows = Array.from({ length: count }, (_, row) => row);
  return rows.filter(
    row => keyLength[row] !== 0 && head[row] === row && role[row] !== ROLE.synthetic,
  );
}

function shapeOf({ metric, series, targets, labels }: Count): MetricShape {
  const { name, family, declared, kind: type, typeSource } = metric;
  return { name, family, declared, type, typeSource, series, labels: labels.size, targets };
}
