// Status of one engine server: what the server process counts and holds. Half of these series only ever grow,
// although the service's page declares nearly all of them gauge or untyped. Five are set back while the
// process lives on (aborted_*, created_tmp_files, table_locks_*), so uptime does not bound every counter.

import { additive, type CatalogTable, counter, gauge, table, updown } from './table.ts';

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

    // Connections and threads. The busy ones are also among the connected: no total is made of them.
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

    // The transactional storage engine. Dirty and old pages are also counted as data pages: the states are no partition.
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
