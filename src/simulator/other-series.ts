// What the other simulated servers show: members of a multi-master cluster, nodes of the distributed engine,
// proxies, and the exporter process beside each of them. Names are without the prefix of their table.

import type { Labels, SeriesRow } from './engine-series.ts';
import { constant, grows, growsSeconds, level, position, uptime } from './shape.ts';

/** `engine_global_status_wsrep_*` of a member of a cluster of `members`. */
export function membershipRows(members: number): readonly SeriesRow[] {
  return [
    ['cluster_size', constant(members)],
    ['cluster_status', constant(1)],
    ['cluster_conf_id', constant(members + 4)],
    ['connected', constant(1)],
    ['ready', constant(1)],
    ['local_state', constant(4)],
    ['last_committed', position(21)],
    ['cert_deps_distance', level(31, 9, 0.01)],
    ['replicated', grows(7)],
    ['replicated_bytes', grows(11_000)],
    ['flow_control_paused', level(0.002, 0.002, 0.0001)],
    ['local_recv_queue', level(2, 2)],
    ['local_recv_queue_avg', level(0.4, 0.2, 0.001)],
    ['local_recv_queue_max', constant(23)],
    ['local_recv_queue_min', constant(0)],
    ['local_send_queue', level(1, 1)],
    ['local_send_queue_avg', level(0.1, 0.05, 0.001)],
    ['local_send_queue_max', constant(9)],
    ['local_send_queue_min', constant(0)],
  ];
}

/** `engine_multimaster_*`. The cluster's identity is the same for all its members. */
export function multimasterRows(clusterUuid: string): readonly SeriesRow[] {
  const labels = {
    wsrep_cluster_state_uuid: clusterUuid,
    wsrep_local_state_uuid: clusterUuid,
    wsrep_provider_version: '26.4.20',
  };
  return [
    ['evs_repl_latency_avg_seconds', level(0.0009, 0.0004, 1e-6, 'latency')],
    ['evs_repl_latency_max_seconds', level(0.006, 0.004, 1e-6, 'latency')],
    ['evs_repl_latency_min_seconds', level(0.0003, 0.0001, 1e-6, 'latency')],
    ['status_info', constant(1), labels],
  ];
}

const GIB = 2 ** 30;

/** `engine_dist_*` of one node in a cluster of `nodes`. */
export function distRows(nodes: number): readonly SeriesRow[] {
  return [
    ['cluster_uptime_seconds', uptime('service')],
    ['cluster_nodes_in_quorum', constant(nodes)],
    ['cluster_total_nodes', constant(nodes)],
    ['qps', level(820, 500, 0.1)],
    ['tps', level(160, 100, 0.1)],
    ['response_time_seconds', level(0.012, 0.006, 1e-6)],
    ['cpu_load', level(0.44, 0.3, 0.001)],
    ['activity_core0', level(0.21, 0.1, 0.001)],
    ['activity_til', level(0.46, 0.3, 0.001)],
    ['memory_total_bytes', constant(32 * GIB)],
    ['memory_bm_bytes', level(20 * GIB, GIB, 4_096)],
    ['memory_working_bytes', level(3 * GIB, 2 * GIB, 4_096)],
    ['memory_reserved_bytes', constant(2 * GIB)],
    // The ratio is what the two sizes say: both stray by the same noise.
    ['capacity_disk_system_max_bytes', constant(1_000 * GIB)],
    ['capacity_disk_system_avail_bytes', level(380 * GIB, -20 * GIB, 1, 'disk')],
    ['capacity_disk_system_usage_ratio', level(0.62, 0.02, 1e-6, 'disk')],
    ['capacity_disk_total_usage_percent', level(64, 2, 0.01, 'disk')],
    ['io_disk_latency_seconds', level(0.0008, 0.0004, 1e-6)],
    ['io_network_latency_seconds', level(0.0002, 0.0001, 1e-6)],
    ['io_network_bytes', grows(2_400_000)],
    ['wals_avg_sync_time_seconds', level(0.0015, 0.0007, 1e-6)],
    ['containers_rows', grows(5_100), { operation: 'read' }],
    ['containers_rows', grows(240), { operation: 'insert' }],
    ['containers_rows', grows(310), { operation: 'update' }],
    ['containers_rows', grows(55), { operation: 'delete' }],
    ['sessions', level(14, 9), { state: 'running' }],
    ['sessions', level(86, 20), { state: 'idle' }],
    ['sessions', level(5, 3), { state: 'in_transaction' }],
    ['sessions_time_in_state', level(3, 2, 0.001), { state: 'running' }],
    ['sessions_time_in_state', level(9_200, -4_000, 0.001), { state: 'idle' }],
    ['sessions_time_in_state', level(11, 8, 0.001), { state: 'in_transaction' }],
    ['sessions_trx_age', level(4, 3, 0.001)],
    ['rebalancer_jobs_queued', level(2, 2)],
    ['rebalancer_underprotected_slices', constant(0)],
    ['rebalancer_rebalancer_rebalance', level(1, 1)],
    ['rebalancer_rebalancer_reprotects', constant(0)],
    ['rebalancer_rebalancer_reranks', level(2, 2)],
    ['rebalancer_rebalancer_softfail_reprotects', constant(0)],
    ['rebalancer_rebalancer_splits', level(1, 1)],
    ['stats_connections', grows(0.9)],
    ...timedStatement('select', 610, 0.009),
    ...timedStatement('insert', 80, 0.004),
    ...timedStatement('update', 110, 0.006),
    ...timedStatement('delete', 12, 0.005),
    ['stats_Com_alter_cluster', grows(0.00001)],
    ['stats_Com_set_option', grows(31)],
    ['stats_Com_show_slave_status', grows(0.02)],
    ['stats_Com_show_status', grows(0.07)],
    ['stats_Com_show_variables', grows(0.03)],
  ];
}

