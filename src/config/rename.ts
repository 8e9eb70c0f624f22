// The rules of `metrics.include`, `exclude` and `rename`: whether a series is sent, and which name and labels it gets. A
// rule applies to whole names on the page; the first that matches decides. Rules apply after the catalog's look-up:
// types, units and starts follow from the name on the page.

import { bug } from '../errors.ts';
import type { LabelRules } from '../model/metric.ts';
import type { MetricsConfig, RenameConfig } from './config.ts';

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

/** Metrics that a rule merges under one name may overlap, so a sum over the added labels has no meaning. */
export function isSummable(rules: LabelRules | null): boolean {
  return (rules?.added.length ?? 0) === 0;
}
