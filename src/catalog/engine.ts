// Engine servers: status, settings, schema and replication. multimaster.ts has the members of clusters.

import { additive, type CatalogTable, counter, gauge, table, updown } from './table.ts';

// Status of one engine server. Half of these series only grow, although the service's page declares nearly all of them
// gauge or untyped. Five can be reset while the process runs (aborted_*, created_tmp_files, table_locks_*), so uptime
// does not date every reset.

/** Dates the start of every counter of an engine server. */
export const ENGINE_UPTIME = 'engine_global_status_uptime';

const UNTYPED = { declared: 'untyped' } as const;

export const engineStatus: CatalogTable = table(
  'engine status',
  {
    family: 'engine',
    prefix: 'engine_global_status_',
    declared: 'gauge',
    confidence: 'certain',
    uptimeSeries: ENGINE_UPTIME,
  },
  [
    gauge('uptime', 's', 'Age of the server process, in whole seconds.'),

    // Connections and threads. Running threads are also connected ones, so they are not summed.
    additive('threads_connected', '{connection}', 'Client connections that are open.'),
    updown('threads_running', '{thread}', 'Threads that work, system threads included.'),
    additive('threads_cached', '{thread}', 'Idle threads waiting for a new connection.'),
    counter('threads_created', '{thread}', 'Threads started for new connections.'),
    counter('aborted_clients', '{connection}', 'Sessions lost: the client vanished or timed out.'),
    counter('aborted_connects', '{connection}', 'Log-ins that failed before a session began.'),
    counter('bytes_received', 'By', 'Network traffic from clients.'),
    counter('bytes_sent', 'By', 'Network traffic to clients.'),

    // Statements.
    counter('queries', '{query}', 'Statements executed, inside stored programs too.'),
    counter('questions', '{query}', 'Statements that clients sent.'),
    counter('slow_queries', '{query}', 'Statements slower than the slow-query threshold.'),
    counter('commands_total', '{command}', 'Statements executed, by kind.', {
      labels: ['command'],
      declared: 'counter',
    }),
    counter('handlers_total', '{operation}', 'Calls of the storage engines, by kind.', {
      labels: ['handler'],
      declared: 'counter',
    }),
    counter('rows_read', '{row}', 'Rows read from tables, not counting temporary ones.'),
    counter('rows_sent', '{row}', 'Rows returned to clients.'),

    // Joins and sorts.
    counter('select_full_join', '{join}', 'Joins that scanned a later table: no index.'),
    counter('select_full_range_join', '{join}', 'Joins that searched a later table by a range.'),
    counter('select_range', '{join}', 'Joins that searched the first table by a range.'),
    counter('select_range_check', '{join}', 'Joins that sought an index at every row.'),
    counter('select_scan', '{join}', 'Joins that scanned the whole of their first table.'),
    counter('sort_merge_passes', '{pass}', 'Extra passes of sorts too big for their buffer.'),
    counter('sort_range', '{sort}', 'Sorts of the result of a range search.'),
    counter('sort_scan', '{sort}', 'Sorts of the result of a table scan.'),
    counter('sort_rows', '{row}', 'Rows sorted.'),

    // Temporary tables and files.
    counter('created_tmp_tables', '{table}', 'Temporary tables that statements needed.', UNTYPED),
    counter('created_tmp_disk_tables', '{table}', 'Temporary tables put on disk.', UNTYPED),
    counter('created_tmp_files', '{file}', 'Temporary files created.', UNTYPED),

    // Tables, files and locks.
    additive('open_tables', '{table}', 'Tables in the table cache, without temporary ones.'),
    counter('opened_tables', '{table}', 'Tables opened since the start.'),
    additive('open_table_definitions', '{table}', 'Table definitions in the definition cache.'),
    counter('opened_table_definitions', '{table}', 'Definitions that were not in their cache.'),
    counter('table_open_cache_hits', '{lookup}', 'Lookups that found the table open.'),
    counter('table_open_cache_misses', '{lookup}', 'Lookups that found the table closed.'),
    counter('table_open_cache_overflows', '{eviction}', 'Tables closed for lack of space.'),
    counter('table_locks_immediate', '{lock}', 'Table locks obtained without waiting.'),
    counter('table_locks_waited', '{lock}', 'Table locks that were waited for.'),
    additive('open_files', '{file}', 'Files the server layer has open, sockets excluded.'),
    counter('opened_files', '{file}', 'Files the server layer has opened since the start.'),

    // The transactional storage engine. Dirty and old pages are also data pages, so the states are not summed.
    updown('buffer_pool_pages', '{page}', 'Pages of the buffer pool, by state; states overlap.', {
      labels: ['state'],
    }),
    gauge('innodb_page_size', 'By', 'Page size of the storage engine.'),
    counter('innodb_data_read', 'By', 'Data read by the storage engine.'),
    counter('innodb_data_written', 'By', 'Data written by the storage engine.'),
    additive('innodb_num_open_files', '{file}', 'Files the storage engine has open.'),

    gauge('slave_running', '1', '1 while the default replication connection receives and applies.'),
  ],
);

