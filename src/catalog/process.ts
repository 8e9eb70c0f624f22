// Series of the exporter process itself. By the convention of exporters its memory is neither the engine's
// nor the proxy's.

import { additive, type CatalogTable, table } from './table.ts';

export const exporterProcess: CatalogTable = table(
  'process',
  { family: 'process', prefix: 'process_', declared: 'gauge', confidence: 'likely' },
  [additive('resident_memory_bytes', 'By', 'Physical memory of the exporter process.')],
);
