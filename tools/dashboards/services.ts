// The dashboard of the database services, with a row of panels for each family of series.

import {
  type DashboardSpec,
  legendOf,
  type Panel,
  panel,
  type Query,
  states,
} from './dashboard.ts';

const OF = 'job=~"$service"';
const SERVER = '{{job}} {{server_name}}';
const VOLUME = `${SERVER} {{disk_purpose}}`;

/** The current value of each server. */
function now(metric: string, legend: string = SERVER): Query {
  return { expr: `${metric}{${OF}}`, legend };
}

/** The current value of each member of a cluster. Other servers may have the series, too, but no state of a member. */
function member(metric: string, legend: string = SERVER): Query {
  const { expr } = now(metric, legend);
  return { expr: `${expr} and engine_global_status_wsrep_local_state`, legend };
}

/** The sum, minimum or maximum of the series with the same values of `labels`. */
function all(how: 'sum' | 'min' | 'max', metric: string, ...labels: readonly string[]): Query {
  const by = ['job', ...labels];
  return { expr: `${how} by (${by.join(', ')}) (${metric}{${OF}})`, legend: legendOf(...by) };
}

function rate(metric: string, by: string): string {
  return `sum by (${by}) (rate(${metric}{${OF}}[$__rate_interval]))`;
}

/** How fast a counter grows, for each server or for each value of `by`. */
function speed(
  metric: string,
  by: string = 'server_name',
  legend: string = legendOf('job', by),
): Query {
  return { expr: rate(metric, `job, ${by}`), legend };
}

/** How much the counter `one` grows while the counter `other` grows by 1. */
function ratio(one: string, other: string, by: string, legend: string): Query {
  return { expr: `${rate(one, by)} / ${rate(other, by)}`, legend };
}

const overview: readonly Panel[] = [
  states('Last scrape succeeded', all('min', 'up')),
  states(
    'Servers up',
    now('engine_up'),
    member('engine_global_status_wsrep_ready', `${SERVER} ready`),
    now('proxy_up'),
  ),
  panel('Samples on the page', 'short', all('sum', 'scrape_samples_scraped')),
];

const engine: readonly Panel[] = [
  panel('Queries a second', 'reqps', speed('engine_global_status_queries')),
  panel('Slow queries a second', 'reqps', speed('engine_global_status_slow_queries')),
  panel('Ten most frequent commands', 'reqps', {
    expr: `topk(10, ${rate('engine_global_status_commands_total', 'job, command')})`,
    legend: '{{job}} {{command}}',
  }),
  panel(
    'Connections, and how many there may be',
    'short',
    now('engine_global_status_threads_connected'),
    now('engine_global_variables_max_connections', `${SERVER} limit`),
  ),
  panel('Threads at work', 'short', now('engine_global_status_threads_running')),
  panel(
    'Connections that failed, a second',
    'reqps',
    speed('engine_global_status_aborted_connects', 'server_name', `${SERVER} refused`),
    speed('engine_global_status_aborted_clients', 'server_name', `${SERVER} broken off`),
  ),
  panel(
    'Rows a second, by operation',
    'reqps',
    speed('engine_global_status_handlers_total', 'handler'),
  ),
  panel(
    'Network',
    'Bps',
    speed('engine_global_status_bytes_received', 'server_name', `${SERVER} in`),
    speed('engine_global_status_bytes_sent', 'server_name', `${SERVER} out`),
  ),
  panel(
    'Storage',
    'Bps',
    speed('engine_global_status_innodb_data_read', 'server_name', `${SERVER} read`),
    speed('engine_global_status_innodb_data_written', 'server_name', `${SERVER} written`),
  ),
  panel(
    'Buffer pool, pages by state',
    'short',
    all('sum', 'engine_global_status_buffer_pool_pages', 'state'),
  ),
  panel(
    'Share of temporary tables that went to disk',
    'percentunit',
    ratio(
      'engine_global_status_created_tmp_disk_tables',
      'engine_global_status_created_tmp_tables',
      'job, server_name',
      SERVER,
    ),
  ),
  panel(
    'Table locks that had to wait, a second',
    'reqps',
    speed('engine_global_status_table_locks_waited'),
  ),
  panel('Replication lag', 's', now('engine_slave_status_seconds_behind_master')),
  states(
    'Replication runs',
    now('engine_slave_status_slave_io_running', `${SERVER} receives`),
    now('engine_slave_status_slave_sql_running', `${SERVER} applies`),
  ),
  panel('Ten largest tables', 'bytes', {
    // A replica has the same tables, and the free space of a shared file is repeated for each table in it.
    expr: `topk(10, max by (job, schema, table) (sum by (job, server_name, schema, table) (engine_info_schema_table_size{${OF}, component!="data_free"})))`,
    legend: '{{job}} {{schema}}.{{table}}',
  }),
  panel('Up for', 's', now('engine_global_status_uptime')),
];

