// The series of each server role and how each of them moves at ordinary load: a shop of moderate size. Names, types, units
// and labels are the catalog's. Here is only which tables a role has, the values of labels, and the shapes of series whose
// value has a meaning of its own or a relation to others; all other series move as is usual for their type and unit.

import { CATALOG, CATALOG_TABLES } from '../catalog/all.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import {
  constant,
  grows,
  hashText,
  hexOf,
  level,
  position,
  type Shape,
  unit,
  uptime,
} from './load.ts';

/** The role of a process, which decides which series it has. */
export type ServerRole = 'single' | 'primary' | 'replica' | 'member' | 'node' | 'proxy';

/** The series of a service as a whole, which have no labels of a server. */
export const SERVICE_SERIES: ReadonlySet<string> = new Set(['engine_service_status']);

export type Labels = Readonly<Record<string, string>>;

/** One series of a server: its name, how it moves, and its own labels. */
export type SeriesRow = readonly [name: string, shape: Shape, labels: Labels];

interface Place {
  readonly role: ServerRole;
  readonly serviceId: string;
  /** The names of the service's other servers. */
  readonly others: readonly string[];
}

/** All series of a server, in the catalog's order. */
export function rowsOf(place: Place): SeriesRow[] {
  const shapes = { ...SHAPES, ...shapesOf(place) };
  return ENTRIES[place.role].flatMap(entry =>
    labelsOf(entry, place).map((labels): SeriesRow => {
      const { name } = entry;
      const [value = ''] = Object.values(labels);
      return [name, shapes[`${name} ${value}`] ?? shapes[name] ?? usual(entry, value), labels];
    }),
  );
}

/** The tables with these series. */
function tables(...names: readonly string[]): readonly CatalogEntry[] {
  return CATALOG_TABLES.filter(table => table.some(one => names.includes(one.name))).flat();
}

// Each table is named by one of its series.
const HOST = ['engine_server_cpu', 'engine_service_status'];
const ENGINE = [
  'engine_global_status_uptime',
  'engine_global_variables_read_only',
  'engine_up',
  ...HOST,
];
const EXPORTER = 'process_resident_memory_bytes';

const ENTRIES: Readonly<Record<ServerRole, readonly CatalogEntry[]>> = {
  single: tables(...ENGINE, EXPORTER),
  primary: tables(...ENGINE, EXPORTER),
  replica: tables(...ENGINE, 'engine_slave_status_relay_log_pos', EXPORTER),
  member: tables(
    ...ENGINE,
    'engine_global_status_wsrep_ready',
    'engine_multimaster_status_info',
    EXPORTER,
  ),
  node: [
    ...CATALOG.filter(
      ({ name, family }) => family === 'dist' || family === 'process' || name === 'engine_up',
    ),
    ...tables(...HOST),
  ],
  proxy: CATALOG.filter(({ family }) => family === 'proxy' || family === 'process'),
};

// The values of labels.

const COMMANDS =
  `admin_commands alter_table alter_user begin call_procedure change_db commit create_table create_user
  delete drop_table flush grant insert kill load lock_tables replace rollback select set_option show_slave_status
  show_status show_variables stmt_execute truncate update`.split(/\s+/u);
const HANDLERS =
  `commit delete external_lock prepare read_first read_key read_next read_prev read_rnd read_rnd_next
  rollback savepoint tmp_update tmp_write update write`.split(/\s+/u);
const TABLES = ['customers', 'orders', 'order_items', 'stock'];
const COMPONENTS = ['data_length', 'index_length', 'data_free'];
const MODULES = [
  { module_name: 'readwritesplit', module_type: 'Router', version: 'V1.1.0' },
  { module_name: 'protocol', module_type: 'Protocol', version: 'V1.1.0' },
  { module_name: 'monitor', module_type: 'Monitor', version: 'V1.5.0' },
];

