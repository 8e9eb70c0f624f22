// Checks the alert rules with Prometheus' own checker: they are valid, and each fires only in its stories of
// alerts/alerts.yaml.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RULES_FILE, shippedRules } from '../support/alert-rules.ts';
import { promtool } from './parts/promtool.ts';
import { need, reasonToSkip } from './support/part.ts';
import { runAny } from './support/process.ts';

const skip = await reasonToSkip([promtool]);
const stories = join(import.meta.dirname, 'alerts/alerts.yaml');

async function check(...args: readonly string[]): Promise<{ code: number | null; said: string }> {
  const { path } = await need(promtool);
  const { code, stdout, stderr } = await runAny(path, args);
  return { code, said: stdout + stderr };
}

describe.skipIf(skip !== null)('the alert rules', () => {
  test('are right, by the strictest check there is', async () => {
    expect(await check('check', 'rules', '--lint=all', '--lint-fatal', RULES_FILE)).toMatchObject({
      code: 0,
    });
  });

  test('fire when they should, and only then', async () => {
    expect(await check('test', 'rules', stories)).toMatchObject({ code: 0 });
  });

  test('each have a scenario, a severity, and a text for the operator', () => {
    const text = readFileSync(stories, 'utf8');
    for (const { alert, labels, annotations } of shippedRules()) {
      expect(text, alert).toContain(`alertname="${alert}"`);
      expect(['critical', 'warning', 'info'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/^\S.*\S$/);
    }
  });
});
