// docs/runbooks.md: a section for each alert and no other, each with its meaning, how to see it, and what to do; and a
// link to it in each rule.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const document = readFileSync(join(root, 'docs/runbooks.md'), 'utf8');
const rules = parse(
  readFileSync(join(root, 'deploy/helm/alerts/prom2otlp.rules.yaml'), 'utf8'),
) as RuleFile;
const alerts = rules.groups.flatMap(group => group.rules);

interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly annotations: { readonly runbook_url?: string };
    }[];
  }[];
}

const sections = new Map(
  document
    .split('\n### ')
    .slice(1)
    .map(text => {
      const [title = '', ...lines] = text.split('\n');
      return [title, lines.join('\n').split('\n## ')[0] ?? ''];
    }),
);

test('each alert has a section, and each section an alert', () => {
  expect([...sections.keys()].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
});

test.each(alerts)('$alert links to its section', ({ alert, annotations }) => {
  expect(annotations.runbook_url).toBe(`docs/runbooks.md#${alert.toLowerCase()}`);
});

test.each([...sections])('%s says what it means, how to see it and what to do', (_, text) => {
  const parts = [...text.matchAll(/^- \*\*(\w+):\*\* (\S[\s\S]*?)(?=\n- \*\*|\s*$)/gm)];
  expect(parts.map(([, name]) => name)).toEqual(['Means', 'See', 'Do']);
  for (const [, , words = ''] of parts) expect(words.length).toBeGreaterThan(15);
});
