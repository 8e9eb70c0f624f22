// What a simulated engine server shows, and how each series moves at ordinary load: a shop of moderate size.
// Names are without the prefix of their table. What belongs together keeps its order (questions <= queries)
// or its sum (pages of the pool) because the rates do.

import { constant, grows, growsFlushable, level, position, type Shape, uptime } from './shape.ts';

export type Labels = Readonly<Record<string, string>>;

/** One series of a server: what follows the prefix, how it moves, and its own labels. */
export type SeriesRow = readonly [suffix: string, shape: Shape, labels?: Labels | undefined];

/** `engine_global_status_*` of any engine server. */
export function statusRows(isReplica: boolean): readonly SeriesRow[] {
  return [
    ['uptime', uptime()],
    ['threads_connected', level(64, 40)],
    ['threads_running', level(9, 7)],
    ['threads_cached', level(12, -6)],
    ['threads_created', grows(0.02)],
    ['aborted_clients', growsFlushable(0.004)],
    ['aborted_connects', growsFlushable(0.001)],
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
    ['created_tmp_files', growsFlushable(0.0007)],
    ['open_tables', level(410, 30)],
    ['opened_tables', grows(0.05)],
    ['open_table_definitions', level(285, 5)],
    ['opened_table_definitions', grows(0.01)],
    ['table_open_cache_hits', grows(290)],
    ['table_open_cache_misses', grows(0.06)],
    ['table_open_cache_overflows', grows(0.004)],
    ['table_locks_immediate', growsFlushable(1.5)],
    ['table_locks_waited', growsFlushable(0.0002)],
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
export function variableRows(isReplica: boolean): readonly SeriesRow[] {
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

/** `engine_*` that is neither status nor setting. */
export function schemaRows(): readonly SeriesRow[] {
  return [
    ['up', constant(1)],
    ['info_schema_engine_table_count_total', constant(TABLES.length), { engine: 'InnoDB' }],
    ['info_schema_engine_table_count_total', constant(3), { engine: 'Aria' }],
    ['security_users_without_passwords', constant(0)],
    ...TABLES.flatMap((table, index) => tableRows(table, 12 * (index + 1))),
  ];
}

/** The three parts of a table's size, in MiB at first; they grow with the position of the service. */
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
export function replicaRows(source: string): readonly SeriesRow[] {
  // As the exporter writes them: three of the four are empty for an unnamed connection.
  const labels = { channel_name: '', connection_name: '', master_host: source, master_uuid: '' };
  const rows: readonly SeriesRow[] = [
    ['slave_io_running', constant(1)],
    ['slave_sql_running', constant(1)],
    ['seconds_behind_master', level(2, 2)],
    ['read_master_log_pos', position(90_000, LOG_FILE_BYTES)],
    ['exec_master_log_pos', position(90_000, LOG_FILE_BYTES, 1)],
    ['relay_log_pos', position(90_000, LOG_FILE_BYTES / 4, 1)],
    ['last_io_errno', constant(0)],
    ['last_sql_errno', constant(0)],
  ];
  return rows.map(([suffix, shape]) => [suffix, shape, labels]);
}

// Statements a second. Those of rate 0 stand for the many kinds that a server never sees.
const COMMANDS: RateByLabel = {
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

// Calls a second.
const HANDLERS: RateByLabel = {
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

type RateByLabel = Readonly<Record<string, number>>;

function split(suffix: string, label: string, rates: RateByLabel): readonly SeriesRow[] {
  return Object.entries(rates).map(([value, rate]) => [suffix, grows(rate), { [label]: value }]);
}
