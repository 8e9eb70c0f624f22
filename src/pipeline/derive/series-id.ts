// Identifies a series in other processes of prom2otlp by 53 bits of its name, labels and service.
// The bits do not depend on the order or spelling of the labels, or on whether the service comes
// from the label `namespace`. In: a row with its key. Out: the hash of the table's index, and bits
// of a second sum over name and labels, which is made once for each row.

import type { SeriesTable } from '../../model/series-table.ts';
import { hashOfLabel, mix } from '../decode/sample-line.ts';
import { isText, KeyLabels, keyOfRow } from '../decode/series-key.ts';

const NAMESPACE = Buffer.from('namespace');
/** Not the constants of FNV: the second sum must tell apart series that the first one does not. */
const SEED = 0x2545f491;
const PRIME = 0x9e3779b1;
const SUM_BITS = 2 ** 21;
/** Flags above the second sum in labelSum: the sum is made; the key has no namespace. */
const IS_MADE = 2 ** 22;
const IS_BARE = 2 ** 23;

/** Makes the ids of rows. */
export class SeriesIds {
  readonly #table: SeriesTable;
  readonly #labels = new KeyLabels();
  /** By service id, what its namespace adds to a hash of the index. */
  readonly #namespaces = new Map<string, number>();

  constructor(table: SeriesTable) {
    this.#table = table;
  }

  /** The id of a row of this service. */
  idOf(row: number, service: number): number {
    const { hash, labelSum, services } = this.#table;
    const id = services[service]?.id ?? '';
    const sum = (labelSum[row] ||= this.#sumOf(row, id));
    const namespace = (sum & IS_BARE) === 0 ? 0 : this.#hashOf(id);
    return ((hash[row]! + namespace) >>> 0) * SUM_BITS + (sum & (SUM_BITS - 1));
  }

  #hashOf(id: string): number {
    const known = this.#namespaces.get(id) ?? hashOfLabel('namespace', id);
    this.#namespaces.set(id, known);
    return known;
  }

  #sumOf(row: number, serviceId: string): number {
    const { keys, keyOffset, keyLength } = this.#table;
    const start = keyOffset[row]!;
    const labels = this.#labels;
    let isBare = true;
    let sum = 0;
    if (labels.read(keys, start, start + keyLength[row]!)) {
      sum = sumOfBytes(SEED, keys, start, labels.nameEnd);
      for (let i = 0; i < labels.count; i++) {
        const [from, to] = [labels.valueStart[i]!, labels.valueEnd[i]!];
        if (from === to) continue;
        if (isText(keys, labels.labelStart[i]!, labels.labelEnd[i]!, NAMESPACE)) isBare = false;
        const label = sumOfBytes(SEED, keys, labels.labelStart[i]!, labels.labelEnd[i]!);
        sum += sumOfBytes(label, keys, from, to);
      }
    } else {
      const key = keyOfRow(this.#table, row);
      sum = sumOfText(SEED, key.name);
      for (const [label, value] of key.labels) sum += sumOfLabel(label, value);
      isBare = key.labels.every(([label]) => label !== 'namespace');
    }
    if (isBare) sum += sumOfLabel('namespace', serviceId);
    return (sum & (SUM_BITS - 1)) | IS_MADE | (isBare ? IS_BARE : 0);
  }
}

function sumOfLabel(label: string, value: string): number {
  return sumOfText(sumOfText(SEED, label), value);
}

function sumOfText(seed: number, text: string): number {
  const bytes = Buffer.from(text);
  return sumOfBytes(seed, bytes, 0, bytes.length);
}

function sumOfBytes(seed: number, bytes: Uint8Array, start: number, end: number): number {
  let sum = seed;
  for (let at = start; at < end; at++) sum = Math.imul(sum ^ bytes[at]!, PRIME);
  return mix(sum);
}
