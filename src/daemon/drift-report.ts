// Compares the pages of a target with the catalog (docs/how-it-works/mapping.md, B): names that appeared or
// vanished, declared types that contradict it, damaged names. In: the metrics of a good page. Out:
// a report with the number of new findings if anything has changed since the last one, else null.

import { driftOf, type FamilyDrift } from '../catalog/drift.ts';
import type { DeclaredType, Family, Metric } from '../model/metric.ts';
import type { SeriesTable } from '../model/series-table.ts';
import type { DeriveOptions } from '../pipeline/derive/options.ts';

export interface DriftReport {
  readonly families: ReadonlyMap<Family, FamilyDrift>;
  /** Findings that the previous report did not have. */
  readonly added: Readonly<Record<keyof FamilyDrift, number>>;
}

/** Call this after a good page has been translated. Strict mode has no catalog. */
export function reportDrift(table: SeriesTable, options: DeriveOptions): DriftReport | null {
  if (options.mapping === 'strict') return null;
  const { drift } = table;
  const fingerprint = fingerprintOf(table);
  if (fingerprint === drift.fingerprint) return null;
  drift.fingerprint = fingerprint;
  const declared = new Map<string, DeclaredType>();
  for (const metric of table.metrics)
    if (isOnPage(table, metric)) declared.set(metric.name, metric.declared);
  const families = driftOf(options.lookup, declared);
  const found = new Set<string>();
  const added = { appeared: 0, vanished: 0, contradicted: 0, mangled: 0 };
  for (const [family, lists] of families)
    for (const kind of ['appeared', 'vanished', 'contradicted', 'mangled'] as const)
      for (const item of lists[kind].items) {
        const finding = JSON.stringify([family, kind, item]);
        found.add(finding);
        if (!drift.found.has(finding)) added[kind]++;
      }
  drift.found = found;
  return { families, added };
}

/** Changes when a name appears or vanishes or its declared type changes. */
function fingerprintOf(table: SeriesTable): number {
  let hash = 1;
  for (const [index, metric] of table.metrics.entries()) {
    if (!isOnPage(table, metric)) continue;
    hash = Math.imul(hash ^ index, 0x01000193);
    hash = Math.imul(hash ^ metric.declared.length, 0x01000193);
    hash = Math.imul(hash ^ metric.declared.charCodeAt(0), 0x01000193);
  }
  return hash;
}

/** prom2otlp's own metrics have seenPage 0. */
function isOnPage(table: SeriesTable, metric: Metric): boolean {
  return metric.seenPage === table.page;
}
