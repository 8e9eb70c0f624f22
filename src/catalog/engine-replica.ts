// Status of a replica: absent on servers that replicate from nowhere. Positions are offsets within one log
// file, whose name is no label: they fall when the file changes, so none of them is a counter.

import { type CatalogTable, gauge, table } from './table.ts';

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
