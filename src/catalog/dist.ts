// The distributed engine. The source of these series is not public, so no type is certain. No number is an up-down
// counter, because a node's share cannot be distinguished from a cluster-wide number that each node repeats.

import { type CatalogTable, counter, gauge, table } from './catalog.ts';

const UNKNOWN = { declared: 'unknown' } as const;
const BY_STATE = { labels: ['state'] } as const;

export const DIST_TABLES: readonly CatalogTable[] = [
  table('engine_dist_', UNKNOWN, [
    // Cluster.
    gauge('cluster_uptime_seconds', 's', 'Age of the cluster as a whole.'),
    gauge('cluster_nodes_in_quorum', '{node}', 'Nodes that have a part in the quorum.'),
    gauge('cluster_total_nodes', '{node}', 'Nodes of the cluster.'),

    // Throughput: precomputed rates and means.
    gauge('qps', '{query}/s', 'Queries a second.'),
    gauge('tps', '{transaction}/s', 'Transactions a second.'),
    gauge('response_time_seconds', 's', 'Mean response time of a query.'),

    // Processor. It is not known whether full load is 1 or 100.
    gauge('cpu_load', '1', 'Load of a node, its first core left out.'),
    gauge('activity_core0', '1', "Load of a node's first core, which has duties of its own."),
    gauge('activity_til', '1', "Load of a node's other cores."),

    // Memory, disk and network. It is not known whether the traffic is a running total.
    gauge('memory_total_bytes', 'By', 'Total memory of a node.'),
    gauge('memory_bm_bytes', 'By', 'Memory of the page cache.'),
    gauge('memory_working_bytes', 'By', 'Memory that running queries use.'),
    gauge('memory_reserved_bytes', 'By', 'Memory that queries cannot use.'),
    gauge('capacity_disk_system_max_bytes', 'By', "Size of the cluster's data store."),
    gauge('capacity_disk_system_avail_bytes', 'By', "Free space of the cluster's data store."),
    gauge('capacity_disk_system_usage_ratio', '1', "Fraction of the cluster's data store in use."),
    gauge('capacity_disk_total_usage_percent', '%', "Percentage of a node's disks in use."),
    gauge('io_disk_latency_seconds', 's', 'Time a disk access takes.'),
    gauge('io_network_latency_seconds', 's', 'Time a message between nodes takes.'),
    gauge('io_network_bytes', 'By', 'Bytes that a node exchanges with others.'),
    gauge('wals_avg_sync_time_seconds', 's', 'Mean duration of a write-ahead log sync.'),
    counter('containers_rows', '{row}', 'Rows touched in the storage containers, by operation.', {
      labels: ['operation'],
      isGuess: true,
    }),

    // Sessions. It is not known which transaction's age this is.
    gauge('sessions', '{session}', 'Sessions, by state.', BY_STATE),
    gauge('sessions_time_in_state', 's', 'Time that sessions have been in their state.', BY_STATE),
    gauge('sessions_trx_age', 's', 'How long transactions have been open.'),

    gauge('rebalancer_jobs_queued', '{job}', 'Rebalancer jobs that wait.'),
    gauge('rebalancer_underprotected_slices', '{slice}', 'Slices that lack a copy.'),
  ]),

  // Either running tasks or running totals: gauges, because a false counter would show false resets.
  table('engine_dist_rebalancer_rebalancer_', UNKNOWN, [
    gauge('rebalance', '{task}', 'Rebalancer: moves that even out the load.'),
    gauge('reprotects', '{task}', 'Rebalancer: copies made anew.'),
    gauge('reranks', '{task}', 'Rebalancer: changes of the copy that is read first.'),
    gauge('softfail_reprotects', '{task}', 'Rebalancer: copies moved off nodes that leave.'),
    gauge('splits', '{task}', 'Rebalancer: slices split for their size.'),
  ]),

  // The service's relabelling damages these names (see lookup.ts). A name with `_seconds`, divided by the same name
  // without it, is a mean duration.
  table('engine_dist_stats_', UNKNOWN, [
    counter('connections', '{connection}', 'Connections accepted.'),
    counter('Com_select', '{command}', 'SELECT statements.'),
    counter('Com_select_seconds', 's', 'Time spent in SELECT statements.'),
    counter('Com_insert', '{command}', 'INSERT statements.'),
    counter('Com_insert_seconds', 's', 'Time spent in INSERT statements.'),
    counter('Com_update', '{command}', 'UPDATE statements.'),
    counter('Com_update_seconds', 's', 'Time spent in UPDATE statements.'),
    counter('Com_delete', '{command}', 'DELETE statements.'),
    counter('Com_delete_seconds', 's', 'Time spent in DELETE statements.'),
    counter('Com_alter_cluster', '{command}', 'ALTER CLUSTER statements.'),
    counter('Com_set_option', '{command}', 'SET statements.'),
    counter('Com_show_slave_status', '{command}', 'Queries for the replica status.'),
    counter('Com_show_status', '{command}', 'Queries for the server status.'),
    counter('Com_show_variables', '{command}', 'Queries for the settings.'),
  ]),
];
