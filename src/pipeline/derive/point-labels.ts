// Which labels of a series are attributes of its points (otlp-mapping I). The others say who, not what: they are in
// the Resource or the scope, and two series that differ in them alone are one series to a back end.

import { ROLE } from '../../model/series-table.ts';

const SCOPE_LABEL = 'otel_scope_';
/** What Prometheus keeps the name of a series in: as a label it would be a second name. */
export const NAME_LABEL = '__name__';

/** True for a label that stays on the points of a row with this role. */
export function isPointLabel(
  label: string,
  role: number | undefined,
  dropLabels: ReadonlySet<string>,
): boolean {
  if (label === 'namespace' || label === 'job' || label === 'instance') return false;
  if (label === NAME_LABEL) return false;
  if (label === 'le' && role === ROLE.bucket) return false;
  if (label === 'quantile' && role === ROLE.quantile) return false;
  return !label.startsWith(SCOPE_LABEL) && !dropLabels.has(label);
}

/** What the names of all labels begin with that may not stay on the points; see isPointLabel(). */
const SPECIAL = new Uint8Array(256);
for (const name of ['namespace', 'job', 'instance', 'le', 'quantile', NAME_LABEL, SCOPE_LABEL])
  SPECIAL[name.charCodeAt(0)] = 1;

/** The label at bytes[start, end), if only isPointLabel() can tell whether it stays; null where it surely does. */
export function doubtfulLabel(
  bytes: Buffer,
  start: number,
  end: number,
  dropLabels: ReadonlySet<string>,
): string | null {
  const isPlain = dropLabels.size === 0 && SPECIAL[bytes[start]!] === 0;
  return isPlain ? null : bytes.toString('latin1', start, end);
}

/** The part of a scope that a label tells (`name` for `otel_scope_name`), or null. */
export function scopePart(label: string): string | null {
  return label.startsWith(SCOPE_LABEL) ? label.slice(SCOPE_LABEL.length) : null;
}
