// Places each new row: service, component and block, the head of its point; and resolves its
// metric. In: the rows that decode put into table.fresh. Out: the columns block and head,
// compounds, rows of uptimes. Runs once per series, not per page (otlp-mapping A4, D, I). Plain
// rows take a faster path at the end of this file.

import { type Family, isCompound, type Metric } from '../../model/metric.ts';
import {
  NO_ROW,
  ROLE,
  ROW_FLAG,
  type ScopeIdentity,
  type SeriesTable,
} from '../../model/series-table.ts';
import { isText, KeyLabels, keyOfRow, labelValue, type SeriesKey } from '../decode/series-key.ts';
import { Admission, type Refused } from './admission.ts';
import { fileInCompound, unfile } from './compound.ts';
import { resolveMetric } from './metric-type.ts';
import type { DeriveOptions } from './options.ts';
import {
  blockOf,
  componentOf,
  isScraped,
  scopeOfFamily,
  serviceOfRow,
  takeEvidence,
} from './places.ts';
import { doubtfulLabel, isPointLabel, NAME_LABEL, scopePart } from './point-labels.ts';
import { linkCreated } from './reset.ts';
import { forgetIdentities, moveIdentity, registerIdentity } from './duplicates.ts';

/** Its labels describe the Resource; it is not a metric (I3). */
const TARGET_INFO = 'target_info';

/** Rows resolved before the event loop may get a turn; each takes some microseconds. */
const SLICE_ROWS = 128;

/**
 * Resolves changed metrics and all fresh rows, and empties `fresh`. Returns the refused rows'
 * counts, or null. Yields between slices.
 */
export function* resolveRows(
  table: SeriesTable,
  options: DeriveOptions,
): Generator<void, Refused | null> {
  const turned: number[] = [];
  for (const [index, metric] of table.metrics.entries()) {
    if (!metric.changed) continue;
    table.orderVersion++;
    const { kind } = metric;
    resolveMetric(metric, options);
    if (metric.kind !== kind) turned.push(index);
  }
  if (turned.length > 0) forgetStreams(table, turned);
  if (table.fresh.length === 0) return null;
  table.orderVersion++;
  const admission = new Admission(table, options);
  const placing = new Placing(table, options, admission);
  for (const [index, row] of table.fresh.entries()) {
    const isPlaced = !isScraped(table, row) || placing.place(row);
    if (!isPlaced && resolveRow(table, row, options, admission)) {
      placing.noteName(row);
      // The row has its new place: rows that leave a point from now on may hand it over to this
      // row.
      table.filedBefore.delete(row);
    }
    if (index % SLICE_ROWS === SLICE_ROWS - 1) yield;
  }
  // A table that has just been filled is unlikely to grow much.
  if (table.fresh.length * 4 > table.count) table.trim();
  const refused = admission.finish();
  table.fresh.length = 0;
  table.filedBefore.clear();
  return refused;
}

/**
 * A metric of another kind is another series: its start is void. leavePlace() decides for moved
 * rows.
 */
function forgetStreams(table: SeriesTable, metrics: readonly number[]): void {
  const isTurned = new Uint8Array(table.metrics.length);
  for (const metric of metrics) isTurned[metric] = 1;
  for (let row = 0; row < table.count; row++)
    if (isTurned[table.metric[row]!] === 1 && !table.filedBefore.has(row)) table.forgetStream(row);
}

/** False for a refused row. */
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
  const isPart = isCompound(metric) && fileInCompound(table, row, key, pointIdOf(table, row, key));
  const isNumber = !isCompound(metric) && table.role[row] === ROLE.scalar;
  const isHead = isPart ? table.head[row] === row : isNumber;
  if (isHead && !isSame)
    registerIdentity(table, row, { key, metric, service, dropLabels: options.dropLabels });
  if (metric.isUptime) takeEvidence(table, component, row, metric);
  return true;
}

/**
 * Whether the row continues its series: text and OpenMetrics may assign it to different metrics
 * that are one to the back end.
 */
