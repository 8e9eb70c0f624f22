// Gives every new row its place: service, component and block, the head of its point, and to its metric what it
// is in OTLP. In: the rows that decode put into table.fresh. Out: block and head columns, compounds, evidence
// rows for start times. Runs once per series, not per page (otlp-mapping A4, D, I).

import {
  type Family,
  type Metric,
  NO_ROW,
  ROLE,
  type ScopeIdentity,
  type SeriesTable,
} from '../../model.ts';
import { labelValue, type SeriesKey } from '../decode/series-key.ts';
import { fileInCompound, unfile } from './compound.ts';
import { linkCreated } from './created.ts';
import { keyOfRow } from './find-series.ts';
import { resolveMetric } from './metric-type.ts';
import { soleService, type DeriveOptions } from './options.ts';
import { scopePart } from './point-labels.ts';
import { forgetIdentities, moveIdentity, registerIdentity } from './twins.ts';
import { NO_EVIDENCE } from './uptime.ts';

/** Its labels describe the Resource: it is read, and is no metric (I3). */
const TARGET_INFO = 'target_info';

/** New rows that are resolved before the event loop may get its turn: each is some microseconds of work. */
const SLICE_ROWS = 512;

/** Resolves changed metrics and all fresh rows; the page's `fresh` list is empty afterwards. Yields between slices. */
export function* resolveRows(table: SeriesTable, options: DeriveOptions): Generator<void, void> {
  const turned: number[] = [];
  for (const [index, metric] of table.metrics.entries()) {
    if (!metric.changed) continue;
    table.isOrderStale = true;
    const { kind } = metric;
    resolveMetric(metric, options);
    if (metric.kind !== kind) turned.push(index);
  }
  if (turned.length > 0) beginAnew(table, turned);
  if (table.fresh.length === 0) return;
  table.isOrderStale = true;
  for (const [index, row] of table.fresh.entries()) {
    if (table.role[row] !== ROLE.synthetic && table.keyLength[row] !== 0)
      resolveRow(table, row, options);
    if (index % SLICE_ROWS === SLICE_ROWS - 1) yield;
  }
  table.fresh.length = 0;
}

/** A series of another kind is another series: what was its start says nothing of it. */
function beginAnew(table: SeriesTable, metrics: readonly number[]): void {
  table.savedStarts = null;
  const isTurned = new Uint8Array(table.metrics.length);
  for (const metric of metrics) isTurned[metric] = 1;
  for (let row = 0; row < table.count; row++)
    if (isTurned[table.metric[row] ?? 0] === 1) table.startMs[row] = Number.NaN;
}

function resolveRow(table: SeriesTable, row: number, options: DeriveOptions): void {
  const key = keyOfRow(table, row);
  const metric = table.metrics[table.metric[row] ?? 0];
  if (metric === undefined) return;
  if (table.block[row] !== NO_ROW) leavePlace(table, row);
  const service = serviceOf(table, labelValue(key, 'namespace'), options);
  const component = componentOf(table, service, key);
  table.block[row] = blockOf(table, service, component, scopeOf(key, metric.family, options));
  if (key.name === TARGET_INFO) {
    table.role[row] = ROLE.metadata;
    return;
  }
  noteNaming(table, service, key);
  linkCreated(table, row, metric, key);
  const isCompound = metric.kind === 'histogram' || metric.kind === 'summary';
  const isPart = isCompound && fileInCompound(table, row, key, pointIdOf(table, row, key));
  const isNumber = !isCompound && table.role[row] === ROLE.scalar;
  const isHead = isPart ? table.head[row] === row : isNumber;
  if (isHead)
    registerIdentity(table, row, { key, metric, service, dropLabels: options.dropLabels });
  if (metric.isUptime) takeEvidence(table, component, row, metric);
}