/** The own labels of each series of this name. A label that is not known here has one value. */
function labelsOf({ name, labels }: CatalogEntry, { serviceId, others }: Place): readonly Labels[] {
  const [label] = labels;
  if (label === undefined) return [{}];
  const each = (values: readonly string[]): Labels[] => values.map(value => ({ [label]: value }));
  if (label === 'command') return each(COMMANDS);
  if (label === 'handler') return each(HANDLERS);
  if (label === 'operation') return each(['read', 'insert', 'update', 'delete']);
  if (label === 'engine') return each(['InnoDB', 'Aria']);
  if (name === 'engine_global_status_buffer_pool_pages')
    return each(['data', 'free', 'misc', 'dirty']);
  if (label === 'state') return each(['running', 'idle', 'in_transaction']);
  if (label === 'module_name') return MODULES;
  if (name.startsWith('proxy_server_')) return each(others);
  if (name.startsWith('proxy_threads_')) return each(['0', '1', '2', '3']);
  if (label === 'schema')
    return TABLES.flatMap(table =>
      COMPONENTS.map(component => ({ schema: 'shop', table, component })),
    );
  const uuid = hexOf(serviceId).replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');
  const known: Labels = {
    id: 'split-service',
    disk_purpose: 'data',
    // As from the exporter: the other labels of an unnamed connection are empty.
    master_host: others[0] ?? 'elsewhere',
    wsrep_cluster_state_uuid: uuid,
    wsrep_local_state_uuid: uuid,
    wsrep_provider_version: '26.4.20',
  };
  return [Object.fromEntries(labels.map(one => [one, known[one] ?? '']))];
}

// How series move.

const PAGE = 16_384;
const GIB = 2 ** 30;

/** The usual movement of a series; its first label's value decides with its name how large it is. */
function usual({ name, type, unit: measure }: CatalogEntry, value: string): Shape {
  const size = sizeOf(`${name} ${value}`);
  if (type === 'info') return constant(1);
  if (type === 'counter') {
    if (measure === 'By') return grows(size * 20_000);
    if (measure !== 's') return grows(size);
    // The time that is spent in what another counter counts: a few milliseconds each.
    return grows(0.006 * sizeOf(`${name.replace(/_seconds$/u, '')} ${value}`), 1e-6);
  }
  if (name.startsWith('engine_global_variables_')) return constant(2 ** 24);
  if (measure === 'By') return level(size * 2 ** 24, size * 2 ** 23, PAGE);
  if (measure === 's') return level(size / 1000, size / 2000, 1e-6);
  // Mostly a flag that says that all is well.
  if (measure === '1') return constant(1);
  const mean = 2 + Math.ceil(size);
  return level(mean, mean / 2);
}

/** From 0.03 to 30, the same on every machine. */
function sizeOf(text: string): number {
  return 10 ** (3 * unit(hashText(text, 0), 0) - 1.5);
}

function under(prefix: string, shapes: Readonly<Record<string, Shape>>): Record<string, Shape> {
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [prefix + name, shape]));
}

const LOG_FILE_BYTES = GIB;

