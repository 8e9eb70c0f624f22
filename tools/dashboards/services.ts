// The dashboard of the database services: what each family has to say, a row for each.

import type { DashboardSpec, Panel, Query } from './dashboard.ts';

const OF = 'job=~"$service"';
const SERVER = '{{job}} {{server_name}}';

/** The value as it stands, for each server. */
function now(metric: string, legend: string = SERVER): Query {
  return { expr: `${metric}{${OF}}`, legend };
}

/** How fast a counter grows, for each server or for each value of `by`. */
function speed(
  metric: string,
  by: string = 'server_name',
  legend: string = `{{job}} {{${by}}}`,
): Query {
  return { expr: `sum by (job, ${by}) (rate(${metric}{${OF}}[$__rate_interval]))`, legend };
}

function panel(title: string, unit: string, ...queries: Query[]): Panel {
  return { title, unit, queries };
}

function states(title: string, ...queries: Query[]): Panel {
  return { title, unit: 'bool', queries, type: 'state-timeline' };
}

const overview: readonly Panel[] = [
  states('Last scrape succeeded', {
    expr: `min by (job) (up{${OF}})`,
    legend: '{{job}}',
  }),
  states(
    'Servers up',
    now('engine_up'),
    { expr: `engine_global_status_wsrep_ready{${OF}}`, legend: `${SERVER} ready` },
    now('proxy_up'),
  ),
  panel('Samples on the page', 'short', {
    expr: `sum by (job) (scrape_samples_scraped{${OF}})`,
    legend: '{{job}}',
  }),
];

const engine: readonly Panel[] = [
  panel('Queries a second', 'reqps', speed('engine_global_status_queries')),
  panel('Slow queries a second', 'reqps', speed('engine_global_status_slow_queries')),
  panel('Ten most frequent commands', 'reqps', {
    expr: `topk(10, sum by (job, command) (rate(engine_global_status_commands_total{${OF}}[$__rate_interval])))`,
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
  panel('Buffer pool, pages by state', 'short', {
    expr: `sum by (job, state) (engine_global_status_buffer_pool_pages{${OF}})`,
    legend: '{{job}} {{state}}',
  }),
  panel('Share of temporary tables that went to disk', 'percentunit', {
    expr: `sum by (job, server_name) (rate(engine_global_status_created_tmp_disk_tables{${OF}}[$__rate_interval])) / sum by (job, server_name) (rate(engine_global_status_created_tmp_tables{${OF}}[$__rate_interval]))`,
    legend: SERVER,
  }),
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
    expr: `topk(10, sum by (job, schema, table) (engine_info_schema_table_size{${OF}}))`,
    legend: '{{job}} {{schema}}.{{table}}',
  }),
  panel('Up for', 's', now('engine_global_status_uptime')),
];

const multimaster: readonly Panel[] = [
  panel('Cluster size', 'short', now('engine_global_status_wsrep_cluster_size')),
  states('In the primary part of the cluster', now('engine_global_status_wsrep_cluster_status')),
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
    {
      expr: `max by (job) (engine_dist_cluster_nodes_in_quorum{${OF}})`,
      legend: '{{job}} in quorum',
    },
    { expr: `max by (job) (engine_dist_cluster_total_nodes{${OF}})`, legend: '{{job}} in all' },
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
  panel('Sessions', 'short', {
    expr: `sum by (job) (engine_dist_sessions{${OF}})`,
    legend: '{{job}}',
  }),
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
  const rate = (metric: string): string =>
    `sum by (job) (rate(engine_dist_stats_Com_${metric}{${OF}}[$__rate_interval]))`;
  return {
    expr: `${rate(`${statement}_seconds`)} / ${rate(statement)}`,
    legend: `{{job}} ${statement}`,
  };
}

const proxy: readonly Panel[] = [
  panel('Connections to each server', 'short', {
    expr: `sum by (job, server_name, id) (proxy_server_connections{${OF}})`,
    legend: `${SERVER} {{id}}`,
  }),
  panel('Operations under way', 'short', {
    expr: `sum by (job, server_name) (proxy_server_active_operations{${OF}})`,
    legend: SERVER,
  }),
  panel('Packets routed a second', 'pps', speed('proxy_server_routed_packets')),
  panel(
    'Times that the pool was empty, a second',
    'reqps',
    speed('proxy_server_connection_pool_empty'),
  ),
  panel('Longest wait in a queue', 'ms', {
    expr: `max by (job, server_name) (proxy_threads_max_queue_time{${OF}})`,
    legend: SERVER,
  }),
  panel('Errors and hang-ups a second', 'reqps', speed('proxy_threads_errors'), {
    ...speed('proxy_threads_hangups'),
    legend: `${SERVER} hang-ups`,
  }),
  panel('Memory of the processes', 'bytes', now('process_resident_memory_bytes')),
];

const backups: readonly Panel[] = [
  states('A full backup is scheduled', now('prom2otlp_backup_full_scheduled', '{{job}}')),
  panel('Until the next backup', 's', now('prom2otlp_backup_next_run_seconds', '{{job}} {{type}}')),
  panel('Schedules', 'short', {
    expr: `sum by (job, type, state) (prom2otlp_backup_schedules{${OF}})`,
    legend: '{{job}} {{type}} {{state}}',
  }),
];

export const services: DashboardSpec = {
  uid: 'prom2otlp-services',
  title: 'Database services',
  description:
    'The hosted database services, as prom2otlp sends them, with a row for each family of series.',
  variable: { name: 'service', label: 'Service', metric: 'scrape_series_added', key: 'job' },
  rows: [
    { title: 'Overview', panels: overview },
    { title: 'Engine', panels: engine },
    { title: 'Multimaster', panels: multimaster },
    { title: 'Distributed', panels: dist },
    { title: 'Proxy', panels: proxy },
    { title: 'Backups', panels: backups },
  ],
};
