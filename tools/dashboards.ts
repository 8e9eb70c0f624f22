// Writes the dashboards in deploy/dashboards, which Grafana imports as they are. Run it after a change of what they show:
// `node tools/dashboards.ts`. A test sees to it.

import { writeFileSync } from 'node:fs';
import { bridge } from './dashboards/bridge.ts';
import { dashboardJson, type DashboardSpec } from './dashboards/dashboard.ts';
import { services } from './dashboards/services.ts';

export const dashboards: Readonly<Record<string, DashboardSpec>> = { bridge, services };

export function dashboardText(spec: DashboardSpec): string {
  return `${JSON.stringify(dashboardJson(spec), null, 2)}\n`;
}

if (import.meta.main)
  for (const [name, spec] of Object.entries(dashboards))
    writeFileSync(
      new URL(`../deploy/dashboards/${name}.json`, import.meta.url),
      dashboardText(spec),
    );
