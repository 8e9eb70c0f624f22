// The whole catalog: the 160 series of the specification (service-spec section 2.7), table by table. A new series also
// needs a line in test/fixtures/series-names.txt; the simulator has it at once.

import { type CatalogEntry, type CatalogTable, table, updown } from './catalog.ts';
import { DIST_TABLES } from './dist.ts';
import { ENGINE_TABLES } from './engine.ts';
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
];

export const CATALOG: readonly CatalogEntry[] = CATALOG_TABLES.flat();
