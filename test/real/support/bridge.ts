// Starts the program under test as its users do: `node bin/prom2otlp.js` with a YAML file.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrontRunning } from '../parts/front.ts';
import { start, until } from '../../support/program.ts';
import { runFolder } from './folder.ts';
import type { Running } from './part.ts';

/** The key that the front requires. */
export const API_KEY = 'key-of-the-real-tests';

export interface BridgedService {
  readonly id: string;
  readonly name: string;
  /** The address of its page, and the pages served so far. */
  readonly front: Pick<FrontRunning, 'url'> & { readonly pages: readonly unknown[] };
}

export interface BridgeOptions {
  readonly services: readonly BridgedService[];
  /** The `otlp` section. */
  readonly otlp: Readonly<Record<string, unknown>>;
  /** Changes to the section `metrics`. */
  readonly metrics?: Readonly<Record<string, unknown>>;
}

/** Writes the configuration, and returns its file. Maps a stock exporter's prefixes to the service's families. */
export async function configureBridge(options: BridgeOptions): Promise<string> {
  const folder = await runFolder('bridge');
  const config = {
    api: { base_url: options.services[0]?.front.url, key: API_KEY },
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
    status: { listen: '127.0.0.1:0' },
    telemetry: { enabled: false },
  };
  const file = join(folder, 'config.yaml');
  await writeFile(file, JSON.stringify(config, null, 2));
  return file;
}

/** Starts the daemon, `prom2otlp run`. Resolves once the daemon has fetched a page of each service. */
export async function startBridge(
  file: string,
  services: readonly BridgedService[],
): Promise<Running & { readonly exited: Promise<number | null> }> {
  const daemon = start(['run', '--config', file]);
  const isUp = (): boolean => {
    if (daemon.hasEnded) throw new Error(`the program has ended: ${daemon.stderr()}`);
    return services.every(({ front }) => front.pages.length > 0);
  };
  const stop = async (): Promise<void> => {
    daemon.child.kill('SIGTERM');
    await daemon.finished;
  };
  await until('a page of each service', isUp, 30_000).catch(async (error: unknown) => {
    await daemon.kill();
    throw error;
  });
  return { stop, exited: daemon.finished.then(({ code }) => code) };
}