function isSameSeries(table: SeriesTable, row: number, metric: Metric): boolean {
  const before = table.metrics[table.filedBefore.get(row) ?? NO_ROW];
  // Within one metric, the row has changed its role.
  if (before === undefined || before === metric || table.role[row] !== ROLE.scalar) return false;
  return !isCompound(metric) && before.sentName === metric.sentName && before.kind === metric.kind;
}

/** Removes a row from its place because the page now assigns it to another family. */
function leavePlace(table: SeriesTable, row: number): void {
  const wasHead = table.head[row] === row;
  const next = unfile(table, row, table.filedBefore);
  // With a part goes its last count: nothing shows any more whether the rest goes on.
  if (next !== NO_ROW) table.forgetStream(next);
  if (wasHead && next !== NO_ROW) moveIdentity(table, row, next);
  else if (wasHead) forgetIdentities(table, [row]);
  table.createdRows.delete(row);
  table.forgetStream(row);
  // It was sent under another name or kind: a marker would end the new series.
  table.flags[row] = table.flags[row]! & ~ROW_FLAG.sent;
}

/** The common id of the rows of a histogram or summary: metric and labels without the bound. */
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

/**
 * The scope from `otel_scope_*` labels, else the family's. The order of the labels does not matter.
 */
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

/**
 * Reads a target_info row into the Resource, unless it is the row that was read last. Of several on a page the last
 * line counts.
 */
export function readTargetInfo(table: SeriesTable, row: number): void {
  const slot = table.services[serviceOfRow(table, row)];
  if (slot === undefined || slot.infoRow === row) return;
  const { infoRow } = slot;
  const isEarlier = infoRow !== NO_ROW && table.line[row]! < table.line[infoRow]!;
  if (isEarlier && table.seen[infoRow] === table.page) return;
  const { labels } = keyOfRow(table, row);
  slot.infoRow = row;
  slot.info = new Map(labels.filter(([label]) => !NO_RESOURCE_LABELS.has(label)));
  // Each encoded block contains the Resource.
  table.orderVersion++;
}

const NO_RESOURCE_LABELS: ReadonlySet<string> = new Set([
  'namespace',
  'job',
  'instance',
  NAME_LABEL,
]);

// Plain rows are almost all rows: numbers whose labels need no special treatment. They are placed
// without parsing their keys, and results are reused for the next row.

const NAMESPACE = Buffer.from('namespace');
const SERVICE_NAME = Buffer.from('service_name');
const SERVER_NAME = Buffer.from('server_name');
const TARGET_INFO_TEXT = Buffer.from(TARGET_INFO);
const NO_TEXT = new Uint8Array(0);

/** Places the plain rows of one call of resolveRows(). */
class Placing {
  readonly #table: SeriesTable;
  readonly #options: DeriveOptions;
  readonly #admission: Admission;
  readonly #labels = new KeyLabels();
  /** Names of series that may have duplicates; see duplicates.ts. */
  readonly #namesAtRisk = new Set<string>();
  /** By family and component. */
  readonly #blocks = new Map<string, Map<number, number>>();
  /** The identifying labels' values of the newest row, and their service and component. */
  #namespace: Uint8Array = NO_TEXT;
  #serviceName: Uint8Array = NO_TEXT;
  #serverName: Uint8Array = NO_TEXT;
  #service = -1;
  #component = -1;
  /** The positions of these labels in the current key; -1 if absent. */
  #namespaceAt = -1;
  #serviceNameAt = -1;
  #serverNameAt = -1;

  constructor(table: SeriesTable, options: DeriveOptions, admission: Admission) {
    this.#table = table;
    this.#options = options;
    this.#admission = admission;
    for (const { owner } of table.identities.values()) this.noteName(owner);
  }

  /** Notes the name of a row that is not plain. */
  noteName(row: number): void {
    const { metrics, metric } = this.#table;
    this.#namesAtRisk.add(metrics[metric[row]!]!.sentName);
  }

