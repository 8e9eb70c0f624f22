// Places each new row (service, instance, block, head of its point) and resolves its metric. In:
// the rows that decode put into table.fresh. Out: the columns block and head, compounds, rows of
// uptimes. Runs once per series, not per page (docs/how-it-works/mapping.md A4, D, I). Plain rows take a faster
// path at the end of this file.

import type { PageReport } from '../../model/page.ts';
import { type Family, isCompound, type Metric } from '../../model/metric.ts';
import {
  NO_ROW,
  ROLE,
  ROW_FLAG,
  type ScopeIdentity,
  type SeriesTable,
  type ServiceSlot,
} from '../../model/series-table.ts';
import { isText, KeyLabels, keyOfRow, labelValue, type SeriesKey } from '../decode/series-key.ts';
import { Admission } from './admission.ts';
import { fileInCompound, unfile } from './compound.ts';
import { resolveMetric } from './metric-type.ts';
import type { DeriveOptions } from './options.ts';
import {
  blockOf,
  instanceOf,
  isScraped,
  scopeOfFamily,
  serviceOfRow,
  addUptime,
} from './places.ts';
import {
  doubtfulLabel,
  hasTaken,
  isAttribute,
  isPointLabel,
  NAME_LABEL,
  scopePart,
} from './point-labels.ts';
import { linkCreated } from './reset.ts';
import { forgetIdentities, moveIdentity, registerIdentity } from './duplicates.ts';

/** Its labels describe the Resource; it is not a metric (I3). */
const TARGET_INFO = 'target_info';

/** Rows resolved before the event loop may get a turn; each takes some microseconds. */
const SLICE_ROWS = 128;

/**
 * Resolves changed metrics and all fresh rows, and empties `fresh`. Notes what the limits refuse.
 * Yields between slices.
 */
