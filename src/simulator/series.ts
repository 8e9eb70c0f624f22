// The series of each server role, and how each of them moves at ordinary load: a shop of moderate size. Related series
// keep their order (questions <= queries) or their sum (pages of the pool), because their rates do.

import { constant, grows, hexOf, level, position, type Shape, uptime } from './load.ts';

/** The role of a process, which decides which series it has. */
export type ServerRole = 'single' | 'primary' | 'replica' | 'member' | 'node' | 'proxy';

export type Labels = Readonly<Record<string, string>>;

/** One series of a server: its name (in the tables below without their prefix), how it moves, and its own labels. */
export type SeriesRow = readonly [name: string, shape: Shape, labels?: Labels | undefined];

/** All series of a server of this role, in a fixed order. `others` are the names of the service's other servers. */
export function rowsOf(
  role: ServerRole,
  serviceId: string,
  others: readonly string[],
): SeriesRow[] {
  return [...ROWS_BY_ROLE[role](serviceId, others), ...prefixed('process_', PROCESS_ROWS)];
}

const ROWS_BY_ROLE: Readonly<
  Record<ServerRole, (serviceId: string, others: readonly string[]) => SeriesRow[]>
> = {
  single: () => engineRows(false),
  primary: () => engineRows(false),
  replica: (_id, [source = 'elsewhere']) => [
    ...engineRows(true),
    ...prefixed('engine_slave_status_', replicaRows(source)),
  ],
  member: (id, others) => [
    ...engineRows(false),
    ...prefixed('engine_global_status_wsrep_', membershipRows(others.length + 1)),
    ...prefixed('engine_multimaster_', multimasterRows(hexOf(id))),
  ],
  node: (_id, others) => [
    ['engine_up', constant(1)],
    ...prefixed('engine_dist_', distRows(others.length + 1)),
  ],
  proxy: (_id, others) => prefixed('proxy_', proxyRows(others)),
};

function engineRows(isReplica: boolean): SeriesRow[] {
  return [
    ...prefixed('engine_global_status_', statusRows(isReplica)),
    ...prefixed('engine_global_variables_', variableRows(isReplica)),
    ...prefixed('engine_', schemaRows()),
  ];
}

export function prefixed(prefix: string, rows: readonly SeriesRow[]): SeriesRow[] {
  return rows.map(([suffix, ...rest]) => [prefix + suffix, ...rest]);
}

function labelled(labels: Labels, rows: readonly SeriesRow[]): SeriesRow[] {
  return rows.map(([suffix, shape]) => [suffix, shape, labels]);
}

/** `engine_global_status_*` of any engine server. */
function statusRows(isReplica: boolean): readonly SeriesRow[] {
  return [
    ['uptime', uptime()],
    ['threads_connected', level(64, 40)],
    ['threads_running', level(9, 7)],
    ['threads_cached', level(12, -6)],
    ['threads_created', grows(0.02)],
    ['aborted_clients', grows(0.004)],
    ['aborted_connects', grows(0.001)],
    ['bytes_received', grows(42_000)],
    ['bytes_sent', grows(610_000)],
    ['queries', grows(310)],
    ['questions', grows(240)],
    ['slow_queries', grows(0.03)],
    ...split('commands_total', 'command', COMMANDS),
    ...split('handlers_total', 'handler', HANDLERS),
    ['rows_read', grows(5_200)],
    ['rows_sent', grows(860)],
    ['select_full_join', grows(0.06)],
    ['select_full_range_join', grows(0.002)],
    ['select_range', grows(14)],
    ['select_range_check', grows(0.0005)],
    ['select_scan', grows(3.4)],
    ['sort_merge_passes', grows(0.001)],
    ['sort_range', grows(2.1)],
    ['sort_scan', grows(1.2)],
    ['sort_rows', grows(130)],
    ['created_tmp_tables', grows(4.5)],
    ['created_tmp_disk_tables', grows(0.4)],
    ['created_tmp_files', grows(0.0007)],
    ['open_tables', level(410, 30)],
    ['opened_tables', grows(0.05)],
    ['open_table_definitions', level(285, 5)],
    ['opened_table_definitions', grows(0.01)],
    ['table_open_cache_hits', grows(290)],
    ['table_open_cache_misses', grows(0.06)],
    ['table_open_cache_overflows', grows(0.004)],
    ['table_locks_immediate', grows(1.5)],
    ['table_locks_waited', grows(0.0002)],
    ['open_files', level(38, 6)],
    ['opened_files', grows(0.7)],
    ['buffer_pool_pages', level(57_000, 4_000, 1, 'pool'), { state: 'data' }],
    ['buffer_pool_pages', level(7_936, -4_000, 1, 'pool'), { state: 'free' }],
    ['buffer_pool_pages', constant(600), { state: 'misc' }],
    ['buffer_pool_pages', level(2_100, 1_500), { state: 'dirty' }],
    ['innodb_page_size', constant(16_384)],
    ['innodb_data_read', grows(95_000)],
    ['innodb_data_written', grows(330_000)],
    ['innodb_num_open_files', level(120, 8)],
    ['slave_running', constant(isReplica ? 1 : 0)],
  ];
}

/** `engine_global_variables_*`. */
function variableRows(isReplica: boolean): readonly SeriesRow[] {
  return [
    ['innodb_buffer_pool_size', constant(2 ** 30)],
    ['innodb_log_buffer_size', constant(2 ** 24)],
    ['key_buffer_size', constant(2 ** 27)],
    ['query_cache_size', constant(0)],
    ['max_connections', constant(500)],
    ['open_files_limit', constant(65_535)],
    ['table_open_cache', constant(2_000)],
    ['read_only', constant(isReplica ? 1 : 0)],
    ['gtid_current_pos', position(21)],
  ];
}