function timedStatement(kind: string, perSecond: number, meanSeconds: number): SeriesRow[] {
  return [
    [`stats_Com_${kind}`, grows(perSecond)],
    [`stats_Com_${kind}_seconds`, growsSeconds(perSecond * meanSeconds)],
  ];
}

const PROXY_MODULES = [
  { module_name: 'readwritesplit', module_type: 'Router', version: 'V1.1.0' },
  { module_name: 'protocol', module_type: 'Protocol', version: 'V1.1.0' },
  { module_name: 'monitor', module_type: 'Monitor', version: 'V1.5.0' },
];
const PROXY_WORKERS = ['0', '1', '2', '3'];

/** `proxy_*` of a proxy before these backends. */
export function proxyRows(backends: readonly string[]): readonly SeriesRow[] {
  return [
    ['up', constant(1)],
    ['uptime_seconds', uptime()],
    ...PROXY_MODULES.map((labels): SeriesRow => ['modules', constant(1), labels]),
    ['service_connections', level(120, 70), { id: 'split-service' }],
    ...backends.flatMap(id => backendRows({ id })),
    ['threads_count', constant(PROXY_WORKERS.length)],
    ['threads_stack_size', constant(0)],
    ...PROXY_WORKERS.flatMap(id => workerRows({ id })),
  ];
}

function backendRows(labels: Labels): SeriesRow[] {
  const rows: readonly SeriesRow[] = [
    ['server_active_operations', level(6, 5)],
    ['server_connections', level(64, 40)],
    ['server_persistent_connections', level(11, -7)],
    ['server_total_connections', grows(0.4)],
    ['server_reused_connections', grows(0.3)],
    ['server_connection_pool_empty', grows(0.01)],
    ['server_routed_packets', grows(240)],
    ['server_max_connections', constant(143)],
    ['server_max_pool_size', constant(21)],
    ['server_adaptive_avg_select_time', constant(0)],
  ];
  return rows.map(([suffix, shape]) => [suffix, shape, labels]);
}

function workerRows(labels: Labels): SeriesRow[] {
  const rows: readonly SeriesRow[] = [
    ['threads_current_descriptors', level(48, 20)],
    ['threads_total_descriptors', grows(0.2)],
    ['threads_reads', grows(180)],
    ['threads_writes', grows(150)],
    ['threads_hangups', grows(0.03)],
    ['threads_errors', grows(0.0008)],
    ['threads_event_queue_length', constant(1)],
    ['threads_max_queue_time', constant(0)],
  ];
  return rows.map(([suffix, shape]) => [suffix, shape, labels]);
}

/** `process_*` of the exporter beside a server. */
export function processRows(): readonly SeriesRow[] {
  return [['resident_memory_bytes', level(31_000_000, 900_000, 4_096)]];
}
