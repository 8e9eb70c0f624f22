// A Prometheus with the shipped rules of some alerts, which shows which of them fire for a bridge.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { shippedRules } from '../../support/alert-rules.ts';
import { prometheus, type PrometheusRunning } from '../parts/prometheus.ts';
import { runFolder } from './folder.ts';

export interface Judge extends PrometheusRunning {
  /** The labels of the alerts that fire. */
  firing(): Promise<readonly { readonly alertname?: string; readonly instance?: string }[]>;
}

export interface JudgeOptions {
  readonly alerts: readonly string[];
  /** The status address of a daemon to scrape; without it, the metrics must be pushed. */
  readonly scraped?: string;
  /** Further keys of the Prometheus configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export async function startJudge({ alerts, scraped, config = {} }: JudgeOptions): Promise<Judge> {
  const rules = join(await runFolder('judge'), 'rules.yaml');
  await writeFile(rules, impatientRules(alerts));
  const targets = scraped === undefined ? [] : [new URL(scraped).host];
  const settings = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    scrape_configs: [{ job_name: 'prom2otlp', static_configs: [{ targets }] }],
    rule_files: [rules],
    ...config,
  };
  const running = await prometheus.start({ config: JSON.stringify(settings) });
  return { ...running, firing: () => firingAlerts(running.url) };
}

/** The shipped rules with shorter times, because a test cannot wait for minutes. Throws for an alert without a rule. */
function impatientRules(alerts: readonly string[]): string {
  const all = shippedRules();
  const rules = alerts.map(name => {
    const rule = all.find(({ alert }) => alert === name);
    if (rule === undefined) throw new Error(`there is no rule ${name}`);
    const expr = rule.expr
      .replaceAll(/(?<=\[|offset )\d+m/g, '15s')
      .replace('_age_seconds > 900', '_age_seconds > 3');
    return { ...rule, for: '1s', expr };
  });
  return JSON.stringify({ groups: [{ name: 'impatient', interval: '1s', rules }] });
}

async function firingAlerts(url: string): ReturnType<Judge['firing']> {
  const answer = await fetch(`${url}/api/v1/alerts`);
  const { data } = (await answer.json()) as {
    data: { alerts: { state: string; labels: Record<string, string> }[] };
  };
  return data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels);
}
