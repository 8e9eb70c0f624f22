// What a configuration would send for a page, read back from the encoded requests: the Resource of each service, and its
// metrics with their series. For `check --against`.

import type { SeriesTable } from '../model/series-table.ts';
import { decodeMetricsRequest } from '../pipeline/encode/otlp-json.ts';
import type { KeyValueJson, MetricJson, PointJson } from '../pipeline/encode/otlp-fields.ts';

export type Attributes = Readonly<Record<string, string>>;

/** A metric of one service. A series is one set of attributes, by its text. */
export interface SentMetric {
  readonly service: string;
  readonly name: string;
  readonly type: string;
  /** '' for gauges and summaries. */
  readonly temporality: string;
  readonly unit: string;
  readonly series: Map<string, Attributes>;
}

interface SentOptions {
  readonly isDelta: boolean;
  readonly isPrefixed: boolean;
}

export class Sent {
  /** The attributes of the Resource by service id. */
  readonly resources = new Map<string, Attributes>();
  /** By keyOf(service, name). */
  readonly metrics = new Map<string, SentMetric>();
  /** The names on the page by keyOf(service, name), and the names that are sent for them, by keyOf(service, page name). */
  readonly pageNames = new Map<string, Set<string>>();
  readonly sentNames = new Map<string, Set<string>>();

  /**
   * Adds a translated page. `isDelta`: the metrics that can have it go out in delta temporality. `isPrefixed`: names begin
   * with the service's id.
   */
  add(payload: Uint8Array, table: SeriesTable, { isDelta, isPrefixed }: SentOptions): void {
    for (const { resource, scopeMetrics = [] } of decodeMetricsRequest(payload).resourceMetrics ??
      []) {
      const attributes = attributesOf(resource?.attributes);
      const service = attributes['service.instance.id'] ?? '';
      this.resources.set(service, attributes);
      for (const { metrics = [] } of scopeMetrics)
        for (const metric of metrics) this.#addMetric(service, metric, isDelta);
    }
    for (const row of table.order) {
      const service = table.services[table.blocks[table.block[row] ?? 0]?.service ?? 0]?.id ?? '';
      const metric = table.metrics[table.metric[row] ?? 0];
      if (metric === undefined) continue;
      const sentName = isPrefixed ? `${service}.${metric.sentName}` : metric.sentName;
      addTo(this.pageNames, keyOf(service, sentName), metric.name);
      addTo(this.sentNames, keyOf(service, metric.name), sentName);
    }
  }

  #addMetric(service: string, metric: MetricJson, isDelta: boolean): void {
    const { name = '', unit = '', gauge, sum, histogram, summary } = metric;
    const isMonotonic = sum?.isMonotonic === true;
    const canBeDelta = isMonotonic || histogram !== undefined;
    const counted = canBeDelta || sum !== undefined;
    const known = this.metrics.get(keyOf(service, name));
    const shown: SentMetric = known ?? {
      service,
      name,
      type: sum === undefined ? kindOf(metric) : isMonotonic ? 'counter' : 'up-down counter',
      temporality: counted ? (isDelta && canBeDelta ? 'delta' : 'cumulative') : '',
      unit,
      series: new Map(),
    };
    this.metrics.set(keyOf(service, name), shown);
    const points: readonly PointJson[] = (gauge ?? sum ?? histogram ?? summary)?.dataPoints ?? [];
    for (const point of points) {
      const attributes = attributesOf(point.attributes);
      shown.series.set(seriesKey(attributes), attributes);
    }
  }
}

export function keyOf(service: string, name: string): string {
  return `${service}\n${name}`;
}

function kindOf({ histogram, summary }: MetricJson): string {
  if (histogram !== undefined) return 'histogram';
  return summary === undefined ? 'gauge' : 'summary';
}

function attributesOf(list: readonly KeyValueJson[] = []): Attributes {
  return Object.fromEntries(
    list.map(({ key = '', value }) => [
      key,
      value?.stringValue ?? value?.intValue ?? JSON.stringify(value ?? {}),
    ]),
  );
}

/** The same text for the same attributes in any order. */
function seriesKey(attributes: Attributes): string {
  return JSON.stringify(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, new Set([value]));
  else known.add(value);
}
