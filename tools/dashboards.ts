// Writes the dashboards in deploy/dashboards, ready for Grafana's import. Run `node tools/dashboards.ts` after a change of
// a panel. A test compares the files.

import { writeFileSync } from 'node:fs';
import { prom2otlp } from './dashboards/prom2otlp.ts';
import { dashboardJson, type DashboardSpec } from './dashboards/dashboard.ts';
import { services } from './dashboards/services.ts';

export const dashboards: Readonly<Record<string, DashboardSpec>> = { prom2otlp, services };

export function dashboardText(spec: DashboardSpec): string {
  return `${JSON.stringify(dashboardJson(spec), null, 2)}\n`;
}

if (import.meta.main)
  for (const [name, spec] of Object.entries(dashboards))
    writeFileSync(
      new URL(`../deploy/dashboards/${name}.json`, import.meta.url),
      dashboardText(spec),
    );