/** A row that decode has filed anew, since the page now says otherwise of its family. */
function leavePlace(table: SeriesTable, row: number): void {
  const wasHead = table.head[row] === row;
  const next = unfile(table, row);
  if (wasHead && next !== NO_ROW) moveIdentity(table, row, next);
  else if (wasHead) forgetIdentities(table, new Set([row]));
  table.createdRows.delete(row);
  table.savedStarts = null;
  table.startMs[row] = Number.NaN;
}

/** What the rows of one histogram or summary have in common: metric and labels but the bound's. */
function pointIdOf(table: SeriesTable, row: number, key: SeriesKey): string {
  const role = table.role[row];
  const boundLabel = role === ROLE.bucket ? 'le' : role === ROLE.quantile ? 'quantile' : '';
  const labels = key.labels.filter(([label]) => label !== boundLabel);
  return JSON.stringify([table.metric[row], labels.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/**
 * The slot of a namespace. A page without the label belongs whole to the one service of its target; where
 * several are configured it cannot be told whose it is, and the samples count as unconfigured.
 */
export function serviceOf(table: SeriesTable, namespace: string, options: DeriveOptions): number {
  const id = namespace === '' ? (soleService(options) ?? '') : namespace;
  const known = table.serviceById.get(id);
  if (known !== undefined) return known;
  const configIndex = options.configured.get(id) ?? -1;
  const isElsewhere = configIndex < 0 && id !== '' && options.otherShards?.takes(id) === true;
  const isWelcome = options.unconfigured === 'send' && id !== '' && !isElsewhere;
  const index = table.spare.services.pop() ?? table.services.length;
  table.services[index] = {
    id,
    configIndex,
    isSent: configIndex >= 0 || isWelcome,
    isElsewhere,
    info: new Map<string, string>(),
    infoRow: NO_ROW,
    seenPage: 0,
    movedAtMs: Number.NaN,
    hasNamed: false,
    hasBare: false,
    ownRows: [],
  };
  table.serviceById.set(id, index);
  return index;
}

function noteNaming(table: SeriesTable, service: number, key: SeriesKey): void {
  const slot = table.services[service];
  if (slot === undefined) return;
  if (labelValue(key, 'namespace') === '') slot.hasBare = true;
  else slot.hasNamed = true;
}

function componentOf(table: SeriesTable, service: number, key: SeriesKey): number {
  const names = [labelValue(key, 'service_name'), labelValue(key, 'server_name')];
  const id = [service, ...names].join('\u0000');
  const known = table.componentByKey.get(id);
  if (known !== undefined) return known;
  const index = table.spare.components.pop() ?? table.components.length;
  const times = { firstTimeMs: Number.NaN, newestStartMs: Number.NaN };
  table.components[index] = { service, uptimes: new Map(), ...times };
  table.componentByKey.set(id, index);
  return index;
}

/** The newest row of an uptime series is the one that counts: after a change of labels the old one is gone. */
function takeEvidence(table: SeriesTable, component: number, row: number, metric: Metric): void {
  table.savedStarts = null;
  table.components[component]?.uptimes.set(metric.name, { row, ...NO_EVIDENCE });
}

/** The block of a service's component and scope, made if it is new. */
export function blockOf(
  table: SeriesTable,
  service: number,
  component: number,
  scope: ScopeIdentity,
): number {
  const id = JSON.stringify([service, component, scope]);
  const known = table.blockByKey.get(id);
  if (known !== undefined) return known;
  const index = table.spare.blocks.pop() ?? table.blocks.length;
  table.blocks[index] = { service, component, scope, movedPage: 0 };
  table.blockByKey.set(id, index);
  return index;
}

/** The scope of a family; in strict mode there is one. A version would rename every series at each release. */
export function scopeOfFamily(family: Family, options: DeriveOptions): ScopeIdentity {
  const name = options.mapping === 'strict' ? 'prom2otlp' : `prom2otlp/${family}`;
  return { name, version: '', schemaUrl: '', attributes: [] };
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

const NO_RESOURCE_LABELS: ReadonlySet<string> = new Set(['namespace', 'job', 'instance']);
