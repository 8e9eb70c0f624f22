// The site that the tests bridge: three real servers (a primary with its replica, and a cluster of one node), each
// with an exporter that runs all its collectors and a front that requires the key.

import { exporter } from '../parts/exporter.ts';
import { type FrontRunning, startFront } from '../parts/front.ts';
import {
  mariadb,
  mariadbCluster,
  mariadbPlugins,
  type MariadbOptions,
  type MariadbRunning,
} from '../parts/mariadb.ts';
import { API_KEY, type BridgedService } from './bridge.ts';
import { Parts, type Preparable, type Running } from './part.ts';

export interface SiteService extends BridgedService {
  readonly front: FrontRunning;
  readonly database: MariadbRunning;
}

export interface Site extends Running {
  readonly services: readonly SiteService[];
}

export const siteParts: readonly Preparable[] = [mariadb, mariadbPlugins, mariadbCluster, exporter];

/** Starts the site. If a start fails, everything that was started before is stopped, in reverse order. */
export async function startSite(): Promise<Site> {
  const parts = new Parts();
  async function service(id: string, name: string, options: MariadbOptions): Promise<SiteService> {
    const database = parts.keep(await mariadb.start(options));
    const page = parts.keep(
      await exporter.start({ databasePort: database.port, hasAllCollectors: true }),
    );
    const door = parts.keep(
      await startFront({ exporterUrl: page.url, key: API_KEY, isGzipped: name !== 'replica' }),
    );
    return { id, name, database, front: door };
  }
  try {
    const primary = await service('dbreal0000001', 'primary', {});
    const replica = await service('dbreal0000002', 'replica', {
      role: { replicaOf: primary.database },
    });
    const cluster = await service('dbreal0000003', 'cluster', { role: 'cluster' });
    return { services: [primary, replica, cluster], stop: () => parts.stop() };
  } catch (error) {
    await parts.stop();
    throw error;
  }
}
