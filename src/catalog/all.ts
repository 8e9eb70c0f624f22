// The whole catalog: the 160 series of the specification (service-spec section 2.7), table by table. A new series also
// needs a line in simulator/series.ts and in test/fixtures/series-names.txt: tests compare the three.

import type { CatalogEntry } from './catalog.ts';
import { dist, distRebalancer, distStatements } from './dist.ts';
import { engineReplica, engineSchema, engineStatus, engineVariables } from './engine.ts';
import { engineCluster, multimaster } from './multimaster.ts';
import { proxy, proxyBackends, proxyThreads } from './proxy.ts';
import { additive, type CatalogTable, table } from './table.ts';

/** The exporter process itself: its memory is not the engine's or the proxy's. */
const exporterProcess = table(
  'process',
  { family: 'process', prefix: 'process_', declared: 'gauge', confidence: 'likely' },
  [additive('resident_memory_bytes', 'By', 'Physical memory of the exporter process.')],
);

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
