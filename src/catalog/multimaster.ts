// Group communication of a multi-master cluster as one member sees it. The latencies cover a short window
// that the statistics timer empties, and read 0 on an idle node.

import { type CatalogTable, gauge, info, table } from './table.ts';

export const multimaster: CatalogTable = table(
  'multimaster',
  {
    family: 'multimaster',
    prefix: 'engine_multimaster_',
    declared: 'gauge',
    confidence: 'certain',
  },
  [
    gauge('evs_repl_latency_avg_seconds', 's', 'Mean replication round trip within the group.'),
    gauge('evs_repl_latency_max_seconds', 's', 'Longest replication round trip within the group.'),
    gauge('evs_repl_latency_min_seconds', 's', 'Shortest replication round trip within the group.'),
    info('status_info', '1', 'Identity of the node, its cluster and its provider; always 1.', {
      labels: ['wsrep_local_state_uuid', 'wsrep_cluster_state_uuid', 'wsrep_provider_version'],
    }),
  ],
);
