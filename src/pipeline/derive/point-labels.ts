// Which labels of a series are attributes of its points (docs/mapping.md I). The others identify
// the source, in the Resource or the scope: series that differ only in these are one series to a
// back end.

import type { LabelRules } from '../../model/metric.ts';
import { ROLE } from '../../model/series-table.ts';

const SCOPE_LABEL = 'otel_scope_';
/** Prometheus stores a series' name in this label: as an attribute it would be a second name. */
export const NAME_LABEL = '__name__';

/** True for a label that may be an attribute, of a point or of the Resource. */
export function isAttribute(label: string): boolean {
  const isOfSource = label === 'namespace' || label === 'job' || label === 'instance';
  return !isOfSource && label !== NAME_LABEL;
}

/** True for a label that stays on the points of a row with this role. */
export function isPointLabel(
  label: string,
  role: number | undefined,
  dropLabels: ReadonlySet<string>,
): boolean {
  if (!isAttribute(label)) return false;
  if (label === 'le' && role === ROLE.bucket) return false;
  if (label === 'quantile' && role === ROLE.quantile) return false;
  return scopePart(label) === null && !dropLabels.has(label);
}

/**
 * The labels of a point as they are sent: selected by isPointLabel(), then changed by
 * `metrics.rename`. A label that a rule adds or renames replaces another label of that name.
 */
export function sentLabels(
  labels: readonly (readonly [name: string, value: string])[],
  role: number | undefined,
  { dropLabels, rules }: { dropLabels: ReadonlySet<string>; rules: LabelRules | null },
): readonly (readonly [name: string, value: string])[] {
  const kept = labels.filter(([label]) => isPointLabel(label, role, dropLabels));
  if (rules === null) return kept;
  const isRenamed = ([label]: readonly [string, string]): boolean => rules.renamed.has(label);
  const moved = kept
    .filter(isRenamed)
    .map(([label, value]): [string, string] => [rules.renamed.get(label) ?? label, value]);
  const stay = kept.filter(label => !isRenamed(label));
  return [...new Map([...stay, ...moved, ...rules.added])];
}

/** The first letters of labels that may not stay on the points; see isPointLabel(). */
const SPECIAL = new Uint8Array(256);
for (const name of ['namespace', 'job', 'instance', 'le', 'quantile', NAME_LABEL, SCOPE_LABEL])
  SPECIAL[name.charCodeAt(0)] = 1;

/** The label at bytes[start, end) if it needs isPointLabel(); null if it certainly stays. */
export function doubtfulLabel(
  bytes: Buffer,
  start: number,
  end: number,
  dropLabels: ReadonlySet<string>,
): string | null {
  const isPlain = dropLabels.size === 0 && SPECIAL[bytes[start]!] === 0;
  return isPlain ? null : bytes.toString('latin1', start, end);
}

/** The part of a scope that a label contains (`name` for `otel_scope_name`), or null. */
export function scopePart(label: string): string | null {
  const part = label.startsWith(SCOPE_LABEL) ? label.slice(SCOPE_LABEL.length) : '';
  // An attribute needs a name.
  return part === '' ? null : part;
}
