// Which labels of a series are attributes of its points (docs/how-it-works/mapping.md I). The others identify
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

type Label = readonly [name: string, value: string];

/**
 * The labels of a point as they are sent: selected by isPointLabel(), then changed by
 * `metrics.rename`. No label takes the name of one that the series has: see `hasTaken`.
 */
export function sentLabels(
  labels: readonly Label[],
  role: number | undefined,
  { dropLabels, rules }: { dropLabels: ReadonlySet<string>; rules: LabelRules | null },
): readonly Label[] {
  const kept = labels.filter(([label]) => isPointLabel(label, role, dropLabels));
  return rules === null ? kept : applied(kept, rules).labels;
}

/** Whether a rule would give a label, or add one, under a name that the series has: it keeps its own, or is left out. */
export function hasTaken(labels: readonly Label[], rules: LabelRules): boolean {
  return applied(labels, rules).isTaken;
}

function applied(
  labels: readonly Label[],
  { renamed, added }: LabelRules,
): { readonly labels: readonly Label[]; readonly isTaken: boolean } {
  const names = new Map(labels.map(([label]) => [label, renamed.get(label) ?? label]));
  // A label that keeps its name may be in the way of another one.
  for (let isSettled = false; !isSettled; ) {
    isSettled = true;
    const own = new Set([...names].flatMap(([label, name]) => (label === name ? [name] : [])));
    for (const [label, name] of names) {
      if (label === name) continue;
      if (own.has(name)) {
        names.set(label, label);
        isSettled = false;
      } else own.add(name);
    }
  }
  const isMoved = ([label]: Label): boolean => names.get(label) !== label;
  const moved = labels.map(([label, value]): Label => [names.get(label) ?? label, value]);
  const taken = new Set(names.values());
  const free = added.filter(([name]) => !taken.has(name));
  const wanted = labels.filter(([label]) => (renamed.get(label) ?? label) !== label);
  const isTaken = free.length < added.length || wanted.length > labels.filter(isMoved).length;
  return { labels: [...moved, ...free], isTaken };
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
