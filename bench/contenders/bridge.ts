// This project as it is shipped: the bundle, with the flags of the Dockerfile, the durable queue, the status page and its
// own telemetry on.

import { execFileSync, spawn } from 'node:child_process';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutFolder, runFolder } from '../../test/real/support/folder.ts';
import { API_KEY } from '../page-server.ts';
import { type Contender, type RunningContender, stopProcess, type Task } from './contender.ts';

export interface BridgeOptions {
  readonly isFromSources?: boolean;
  /** With a look at the event loop; see pause-probe.ts. */
  readonly isProbed?: boolean;
  /** More flags for Node: a profiler, a probe. */
  readonly nodeFlags?: readonly string[];
  readonly compression?: 'gzip' | 'zstd' | 'none';
  /** Where the queue lies; by default a fresh folder for each start. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunningBridge extends RunningContender {
  readonly folder: string;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export function bridge(options: BridgeOptions = {}): Contender & {
  start(task: Task): Promise<RunningBridge>;
} {
  return {
    name: options.isProbed === true ? 'ours-probed' : 'ours',
    title: 'prom2otlp',
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
const PROBE = join(checkoutFolder, 'bench/measure/pause-probe.ts');
let installed: Promise<string> | null = null;

/** What a package holds, built once: a folder of its own, so that a build beside the bench changes nothing. */
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
  const folder = options.folder ?? (await runFolder('bench-bridge'));
  const config = join(folder, 'config.yaml');
  await writeFile(config, configText(task, folder, options));
  const log = openSync(join(folder, 'bridge.log'), 'a');
  const pausesFile = join(folder, 'pauses.jsonl');
  const probe = options.isProbed === true ? ['--import', PROBE] : [];
  const flags = [...shippedFlags(), ...probe, ...(options.nodeFlags ?? [])];
  const child = spawn(
    process.execPath,
    [
      ...flags,
      options.isFromSources === true
        ? join(checkoutFolder, PROGRAM)
        : join(await installedFolder(), PROGRAM),
      'run',
      '--config',
      config,
    ],
    {
      cwd: folder,
      stdio: ['ignore', log, log],
      env: { NODE_ENV: 'production', BENCH_PAUSES: pausesFile, ...options.env },
    },
  );
  closeSync(log);
  process.once('exit', () => child.kill('SIGKILL'));
  return {
    pid: child.pid ?? 0,
    folder,
    pausesFile: options.isProbed === true ? pausesFile : null,
    stop: () => stopProcess(child, 'SIGTERM'),
    kill: signal => stopProcess(child, signal),
  };
}

/** Those of the image: ENTRYPOINT ["node", flags…, "bin/prom2otlp.js"]. */
function shippedFlags(): readonly string[] {
  const text = readFileSync(join(checkoutFolder, 'Dockerfile'), 'utf8');
  const line = /^ENTRYPOINT (\[.*\])$/m.exec(text)?.[1] ?? '[]';
  return (JSON.parse(line) as string[]).filter(word => word.startsWith('--'));
}

function configText(task: Task, folder: string, options: BridgeOptions): string {
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
metrics: {interval: ${intervalMs}ms}
logs: {enabled: ${task.hasLogs}}
otlp: {endpoint: "${sinkUrl}", compression: ${options.compression ?? 'gzip'}}
queue: {directory: ${JSON.stringify(join(folder, 'queue'))}}
status: {listen: "127.0.0.1:0"}
`;
}
