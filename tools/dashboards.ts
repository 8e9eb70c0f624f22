// Writes deploy/helm/dashboards, ready for Grafana's import. Run `node tools/dashboards.ts` after a change of
// a panel. A test compares the files.

import { writeFileSync } from 'node:fs';
import { prom2otlp } from './dashboards/prom2otlp.ts';
import { dashboardJson, type DashboardSpec } from './dashboards/dashboard.ts';
import { queries } from './dashboards/queries.ts';
import { services } from './dashboards/services.ts';
import { translateExpression } from './dashboards/translation.ts';

/** Those of prom2otlp itself and of slow queries fit every translation, because the names of their metrics already have their suffixes. */
export const dashboards: Readonly<Record<string, DashboardSpec>> = {
  prom2otlp,
  queries,
  'services-with-suffixes': translated(services),
  services: named(
    services,
    'For back ends that keep the names: VictoriaMetrics, Mimir, Prometheus with NoTranslation.',
  ),
};

function named(spec: DashboardSpec, names: string): DashboardSpec {
  return { ...spec, description: spec.description.replace('$NAMES', names) };
}

/** The same dashboard for a Prometheus with the default translation. */
function translated(spec: DashboardSpec): DashboardSpec {
  return {
    ...named(
      spec,
      'For a Prometheus with its default otlp.translation_strategy, and other back ends that translate names.',
    ),
    uid: `${spec.uid}-suffixes`,
    title: `${spec.title} (names with suffixes)`,
    rows: spec.rows.map(row => ({
      ...row,
      panels: row.panels.map(panel => ({
        ...panel,
        queries: panel.queries.map(query => ({ ...query, expr: translateExpression(query.expr) })),
      })),
    })),
  };
}

export function dashboardText(spec: DashboardSpec): string {
  return `${JSON.stringify(dashboardJson(spec), null, 2)}\n`;
}

if (import.meta.main)
  for (const [name, spec] of Object.entries(dashboards))
    writeFileSync(
      new URL(`../deploy/helm/dashboards/${name}.json`, import.meta.url),
      dashboardText(spec),
    );
