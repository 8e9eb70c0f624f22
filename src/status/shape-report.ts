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

export interface ShapeReport {
  /** By name; METRICS_MAX at most. */
  readonly metrics: readonly MetricShape[];
  /** The number of metrics that the list leaves out. */
  readonly metricsLeftOut: number;
}

/** The service has some 200 metrics; an issue of a tracker takes 65,536 characters. */
const METRICS_MAX = 400;
/** Labels are read in so many series of a metric: a page of a million series must not hold up the daemon. */
const LABELS_READ_MAX = 100;

interface Count {
  readonly metric: Metric;
  series: number;
  targets: number;
  /** The table that was counted last. */
  table: SeriesTable | null;
  readonly labels: Set<string>;
}

export function shapeReport(tables: readonly SeriesTable[]): ShapeReport {
  const counts = new Map<string, Count>();
  for (const table of tables) countTable(table, counts);
  const metrics = [...counts.values()].map(shapeOf);
  metrics.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return {
    metrics: metrics.slice(0, METRICS_MAX),
    metricsLeftOut: Math.max(metrics.length - METRICS_MAX, 0),
  };
}

function countTable(table: SeriesTable, counts: Map<string, Count>): void {
  const rows = rowsOfPage(table);
  // After a failed scrape, the last page that had series.
  const page = rows.reduce((last, row) => Math.max(last, table.seen[row] ?? 0), 0);
  for (const row of rows) {
    const metric = table.metrics[table.metric[row] ?? 0];
    if (table.seen[row] !== page || metric === undefined) continue;
    // The targets of two services may declare one name with two types.
    const key = `${metric.name} ${metric.declared} ${metric.kind} ${metric.typeSource}`;
    const count = counts.get(key) ?? newCount(metric);
    counts.set(key, count);
    if (count.table !== table) count.targets++;
    count.table = table;
    count.series++;
    if (count.series > LABELS_READ_MAX) continue;
    for (const [label] of keyOfRow(table, row).labels) count.labels.add(label);
  }
}

/** The rows that begin a series of the page: not the parts of a histogram or summary, nor what prom2otlp adds. */
function rowsOfPage({ count, keyLength, head, role }: SeriesTable): readonly number[] {
  const rows = Array.from({ length: count }, (_, row) => row);
  return rows.filter(
    row => keyLength[row] !== 0 && head[row] === row && role[row] !== ROLE.synthetic,
  );
}

function newCount(metric: Metric): Count {
  return { metric, series: 0, targets: 0, table: null, labels: new Set() };
}

function shapeOf({ metric, series, targets, labels }: Count): MetricShape {
  const { name, family, declared, kind: type, typeSource } = metric;
  return { name, family, declared, type, typeSource, series, labels: labels.size, targets };
}
