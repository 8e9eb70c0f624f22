// The series of a target's last page for people: on the page of a service, and in `show derive`. In: a SeriesTable,
// which is only read. Out: one entry per series, even if it made no point; a histogram or summary is one entry.

import { isCompound, isCounting, type Metric } from '../model/metric.ts';
import { OUTCOME, OUTCOME_NAMES, NO_ROW, ROLE, type SeriesTable } from '../model/series-table.ts';
import { keyOfRow } from '../pipeline/decode/series-key.ts';
import { instantOrNull } from './times.ts';

/** A number in JSON. Values that JSON does not have are the words of the exposition formats. */
export type ShownValue = number | 'NaN' | '+Inf' | '-Inf';

export interface SeriesReport {
  /** The name in OTLP. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The database service id. */
  readonly service: string;
  readonly family: Metric['family'];
  readonly type: Metric['kind'];
  readonly typeSource: Metric['typeSource'];
  readonly declared: Metric['declared'];
  readonly unit: string;
  /** The value on the page; for a histogram or summary, its count and sum. null if there is none. */
  readonly value:
    | ShownValue
    | { readonly count: ShownValue; readonly sum: ShownValue | null }
    | null;
  /** RFC 3339; null where the type has no start. */
  readonly start: string | null;
  readonly time: string | null;
  /** The time of the sample that last changed the value; null before this process has seen one. */
  readonly changed: string | null;
  /** `used`, `stale`, or why there is no point. */
  readonly outcome: string;
}

/** The series in sending order; with `serviceId`, only those of that service. */
export function* seriesOf(table: SeriesTable, serviceId?: string): Generator<SeriesReport> {
  for (const row of table.order) {
    const service = table.services[table.blocks[table.block[row] ?? 0]?.service ?? 0]?.id ?? '';
    if (serviceId !== undefined && service !== serviceId) continue;
    const metric = table.metrics[table.metric[row] ?? 0];
    const isShown = table.seen[row] === table.page || table.outcome[row] === OUTCOME.stale;
    // The series that prom2otlp itself sends are no series of the page.
    if (!isShown || metric === undefined || table.role[row] === ROLE.synthetic) continue;
    const changedS = table.changedAtS[row] ?? 0;
    yield {
      name: metric.sentName,
      // The row of a histogram or summary is one of its parts, and has a label that only the part has.
      labels: Object.fromEntries(
        keyOfRow(table, row).labels.filter(([label]) => label !== PART_LABELS[metric.kind]),
      ),
      service,
      family: metric.family,
      type: metric.kind,
      typeSource: metric.typeSource,
      declared: metric.declared,
      unit: metric.sentUnit,
      value: valueOf(table, row, metric),
      start: isCounting(metric) ? instantOrNull(table.startMs[row]) : null,
      time: instantOrNull(table.timeMs[row]),
      changed: changedS === 0 ? null : instantOrNull(changedS * 1000),
      outcome: OUTCOME_NAMES[table.outcome[row] ?? 0] ?? '',
    };
  }
}

/** The labels as `a=1,b=2`; the id of the service is not repeated. */
export function labelsText({ labels }: Pick<SeriesReport, 'labels'>): string {
  return Object.entries(labels)
    .filter(([label]) => label !== 'namespace')
    .map(([label, value]) => `${label}=${value}`)
    .join(',');
}

/** `12.5`, or `count 5, sum 1.25`; '' if there is none. */
export function valueText({ value }: Pick<SeriesReport, 'value'>): string {
  if (value === null) return '';
  if (typeof value !== 'object') return String(value);
  const { count, sum } = value;
  return sum === null ? `count ${count}` : `count ${count}, sum ${sum}`;
}

export function shownValue(value: number): ShownValue {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : value;
}

const PART_LABELS: Partial<Readonly<Record<Metric['kind'], string>>> = {
  histogram: 'le',
  summary: 'quantile',
};

function valueOf(table: SeriesTable, row: number, metric: Metric): SeriesReport['value'] {
  // `table.value` is sent: for deltas, it is the growth. `table.lastValue` is the last accepted value of the page.
  const read = (at: number): ShownValue => {
    const last = table.lastValue[at] ?? Number.NaN;
    return shownValue(Number.isNaN(last) ? (table.value[at] ?? Number.NaN) : last);
  };
  if (!isCompound(metric)) return read(row);
  const { count = NO_ROW, sum = NO_ROW } = table.compounds.get(row) ?? {};
  if (count === NO_ROW) return null;
  return { count: read(count), sum: sum === NO_ROW ? null : read(sum) };
}
