// Cuts attribute values that are longer than a back end takes (`otlp.max_attribute_length`). It travels with the writer,
// so that it holds for every attribute of points, records, scopes and Resources. Names are never cut.

import type { Counters } from '../../lib/counters.ts';
import type { Signal } from '../../model/batch.ts';

export const ATTRIBUTE_COUNTERS = {
  cut: {
    name: 'prom2otlp_attributes_cut_total',
    help: 'Attribute values cut to otlp.max_attribute_length as they were written; a series that goes on is written once.',
    labels: ['signal'],
  },
} as const;

export class AttributeLimit {
  readonly #maxLength: number;
  readonly #count: () => void;

  /** `count` is called for each value that is cut. */
  constructor(maxLength: number, count: () => void) {
    this.#maxLength = maxLength;
    this.#count = count;
  }

  /** The value, or its first characters; a character of two code units is not cut apart. */
  cut(value: string): string {
    if (value.length <= this.#maxLength) return value;
    this.#count();
    const isApart = /[\uD800-\uDBFF]/.test(value.charAt(this.#maxLength - 1));
    return value.slice(0, isApart ? this.#maxLength - 1 : this.#maxLength);
  }
}

/** The limit of a signal, with its counter; null for none. */
export function attributeLimit(
  { maxAttributeLength }: { readonly maxAttributeLength: number | null },
  signal: Signal,
  counters: Counters,
): AttributeLimit | null {
  if (maxAttributeLength === null) return null;
  const { cut } = counters.of(ATTRIBUTE_COUNTERS);
  return new AttributeLimit(maxAttributeLength, () => cut.add(1, signal));
}
