// The alert rules that users get.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

export const RULES_FILE: string = join(
  import.meta.dirname,
  '../../deploy/helm/alerts/prom2otlp.rules.yaml',
);

export function shippedRules(): readonly AlertRule[] {
  const { groups } = parse(readFileSync(RULES_FILE, 'utf8')) as {
    groups: { rules: AlertRule[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}