const host: readonly Panel[] = [
  states(
    'The service and its servers are active',
    now('engine_service_status', '{{job}}'),
    now('engine_service_server_status'),
    now('engine_service_server_network_status', `${SERVER} network`),
  ),
  panel('Processor in use', 'percentunit', now('engine_server_cpu')),
  panel(
    'Processors at work',
    'short',
    speed('engine_server_cpu_user_seconds_total', 'server_name', `${SERVER} programs`),
    speed('engine_server_cpu_system_seconds_total', 'server_name', `${SERVER} kernel`),
  ),
  panel(
    'Memory, and how much there may be',
    'bytes',
    now('engine_server_resident_memory_bytes'),
    now('engine_server_memory_cache', `${SERVER} page cache`),
    now('engine_server_spec_memory_limit_bytes', `${SERVER} limit`),
  ),
  panel('Disk in use', 'percentunit', {
    expr: `engine_server_volume_stats_used_bytes{${OF}} / engine_server_volume_stats_capacity_bytes{${OF}}`,
    legend: VOLUME,
  }),
  panel('Free disk', 'bytes', now('engine_server_volume_stats_available_bytes', VOLUME)),
  panel(
    'Disk accesses a second',
    'iops',
    speed('engine_server_fs_reads_total', 'server_name', `${SERVER} read`),
    speed('engine_server_fs_writes_total', 'server_name', `${SERVER} written`),
  ),
  panel(
    'Disk traffic',
    'Bps',
    speed('engine_server_fs_reads_bytes_total', 'server_name', `${SERVER} read`),
    speed('engine_server_fs_writes_bytes_total', 'server_name', `${SERVER} written`),
  ),
  panel(
    'Network of the container',
    'Bps',
    speed('engine_server_network_receive_bytes_total', 'server_name', `${SERVER} in`),
    speed('engine_server_network_transmit_bytes_total', 'server_name', `${SERVER} out`),
  ),
  panel(
    'Packets lost a second',
    'pps',
    ...['receive', 'transmit'].flatMap(way => [
      speed(`engine_server_network_${way}_errors_total`, 'server_name', `${SERVER} ${way} errors`),
      speed(
        `engine_server_network_${way}_packets_dropped_total`,
        'server_name',
        `${SERVER} ${way} drops`,
      ),
    ]),
  ),
];

const multimaster: readonly Panel[] = [
  panel('Cluster size', 'short', member('engine_global_status_wsrep_cluster_size')),
  states('In the primary part of the cluster', member('engine_global_status_wsrep_cluster_status')),
  panel(
    'Share of time paused by flow control',
    'percentunit',
    now('engine_global_status_wsrep_flow_control_paused'),
  ),
  panel(
    'Queues of write sets',
    'short',
    now('engine_global_status_wsrep_local_recv_queue', `${SERVER} to apply`),
    now('engine_global_status_wsrep_local_send_queue', `${SERVER} to send`),
  ),
  panel('Replicated', 'Bps', speed('engine_global_status_wsrep_replicated_bytes')),
  panel(
    'Round trip of group communication',
    's',
    now('engine_multimaster_evs_repl_latency_avg_seconds', `${SERVER} mean`),
    now('engine_multimaster_evs_repl_latency_max_seconds', `${SERVER} slowest`),
  ),
];

