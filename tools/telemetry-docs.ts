// Writes docs/telemetry.md from the counters of a daemon with all parts enabled, so that the page lists every metric with
// its own help text. Run it after a change of a counter: `node tools/telemetry-docs.ts`. A test compares the page.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock as clock } from '../src/lib/clock.ts';
import type { Counter } from '../src/lib/counters.ts';
import { serveStatus } from '../src/status/status-server.ts';
import { Supervisor } from '../src/daemon/reload.ts';

const INTRODUCTION = `# Telemetry of prom2otlp itself

\`tools/telemetry-docs.ts\` generates this page from the counters themselves.

The status address serves all metrics at \`/metrics\`, in the Prometheus text format. With \`telemetry: {enabled: true}\`, the default,
the daemon also sends them to your back end every \`telemetry.interval\`, as the service \`prom2otlp\`. In Prometheus that is
\`job="prom2otlp"\`; \`instance\` distinguishes several daemons. Use one of the two ways, not both.

\`service\` is always the id of a database service. A metric with labels appears with its first count. No metric has more than 4,096
combinations of labels; further ones are counted under \`other\`.

For each database service the daemon also sends, in the Resource of that service, \`up\` and the \`scrape_*\` series
([mapping](mapping.md)) and, if enabled, the backup gauges ([backups](backups.md)).

The dashboards in \`deploy/dashboards\` and the alert rules in \`deploy/alerts\` use these metrics.
`;

/** By what follows \`prom2otlp_\` in the name. */
const SECTIONS: Readonly<Record<string, string>> = {
  collect: 'Scraping',
  service: 'The service',
  decode: 'Reading pages',
  derive: 'Samples',
  encode: 'Points',
  queue: 'The queue',
  send: 'Sending',
  logs: 'Logs',
  backup: 'Backup schedules',
  status: 'The status address',
  config: 'The configuration',
  telemetry: 'Own telemetry',
  process: 'The process',
  build: 'The program',
};

const KEY = '0123456789abcdef';

/** The whole document. It starts a daemon whose service and back end do not exist, and stops it at once. */
export async function telemetryDocument(): Promise<string> {
  const counters = await allCounters();
  const areas = Object.groupBy(counters, ({ name }) => name.split('_')[1] ?? '');
  const unknown = Object.keys(areas).filter(area => !(area in SECTIONS));
  if (unknown.length > 0)
    throw new Error(`cannot document ${unknown.join(', ')}: give it a title in SECTIONS`);
  const sections = Object.entries(SECTIONS).flatMap(([area, title]) => {
    const rows = areas[area]?.map(rowOf).sort() ?? [];
    const head = '| name | type | labels | meaning |\n|---|---|---|---|';
    return rows.length === 0 ? [] : [`## ${title}\n\n${head}\n${rows.join('\n')}\n`];
  });
  return [INTRODUCTION, ...sections].join('\n');
}

function rowOf({ name, kind, labelNames, help }: Counter): string {
  const labels = labelNames.map(label => `\`${label}\``).join(', ');
  return `| \`${name}\` | ${kind} | ${labels} | ${help.replaceAll('|', '\\|')} |`;
}

async function allCounters(): Promise<readonly Counter[]> {
  const folder = mkdtempSync(join(tmpdir(), 'prom2otlp-docs-'));
  const file = join(folder, 'prom2otlp.yaml');
  writeFileSync(file, configuration(folder));
  const supervisor = await Supervisor.open({ file, environment: {}, clock });
  const status = await serveStatus(supervisor, clock);
  try {
    supervisor.daemon.start();
    // A refused reload: its counter exists from the first attempt on.
    writeFileSync(file, '');
    await supervisor.reload();
    return [...supervisor.daemon.counters.list()];
  } finally {
    await supervisor.daemon.stop(AbortSignal.abort());
    await status.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function configuration(folder: string): string {
  return JSON.stringify({
    api: { base_url: 'http://127.0.0.1:9', key: KEY },
    services: [{ id: 'dbpgf12345678' }],
    logs: { enabled: true },
    backups: { enabled: true },
    otlp: { endpoint: 'http://127.0.0.1:9' },
    queue: { directory: join(folder, 'queue') },
    status: { listen: '127.0.0.1:0' },
    log: { level: 'silent' },
  });
}

if (import.meta.main)
  writeFileSync(new URL('../docs/telemetry.md', import.meta.url), await telemetryDocument());
