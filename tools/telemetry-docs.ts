// Writes docs/operate/telemetry.md from the declarations of the counters, so that each help text is written
// once. Run `node tools/telemetry-docs.ts` after a change of a counter. A test compares the page.

import { writeFileSync } from 'node:fs';
import type { Counter } from '../src/lib/counters.ts';
import { COUNTER_SECTIONS } from './own-counters.ts';

const INTRODUCTION = `# Telemetry of prom2otlp itself

\`tools/telemetry-docs.ts\` generates this page from the counters themselves.

The status address serves all metrics at \`/metrics\`, in the Prometheus text format. With \`telemetry: {enabled: true}\`, the default,
the daemon also sends them to your back end every \`telemetry.interval\`, as the service \`prom2otlp\`. In Prometheus that is
\`job="prom2otlp"\`; \`instance\` distinguishes several daemons. Use one of the two ways, not both.
A ServiceMonitor of your own needs \`honorLabels: true\`: the Prometheus operator has a label \`service\` of its own.
The chart sets it, and switches \`telemetry\` off with its ServiceMonitor.

\`service\` is the id of a database service; \`prom2otlp\` stands for the daemon's own metrics, and \`other\` for services beyond a limit. Most
metrics with labels appear with their first count. No metric has more than 4,096 combinations of labels; further ones are counted under
\`other\`, or left out if they are gauges.

For each database service the daemon also sends, in the Resource of that service, \`up\` and the \`scrape_*\` series
([mapping](../how-it-works/mapping.md)) and, if enabled, the backup gauges ([backups](../use/backups.md)).

The dashboards in \`deploy/helm/dashboards\` and the alert rules in \`deploy/helm/alerts\` use these metrics.
`;

const HEAD = '| name | type | labels | meaning |\n|---|---|---|---|';

/** The whole document. */
export function telemetryDocument(): string {
  const sections = COUNTER_SECTIONS.map(
    ({ title, counters }) => `## ${title}\n\n${HEAD}\n${counters.map(rowOf).join('\n')}\n`,
  );
  return [INTRODUCTION, ...sections].join('\n');
}

function rowOf({ name, kind, labelNames, help }: Counter): string {
  const labels = labelNames.map(label => `\`${label}\``).join(', ');
  return `| \`${name}\` | ${kind} | ${labels} | ${help.replaceAll('|', '\\|')} |`;
}

if (import.meta.main)
  writeFileSync(new URL('../docs/operate/telemetry.md', import.meta.url), telemetryDocument());
