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

/** Series that differ in nothing but their labels: same name, type, unit, value, times and outcome. */
export interface AlikeSeries {
  readonly first: SeriesReport;
  /** The labels of each, without those that all series of the list share. */
  readonly labels: readonly string[];
}

export interface FoldedSeries {
  /** The labels that all series of the list have with the same value, as `a=1,b=2`; '' if there are none, or one series. */
  readonly shared: string;
  /** In the order of the list. */
  readonly groups: readonly AlikeSeries[];
}

/** Leaves out what repeats: labels that all share, and series that are alike. */
export function foldSeries(list: readonly SeriesReport[]): FoldedSeries {
  const [first, ...others] = list;
  const isShared = ([label, value]: readonly [string, string]): boolean =>
    others.length > 0 && others.every(one => one.labels[label] === value);
  const shared = Object.entries(first?.labels ?? {}).filter(isShared);
  const names = new Set(shared.map(([label]) => label));
  const ownLabels = ({ labels }: SeriesReport): string =>
    labelsText({
      labels: Object.fromEntries(Object.entries(labels).filter(([label]) => !names.has(label))),
    });
  const alike = Map.groupBy(list, one => JSON.stringify({ ...one, labels: null }));
  const groups = [...alike.values()].flatMap(group => {
    const [head] = group;
    return head === undefined ? [] : [{ first: head, labels: group.map(ownLabels) }];
  });
  return { shared: labelsText({ labels: Object.fromEntries(shared) }), groups };
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
