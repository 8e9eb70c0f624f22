// The whole catalog, table by table: the 160 series of the specification (service-spec section 2.7), and 25 of the host,
// the volume and the service that newer deployments have. A new series also needs a line in
// test/fixtures/series-names.txt or host-series-names.txt; the simulator has it at once.

import { type CatalogEntry, type CatalogTable, table, updown } from './catalog.ts';
import { DIST_TABLES } from './dist.ts';
import { ENGINE_TABLES } from './engine.ts';
import { HOST_TABLES } from './host.ts';
import { PROXY_TABLES } from './proxy.ts';

/** The exporter process itself: its memory is not the engine's or the proxy's. */
const exporterProcess = table('process_', { declared: 'gauge' }, [
  updown('resident_memory_bytes', 'By', 'Physical memory of the exporter process.'),
]);

export const CATALOG_TABLES: readonly CatalogTable[] = [
  ...ENGINE_TABLES,
  ...DIST_TABLES,
  ...PROXY_TABLES,
  exporterProcess,
  ...HOST_TABLES,
];

export const CATALOG: readonly CatalogEntry[] = CATALOG_TABLES.flat();
