// Compares the names and types of a page with the catalog: series that appeared, vanished, changed their declared type or
// have a damaged name. In: the names on one service's good page. Out: lists for a report, which do not affect samples.

import type { DeclaredType, Family } from '../model/metric.ts';
import { CATALOG_TABLES } from './all.ts';
import type { CatalogEntry } from './catalog.ts';
import type { CatalogLookup } from './lookup.ts';

/** The number of items of one kind, and the first DRIFT_ITEMS_MAX of them in the page's order. */
export interface DriftList<Item> {
  count: number;
  readonly items: Item[];
}

export interface FamilyDrift {
  /** Names of this family that the catalog does not know. */
  readonly appeared: DriftList<string>;
  /** Catalog names that are missing although others of their table are present, in the catalog's spelling. */
  readonly vanished: DriftList<string>;
  /** Series whose declared type contradicts the catalog, except for known misdeclarations. */
  readonly contradicted: DriftList<{ readonly name: string; readonly declared: DeclaredType }>;
  /** Damaged names, with the catalog's name for each. */
  readonly mangled: DriftList<{ readonly name: string; readonly original: string }>;
}

export const DRIFT_ITEMS_MAX = 100;

/**
 * Compares the names on one service's page, each with its declared type. The result has only families with a name on
 * the page. Names of a table are only missing if others of it are present: only a replica, for example, has replica
 * status.
 */
export function driftOf(
  lookup: CatalogLookup,
  types: ReadonlyMap<string, DeclaredType>,
): ReadonlyMap<Family, FamilyDrift> {
  const drifts = new Map<Family, FamilyDrift>();
  const seen = new Set<string>();
  for (const [name, declared] of types) {
    const drift = driftIn(drifts, lookup.familyOf(name));
    const entry = lookup.find(name)?.entry;
    const original = entry === undefined ? lookup.originalOf(name) : null;
    if (original !== null) add(drift.mangled, { name, original });
    else if (entry === undefined) add(drift.appeared, name);
    else if (isContradiction(entry, declared)) add(drift.contradicted, { name, declared });
    seen.add(entry?.name ?? original ?? name);
  }
  for (const table of CATALOG_TABLES.filter(table => table.some(({ name }) => seen.has(name))))
    for (const { name, family } of table)
      if (!seen.has(name)) add(driftIn(drifts, family).vanished, name);
  return drifts;
}

function driftIn(drifts: Map<Family, FamilyDrift>, family: Family): FamilyDrift {
  const drift = drifts.get(family) ?? {
    appeared: { count: 0, items: [] },
    vanished: { count: 0, items: [] },
    contradicted: { count: 0, items: [] },
    mangled: { count: 0, items: [] },
  };
  drifts.set(family, drift);
  return drift;
}

function add<Item>(list: DriftList<Item>, item: Item): void {
  list.count++;
  if (list.items.length < DRIFT_ITEMS_MAX) list.items.push(item);
}

// The service declares almost everything gauge, untyped or not at all. That contradicts nothing, except `gauge` for a
// series that the service is known to declare counter.
function isContradiction(entry: CatalogEntry, declared: DeclaredType): boolean {
  if (declared === 'unknown') return false;
  if (declared === 'gauge') return entry.declared === 'counter';
  return entry.type !== declared;
}
