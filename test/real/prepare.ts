// `node test/real/prepare.ts [part…]`: downloads or builds all real parts, or the named ones, and prints a table of them.
// Exits with 1 when a part is absent, and with 2 when a name is unknown.

import { stat } from 'node:fs/promises';
import { actionlint, cosign, imageRegistry } from '../deploy/support/release-parts.ts';
import { chromiumPart } from './parts/chromium.ts';
import { collector } from './parts/collector.ts';
import { exporter } from './parts/exporter.ts';
import { mariadb, mariadbCluster, mariadbPlugins } from './parts/mariadb.ts';
import { prometheus } from './parts/prometheus.ts';
import { promtool } from './parts/promtool.ts';
import { victoriaLogs } from './parts/victoria-logs.ts';
import { victoriaMetrics } from './parts/victoria-metrics.ts';
import { vmagent } from './parts/vmagent.ts';
import { exclusively } from './support/folder.ts';

// The quick parts come first, so that an absent one shows before the builds.
const parts = [
  mariadb,
  mariadbPlugins,
  mariadbCluster,
  exporter,
  chromiumPart,
  victoriaMetrics,
  vmagent,
  victoriaLogs,
  collector,
  prometheus,
  promtool,
  // For the tests of a release.
  cosign,
  imageRegistry,
  actionlint,
];

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter(name => !parts.some(part => part.name === name));
  if (unknown.length > 0) {
    const known = parts.map(part => part.name).join(', ');
    console.error(`cannot prepare ${unknown.join(', ')}: the parts are ${known}`);
    return 2;
  }
  let code = 0;
  console.log(row(['part', 'version', 'took', 'size', 'where']));
  for (const part of parts) {
    if (names.length > 0 && !names.includes(part.name)) continue;
    const prepared = await exclusively(() => part.prepare());
    if ('absent' in prepared) {
      console.log(row([part.name, 'absent', '', '', prepared.absent]));
      code = 1;
      continue;
    }
    const { version, seconds, path } = prepared;
    const took = seconds === 0 ? '' : `${seconds.toFixed(1)} s`;
    console.log(row([part.name, version, took, await size(path), path]));
  }
  return code;
}

async function size(path: string): Promise<string> {
  const entry = await stat(path);
  return entry.isFile() ? `${(entry.size / 1e6).toFixed(0)} MB` : '';
}

function row(cells: readonly string[]): string {
  const widths = [18, 24, 9, 8];
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join('')
    .trimEnd();
}

process.exitCode = await main(process.argv.slice(2));
