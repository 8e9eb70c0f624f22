// Queries of a user about the story (story-pages.ts) at its last minute, with answers that are worked out by hand. Where
// the two query languages count differently, both answers are given with their calculation:
//
// - Prometheus takes only samples within the window, whose left end is open: five of [5m], ten of [10m]. It extrapolates
//   the time that they span (four or nine minutes) to the window, but not to before a counter was 0.
// - VictoriaMetrics also takes the last sample before the window, and does not extrapolate.

/** Returns the name under which a back end stores a metric of the page. */
export type Named = (name: string) => string;

/** Values by the label that distinguishes the series of the answer; '' for an answer of one series without labels. */
export type Answers = Readonly<Record<string, number>>;

export interface StoryQuery {
  readonly asks: string;
  readonly query: (named: Named) => string;
  /** The label whose value is the key of an answer. */
  readonly by?: string;
  readonly answers: Answers | { readonly prometheus: Answers; readonly victoriaMetrics: Answers };
}

const QUERIES = 'engine_global_status_queries';
const UPTIME = 'engine_global_status_uptime';
const CONNECTED = 'engine_global_status_threads_connected';
const LAG = 'engine_slave_status_seconds_behind_master';
const ROWS = 'engine_dist_containers_rows';
const PROXY_NEW = 'proxy_server_total_connections';

