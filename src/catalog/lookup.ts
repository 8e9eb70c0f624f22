// Finds the catalog entry of a name on the page. `metrics.prefixes` maps prefixes to families; the longest match wins and
// is replaced by the catalog's own prefix, so that `engine: [engine_, mysql_]` gives `mysql_global_status_uptime` the
// entry of `engine_global_status_uptime`.

import type { Family } from '../model/metric.ts';
import { CATALOG } from './all.ts';
import { type CatalogEntry, OWN_PREFIXES, type OwnFamily } from './catalog.ts';

/** The configured `metrics.prefixes`. A family without a prefix has no series. */
export type FamilyPrefixes = Readonly<Record<PrefixedFamily, readonly string[]>>;

type PrefixedFamily = Exclude<OwnFamily, 'process'>;

export interface CatalogMatch {
  readonly entry: CatalogEntry;
  /** The series that dates this counter, with the prefix of the given name; or null. */
  readonly uptimeName: string | null;
}

export interface CatalogLookup {
  /** The entry for a full sample name, or null if the catalog has none. */
  find(name: string): CatalogMatch | null;
  /** The family of any name, by its prefix, whether the catalog knows it or not. */
  familyOf(name: string): Family;
  /** The catalog's name for a name damaged by the service's relabelling, or null. For reports, never for types. */
  originalOf(name: string): string | null;
}

const ENTRIES: ReadonlyMap<string, CatalogEntry> = new Map(
  CATALOG.map(entry => [entry.name, entry]),
);

interface PrefixRule {
  readonly family: OwnFamily;
  readonly prefix: string;
}

/** Sorts the prefixes once; a look-up costs a few string comparisons and one Map access. */
export function createCatalogLookup(prefixes: FamilyPrefixes): CatalogLookup {
  const families = Object.keys(prefixes) as PrefixedFamily[];
  const rules: PrefixRule[] = families.flatMap(family =>
    prefixes[family].map(prefix => ({ family, prefix })),
  );
  rules.push({ family: 'process', prefix: OWN_PREFIXES.process });
  rules.sort((a, b) => b.prefix.length - a.prefix.length);
  const ruleOf = (name: string): PrefixRule | undefined =>
    rules.find(rule => name.startsWith(rule.prefix));
  const find = (name: string): CatalogMatch | null => {
    const rule = ruleOf(name);
    if (rule === undefined) return null;
    const own = OWN_PREFIXES[rule.family];
    const entry = ENTRIES.get(own + name.slice(rule.prefix.length));
    // A mapped prefix must not reach into another family: `mysql_dist_x` is not `engine_dist_x`.
    if (entry === undefined || entry.family !== rule.family) return null;
    const uptimeName = entry.uptimeSeries?.replace(own, rule.prefix) ?? null;
    return { entry, uptimeName };
  };
  return {
    find,
    familyOf: name => ruleOf(name)?.family ?? 'other',
    originalOf: name => {
      const rule = ruleOf(name);
      if (rule?.family !== 'dist' || find(name) !== null) return null;
      return unmangle(name.slice(rule.prefix.length), rules);
    },
  };
}

const MANGLED_HEAD = 'sta';
const STATS_HEAD = `${OWN_PREFIXES.dist}stats_`;
const STATS_TAILS: readonly string[] = CATALOG.filter(entry =>
  entry.name.startsWith(STATS_HEAD),
).map(entry => entry.name.slice(STATS_HEAD.length));

// The service renames by an expression without an anchor, which also matches the inner `ts_` of `stats_`:
// `stats_Com_select` becomes `sta` + something + `Com_select`. The inserted text is unknown: before the distinctive
// `Com_` it may be anything, before a common word only nothing or a family's prefix.
function unmangle(tail: string, rules: readonly PrefixRule[]): string | null {
  if (!tail.startsWith(MANGLED_HEAD)) return null;
  for (const end of STATS_TAILS) {
    if (!tail.endsWith(end) || tail.length < MANGLED_HEAD.length + end.length) continue;
    const inserted = tail.slice(MANGLED_HEAD.length, -end.length);
    const isKnown = inserted === '' || rules.some(rule => rule.prefix === inserted);
    if (isKnown || end.startsWith('Com_')) return STATS_HEAD + end;
  }
  return null;
}