// Settings and schema of an engine server. Memory and connection limits add up over servers. Tables and accounts do not:
// a replica has the same ones.

export const engineVariables: CatalogTable = table(
  'engine settings',
  {
    family: 'engine',
    prefix: 'engine_global_variables_',
    declared: 'gauge',
    confidence: 'certain',
  },
  [
    additive('innodb_buffer_pool_size', 'By', 'Memory set aside for cached pages.'),
    additive('innodb_log_buffer_size', 'By', 'Memory set aside for redo records not yet written.'),
    additive('key_buffer_size', 'By', 'Memory set aside for indexes of non-transactional tables.'),
    additive('query_cache_size', 'By', 'Memory set aside for cached results; 0 when switched off.'),
    additive('max_connections', '{connection}', 'Limit of simultaneous client connections.'),
    additive('open_files_limit', '{file}', 'Limit of open file descriptors.'),
    // The limit of one instance; the page does not show the number of instances.
    updown('table_open_cache', '{table}', 'Size of each instance of the table cache.'),
    gauge('read_only', '1', '1 while ordinary accounts cannot write.'),
    gauge('gtid_current_pos', '1', 'Number of the last applied transaction, within its domain.', {
      confidence: 'guess',
    }),
  ],
);

export const engineSchema: CatalogTable = table(
  'engine reachability and schema',
  { family: 'engine', prefix: 'engine_', declared: 'gauge', confidence: 'certain' },
  [
    gauge('up', '1', '1 if the server answered; at 0 its other series are absent.'),
    // Not a counter despite its name: tables are also dropped.
    updown('info_schema_engine_table_count_total', '{table}', 'Tables, by storage engine.', {
      labels: ['engine'],
      declared: 'unknown',
      confidence: 'guess',
    }),
    // The free space of a shared file is repeated for each table in it.
    updown('info_schema_table_size', 'By', 'Estimated size of a table, by part.', {
      labels: ['schema', 'table', 'component'],
    }),
    updown('security_users_without_passwords', '{user}', 'Accounts without a password.', {
      confidence: 'likely',
    }),
  ],
);

// Status of a replica, absent on other servers. Positions are offsets within one log file, whose name is not a label:
// they fall when the file changes, so none of them is a counter.

export const engineReplica: CatalogTable = table(
  'engine replica status',
  {
    family: 'engine',
    prefix: 'engine_slave_status_',
    declared: 'untyped',
    confidence: 'certain',
    labels: ['master_host', 'master_uuid', 'channel_name', 'connection_name'],
  },
  [
    gauge('slave_io_running', '1', '1 while the replica receives from its source.'),
    gauge('slave_sql_running', '1', '1 while the replica applies what it received.'),
    gauge('seconds_behind_master', 's', 'Estimated lag; absent while not applying.'),
    gauge('read_master_log_pos', 'By', "Position in the source's log up to which it was received."),
    gauge('exec_master_log_pos', 'By', "Position in the source's log up to which it was applied."),
    gauge('relay_log_pos', 'By', "Position in the replica's own relay log."),
    gauge('last_io_errno', '1', 'Error number that last stopped the receiving; 0 if none.'),
    gauge('last_sql_errno', '1', 'Error number that last stopped the applying; 0 if none.'),
  ],
);
