// What the telemetry costs in the units that bills use: series, points and bytes, by service, family and metric, and what
// rules of metrics.exclude would save. In: SeriesTables after a page, which are only read, and the size of the requests
// that were made of them. Out: plain data, for /cost.json and the verb `cost`. There are no prices.

import type { Daemon } from '../daemon/daemon.ts';
import { DAY_MS, MINUTE_MS } from '../lib/clock.ts';
import { isCompound } from '../model/metric.ts';
import { NO_ROW, OUTCOME, ROLE, type SeriesTable } from '../model/series-table.ts';
import { compress } from '../pipeline/queue/compression.ts';
import type { Encoding } from '../pipeline/queue/commit.ts';
import { SEND_COUNTERS } from '../pipeline/send/sender.ts';

/** What some series cost. Bytes are of requests: the share of their points in the bytes of all points. */
export interface Cost {
  /** Series in OTLP: a histogram or summary is one. */
  readonly series: number;
  /** As stores of the Prometheus kind count: each bucket with +Inf, each quantile, the sum and the count are series. */
  readonly activeSeries: number;
  readonly pointsPerMinute: number;
  readonly pointsPerDay: number;
  readonly bytesPerDay: number;
  readonly compressedBytesPerDay: number;
}

export interface NamedCost extends Cost {
  readonly name: string;
}

export interface LogsCost {
  readonly recordsPerDay: number;
  readonly compressedBytesPerDay: number;
  /** Each service's records, largest first; `limit` at most. */
  readonly services: readonly { readonly name: string; readonly recordsPerDay: number }[];
}

export interface CostReport {
  /** `daemon`: from the last pages and the counters of the running daemon; `scrape`: from one scrape. */
  readonly source: 'daemon' | 'scrape';
  readonly intervalMs: number;
  readonly compression: Encoding;
  /** Bytes of a request for each of its points; null without a point. */
  readonly bytesPerPoint: number | null;
  readonly compressedBytesPerPoint: number | null;
  readonly total: Cost;
  /** Largest first; `limit` at most of each. */
  readonly services: readonly NamedCost[];
  readonly families: readonly NamedCost[];
  readonly metrics: readonly NamedCost[];
  /** Entries for metrics.exclude and what each saves alone, largest first; EXCLUDES_MAX at most. */
  readonly excludes: readonly NamedCost[];
  /** null where it cannot be known: from one scrape, and while no logs are pulled. */
  readonly logs: LogsCost | null;
}

/** The size of the metrics requests for the last pages. */
export interface Sizes {
  readonly points: number;
  readonly bytes: number;
  readonly compressedBytes: number;
}

export interface CostOptions {
  readonly source: CostReport['source'];
  readonly intervalMs: number;
  readonly compression: Encoding;
  readonly limit: number;
  readonly logs: LogsCost | null;
}

export const COST_LIMIT_MAX = 1000;
const EXCLUDES_MAX = 10;
/** A rule that leaves out more than this share of the series saves nothing: it ends the monitoring. */
const EXCLUDED_SHARE_MAX = 0.5;

interface Count {
  series: number;
  active: number;
}

class Counts {
  readonly byName = new Map<string, Count>();

  add(name: string, { series, active }: Count): void {
    const count = this.byName.get(name) ?? { series: 0, active: 0 };
    this.byName.set(name, count);
    count.series += series;
    count.active += active;
  }

  get largest(): readonly (readonly [string, Count])[] {
    return [...this.byName].sort(
      ([nameA, a], [nameB, b]) =>
        b.active - a.active || b.series - a.series || (nameA < nameB ? -1 : 1),
    );
  }
}

/** The cost of the series that these tables sent after their last page. */
export function costReport(
  tables: readonly SeriesTable[],
  sizes: Sizes,
  { limit, ...options }: CostOptions,
): CostReport {
  const [all, services, families, metrics] = [
    new Counts(),
    new Counts(),
    new Counts(),
    new Counts(),
  ];
  /** By the name on the page, which is what metrics.exclude is about; without what prom2otlp adds itself. */
  const names = new Counts();
  for (const { service, family, name, pageName, active } of sentSeries(tables)) {
    const one = { series: 1, active };
    all.add('', one);
    services.add(service, one);
    families.add(family, one);
    metrics.add(name, one);
    if (pageName !== null) names.add(pageName, one);
  }
  const per = (bytes: number): number | null => (sizes.points === 0 ? null : bytes / sizes.points);
  const bytesPerPoint = per(sizes.bytes);
  const compressedBytesPerPoint = per(sizes.compressedBytes);
  const costOf = ({ series, active }: Count): Cost => {
    const pointsPerDay = (series * DAY_MS) / options.intervalMs;
    return {
      series,
      activeSeries: active,
      pointsPerMinute: (series * MINUTE_MS) / options.intervalMs,
      pointsPerDay,
      bytesPerDay: Math.round(pointsPerDay * (bytesPerPoint ?? 0)),
      compressedBytesPerDay: Math.round(pointsPerDay * (compressedBytesPerPoint ?? 0)),
    };
  };
  const listOf = (counts: Counts, max = limit): readonly NamedCost[] =>
    counts.largest.slice(0, max).map(([name, count]) => ({ name, ...costOf(count) }));
  const total = all.byName.get('') ?? { series: 0, active: 0 };
  return {
    ...options,
    bytesPerPoint,
    compressedBytesPerPoint,
    total: costOf(total),
    services: listOf(services),
    families: listOf(families),
    metrics: listOf(metrics),
    excludes: listOf(excludesOf(names, total.series), EXCLUDES_MAX),
  };
}

