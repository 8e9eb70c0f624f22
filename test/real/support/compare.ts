// The comparison of the real tests: compares the series that arrived with the page, series by series and value by value.

import { expect } from 'vitest';
import type { PageSeries } from './exposition.ts';

/**
 * Labels by which back ends distinguish resources and scopes; none of them is on the page. (VictoriaMetrics gives
 * a scope without a version the version `unknown`.)
 */
const ENVELOPE_LABELS =
  /^(service\.name|service\.instance\.id|server\.address|server\.port|url\.scheme|scope\.(name|version)|job|instance|otel_scope_.*)$/;

/** The labels of a stored series that are on the page; without its name. */
export function pageLabels(stored: Readonly<Record<string, string>>): Record<string, string> {
  const { __name__: _name, ...labels } = stored;
  return Object.fromEntries(
    Object.entries(labels).filter(([label]) => !ENVELOPE_LABELS.test(label)),
  );
}

/** VictoriaMetrics keeps decimals, not doubles, and rounds at about twelve digits. */
export function isNear(sent: number, stored: number): boolean {
  return Object.is(sent, stored) || Math.abs(sent - stored) <= Math.abs(sent) * 1e-12;
}

export interface Differences {
  readonly missing: string[];
  readonly extra: string[];
  readonly different: string[];
}

/** Numbers are equal when they are the same double; NaN equals NaN. */
function differences(
  page: ReadonlyMap<string, PageSeries>,
  arrived: ReadonlyMap<string, number>,
  isEqual: (sent: number, stored: number) => boolean = Object.is,
): Differences {
  const found: Differences = { missing: [], extra: [], different: [] };
  for (const [key, { value }] of page) {
    const stored = arrived.get(key);
    if (stored === undefined) found.missing.push(key);
    else if (!isEqual(value, stored)) found.different.push(`${key}: ${value} became ${stored}`);
  }
  for (const key of arrived.keys()) if (!page.has(key)) found.extra.push(key);
  return found;
}

/** Expects that no series is missing, extra or different, and that the numbers of series are equal. */
export function expectSame(
  page: ReadonlyMap<string, PageSeries>,
  arrived: ReadonlyMap<string, number>,
  isEqual?: (sent: number, stored: number) => boolean,
): void {
  expect(differences(page, arrived, isEqual)).toEqual({ missing: [], extra: [], different: [] });
  expect(arrived.size).toBe(page.size);
}
