// The whole catalog: the 160 series of the specification (service-spec section 2.7), table by table. A new series also
// needs a line in simulator/series.ts and in test/fixtures/series-names.txt: tests compare the three.

import { type CatalogEntry, type CatalogTable, table, updown } from './catalog.ts';
import { dist, distRebalancer, distStatements } from './dist.ts';
import {
  engineCluster,
  engineReplica,
  engineSchema,
  engineStatus,
  engineVariables,
  multimaster,
} from './engine.ts';
import { proxy, proxyBackends, proxyThreads } from './proxy.ts';

/** The exporter process itself: its memory is not the engine's or the proxy's. */
const exporterProcess = table('process_', { declared: 'gauge' }, [
  updown('resident_memory_bytes', 'By', 'Physical memory of the exporter process.'),
]);

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

export const CATALOG: readonly CatalogEntry[] = CATALOG_TABLES.flat();