  /** Places or refuses a new row; false if it is not plain. */
  place(row: number): boolean {
    const table = this.#table;
    const metric = table.metrics[table.metric[row]!]!;
    if (table.block[row] !== NO_ROW || table.role[row] !== ROLE.scalar) return false;
    if (!isPlain(metric) || this.#namesAtRisk.has(metric.sentName)) return false;
    if (!this.#readLabels(row)) return false;
    this.#findService();
    const slot = table.services[this.#service];
    if (slot === undefined) {
      this.#admission.takes(row, -1);
      return true;
    }
    const isBare = this.#namespaceAt < 0;
    // If names occur with and without the label, series may differ only in it.
    if (isBare ? slot.hasNamed : slot.hasBare) return false;
    if (!this.#admission.takes(row, this.#service)) return true;
    this.#findComponent();
    if (isBare) slot.hasBare = true;
    else slot.hasNamed = true;
    table.block[row] = this.#blockOf(metric);
    if (metric.isUptime) takeEvidence(table, this.#component, row, metric);
    return true;
  }

  /** Finds the relevant labels; false if the key has labels that plain rows do not have. */
  #readLabels(row: number): boolean {
    const { keys, keyOffset, keyLength } = this.#table;
    const { dropLabels } = this.#options;
    const labels = this.#labels;
    const start = keyOffset[row]!;
    if (!labels.read(keys, start, start + keyLength[row]!)) return false;
    if (isText(keys, start, labels.nameEnd, TARGET_INFO_TEXT)) return false;
    this.#namespaceAt = this.#serviceNameAt = this.#serverNameAt = -1;
    for (let index = 0; index < labels.count; index++) {
      const from = labels.labelStart[index]!;
      const to = labels.labelEnd[index]!;
      if (labels.valueStart[index] === labels.valueEnd[index]) continue;
      if (isText(keys, from, to, NAMESPACE)) {
        this.#namespaceAt = index;
        continue;
      }
      if (isText(keys, from, to, SERVICE_NAME)) this.#serviceNameAt = index;
      else if (isText(keys, from, to, SERVER_NAME)) this.#serverNameAt = index;
      const doubtful = doubtfulLabel(keys, from, to, dropLabels);
      if (doubtful !== null && !isPointLabel(doubtful, ROLE.scalar, dropLabels)) return false;
    }
    return true;
  }

  /** Service and component are usually those of the previous row. */
  #findService(): void {
    if (this.#service >= 0 && this.#isValue(this.#namespaceAt, this.#namespace)) return;
    this.#namespace = this.#valueOf(this.#namespaceAt);
    this.#service = this.#admission.serviceOf(textOf(this.#namespace));
    this.#component = -1;
  }

  /** Call this after #findService(). */
  #findComponent(): void {
    const isSame =
      this.#component >= 0 &&
      this.#isValue(this.#serviceNameAt, this.#serviceName) &&
      this.#isValue(this.#serverNameAt, this.#serverName);
    if (isSame) return;
    this.#serviceName = this.#valueOf(this.#serviceNameAt);
    this.#serverName = this.#valueOf(this.#serverNameAt);
    const [serviceName, serverName] = [textOf(this.#serviceName), textOf(this.#serverName)];
    this.#component = componentOf(this.#table, this.#service, serviceName, serverName);
  }

  #isValue(index: number, text: Uint8Array): boolean {
    if (index < 0) return text.length === 0;
    const { valueStart, valueEnd } = this.#labels;
    return isText(this.#table.keys, valueStart[index]!, valueEnd[index]!, text);
  }

  #valueOf(index: number): Uint8Array {
    if (index < 0) return NO_TEXT;
    const { valueStart, valueEnd } = this.#labels;
    return this.#table.keys.subarray(valueStart[index], valueEnd[index]);
  }

  #blockOf({ family }: Metric): number {
    const table = this.#table;
    let blocks = this.#blocks.get(family);
    if (blocks === undefined) this.#blocks.set(family, (blocks = new Map()));
    let block = blocks.get(this.#component);
    if (block === undefined) {
      const scope = scopeOfFamily(family, this.#options);
      block = blockOf(table, this.#service, this.#component, scope);
      blocks.set(this.#component, block);
    }
    return block;
  }
}

/** A number under its own name, without a creation time. */
function isPlain(metric: Metric): boolean {
  const { declared, familyName, name, sentName, labelRules } = metric;
  if (isCompound(metric) || sentName !== name || labelRules !== null) return false;
  return declared !== 'counter' || familyName === name;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