interface SentSeries {
  readonly service: string;
  readonly family: string;
  readonly name: string;
  readonly pageName: string | null;
  readonly active: number;
}

function* sentSeries(tables: readonly SeriesTable[]): Generator<SentSeries> {
  for (const table of tables)
    for (const row of table.order) {
      const metric = table.metrics[table.metric[row] ?? 0];
      const outcome = table.outcome[row];
      // A daemon's last page may repeat the one before.
      const isSent = outcome === OUTCOME.point || outcome === OUTCOME.repeated;
      if (!isSent || metric === undefined) continue;
      const isOwn = table.role[row] === ROLE.synthetic;
      yield {
        service: table.services[table.blocks[table.block[row] ?? 0]?.service ?? 0]?.id ?? '',
        family: isOwn ? 'prom2otlp' : metric.family,
        name: metric.sentName,
        pageName: isOwn ? null : metric.name,
        active: isCompound(metric) ? partCount(table, row, metric.kind) : 1,
      };
    }
}

/** The series that a store of the Prometheus kind makes of a histogram or summary. */
function partCount(table: SeriesTable, row: number, kind: string): number {
  const { bounds = [], sum = NO_ROW } = table.compounds.get(row) ?? {};
  const isOpen = kind === 'histogram' && !bounds.includes(Infinity);
  // The count is always there, also where it is read from the last bucket.
  return bounds.length + (isOpen ? 1 : 0) + (sum === NO_ROW ? 0 : 1) + 1;
}

/** Whole names and prefixes up to an underscore, as regular expressions; of prefixes with the same series, the longest. */
function excludesOf(names: Counts, seriesCount: number): Counts {
  const prefixes = new Map<string, { readonly count: Count; names: number }>();
  for (const [name, { series, active }] of names.byName)
    for (let at = name.indexOf('_'); at > 0; at = name.indexOf('_', at + 1)) {
      const prefix = name.slice(0, at + 1);
      const found = prefixes.get(prefix) ?? { count: { series: 0, active: 0 }, names: 0 };
      prefixes.set(prefix, found);
      found.count.series += series;
      found.count.active += active;
      found.names++;
    }
  const longest = new Map<string, readonly [string, Count]>();
  for (const [prefix, found] of prefixes) {
    if (found.names < 2) continue;
    const parent = prefix.slice(0, prefix.lastIndexOf('_', prefix.length - 2) + 1);
    if (prefixes.get(parent)?.names === found.names) longest.delete(parent);
    longest.set(prefix, [`${escaped(prefix)}.*`, found.count]);
  }
  const found = new Counts();
  const whole = [...names.byName].map(([name, count]) => [escaped(name), count] as const);
  for (const [name, count] of [...whole, ...longest.values()])
    if (count.series <= seriesCount * EXCLUDED_SHARE_MAX) found.add(name, count);
  return found;
}

function escaped(name: string): string {
  return name.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

/** The cost by the running daemon: its last pages, and what its senders have counted since it started. */
export async function costOfDaemon(
  { targets, config, counters, logs, startedAtMs }: Daemon,
  nowMs: number,
  limit: number,
): Promise<CostReport> {
  const { compression } = config.otlp.metrics;
  const sizes = { points: 0, bytes: 0, compressedBytes: 0 };
  for (const { table } of targets) {
    if (table.template === null) continue;
    const { bytes, rows } = table.template;
    sizes.points += rows.length;
    sizes.bytes += bytes.length;
    sizes.compressedBytes += (await compress(compression, bytes)).length;
  }
  const perDay = (count: number): number =>
    Math.round((count * DAY_MS) / Math.max(nowMs - startedAtMs, MINUTE_MS));
  const records = new Counts();
  for (const { service, recordCount } of logs?.meter.partitions ?? [])
    records.add(service, { series: recordCount, active: recordCount });
  const sum = records.largest.reduce((total, [, { series }]) => total + series, 0);
  const sent = counters.of(SEND_COUNTERS).bytes.get('logs');
  return costReport(
    targets.map(({ table }) => table),
    sizes,
    {
      source: 'daemon',
      intervalMs: config.metrics.intervalMs,
      compression,
      limit,
      logs:
        logs === null
          ? null
          : {
              recordsPerDay: perDay(sum),
              compressedBytesPerDay: perDay(sent),
              services: records.largest
                .slice(0, limit)
                .map(([name, { series }]) => ({ name, recordsPerDay: perDay(series) })),
            },
    },
  );
}
