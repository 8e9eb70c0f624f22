// Gives every new row its place: service, component and block, the head of its point, and to its metric what it
// is in OTLP. In: the rows that decode put into table.fresh. Out: block and head columns, compounds, evidence
// rows for start times. Runs once per series, not per page (otlp-mapping A4, D, I).

import type { Family, Metric } from '../../model/metric.ts';
import { NO_ROW, ROLE, type ScopeIdentity, type SeriesTable } from '../../model/series-table.ts';
import { labelValue, type SeriesKey } from '../decode/series-key.ts';
import { Admission, type Refused } from './admission.ts';
import { fileInCompound, unfile } from './compound.ts';
import { linkCreated } from './created.ts';
import { keyOfRow } from './find-series.ts';
import { resolveMetric } from './metric-type.ts';
import type { DeriveOptions } from './options.ts';
import { blockOf, componentOf, scopeOfFamily, takeEvidence } from './places.ts';
import { NAME_LABEL, scopePart } from './point-labels.ts';
import { Placing } from './placing.ts';
import { forgetIdentities, moveIdentity, registerIdentity } from './twins.ts';

/** Its labels describe the Resource: it is read, and is no metric (I3). */
const TARGET_INFO = 'target_info';

/** New rows that are resolved before the event loop may get its turn: each is some microseconds of work. */
const SLICE_ROWS = 128;

/**
 * Resolves changed metrics and all fresh rows; the page's `fresh` list is empty afterwards. Gives what was refused for
 * want of room, null where nothing was. Yields between slices.
 */
export function* resolveRows(
  table: SeriesTable,
  options: DeriveOptions,
): Generator<void, Refused | null> {
  const turned: number[] = [];
  for (const [index, metric] of table.metrics.entries()) {
    if (!metric.changed) continue;
    table.isOrderStale = true;
    const { kind } = metric;
    resolveMetric(metric, options);
    if (metric.kind !== kind) turned.push(index);
  }
  if (turned.length > 0) beginAnew(table, turned);
  if (table.fresh.length === 0) return null;
  table.isOrderStale = true;
  const admission = new Admission(table, options);
  const placing = new Placing(table, options, admission);
  for (const [index, row] of table.fresh.entries()) {
    const isOurs = table.role[row] !== ROLE.synthetic && table.keyLength[row] !== 0;
    if (isOurs && !placing.place(row) && resolveRow(table, row, options, admission)) {
      placing.noteName(row);
      // It has arrived: what leaves a point from here on may leave it to this row.
      table.filedBefore.delete(row);
    }
    if (index % SLICE_ROWS === SLICE_ROWS - 1) yield;
  }
  // A table that has just been filled is not about to grow much.
  if (table.fresh.length * 4 > table.count) table.trim();
  table.fresh.length = 0;
  table.filedBefore.clear();
  return admission.finish();
}

/** A series of another kind is another series: what was its start says nothing of it. Of moved rows leavePlace() decides. */
function beginAnew(table: SeriesTable, metrics: readonly number[]): void {
  table.savedStarts = null;
  const isTurned = new Uint8Array(table.metrics.length);
  for (const metric of metrics) isTurned[metric] = 1;
  for (let row = 0; row < table.count; row++)
    if (isTurned[table.metric[row]!] === 1 && !table.filedBefore.has(row))
      table.startMs[row] = table.processMs[row] = Number.NaN;
}

