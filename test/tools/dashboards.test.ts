import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dashboards, dashboardText } from '../../tools/dashboards.ts';
import { translateExpression, withSuffixes } from '../../tools/dashboards/translation.ts';

interface DashboardFile {
  readonly panels: readonly {
    readonly type: string;
    readonly title: string;
    readonly description?: string;
  }[];
  readonly links: readonly { readonly tags: readonly string[] }[];
  readonly tags: readonly string[];
}

const folder = join(import.meta.dirname, '../../deploy/helm/dashboards');

describe('deploy/helm/dashboards', () => {
  test.each(Object.entries(dashboards))(
    '%s.json is current (`node tools/dashboards.ts` writes it)',
    (name, spec) => {
      expect(readFileSync(join(folder, `${name}.json`), 'utf8')).toBe(dashboardText(spec));
    },
  );

  test('holds nothing else', () => {
    const names = Object.keys(dashboards).map(name => `${name}.json`);
    expect(readdirSync(folder).sort()).toEqual(names.sort());
  });

  test('every panel has a description, and every dashboard a link to the others', () => {
    for (const spec of Object.values(dashboards)) {
      const { panels, links, tags } = JSON.parse(dashboardText(spec)) as DashboardFile;
      for (const { type, title, description = '' } of panels)
        if (type !== 'row') expect(description, title).toMatch(/\S{3}/);
      expect(links[0]?.tags).toEqual(tags);
    }
  });

  test('sums keep services and daemons apart', () => {
    for (const { rows, variable } of Object.values(dashboards))
      for (const { expr } of rows.flatMap(({ panels }) => panels.flatMap(one => one.queries))) {
        if (expr.startsWith('count by (version)')) continue;
        for (const [, labels = ''] of expr.matchAll(/\b(?:sum|min|max|avg|count) by \(([^)]*)\)/g))
          expect(labels.split(/, ?/), expr).toContain(variable.key);
        expect(expr, expr).not.toMatch(/\b(?:sum|min|max|avg|count) ?\(/);
      }
  });
});

describe('the default translation of Prometheus', () => {
  test('appends units and totals, once', () => {
    const check = (name: string, want: string): void => expect(withSuffixes(name)).toBe(want);
    check('engine_global_status_queries', 'engine_global_status_queries_total');
    check('engine_global_status_handlers_total', 'engine_global_status_handlers_total');
    check('engine_slave_status_seconds_behind_master', 'engine_slave_status_seconds_behind_master');
    check('engine_global_status_bytes_sent', 'engine_global_status_bytes_sent_total');
    check('engine_up', 'engine_up');
    check('prom2otlp_queue_bytes', 'prom2otlp_queue_bytes');
  });

  test('changes no name in the alert rules', () => {
    const rules = readFileSync(join(folder, '../alerts/prom2otlp.rules.yaml'), 'utf8');
    expect(translateExpression(rules)).toBe(rules);
  });
});
