// Writes src/cli/series-needs.ts: the series that each shipped alert and each panel of a service's dashboard asks for, as
// prom2otlp names them. `check --against` reads it, also where deploy/ is not installed. Run `node tools/series-needs.ts`
// after a change of an alert or a panel. A test compares the file.

import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { dashboards } from './dashboards.ts';

const RULES = new URL('../deploy/helm/alerts/prom2otlp.rules.yaml', import.meta.url);
/** A dashboard with suffixes has the panels of another, under names that the back end makes. */
const SUFFIXES = '-with-suffixes';

const HEAD = `// The series that each shipped alert and dashboard panel asks for. tools/series-needs.ts generates this file.

/** One line each: \`alert|panel TAB title TAB names\`. */
export const SERIES_NEEDS: string = \`
`;

/** The whole file. */
export function seriesNeedsText(): string {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  const alerts = groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr }) => ({ kind: 'alert', title: alert, exprs: [expr] })),
  );
  const rows = Object.entries(dashboards)
    .filter(([name]) => !name.endsWith(SUFFIXES))
    .flatMap(([, spec]) => spec.rows);
  const panels = rows.flatMap(row =>
    row.panels.map(panel => ({
      kind: 'panel',
      title: `${row.title}: ${panel.title}`,
      exprs: panel.queries.map(({ expr }) => expr),
    })),
  );
  const lines = [...alerts, ...panels].map(({ kind, title, exprs }) => {
    const names = [...new Set(exprs.flatMap(seriesIn))].sort();
    return `${kind}\t${title}\t${names.join(' ')}\n`;
  });
  return `${HEAD}${lines.join('')}\`;\n`;
}

const WORDS = /^(?:and|or|unless|bool|offset|start|end|atan2|inf|nan|group_left|group_right)$/i;

/** The names of the series in an expression of PromQL; they are given as names, not as `__name__`. */
export function seriesIn(expr: string): readonly string[] {
  const bare = expr
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
    .replaceAll(/#.*$/gm, '')
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right) *\([^)]*\)/g, '');
  return [...bare.matchAll(/(?<![\w.:$])[a-zA-Z_:][\w:]*(?!\w)(?! *\()/g)]
    .map(([name]) => name)
    .filter(name => !WORDS.test(name));
}

if (import.meta.main)
  writeFileSync(new URL('../src/cli/series-needs.ts', import.meta.url), seriesNeedsText());