export const storyQueries: readonly StoryQuery[] = [
  {
    asks: 'queries a second of each server',
    query: named => `sum by (server_name) (rate(${named(QUERIES)}[5m]))`,
    by: 'server_name',
    // shop-0: 1350 since the restart 270 s ago, so 4.5 a second in 300 s. Prometheus sees 1200 in 240 s, and adds the
    // 30 s in which the counter grew from 0 to its first 150: the same result. shop-1: 120 a minute.
    answers: { 'shop-0': 4.5, 'shop-1': 2 },
  },
  {
    asks: 'queries in ten minutes, over the restart',
    query: named => `increase(${named(QUERIES)}{server_name="shop-0"}[10m])`,
    by: 'server_name',
    answers: {
      // Minutes 1 to 10: 1200 up to minute 5, then 150 and 1200; 2550 in 540 s, extrapolated to 600 s.
      prometheus: { 'shop-0': (2550 * 600) / 540 },
      // From minute 0 on: 1500, 150, 1200.
      victoriaMetrics: { 'shop-0': 2850 },
    },
  },
  {
    asks: 'how often a server has restarted',
    query: named => `sum by (server_name) (resets(${named(QUERIES)}[10m]))`,
    by: 'server_name',
    answers: { 'shop-0': 1, 'shop-1': 0 },
  },
  {
    asks: 'how long the servers have been up',
    query: named => `sum by (server_name) (${named(UPTIME)})`,
    by: 'server_name',
    answers: { 'shop-0': 270, 'shop-1': 400_600 },
  },
  {
    asks: 'connections used of the maximum',
    query: named => `${named(CONNECTED)} / ${named('engine_global_variables_max_connections')}`,
    by: 'server_name',
    answers: { 'shop-0': 90 / 500, 'shop-1': 40 / 400 },
  },
  {
    asks: 'the most connections in ten minutes, of the maximum',
    query: named =>
      `max_over_time(${named(CONNECTED)}[10m]) / ${named('engine_global_variables_max_connections')}`,
    by: 'server_name',
    answers: { 'shop-0': 410 / 500, 'shop-1': 40 / 400 },
  },
  {
    asks: 'replication lag, while replication stands',
    query: named => named(LAG),
    by: 'server_name',
    answers: {},
  },
  {
    asks: 'the lag when it stopped',
    query: named => `last_over_time(${named(LAG)}[10m])`,
    by: 'server_name',
    answers: { 'shop-1': 240 },
  },
  {
    asks: 'replicas whose threads do not both run',
    query: named =>
      `${named('engine_slave_status_slave_io_running')} * ${named('engine_slave_status_slave_sql_running')} == 0`,
    by: 'server_name',
    answers: { 'shop-1': 0 },
  },
  {
    asks: 'rows by operation',
    query: named => `sum by (operation) (rate(${named(ROWS)}[5m]))`,
    by: 'operation',
    // 3000 and 1800 a minute; 300 and 180; none.
    answers: { read: 80, insert: 8, delete: 0 },
  },
  {
    asks: 'the share of reads among statements',
    query: named => {
      const commands = named('engine_global_status_commands_total');
      return `sum(rate(${commands}{command="select"}[5m])) / sum(rate(${commands}[5m]))`;
    },
    answers: { '': 240 / 300 },
  },
  {
    asks: 'slow queries in ten minutes',
    query: named => `increase(${named('engine_global_status_slow_queries')}[10m])`,
    by: 'server_name',
    // 7 at minutes 0 and 1, 12 at minute 10.
    answers: { prometheus: { 'shop-1': (5 * 600) / 540 }, victoriaMetrics: { 'shop-1': 5 } },
  },
  {
    asks: 'bits a second that go out',
    query: named => `8 * rate(${named('engine_global_status_bytes_sent')}[5m])`,
    by: 'server_name',
    answers: { 'shop-1': 10_000_000 },
  },
  {
    asks: 'dirty pages of the buffer pool',
    query: named => {
      const pages = named('engine_global_status_buffer_pool_pages');
      return `${pages}{state="dirty"} / ignoring(state) ${pages}{state="data"}`;
    },
    by: 'server_name',
    answers: { 'shop-1': 0.04 },
  },
  {
    asks: 'the size of each table',
    query: named => `sum by (table) (${named('engine_info_schema_table_size')})`,
    by: 'table',
    answers: { orders: 3_500_000_000, customers: 800_000_000 },
  },
  {
    asks: 'connections of clients to the proxy',
    query: named => `sum(${named('proxy_service_connections')})`,
    answers: { '': 25 },
  },
  {
    asks: 'new connections a second to each server behind the proxy',
    query: named => `rate(${named(PROXY_NEW)}[5m])`,
    by: 'id',
    // Samples are 15 s old: Prometheus extrapolates four minutes by 15 s at the end and 45 s at the start.
    answers: { 'shop-0': 0.5, 'shop-1': 0.25 },
  },
  {
    asks: 'how many modules the proxy has',
    query: named => `count(${named('proxy_modules')})`,
    answers: { '': 2 },
  },
  {
    asks: 'the size of the cluster as its members see it',
    query: named => named('engine_global_status_wsrep_cluster_size'),
    by: 'server_name',
    answers: { 'bank-0': 2, 'bank-1': 2 },
  },
  {
    asks: 'members that are ready and in step',
    query: named =>
      `count(${named('engine_global_status_wsrep_ready')} == 1 and ${named('engine_global_status_wsrep_local_state')} == 4)`,
    answers: { '': 2 },
  },
  {
    asks: 'flow control, on average over five minutes',
    query: named => `avg_over_time(${named('engine_global_status_wsrep_flow_control_paused')}[5m])`,
    by: 'server_name',
    // Minutes 6 to 10; bank-2 has only minute 6.
    answers: { 'bank-0': 0.8, 'bank-1': 0.8, 'bank-2': 0.6 },
  },
  {
    asks: 'how full the disks of the nodes are',
    query: named =>
      `1 - ${named('engine_dist_capacity_disk_system_avail_bytes')} / ${named('engine_dist_capacity_disk_system_max_bytes')}`,
    by: 'server_name',
    answers: { 'stock-0': 0.62, 'stock-1': 0.75 },
  },
  {
    asks: 'queries a second of the whole distributed engine',
    query: named => `sum(${named('engine_dist_qps')})`,
    answers: { '': 1230 },
  },
  {
    asks: 'nodes that are missing from the quorum',
    query: named =>
      `max(${named('engine_dist_cluster_total_nodes')} - ${named('engine_dist_cluster_nodes_in_quorum')})`,
    answers: { '': 1 },
  },
];
