// What the tests bridge: three real servers (a primary with its replica, and a cluster of one node), each
// with an exporter that runs every collector it has and a front that asks for the key.

import { exporter } from '../parts/exporter.ts';
import { front, type FrontRunning } from '../parts/front.ts';
import {
  mariadb,
  mariadbCluster,
  mariadbPlugins,
  type MariadbOptions,
  type MariadbRunning,
} from '../parts/mariadb.ts';
import { API_KEY, type BridgedService } from './bridge.ts';
import type { Preparable, Running } from './part.ts';

export interface SiteService extends BridgedService {
  readonly front: FrontRunning;
  readonly database: MariadbRunning;
}

export interface Site extends Running {
  readonly services: readonly SiteService[];
}

export const siteParts: readonly Preparable[] = [
  mariadb,
  mariadbPlugins,
  mariadbCluster,
  exporter,
  front,
];

/** Stop ends everything that was started, last first, even where the start failed half-way. */
export async function startSite(): Promise<Site> {
  const started: Running[] = [];
  const stop = async (): Promise<void> => {
    for (const part of started.splice(0).reverse()) await part.stop();
  };
  const keep = <T extends Running>(part: T): T => {
    started.push(part);
    return part;
  };
  async function service(id: string, name: string, options: MariadbOptions): Promise<SiteService> {
    const database = keep(await mariadb.start(options));
    const page = keep(
      await exporter.start({ databasePort: database.port, hasAllCollectors: true }),
    );
    const door = keep(
      await front.start({ exporterUrl: page.url, key: API_KEY, isGzipped: name !== 'replica' }),
    );
    return { id, name, database, front: door };
  }
  try {
    const primary = await service('dbreal0000001', 'primary', {});
    const replica = await service('dbreal0000002', 'replica', {
      role: { replicaOf: primary.database },
    });
    const cluster = await service('dbreal0000003', 'cluster', { role: 'cluster' });
    return { services: [primary, replica, cluster], stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
