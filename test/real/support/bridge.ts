// The program under test, started the way its users start it: `node bin/prom2otlp.js` with a YAML file.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrontRunning } from '../parts/front.ts';
import { checkoutFolder, runFolder } from './folder.ts';
import {
  freePort,
  runAny,
  startServer,
  type CommandResult,
  type RunningServer,
} from './process.ts';

/** What the front asks for; it reaches the program through its environment. */
export const API_KEY = 'key-of-the-real-tests';

export interface BridgedService {
  readonly id: string;
  readonly name: string;
  /** Where its page comes from, and what was served so far. */
  readonly front: Pick<FrontRunning, 'url'> & { readonly pages: readonly unknown[] };
}

export interface BridgeOptions {
  readonly services: readonly BridgedService[];
  /** The `otlp` section. */
  readonly otlp: Readonly<Record<string, unknown>>;
  /** What differs in `metrics`. */
  readonly metrics?: Readonly<Record<string, unknown>>;
}

export interface BridgeFiles {
  readonly folder: string;
  readonly config: string;
}

const bin = join(checkoutFolder, 'bin/prom2otlp.js');
const environment = { REAL_API_KEY: API_KEY };

/** Writes the configuration; a stock exporter's prefixes are mapped onto the service's families. */
export async function configureBridge(options: BridgeOptions): Promise<BridgeFiles> {
  const folder = await runFolder('bridge');
  const port = await freePort();
  const config = {
    api: { base_url: options.services[0]?.front.url, key: '${env:REAL_API_KEY}' },
    services: options.services.map(({ id, name, front }) => ({
      id,
      name,
      api: { base_url: front.url },
    })),
    metrics: {
      prefixes: {
        engine: ['engine_', 'mysql_'],
        multimaster: ['engine_multimaster_', 'mysql_galera_'],
        dist: ['engine_dist_'],
        proxy: ['proxy_'],
      },
      ...options.metrics,
    },
    otlp: options.otlp,
    queue: { directory: join(folder, 'queue') },
    status: { listen: `127.0.0.1:${port}` },
    telemetry: { enabled: false },
  };
  const file = join(folder, 'config.yaml');
  await writeFile(file, JSON.stringify(config, null, 2));
  return { folder, config: file };
}

/** One cycle, delivered: `prom2otlp once`. */
export function runOnce(files: BridgeFiles): Promise<CommandResult> {
  const args = [bin, 'once', '--config', files.config];
  return runAny(process.execPath, args, { env: environment, timeoutMs: 60_000 });
}

/** The daemon: `prom2otlp run`. It is up once it has fetched a page of each service. */
export function startBridge(
  files: BridgeFiles,
  services: readonly BridgedService[],
): Promise<RunningServer> {
  return startServer({
    name: 'bridge',
    command: process.execPath,
    args: [bin, 'run', '--config', files.config],
    env: environment,
    folder: files.folder,
    isReady: () => Promise.resolve(services.every(({ front }) => front.pages.length > 0)),
  });
}