const TABLES = ['customers', 'orders', 'order_items', 'stock'];

/** `engine_*` without status and settings. */
function schemaRows(): readonly SeriesRow[] {
  return [
    ['up', constant(1)],
    ['info_schema_engine_table_count_total', constant(TABLES.length), { engine: 'InnoDB' }],
    ['info_schema_engine_table_count_total', constant(3), { engine: 'Aria' }],
    ['security_users_without_passwords', constant(0)],
    ...TABLES.flatMap((table, index) => tableRows(table, 12 * (index + 1))),
  ];
}

/** The three parts of a table's size; its data has this many MiB on average. */
export function tableRows(table: string, mebibytes: number): readonly SeriesRow[] {
  const labels = (component: string): Labels => ({ schema: 'shop', table, component });
  const page = 16_384;
  const size = mebibytes * 2 ** 20;
  return [
    ['info_schema_table_size', level(size, 40 * page, page, table), labels('data_length')],
    ['info_schema_table_size', level(size / 4, 10 * page, page, table), labels('index_length')],
    ['info_schema_table_size', constant(4 * 2 ** 20), labels('data_free')],
  ];
}

const LOG_FILE_BYTES = 2 ** 30;

/** `engine_slave_status_*` of a server that replicates from `source`. */
function replicaRows(source: string): readonly SeriesRow[] {
  // As from the exporter: three of the four are empty for an unnamed connection.
  const labels = { channel_name: '', connection_name: '', master_host: source, master_uuid: '' };
  return labelled(labels, [
    ['slave_io_running', constant(1)],
    ['slave_sql_running', constant(1)],
    ['seconds_behind_master', level(2, 2)],
    ['read_master_log_pos', position(90_000, LOG_FILE_BYTES)],
    ['exec_master_log_pos', position(90_000, LOG_FILE_BYTES, 1)],
    ['relay_log_pos', position(90_000, LOG_FILE_BYTES / 4, 1)],
    ['last_io_errno', constant(0)],
    ['last_sql_errno', constant(0)],
  ]);
}

// Statements per second. Rate 0 is for the many kinds that a server never gets.
const COMMANDS = {
  admin_commands: 0.5,
  alter_table: 0.0001,
  alter_user: 0,
  begin: 19,
  call_procedure: 0.6,
  change_db: 0.3,
  commit: 19,
  create_table: 0.0002,
  create_user: 0,
  delete: 2.4,
  drop_table: 0.0001,
  flush: 0.0003,
  grant: 0,
  insert: 11,
  kill: 0.0001,
  load: 0,
  lock_tables: 0,
  replace: 0.4,
  rollback: 0.05,
  select: 118,
  set_option: 24,
  show_slave_status: 0.03,
  show_status: 0.07,
  show_variables: 0.02,
  stmt_execute: 30,
  truncate: 0.001,
  update: 14,
};

// Calls per second.
const HANDLERS = {
  commit: 44,
  delete: 2.4,
  external_lock: 510,
  prepare: 21,
  read_first: 3.5,
  read_key: 940,
  read_next: 3_100,
  read_prev: 60,
  read_rnd: 130,
  read_rnd_next: 1_000,
  rollback: 0.06,
  savepoint: 0.2,
  tmp_update: 8,
  tmp_write: 210,
  update: 14,
  write: 11.4,
};

function split(
  suffix: string,
  label: string,
  rates: Readonly<Record<string, number>>,
): readonly SeriesRow[] {
  return Object.entries(rates).map(([value, rate]) => [suffix, grows(rate), { [label]: value }]);
}

/** `engine_global_status_wsrep_*` of a member of a cluster of `members`. */
function membershipRows(members: number): readonly SeriesRow[] {
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
function multimasterRows(clusterHex: string): readonly SeriesRow[] {
  const clusterUuid = clusterHex.replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');
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
function distRows(nodes: number): readonly SeriesRow[] {
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
    // The ratio matches the two sizes, because all of them use the same noise.
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
    [`stats_Com_${kind}_seconds`, grows(perSecond * meanSeconds, 1e-6)],
  ];
}

const PROXY_MODULES = [
  { module_name: 'readwritesplit', module_type: 'Router', version: 'V1.1.0' },
  { module_name: 'protocol', module_type: 'Protocol', version: 'V1.1.0' },
  { module_name: 'monitor', module_type: 'Monitor', version: 'V1.5.0' },
];
const PROXY_WORKERS = ['0', '1', '2', '3'];

/** `proxy_*` of a proxy with these backends. */
function proxyRows(backends: readonly string[]): readonly SeriesRow[] {
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
  return labelled(labels, [
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
  ]);
}

function workerRows(labels: Labels): SeriesRow[] {
  return labelled(labels, [
    ['threads_current_descriptors', level(48, 20)],
    ['threads_total_descriptors', grows(0.2)],
    ['threads_reads', grows(180)],
    ['threads_writes', grows(150)],
    ['threads_hangups', grows(0.03)],
    ['threads_errors', grows(0.0008)],
    ['threads_event_queue_length', constant(1)],
    ['threads_max_queue_time', constant(0)],
  ]);
}

/** `process_*` of the exporter beside a server. */
const PROCESS_ROWS: readonly SeriesRow[] = [
  ['resident_memory_bytes', level(31_000_000, 900_000, 4_096)],
];
