// Checks the alert rules with Prometheus' own checker: they are valid, and each fires in its stories of
// alerts/alerts.yaml alone, and ends. neighbours.test.ts and pushed-alerts.test.ts show some of them at real causes, over
// scraped and over pushed telemetry.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { RULES_FILE, shippedRules } from '../support/alert-rules.ts';
import { promtool } from './parts/promtool.ts';
import { need, reasonToSkip } from './support/part.ts';
import { runAny } from './support/process.ts';

interface Stories {
  readonly tests: readonly {
    readonly promql_expr_test: readonly { readonly exp_samples: readonly { labels: string }[] }[];
  }[];
}

/** The alerts that fire at one time of a story, and not at its last. */
function endedIn({ promql_expr_test: times }: Stories['tests'][number]): readonly string[] {
  const firing = times.map(({ exp_samples: samples }) =>
    samples.map(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1] ?? ''),
  );
  const last = firing.at(-1) ?? [];
  return firing.flat().filter(alert => !last.includes(alert));
}

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

  test('each fire and end in a story, and have a severity and a text for the operator', () => {
    const { tests } = parse(readFileSync(stories, 'utf8')) as Stories;
    const ended = new Set(tests.flatMap(story => endedIn(story)));
    for (const { alert, labels, annotations } of shippedRules()) {
      expect(ended, alert).toContain(alert);
      expect(['critical', 'warning', 'info'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/^\S.*\S$/);
    }
  });
});