export function* resolveRows(
  table: SeriesTable,
  options: DeriveOptions,
  report: PageReport,
): Generator<void, void> {
  const turned: number[] = [];
  for (const [index, metric] of table.metrics.entries()) {
    if (!metric.changed) continue;
    table.orderVersion++;
    const { kind } = metric;
    resolveMetric(metric, options);
    if (metric.kind !== kind) turned.push(index);
  }
  if (turned.length > 0) forgetStreams(table, turned);
  if (table.fresh.length === 0) return;
  const placing = new Placing(table, options, report);
  for (const [index, row] of table.fresh.entries()) {
    if (isScraped(table, row)) placing.place(row);
    if (index % SLICE_ROWS === SLICE_ROWS - 1) yield;
  }
  // A table that has just been filled is unlikely to grow much.
  if (table.fresh.length * 4 > table.count) table.trim();
  placing.admission.finish();
  table.orderVersion++;
  table.fresh.length = 0;
  table.filedBefore.clear();
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

/**
 * Whether the row continues its series: text and OpenMetrics may assign it to different metrics
 * that are the same to the back end.
 */
function isSameSeries(table: SeriesTable, row: number, metric: Metric): boolean {
  const before = table.metrics[table.filedBefore.get(row) ?? NO_ROW];
  // If the metric is the same, the row's role has changed.
  if (before === undefined || before === metric || table.role[row] !== ROLE.scalar) return false;
  return !isCompound(metric) && before.sentName === metric.sentName && before.kind === metric.kind;
}

/** Removes a row from its place because the page now assigns it to another family. */
function leavePlace(table: SeriesTable, row: number): void {
  const wasHead = table.head[row] === row;
  const next = unfile(table, row, table.filedBefore);
  // The last count of this part is lost: nothing shows any more whether the others continue.
  if (next !== NO_ROW) table.forgetStream(next);
  if (wasHead && next !== NO_ROW) moveIdentity(table, row, next);
  else if (wasHead) forgetIdentities(table, [row]);
  table.createdRows.delete(row);
  table.forgetStream(row);
  // It was sent under another name or kind: a marker would end the new series.
  table.flags[row] = table.flags[row]! & ~ROW_FLAG.sent;
}

function noteNaming(slot: ServiceSlot, isBare: boolean): void {
  if (isBare) slot.hasBare = true;
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
 * Reads a target_info row into the Resource, unless that row was read last. If a page has several,
 * the last line counts.
 */
export function readTargetInfo(table: SeriesTable, row: number): void {
  const slot = table.services[serviceOfRow(table, row)]!;
  if (slot.infoRow === row) return;
  const { infoRow } = slot;
  const isEarlier = infoRow !== NO_ROW && table.line[row]! < table.line[infoRow]!;
  if (isEarlier && table.seen[infoRow] === table.page) return;
  const { labels } = keyOfRow(table, row);
  slot.infoRow = row;
  slot.info = new Map(labels.filter(([label]) => isAttribute(label)));
  // Each encoded block contains the Resource.
  table.orderVersion++;
}

// Plain rows are almost all rows: numbers whose labels need no special treatment. They are placed
// without parsing their keys, and results are reused for the next row.

const TARGET_INFO_TEXT = Buffer.from(TARGET_INFO);
/** The labels that identify service and instance. */
const [NAMESPACE, SERVICE_NAME, SERVER_NAME] = [0, 1, 2] as const;
const PLACE_LABELS = ['namespace', 'service_name', 'server_name'].map(name => Buffer.from(name));
const NO_TEXT = new Uint8Array(0);

/** Places the rows of one call of resolveRows(). */
class Placing {
  readonly admission: Admission;
  readonly #table: SeriesTable;
  readonly #options: DeriveOptions;
  readonly #labels = new KeyLabels();
  /** Names of series that may have duplicates; see duplicates.ts. */
  readonly #namesAtRisk = new Set<string>();
  /** Block indexes, by family and instance. */
  readonly #blocks = new Map<string, Map<number, number>>();
  /** Where PLACE_LABELS are in the current key; -1 if absent. */
  readonly #at = PLACE_LABELS.map(() => -1);
  /** Their values in the newest plain row, and its service and instance. */
  readonly #texts: Uint8Array[] = PLACE_LABELS.map(() => NO_TEXT);
  #service = -1;
  #instance = -1;

  constructor(table: SeriesTable, options: DeriveOptions, report: PageReport) {
    this.#table = table;
    this.#options = options;
    this.admission = new Admission(table, options, report);
    for (const head of table.identityOf.keys()) this.#noteName(head);
  }

  /** Places or refuses a row. */
  place(row: number): void {
    if (!this.#placePlain(row)) this.#placeAny(row);
  }

  #placeAny(row: number): void {
    const table = this.#table;
    const options = this.#options;
    const key = keyOfRow(table, row);
    const metric = table.metrics[table.metric[row]!]!;
    const namespace = labelValue(key, 'namespace');
    const service = this.admission.serviceOf(namespace);
    if (table.block[row] === NO_ROW && !this.admission.takes(row, service)) return;
    const isSame = isSameSeries(table, row, metric);
    if (isSame) table.createdRows.delete(row);
    else if (table.block[row] !== NO_ROW) leavePlace(table, row);
    const names = [labelValue(key, 'service_name'), labelValue(key, 'server_name')] as const;
    const instance = instanceOf(table, service, ...names);
    if (labelValue(key, NAME_LABEL) !== '') table.named.add(row);
    if (metric.labelRules !== null && hasTaken(key.labels, metric.labelRules))
      table.unrenamed.add(row);
    table.block[row] = blockOf(table, service, instance, scopeOf(key, metric.family, options));
    this.#noteName(row);
    // From now on, this row may become the head of a point that another row leaves.
    table.filedBefore.delete(row);
    if (key.name === TARGET_INFO) {
      table.role[row] = ROLE.metadata;
      return;
    }
    noteNaming(table.services[service]!, namespace === '');
    linkCreated(table, row, key);
    const isSummary = metric.declared === 'summary';
    if (isSummary && options.summaries === 'quantiles' && table.role[row] === ROLE.quantile)
      table.role[row] = ROLE.scalar;
    const isKept = isCompound(metric) && !(isSummary && options.summaries === 'drop');
    const isPart = isKept && fileInCompound(table, row, key);
    const isNumber = !isCompound(metric) && table.role[row] === ROLE.scalar;
    const isHead = isPart ? table.head[row] === row : isNumber;
    if (isHead && !isSame) registerIdentity(table, row, key, options.dropLabels);
    if (metric.isUptime && table.role[row] === ROLE.scalar) addUptime(table, row);
  }

  /** Notes the name of a row that is not plain. */
  #noteName(row: number): void {
    const { metrics, metric } = this.#table;
    this.#namesAtRisk.add(metrics[metric[row]!]!.sentName);
  }

  /** Places or refuses a new row; false if it is not plain. */
  #placePlain(row: number): boolean {
    const table = this.#table;
    const metric = table.metrics[table.metric[row]!]!;
    if (table.block[row] !== NO_ROW || table.role[row] !== ROLE.scalar) return false;
    if (!isPlain(metric) || this.#namesAtRisk.has(metric.sentName)) return false;
    if (!this.#readLabels(row)) return false;
    this.#findService();
    const slot = table.services[this.#service];
    if (slot === undefined) {
      this.admission.takes(row, -1);
      return true;
    }
    const isBare = this.#at[NAMESPACE]! < 0;
    // If names occur with and without the label, series may differ only in it.
    if (isBare ? slot.hasNamed : slot.hasBare) return false;
    if (!this.admission.takes(row, this.#service)) return true;
    this.#findInstance();
    noteNaming(slot, isBare);
    table.block[row] = this.#blockOf(metric);
    if (metric.isUptime) addUptime(table, row);
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
    this.#at.fill(-1);
    for (let index = 0; index < labels.count; index++) {
      const from = labels.labelStart[index]!;
      const to = labels.labelEnd[index]!;
      if (labels.valueStart[index] === labels.valueEnd[index]) continue;
      for (let which = 0; which < PLACE_LABELS.length; which++)
        if (isText(keys, from, to, PLACE_LABELS[which]!)) this.#at[which] = index;
      if (this.#at[NAMESPACE] === index) continue;
      const doubtful = doubtfulLabel(keys, from, to, dropLabels);
      if (doubtful !== null && !isPointLabel(doubtful, ROLE.scalar, dropLabels)) return false;
    }
    return true;
  }

  /** Service and instance are usually those of the previous row. */
  #findService(): void {
    if (this.#service >= 0 && this.#isSame(NAMESPACE)) return;
    this.#service = this.admission.serviceOf(this.#take(NAMESPACE));
    this.#instance = -1;
  }

  /** Call this after #findService(). */
  #findInstance(): void {
    if (this.#instance >= 0 && this.#isSame(SERVICE_NAME) && this.#isSame(SERVER_NAME)) return;
    const names = [this.#take(SERVICE_NAME), this.#take(SERVER_NAME)] as const;
    this.#instance = instanceOf(this.#table, this.#service, ...names);
  }

  /** Whether the label has the value that was taken last. */
  #isSame(which: number): boolean {
    const at = this.#at[which]!;
    const text = this.#texts[which]!;
    if (at < 0) return text.length === 0;
    const { valueStart, valueEnd } = this.#labels;
    return isText(this.#table.keys, valueStart[at]!, valueEnd[at]!, text);
  }

  #take(which: number): string {
    const at = this.#at[which]!;
    const { valueStart, valueEnd } = this.#labels;
    const text = at < 0 ? NO_TEXT : this.#table.keys.subarray(valueStart[at], valueEnd[at]);
    this.#texts[which] = text;
    return Buffer.from(text.buffer, text.byteOffset, text.length).toString();
  }

  #blockOf({ family }: Metric): number {
    const table = this.#table;
    let blocks = this.#blocks.get(family);
    if (blocks === undefined) this.#blocks.set(family, (blocks = new Map()));
    let block = blocks.get(this.#instance);
    if (block === undefined) {
      const scope = scopeOfFamily(family, this.#options);
      block = blockOf(table, this.#service, this.#instance, scope);
      blocks.set(this.#instance, block);
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
