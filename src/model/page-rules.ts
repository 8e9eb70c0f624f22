// What a configuration may say about the series of a page: limits, which names to send, other names and types. decode
// and derive take these shapes, so the data plane knows nothing of YAML; the keys of `metrics` (config/keys.ts) have
// them, which the compiler checks where a configuration enters (derive/options.ts). Rules of names apply to whole names on
// the page; the first that matches decides. They apply after the catalog's look-up: types, units and starts follow from
// the name on the page.

import { bug } from '../errors.ts';
import type { LabelRules } from './metric.ts';

/** Infinity: no limit. Bytes, or numbers of what is named. */
export interface PageLimits {
  /** For pages and series of all targets, by estimate. */
  readonly memoryBytes: number;
  readonly bodyBytes: number;
  readonly samples: number;
  readonly serviceSamples: number;
  readonly series: number;
  readonly labels: number;
  readonly nameBytes: number;
  readonly valueBytes: number;
}

export interface NameFilters {
  readonly include: readonly RegExp[];
  readonly exclude: readonly RegExp[];
}

/** The user's word over the catalog's; null: the catalog's stays. */
export interface OverrideRule {
  readonly match: RegExp;
  readonly type: 'counter' | 'gauge' | 'info' | 'stateset' | 'updowncounter' | null;
  readonly unit: string | null;
  readonly description: string | null;
  readonly uptimeSeries: string | null;
}

/** The texts may refer to the groups of `match`, as `$1`. */
export interface RenameRule {
  readonly match: RegExp;
  readonly name: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, string>>;
}

/** All that derive and encode do with the series of a page. */
export interface PageRules extends NameFilters {
  readonly limits: PageLimits;
  readonly intervalMs: number;
  readonly mapping: 'semantic' | 'strict';
  readonly namespace: 'resource' | 'prefix';
  readonly overrides: readonly OverrideRule[];
  readonly rename: readonly RenameRule[];
  readonly units: 'catalog' | 'page' | 'none';
  readonly honorTimestamps: boolean;
  readonly staleMarkers: boolean;
  readonly staleAfterMs: number;
  readonly summaries: 'send' | 'quantiles' | 'drop';
  readonly badShare: number;
}

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
export function renamed(name: string, rules: readonly RenameRule[]): Renamed | null {
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
export function groupWithout({ match, name, attributes }: RenameRule): string | null {
  const count = (RegExp(`${match.source}|`, 'u').exec('')?.length ?? bug('no match')) - 1;
  const texts = [name ?? '', ...Object.values(attributes)];
  const numbers = texts.flatMap(text => [...text.matchAll(/\$(\d)/g)].map(([, digit]) => digit));
  const wrong = numbers.find(digit => Number(digit) > count);
  return wrong === undefined ? null : `$${wrong}`;
}

/** Metrics that a rule merges under one name may overlap, so a sum over the added labels has no meaning. */
export function isSummable(rules: LabelRules | null): boolean {
  return (rules?.added.length ?? 0) === 0;
}
