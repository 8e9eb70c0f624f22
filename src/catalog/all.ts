// The whole catalog: the 160 series of the specification (service-spec section 2.7), table by table.

import type { CatalogEntry } from './catalog.ts';
import { dist, distRebalancer, distStatements } from './dist.ts';
import { engineCluster } from './engine-cluster.ts';
import { engineReplica } from './engine-replica.ts';
import { engineSchema, engineVariables } from './engine-settings.ts';
import { engineStatus } from './engine-status.ts';
import { multimaster } from './multimaster.ts';
import { exporterProcess } from './process.ts';
import { proxy, proxyBackends, proxyThreads } from './proxy.ts';
import type { CatalogTable } from './table.ts';

export const CATALOG_TABLES: readonly CatalogTable[] = [
  engineStatus,
  engineCluster,
  engineVariables,
  engineSchema,
  engineReplica,
  multimaster,
  dist,
  distRebalancer,
  distStatements,
  proxy,
  proxyBackends,
  proxyThreads,
  exporterProcess,
];

export const CATALOG: readonly CatalogEntry[] = CATALOG_TABLES.flatMap(table => table.entries);
