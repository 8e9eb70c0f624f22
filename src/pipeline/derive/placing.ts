// Gives new rows of the plain sort their place without taking their keys apart: numbers with nothing about them but the
// labels that say whose they are, which are almost all. In: a fresh row. Out: what resolve.ts would have made of it, or
// false where it must do that. What was found out of one row is remembered for the next ones of the same page.

import type { Metric } from '../../model/metric.ts';
import { NO_ROW, ROLE, type SeriesTable } from '../../model/series-table.ts';
import { isText, KeyLabels } from '../decode/key-labels.ts';
import type { Admission } from './admission.ts';
import type { DeriveOptions } from './options.ts';
import { doubtfulLabel, isPointLabel } from './point-labels.ts';
import { blockOf, componentOf, scopeOfFamily, takeEvidence } from './places.ts';

const NAMESPACE = Buffer.from('namespace');
const SERVICE_NAME = Buffer.from('service_name');
const SERVER_NAME = Buffer.from('server_name');
const TARGET_INFO = Buffer.from('target_info');
const NO_TEXT = new Uint8Array(0);

/** Of rows that one call of resolveRows() places. */
export class Placing {
  readonly #table: SeriesTable;
  readonly #options: DeriveOptions;
  readonly #admission: Admission;
  readonly #labels = new KeyLabels();
  /** Names of points that another series may be the twin of; see twins.ts. */
  readonly #namesAtRisk = new Set<string>();
  /** By family and component. */
  readonly #blocks = new Map<string, Map<number, number>>();
  /** Values of the labels that say whose the newest row is, and what they stood for. */
  #namespace: Uint8Array = NO_TEXT;
  #serviceName: Uint8Array = NO_TEXT;
  #serverName: Uint8Array = NO_TEXT;
  #service = -1;
  #component = -1;
  /** Which labels of the key at hand these are; -1 for none. */
  #namespaceAt = -1;
  #serviceNameAt = -1;
  #serverNameAt = -1;

  constructor(table: SeriesTable, options: DeriveOptions, admission: Admission) {
    this.#table = table;
    this.#options = options;
    this.#admission = admission;
    for (const { owner } of table.identities.values()) this.noteName(owner);
  }

  /** A row that is not plain has been placed. */
  noteName(row: number): void {
    const { metrics, metric } = this.#table;
    this.#namesAtRisk.add(metrics[metric[row]!]?.sentName ?? '');
  }

  /** Places or refuses a row that is new; false when it takes resolve.ts. */
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
    // Where names come with the label and without, series may differ in it alone.
    if (isBare ? slot.hasNamed : slot.hasBare) return false;
    if (!this.#admission.takes(row, this.#service)) return true;
    this.#findComponent();
    if (isBare) slot.hasBare = true;
    else slot.hasNamed = true;
    table.block[row] = this.#blockOf(metric);
    if (metric.isUptime) takeEvidence(table, this.#component, row, metric);
    return true;
  }

  /** Finds the labels that matter; false when there are some that plain rows do not have. */
  #readLabels(row: number): boolean {
    const { keys, keyOffset, keyLength } = this.#table;
    const { dropLabels } = this.#options;
    const labels = this.#labels;
    const start = keyOffset[row]!;
    if (!labels.read(keys, start, start + keyLength[row]!)) return false;
    if (isText(keys, start, labels.nameEnd, TARGET_INFO)) return false;
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

  /** Service and component are mostly those of the row before. */
  #findService(): void {
    if (this.#service >= 0 && this.#isValue(this.#namespaceAt, this.#namespace)) return;
    this.#namespace = this.#valueOf(this.#namespaceAt);
    this.#service = this.#admission.serviceOf(textOf(this.#namespace));
    this.#component = -1;
  }

  /** Call it after #findService(). */
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

/** A number by its own name, which nothing else tells the start of. */
function isPlain(metric: Metric): boolean {
  const { kind, declared, familyName, name, sentName } = metric;
  if (kind === 'histogram' || kind === 'summary' || sentName !== name) return false;
  return declared !== 'counter' || familyName === name;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
