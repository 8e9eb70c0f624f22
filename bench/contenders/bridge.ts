// This project as it is shipped: the bundle, with the flags of the Dockerfile, the durable queue, the status page and its
// own telemetry on.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, openSync, closeSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutFolder, runFolder } from '../../test/real/support/folder.ts';
import { API_KEY } from '../page-server.ts';
import { type Contender, type RunningContender, stopProcess, type Task } from './contender.ts';

export interface BridgeOptions {
  /** More flags for Node: a profiler, a probe. */
  readonly nodeFlags?: readonly string[];
  readonly compression?: 'gzip' | 'zstd' | 'none';
  /** Where the queue lies; by default a fresh folder for each start. */
  readonly folder?: string;
  readonly hasLogs?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunningBridge extends RunningContender {
  readonly folder: string;
  kill(signal: NodeJS.Signals): Promise<void>;
}

const BUNDLE = join(checkoutFolder, 'dist/main.js');

export function bridge(options: BridgeOptions = {}): Contender & {
  start(task: Task): Promise<RunningBridge>;
} {
  return {
    name: 'prom2otlp',
    title: 'prom2otlp',
    isRounded: false,
    prepare: () => {
      if (!existsSync(BUNDLE))
        return Promise.resolve({ absent: 'there is no bundle: npm run build' });
      const version = execFileSync(process.execPath, [BUNDLE, 'version'], { encoding: 'utf8' });
      return Promise.resolve({ version: version.split('\n')[0]?.trim() ?? '' });
    },
    start: task => startBridge(task, options),
  };
}

async function startBridge(task: Task, options: BridgeOptions): Promise<RunningBridge> {
  const folder = options.folder ?? (await runFolder('bench-bridge'));
  const config = join(folder, 'config.yaml');
  await writeFile(config, configText(task, folder, options));
  const log = openSync(join(folder, 'bridge.log'), 'a');
  const flags = [...shippedFlags(), ...(options.nodeFlags ?? [])];
  const child = spawn(
    process.execPath,
    [...flags, join(checkoutFolder, 'bin/prom2otlp.js'), 'run', '--config', config],
    {
      cwd: folder,
      stdio: ['ignore', log, log],
      env: { NODE_ENV: 'production', PROM2OTLP_ENTRY: 'dist/main.js', ...options.env },
    },
  );
  closeSync(log);
  process.once('exit', () => child.kill('SIGKILL'));
  return {
    pid: child.pid ?? 0,
    folder,
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
logs: {enabled: ${options.hasLogs === true}}
otlp: {endpoint: "${sinkUrl}", compression: ${options.compression ?? 'gzip'}}
queue: {directory: ${JSON.stringify(join(folder, 'queue'))}}
status: {listen: "127.0.0.1:0"}
`;
}