/** False for a row that was refused. */
function resolveRow(
  table: SeriesTable,
  row: number,
  options: DeriveOptions,
  admission: Admission,
): boolean {
  const key = keyOfRow(table, row);
  const metric = table.metrics[table.metric[row]!]!;
  const service = admission.serviceOf(labelValue(key, 'namespace'));
  if (table.block[row] === NO_ROW && !admission.takes(row, service)) return false;
  const isSame = isSameSeries(table, row, metric);
  if (isSame) table.createdRows.delete(row);
  else if (table.block[row] !== NO_ROW) leavePlace(table, row);
  const names = [labelValue(key, 'service_name'), labelValue(key, 'server_name')] as const;
  const component = componentOf(table, service, ...names);
  if (labelValue(key, NAME_LABEL) !== '') table.named.add(row);
  table.block[row] = blockOf(table, service, component, scopeOf(key, metric.family, options));
  if (key.name === TARGET_INFO) {
    table.role[row] = ROLE.metadata;
    return true;
  }
  noteNaming(table, service, key);
  linkCreated(table, row, metric, key);
  const isCompound = metric.kind === 'histogram' || metric.kind === 'summary';
  const isPart = isCompound && fileInCompound(table, row, key, pointIdOf(table, row, key));
  const isNumber = !isCompound && table.role[row] === ROLE.scalar;
  const isHead = isPart ? table.head[row] === row : isNumber;
  if (isHead && !isSame)
    registerIdentity(table, row, { key, metric, service, dropLabels: options.dropLabels });
  if (metric.isUptime) takeEvidence(table, component, row, metric);
  return true;
}

/** The two formats may file a number under two metrics that are one to the back end: its series goes on. */
function isSameSeries(table: SeriesTable, row: number, metric: Metric): boolean {
  const before = table.metrics[table.filedBefore.get(row) ?? NO_ROW];
  // Within one metric it has come from another role.
  if (before === undefined || before === metric || table.role[row] !== ROLE.scalar) return false;
  const isNumber = metric.kind !== 'histogram' && metric.kind !== 'summary';
  return isNumber && before.sentName === metric.sentName && before.kind === metric.kind;
}

/** A row that decode has filed anew, since the page now says otherwise of its family. */
function leavePlace(table: SeriesTable, row: number): void {
  const wasHead = table.head[row] === row;
  const next = unfile(table, row, part => table.filedBefore.has(part));
  if (wasHead && next !== NO_ROW) moveIdentity(table, row, next);
  else if (wasHead) forgetIdentities(table, [row]);
  table.createdRows.delete(row);
  table.savedStarts = null;
  table.startMs[row] = table.processMs[row] = Number.NaN;
}

/** What the rows of one histogram or summary have in common: metric and labels but the bound's. */
function pointIdOf(table: SeriesTable, row: number, key: SeriesKey): string {
  const role = table.role[row];
  const boundLabel = role === ROLE.bucket ? 'le' : role === ROLE.quantile ? 'quantile' : '';
  const labels = key.labels.filter(([label]) => label !== boundLabel);
  return JSON.stringify([table.metric[row], labels.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

function noteNaming(table: SeriesTable, service: number, key: SeriesKey): void {
  const slot = table.services[service];
  if (slot === undefined) return;
  if (labelValue(key, 'namespace') === '') slot.hasBare = true;
  else slot.hasNamed = true;
}

/** The scope that `otel_scope_*` labels tell, or else the family's. The order of labels makes no scope. */
function scopeOf(key: SeriesKey, family: Family, options: DeriveOptions): ScopeIdentity {
  const parts = key.labels.flatMap(([label, value]) => {
    const part = scopePart(label);
    return part === null ? [] : [[part, value] as const];
  });
  if (parts.length === 0) return scopeOfFamily(family, options);
  const part = (name: string): string => parts.find(([label]) => label === name)?.[1] ?? '';
  const attributes = parts.filter(([label]) => !['name', 'version', 'schema_url'].includes(label));
  return {
    name: part('name') === '' ? scopeOfFamily(family, options).name : part('name'),
    version: part('version'),
    schemaUrl: part('schema_url'),
    attributes: attributes.toSorted(([a], [b]) => (a < b ? -1 : 1)),
  };
}

/** Reads a target_info row of this page into the Resource; nothing happens while it is the one that was read last. */
export function readTargetInfo(table: SeriesTable, service: number, row: number): void {
  const slot = table.services[service];
  if (slot === undefined || slot.infoRow === row) return;
  const { labels } = keyOfRow(table, row);
  slot.infoRow = row;
  slot.info = new Map(labels.filter(([label]) => !NO_RESOURCE_LABELS.has(label)));
  // The Resource stands in every encoded block.
  table.isOrderStale = true;
}

const NO_RESOURCE_LABELS: ReadonlySet<string> = new Set([
  'namespace',
  'job',
  'instance',
  NAME_LABEL,
]);
