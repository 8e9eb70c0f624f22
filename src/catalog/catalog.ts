// The meaning of the service's series: one entry per series of the specification, as data per family. Types, units and
// uptime series are facts; the descriptions are ours. lookup.ts finds an entry by a series' full name.

import type { Family } from '../model/metric.ts';

export interface CatalogEntry {
  /** Name with the catalog's own prefix (`engine_…`), as in the specification. */
  readonly name: string;
  readonly family: Family;
  readonly type: 'counter' | 'updowncounter' | 'gauge' | 'info' | 'stateset';
  /** True when the non-monotonic Sum's attributes partition a whole, so that summing over them has a meaning. */
  readonly isAdditive: boolean;
  /** UCUM; `1` is never sent. */
  readonly unit: string;
  /** Labels besides the five common ones. */
  readonly labels: readonly string[];
  readonly description: string;
  /** Name of the series that dates this counter's start, or null. */
  readonly uptimeSeries: string | null;
  readonly confidence: 'certain' | 'likely' | 'guess';
  /** The type that the service's page declares; `unknown` if it was never observed. */
  readonly declared: 'counter' | 'gauge' | 'untyped' | 'unknown';
}
