// The rules of `metrics.include`, `exclude` and `rename`: whether a series is sent, which name and labels it gets, and which
// rules would make one series out of two. A rule applies to whole names on the page; the first that matches decides.
// Rules apply after the catalog's look-up: types, units and starts follow from the name on the page.

import { CATALOG } from '../catalog/all.ts';
import { type CatalogEntry, OWN_PREFIXES } from '../catalog/catalog.ts';
import type { FamilyPrefixes } from '../catalog/lookup.ts';
import { bug } from '../errors.ts';
import type { LabelRules } from '../model/metric.ts';
import type { MetricsConfig, OverrideConfig, RenameConfig } from './config.ts';

export type NameFilters = Pick<MetricsConfig, 'include' | 'exclude'>;

export function isIncluded(name: string, { include, exclude }: NameFilters): boolean {
  if (exclude.some(pattern => pattern.test(name))) return false;
  return include.length === 0 || include.some(pattern => pattern.test(name));
}

/** The result of a rule for a name. */
export interface Renamed {
  readonly name: string;
  /** null: the labels stay. */
  readonly labels: LabelRules | null;
}

/** The name and labels after the first rule that matches; null if none does. */
export function renamed(name: string, rules: readonly RenameConfig[]): Renamed | null {
  for (const { match, name: template, labels, attributes } of rules) {
    const groups = match.exec(name);
    if (groups === null) continue;
    const fill = (text: string): string =>
      text.replaceAll(/\$(\d)/g, (_, number: string) => groups[Number(number)] ?? '');
    const added = Object.entries(attributes).map(([key, text]) => [key, fill(text)] as const);
    const areSame = added.length === 0 && Object.keys(labels).length === 0;
    return {
      name: template === null ? name : fill(template) || name,
      labels: areSame ? null : { renamed: new Map(Object.entries(labels)), added },
    };
  }
  return null;
}

/** The first reference without a group, such as `$3` if the rule's expression has two; null if there is none. */
export function groupWithout({ match, name, attributes }: RenameConfig): string | null {
  const count = (RegExp(`${match.source}|`, 'u').exec('')?.length ?? bug('no match')) - 1;
  const texts = [name ?? '', ...Object.values(attributes)];
  const numbers = texts.flatMap(text => [...text.matchAll(/\$(\d)/g)].map(([, digit]) => digit));
  const wrong = numbers.find(digit => Number(digit) > count);
  return wrong === undefined ? null : `$${wrong}`;
}

/** Two series of the catalog that a rule would merge, or give one name though their types differ. */
export interface Collision {
  /** The index of the rule that renames the second series. */
  readonly rule: number;
  readonly names: readonly [string, string];
  readonly sentName: string;
  readonly areOfOneType: boolean;
}

interface CollisionRules extends NameFilters {
  readonly rename: readonly RenameConfig[];
  readonly overrides: readonly OverrideConfig[];
  readonly dropLabels: readonly string[];
  readonly prefixes: FamilyPrefixes;
}

/** The collisions among the catalog's series, under each configured prefix: at most one for each rule. */
export function collisions(rules: CollisionRules): readonly Collision[] {
  const found = new Map<number, Collision>();
  for (const family of Object.keys(rules.prefixes) as (keyof FamilyPrefixes)[])
    for (const prefix of rules.prefixes[family])
      for (const collision of collisionsOf(family, prefix, rules))
        if (!found.has(collision.rule)) found.set(collision.rule, collision);
  return [...found.values()];
}

/** Checks one prefix at a time, because a page has the series of a family under one prefix only. */
function* collisionsOf(
  family: keyof FamilyPrefixes,
  prefix: string,
  { rename, overrides, dropLabels, ...filters }: CollisionRules,
): Generator<Collision> {
  const dropped = new Set(dropLabels);
  const byName = new Map<string, { readonly name: string; readonly type: string }>();
  const bySeries = new Map<string, string>();
  const entries = CATALOG.filter(entry => entry.family === family);
  // Renamed series come last, so that each collision is reported at a rule.
  const sorted = entries
    .map(entry => ({ entry, name: prefix + entry.name.slice(OWN_PREFIXES[family].length) }))
    .filter(({ name }) => isIncluded(name, filters))
    .map(one => ({ ...one, rule: rename.findIndex(({ match }) => match.test(one.name)) }))
    .sort((a, b) => a.rule - b.rule);
  for (const { entry, name, rule } of sorted) {
    const { name: sentName, labels } = renamed(name, rename) ?? { name, labels: null };
    const type = overrides.find(({ match }) => match.test(name))?.type ?? typeOf(entry, labels);
    const first = byName.get(sentName);
    const series = JSON.stringify([sentName, sentLabels(entry, labels, dropped)]);
    const twin = bySeries.get(series);
    if (rule >= 0 && twin !== undefined)
      yield { rule, names: [twin, name], sentName, areOfOneType: true };
    else if (rule >= 0 && first !== undefined && first.type !== type)
      yield { rule, names: [first.name, name], sentName, areOfOneType: false };
    byName.set(sentName, first ?? { name, type });
    bySeries.set(series, name);
  }
}

function typeOf({ type }: CatalogEntry, labels: LabelRules | null): string {
  if (type === 'counter' || type === 'info') return type;
  return type === 'updowncounter' && isSummable(labels) ? type : 'gauge';
}

/** Metrics that a rule merges under one name may overlap, so a sum over the added labels has no meaning. */
export function isSummable(rules: LabelRules | null): boolean {
  return (rules?.added.length ?? 0) === 0;
}

/** The labels that tell the series of an entry apart, as they are sent. */
function sentLabels(
  { labels }: CatalogEntry,
  rules: LabelRules | null,
  dropped: ReadonlySet<string>,
): readonly string[] {
  const kept = labels.filter(label => !dropped.has(label));
  const added = rules?.added ?? [];
  const names = new Set(added.map(([name]) => name));
  return [
    ...kept.map(label => rules?.renamed.get(label) ?? label).filter(label => !names.has(label)),
    ...added.map(([name, value]) => `${name}=${value}`),
  ].sort();
}