/** By the name of a series, or by its name and the value of its first label. */
const SHAPES: Readonly<Record<string, Shape>> = {
  ...under('engine_global_status_', {
    uptime: uptime(),
    threads_connected: level(64, 40),
    threads_running: level(9, 7),
    aborted_clients: grows(0.004),
    aborted_connects: grows(0.001),
    table_locks_waited: grows(0.0002),
    bytes_received: grows(42_000),
    bytes_sent: grows(610_000),
    queries: grows(310),
    questions: grows(240),
    slow_queries: grows(0.03),
    created_tmp_tables: grows(4.5),
    created_tmp_disk_tables: grows(0.4),
    // The pages of the pool add up, because they sway in the same way.
    'buffer_pool_pages data': level(57_000, 4_000, 1, 'pool'),
    'buffer_pool_pages free': level(7_936, -4_000, 1, 'pool'),
    'buffer_pool_pages misc': constant(600),
    'buffer_pool_pages dirty': level(2_100, 1_500),
    innodb_page_size: constant(PAGE),
    wsrep_local_state: constant(4),
    wsrep_last_committed: position(21),
    wsrep_flow_control_paused: level(0.002, 0.002, 0.0001),
    wsrep_local_recv_queue_avg: level(0.4, 0.2, 0.001),
    wsrep_local_recv_queue_min: constant(0),
    wsrep_local_recv_queue_max: constant(23),
    wsrep_local_send_queue_avg: level(0.1, 0.05, 0.001),
    wsrep_local_send_queue_min: constant(0),
    wsrep_local_send_queue_max: constant(9),
  }),
  ...under('engine_global_variables_', {
    innodb_buffer_pool_size: constant(GIB),
    query_cache_size: constant(0),
    max_connections: constant(500),
    open_files_limit: constant(65_535),
    table_open_cache: constant(2_000),
    gtid_current_pos: position(21),
  }),
  'engine_info_schema_engine_table_count_total InnoDB': constant(TABLES.length),
  'engine_info_schema_engine_table_count_total Aria': constant(3),
  engine_security_users_without_passwords: constant(0),
  ...under('engine_slave_status_', {
    seconds_behind_master: level(2, 2),
    read_master_log_pos: position(90_000, LOG_FILE_BYTES),
    exec_master_log_pos: position(90_000, LOG_FILE_BYTES, 1),
    relay_log_pos: position(90_000, LOG_FILE_BYTES / 4, 1),
    last_io_errno: constant(0),
    last_sql_errno: constant(0),
  }),
  ...under('engine_multimaster_evs_repl_latency_', {
    avg_seconds: level(0.0009, 0.0004, 1e-6, 'latency'),
    max_seconds: level(0.006, 0.004, 1e-6, 'latency'),
    min_seconds: level(0.0003, 0.0001, 1e-6, 'latency'),
  }),
  ...under('engine_dist_', {
    cluster_uptime_seconds: uptime('service'),
    cpu_load: level(0.44, 0.3, 0.001),
    activity_core0: level(0.21, 0.1, 0.001),
    activity_til: level(0.46, 0.3, 0.001),
    memory_total_bytes: constant(32 * GIB),
    // The ratio matches the two sizes.
    capacity_disk_system_max_bytes: constant(1_000 * GIB),
    capacity_disk_system_avail_bytes: level(380 * GIB, -20 * GIB, 1, 'disk'),
    capacity_disk_system_usage_ratio: level(0.62, 0.02, 1e-6, 'disk'),
    capacity_disk_total_usage_percent: level(64, 2, 0.01, 'disk'),
    rebalancer_underprotected_slices: constant(0),
  }),
  // Two processors, and well below all limits. What the volume has in use and what is free add up.
  ...under('engine_server_', {
    cpu: level(0.36, 0.24, 0.001),
    cpu_system_seconds_total: grows(0.18, 0.01),
    cpu_user_seconds_total: grows(0.54, 0.01),
    spec_cpu_period: constant(100_000),
    memory_cache: level(0.7 * GIB, -0.15 * GIB, PAGE, 'memory'),
    memory_rss: level(2.4 * GIB, 0.15 * GIB, PAGE, 'memory'),
    resident_memory_bytes: level(2.4 * GIB, 0.15 * GIB, PAGE, 'memory'),
    virtual_memory_bytes: level(4.5 * GIB, 0.2 * GIB, PAGE, 'memory'),
    spec_memory_limit_bytes: constant(4 * GIB),
    fs_reads_total: grows(14),
    fs_writes_total: grows(85),
    fs_reads_bytes_total: grows(14 * PAGE),
    fs_writes_bytes_total: grows(85 * PAGE),
    volume_stats_available_bytes: level(42 * GIB, -2 * GIB, PAGE, 'volume'),
    volume_stats_capacity_bytes: constant(100 * GIB),
    volume_stats_used_bytes: level(58 * GIB, 2 * GIB, PAGE, 'volume'),
    network_receive_bytes_total: grows(48_000),
    network_receive_errors_total: grows(0.00001),
    network_receive_packets_dropped_total: grows(0.0004),
    network_transmit_bytes_total: grows(650_000),
    network_transmit_errors_total: grows(0.00001),
    network_transmit_packets_dropped_total: grows(0.0001),
  }),
  proxy_uptime_seconds: uptime(),
  proxy_threads_count: constant(4),
  proxy_threads_stack_size: constant(0),
};

/** The shapes that depend on the server. */
function shapesOf({ role, others }: Place): Readonly<Record<string, Shape>> {
  const isReplica = constant(role === 'replica' ? 1 : 0);
  const nodes = constant(others.length + 1);
  return {
    engine_global_status_slave_running: isReplica,
    engine_global_variables_read_only: isReplica,
    engine_global_status_wsrep_cluster_size: nodes,
    engine_dist_cluster_nodes_in_quorum: nodes,
    engine_dist_cluster_total_nodes: nodes,
  };
}