const dist: readonly Panel[] = [
  panel(
    'Nodes',
    'short',
    { ...all('max', 'engine_dist_cluster_nodes_in_quorum'), legend: '{{job}} in quorum' },
    { ...all('max', 'engine_dist_cluster_total_nodes'), legend: '{{job}} in all' },
  ),
  panel('Queries a second', 'reqps', now('engine_dist_qps')),
  panel('Transactions a second', 'reqps', now('engine_dist_tps')),
  panel('Response time', 's', now('engine_dist_response_time_seconds')),
  panel('Time a statement takes', 's', ...['select', 'insert', 'update', 'delete'].map(duration)),
  panel('Processor load', 'percentunit', now('engine_dist_cpu_load')),
  panel('Disk in use', 'percent', now('engine_dist_capacity_disk_total_usage_percent')),
  panel(
    'Memory',
    'bytes',
    now('engine_dist_memory_total_bytes', `${SERVER} in all`),
    now('engine_dist_memory_working_bytes', `${SERVER} working`),
  ),
  panel('Sessions', 'short', all('sum', 'engine_dist_sessions')),
  panel('Rows a second, by operation', 'reqps', speed('engine_dist_containers_rows', 'operation')),
  panel(
    'Latency of disk and network',
    's',
    now('engine_dist_io_disk_latency_seconds', `${SERVER} disk`),
    now('engine_dist_io_network_latency_seconds', `${SERVER} network`),
  ),
  panel(
    'Rebalancing',
    'short',
    now('engine_dist_rebalancer_jobs_queued', `${SERVER} jobs`),
    now('engine_dist_rebalancer_underprotected_slices', `${SERVER} slices without enough copies`),
  ),
];

function duration(statement: string): Query {
  const metric = `engine_dist_stats_Com_${statement}`;
  return ratio(`${metric}_seconds`, metric, 'job', `{{job}} ${statement}`);
}

const proxy: readonly Panel[] = [
  panel(
    'Connections to each server',
    'short',
    all('sum', 'proxy_server_connections', 'server_name', 'id'),
  ),
  panel(
    'Operations under way',
    'short',
    all('sum', 'proxy_server_active_operations', 'server_name'),
  ),
  panel('Packets routed a second', 'pps', speed('proxy_server_routed_packets')),
  panel(
    'Times that the pool was empty, a second',
    'reqps',
    speed('proxy_server_connection_pool_empty'),
  ),
  panel('Longest wait in a queue', 'ms', all('max', 'proxy_threads_max_queue_time', 'server_name')),
  panel('Errors and hang-ups a second', 'reqps', speed('proxy_threads_errors'), {
    ...speed('proxy_threads_hangups'),
    legend: `${SERVER} hang-ups`,
  }),
  panel('Memory of the processes', 'bytes', now('process_resident_memory_bytes')),
];

const backups: readonly Panel[] = [
  states(
    'A backup that restores is scheduled',
    now('prom2otlp_backup_restorable_scheduled', '{{job}}'),
  ),
  panel('Until the next backup', 's', now('prom2otlp_backup_next_run_seconds', '{{job}} {{type}}')),
  panel('Schedules', 'short', all('sum', 'prom2otlp_backup_schedules', 'type', 'state')),
];

export const services: DashboardSpec = {
  uid: 'prom2otlp-services',
  title: 'Database services',
  description:
    'The hosted database services, as prom2otlp sends them, with a row for each family of series. $NAMES',
  // Of the series that each service has, the one that Prometheus by default does not write for its own targets.
  variable: { name: 'service', label: 'Service', metric: 'scrape_body_size_bytes', key: 'job' },
  rows: [
    { title: 'Overview', panels: overview },
    { title: 'Host', panels: host },
    { title: 'Engine', panels: engine },
    { title: 'Multimaster', panels: multimaster },
    { title: 'Distributed', panels: dist },
    { title: 'Proxy', panels: proxy },
    { title: 'Backups', panels: backups },
  ],
};
