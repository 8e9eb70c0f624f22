// This project as it is shipped: the bundle, with the flags and the environment of the Dockerfile, and with the durable
// queue, the status page and its own telemetry on.

import { execFileSync } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutFolder, runFolder } from '../../test/real/support/folder.ts';
import { shippedEnvironment, shippedFlags } from '../../test/support/shipped.ts';
import { API_KEY } from '../page-server.ts';
import { type Contender, type RunningContender, startNode, type Task } from './contender.ts';

/** `isGzip` sends gzip, which is the default; else zstd. The sink takes both. */
export function bridge({ isGzip = false }: { readonly isGzip?: boolean } = {}): Contender {
  return {
    name: isGzip ? 'ours-gzip' : 'ours',
    title: isGzip ? 'prom2otlp, gzip (the default)' : 'prom2otlp, zstd',
    isRounded: false,
    prepare: async () => {
      const program = join(await installedFolder(), PROGRAM);
      const version = execFileSync(process.execPath, [program, 'version'], { encoding: 'utf8' });
      return { version: version.split('\n')[0]?.trim() ?? '' };
    },
    start: task => startBridge(task, isGzip),
  };
}

const PROGRAM = 'bin/prom2otlp.js';
let installed: Promise<string> | null = null;

/** A folder with the contents of the package, built once and copied, so that a later build does not change it. */
function installedFolder(): Promise<string> {
  return (installed ??= install());
}

async function install(): Promise<string> {
  const folder = await runFolder('bench-installed');
  execFileSync(process.execPath, ['tools/build.ts'], { cwd: checkoutFolder });
  for (const name of ['bin', 'dist', 'package.json'])
    await cp(join(checkoutFolder, name), join(folder, name), { recursive: true });
  return folder;
}

async function startBridge(task: Task, isGzip: boolean): Promise<RunningContender> {
  const folder = await runFolder('bench-bridge');
  const config = join(folder, 'config.yaml');
  await writeFile(config, configText(task, folder, isGzip));
  const program = join(await installedFolder(), PROGRAM);
  return startNode([...shippedFlags(), program, 'run', '--config', config], {
    log: join(folder, 'bridge.log'),
    env: shippedEnvironment(),
    signal: 'SIGTERM',
    cwd: folder,
  });
}

function configText(task: Task, folder: string, isGzip: boolean): string {
  const { origins, services, intervalMs, sinkUrl } = task;
  const entries = origins.flatMap((origin, address) =>
    (services[address] ?? []).map(id => `  - {id: ${id}, api: {base_url: "${origin}"}}`),
  );
  return `
api:
  base_url: ${origins[0]}
  key: ${API_KEY}
services:
${entries.join('\n')}
metrics:
  interval: ${intervalMs}ms
logs: {enabled: ${task.hasLogs}}
otlp: {endpoint: "${sinkUrl}", compression: ${isGzip ? 'gzip' : 'zstd'}}
queue: {directory: ${JSON.stringify(join(folder, 'queue'))}}
status: {listen: "127.0.0.1:0"}
`;
}
