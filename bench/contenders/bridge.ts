// This project as it is shipped: the bundle, with the flags and the environment of the Dockerfile, and with the durable
// queue, the status page and its own telemetry on.

import { execFileSync } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutFolder, runFolder } from '../../test/real/support/folder.ts';
import { LOOP_PROBE } from '../../test/support/loop-probe.ts';
import { shippedEnvironment, shippedFlags } from '../../test/support/shipped.ts';
import { API_KEY } from '../page-server.ts';
import { type Contender, type RunningContender, startNode, type Task } from './contender.ts';

export interface BridgeOptions {
  /** Runs the checkout's sources, whose functions have names, instead of the bundle. */
  readonly isFromSources?: boolean;
  /** Notes pauses of the event loop; see loop-probe.ts. */
  readonly isProbed?: boolean;
  /** Sends gzip, as to a back end that does not take zstd; the sink takes both. */
  readonly isGzip?: boolean;
  /** The limit of series that it may remember; null for the default. */
  readonly seriesMax?: number | null;
  /** More flags for Node, such as a profiler's. */
  readonly nodeFlags?: readonly string[];
}

export interface RunningBridge extends RunningContender {
  /** Its working folder, with configuration, queue and log. */
  readonly folder: string;
}

export interface BridgeContender extends Contender {
  start(task: Task): Promise<RunningBridge>;
}

export function bridge(options: BridgeOptions = {}): BridgeContender {
  return {
    name: `ours${options.isGzip === true ? '-gzip' : ''}${options.isProbed === true ? '-probed' : ''}`,
    title: options.isGzip === true ? 'prom2otlp, gzip' : 'prom2otlp',
    isRounded: false,
    prepare: async () => {
      const program = join(await installedFolder(), PROGRAM);
      const version = execFileSync(process.execPath, [program, 'version'], { encoding: 'utf8' });
      return { version: version.split('\n')[0]?.trim() ?? '' };
    },
    start: task => startBridge(task, options),
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

async function startBridge(task: Task, options: BridgeOptions): Promise<RunningBridge> {
  const { isFromSources = false, isProbed = false, nodeFlags = [] } = options;
  const folder = await runFolder('bench-bridge');
  const config = join(folder, 'config.yaml');
  await writeFile(config, configText(task, folder, options));
  const pausesFile = isProbed ? join(folder, 'pauses.jsonl') : null;
  const flags = [...shippedFlags(), ...(isProbed ? ['--import', LOOP_PROBE] : []), ...nodeFlags];
  const program = join(isFromSources ? checkoutFolder : await installedFolder(), PROGRAM);
  const running = startNode([...flags, program, 'run', '--config', config], {
    log: join(folder, 'bridge.log'),
    env: { ...shippedEnvironment(), ...(pausesFile === null ? {} : { LOOP_PAUSES: pausesFile }) },
    signal: 'SIGTERM',
    cwd: folder,
  });
  return { ...running, folder, pausesFile };
}

function configText(task: Task, folder: string, options: BridgeOptions): string {
  const { isGzip = false, seriesMax = null } = options;
  const { origins, services, caFile, intervalMs, sinkUrl } = task;
  const entries = origins.flatMap((origin, address) =>
    (services[address] ?? []).map(id => `  - {id: ${id}, api: {base_url: "${origin}"}}`),
  );
  return `
api:
  base_url: ${origins[0]}
  key: ${API_KEY}
${caFile === null ? '' : `  ca: ${caFile}\n`}services:
${entries.join('\n')}
metrics:
  interval: ${intervalMs}ms
${seriesMax === null ? '' : `  limits: {series: ${seriesMax}}\n`}logs: {enabled: ${task.hasLogs}}
otlp: {endpoint: "${sinkUrl}", compression: ${isGzip ? 'gzip' : 'zstd'}}
queue: {directory: ${JSON.stringify(join(folder, 'queue'))}}
status: {listen: "127.0.0.1:0"}
`;
}
