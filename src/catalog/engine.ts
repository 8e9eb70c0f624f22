// Engine servers: status, settings, schema, replication, and multi-master clusters.

import { type CatalogTable, counter, gauge, info, stateset, table, updown } from './catalog.ts';

const GAUGE = { declared: 'gauge' } as const;
const UNTYPED = { declared: 'untyped' } as const;
const CHANNEL = {
  declared: 'untyped',
  labels: ['master_host', 'master_uuid', 'channel_name', 'connection_name'],
} as const;

export const ENGINE_TABLES: readonly CatalogTable[] = [
  // Status of one engine server. Half of these series only grow, although the service's page declares nearly all of them
  // gauge or untyped. Five can be reset while the process runs (aborted_*, created_tmp_files, table_locks_*), so uptime
  // does not date every reset.
  table('engine_global_status_', GAUGE, [
    gauge('uptime', 's', 'Age of the server process, in whole seconds.'),

    // Connections and threads. Running threads are also connected ones, so they are not summed.
    updown('threads_connected', '{connection}', 'Client connections that are open.'),
    gauge('threads_running', '{thread}', 'Threads that work, system threads included.'),
    updown('threads_cached', '{thread}', 'Idle threads waiting for a new connection.'),
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
    updown('open_tables', '{table}', 'Tables in the table cache, without temporary ones.'),
    counter('opened_tables', '{table}', 'Tables opened since the start.'),
    updown('open_table_definitions', '{table}', 'Table definitions in the definition cache.'),
    counter('opened_table_definitions', '{table}', 'Definitions that were not in their cache.'),
    counter('table_open_cache_hits', '{lookup}', 'Lookups that found the table open.'),
    counter('table_open_cache_misses', '{lookup}', 'Lookups that found the table closed.'),
    counter('table_open_cache_overflows', '{eviction}', 'Tables closed for lack of space.'),
    counter('table_locks_immediate', '{lock}', 'Table locks obtained without waiting.'),
    counter('table_locks_waited', '{lock}', 'Table locks that were waited for.'),
    updown('open_files', '{file}', 'Files the server layer has open, sockets excluded.'),
    counter('opened_files', '{file}', 'Files the server layer has opened since the start.'),

    // The transactional storage engine. Dirty and old pages are also data pages, so the states are not summed.
    gauge('buffer_pool_pages', '{page}', 'Pages of the buffer pool, by state; states overlap.', {
      labels: ['state'],
    }),
    gauge('innodb_page_size', 'By', 'Page size of the storage engine.'),
    counter('innodb_data_read', 'By', 'Data read by the storage engine.'),
    counter('innodb_data_written', 'By', 'Data written by the storage engine.'),
    updown('innodb_num_open_files', '{file}', 'Files the storage engine has open.'),

    gauge('slave_running', '1', '1 while the default replication connection receives and applies.'),
  ]),

  // Status of an engine server as a member of a multi-master cluster. The series have the engine's prefix. A server outside
  // a cluster may have some of them, with 0, but never `local_state`. Every member reports the cluster's size, view and
  // position, and receives its own copy of a write set, so hardly any of them may be summed over servers.
  table('engine_global_status_wsrep_', UNTYPED, [
    // Membership.
    gauge('cluster_size', '{node}', 'Members of the cluster in the view of this node.'),
    gauge('cluster_status', '1', '1 while this node belongs to the part that has quorum.'),
    gauge('cluster_conf_id', '1', 'Number of the membership view; rises with every change.'),
    gauge('connected', '1', '1 while the node is attached to the replication provider.'),
    gauge('ready', '1', '1 while the node takes queries.'),
    stateset('local_state', '1', 'State: 0 none, 1 joining, 2 donor, 3 joined, 4 synced, 5 error.'),

    // Replication. Positions belong to the cluster: they jump with a state transfer.
    gauge('last_committed', '{transaction}', 'Position of the last commit, common to all members.'),
    gauge('cert_deps_distance', '{transaction}', 'Mean span of parallel commits.'),
    counter('replicated', '{writeset}', 'Write sets sent to the other members.'),
    counter('replicated_bytes', 'By', 'Size of the write sets sent to the other members.'),
    gauge('flow_control_paused', '1', 'Fraction of time paused since the reset.'),

    // Queues; mean, longest and shortest since the last reset of the statistics.
    gauge('local_recv_queue', '{writeset}', 'Received write sets that wait to be applied.'),
    gauge('local_recv_queue_avg', '{writeset}', 'Mean length of the receive queue.'),
    gauge('local_recv_queue_max', '{writeset}', 'Greatest length of the receive queue.'),
    gauge('local_recv_queue_min', '{writeset}', 'Least length of the receive queue.'),
    updown('local_send_queue', '{writeset}', 'Write sets that wait to be sent.'),
    gauge('local_send_queue_avg', '{writeset}', 'Mean length of the send queue.'),
    gauge('local_send_queue_max', '{writeset}', 'Greatest length of the send queue.'),
    gauge('local_send_queue_min', '{writeset}', 'Least length of the send queue.'),
  ]),

  // Settings and schema of an engine server. Memory and connection limits add up over servers. Tables and accounts do not:
  // a replica has the same ones.
  table('engine_global_variables_', GAUGE, [
    updown('innodb_buffer_pool_size', 'By', 'Memory set aside for cached pages.'),
    updown('innodb_log_buffer_size', 'By', 'Memory set aside for redo records not yet written.'),
    updown('key_buffer_size', 'By', 'Memory set aside for indexes of non-transactional tables.'),
    updown('query_cache_size', 'By', 'Memory set aside for cached results; 0 when switched off.'),
    updown('max_connections', '{connection}', 'Limit of simultaneous client connections.'),
    updown('open_files_limit', '{file}', 'Limit of open file descriptors.'),
    // The limit of one instance; the page does not show the number of instances.
    gauge('table_open_cache', '{table}', 'Size of each instance of the table cache.'),
    gauge('read_only', '1', '1 while ordinary accounts cannot write.'),
    gauge('gtid_current_pos', '1', 'Number of the last applied transaction, within its domain.'),
  ]),

  table('engine_', GAUGE, [
    gauge('up', '1', '1 if the server answered; at 0 its other series are absent.'),
    // Not a counter despite its name: tables are also dropped.
    gauge('info_schema_engine_table_count_total', '{table}', 'Tables, by storage engine.', {
      labels: ['engine'],
      declared: 'unknown',
    }),
    // The free space of a shared file is repeated for each table in it.
    gauge('info_schema_table_size', 'By', 'Estimated size of a table, by part.', {
      labels: ['schema', 'table', 'component'],
    }),
    gauge('security_users_without_passwords', '{user}', 'Accounts without a password.'),
  ]),

  // Status of a replica, absent on other servers. Positions are offsets within one log file, whose name is not a label:
  // they fall when the file changes, so none of them is a counter.
  table('engine_slave_status_', CHANNEL, [
    gauge('slave_io_running', '1', '1 while the replica receives from its source.'),
    gauge('slave_sql_running', '1', '1 while the replica applies what it received.'),
    gauge('seconds_behind_master', 's', 'Estimated lag; absent while not applying.'),
    gauge('read_master_log_pos', 'By', "Position in the source's log up to which it was received."),
    gauge('exec_master_log_pos', 'By', "Position in the source's log up to which it was applied."),
    gauge('relay_log_pos', 'By', "Position in the replica's own relay log."),
    gauge('last_io_errno', '1', 'Error number that last stopped the receiving; 0 if none.'),
    gauge('last_sql_errno', '1', 'Error number that last stopped the applying; 0 if none.'),
  ]),

  // Group communication of a multi-master cluster, measured by one member. The latencies cover a short window that the
  // statistics timer resets, and are 0 on an idle node.
  table('engine_multimaster_', GAUGE, [
    gauge('evs_repl_latency_avg_seconds', 's', 'Mean replication round trip within the group.'),
    gauge('evs_repl_latency_max_seconds', 's', 'Longest replication round trip within the group.'),
    gauge('evs_repl_latency_min_seconds', 's', 'Shortest replication round trip within the group.'),
    info('status_info', '1', 'Identity of the node, its cluster and its provider; always 1.', {
      labels: ['wsrep_local_state_uuid', 'wsrep_cluster_state_uuid', 'wsrep_provider_version'],
    }),
  ]),
];
