// Settings of an engine server, and what is asked of its schema beside its status. Memory and connection
// limits add up over servers. Tables and accounts do not: a replica holds the same ones again.

import { additive, type CatalogTable, gauge, table, updown } from './table.ts';

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
    // One instance's limit, and nothing on the page says how many instances there are.
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
    // Despite its ending no counter: tables are dropped, too.
    updown('info_schema_engine_table_count_total', '{table}', 'Tables, by storage engine.', {
      labels: ['engine'],
      declared: 'unknown',
      confidence: 'guess',
    }),
    // The free space of a shared file is reported again for each table in it.
    updown('info_schema_table_size', 'By', 'Estimated size of a table, by part.', {
      labels: ['schema', 'table', 'component'],
    }),
    updown('security_users_without_passwords', '{user}', 'Accounts without a password.', {
      confidence: 'likely',
    }),
  ],
);
