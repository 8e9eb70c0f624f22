// Eleven minutes of three services, made so that every answer can be worked out by hand: counters grow by the same amount
// each minute. `minute` is 0 to 10, and every line has the minute as its timestamp; a proxy's is 15 s earlier.
//
//   shop    primary shop-0, replica shop-1, a proxy. shop-0 restarts half a minute before minute 6. The replica's
//           IO thread stops after minute 7, with a lag of 240 s; the lag is not on the page from then on.
//   bank    three members; bank-2 leaves the page after minute 6, and the others count two.
//   stock   two nodes of three in the quorum.

const MINUTE_MS = 60_000;

type Values = Readonly<Record<string, (minute: number) => number | null>>;

/** Every page of the story, the last one at `endMs`. */
export function storyPages(endMs: number): string[] {
  return Array.from({ length: 11 }, (_, minute) => {
    const timeMs = endMs - (10 - minute) * MINUTE_MS;
    return SERVERS.map(server => serverLines(server, minute, timeMs)).join('');
  });
}

interface Server {
  /** `namespace`, `service_name` and `server_name`. */
  readonly labels: string;
  readonly lateMs: number;
  readonly values: Values;
}

function server(service: string, name: string, values: Values, lateMs = 0): Server {
  const id = `dbstory-${service}`;
  const labels = `namespace="${id}",service_name="${service}",server_name="${name}"`;
  return { labels, lateMs, values };
}

function serverLines({ labels, lateMs, values }: Server, minute: number, timeMs: number): string {
  return Object.entries(values)
    .map(([series, valueAt]) => {
      const value = valueAt(minute);
      const [name = '', own = ''] = series.split(/[{}]/);
      const all = own === '' ? labels : `${own},${labels}`;
      return value === null ? '' : `${name}{${all}} ${value} ${timeMs - lateMs}\n`;
    })
    .join('');
}

const grows = (from: number, perMinute: number) => (minute: number) => from + perMinute * minute;
const stays = (value: number) => () => value;
/** `before` until the restart, and `after` from minute 6 on. */
const restarts = (before: Values[string], after: Values[string]) => (minute: number) =>
  (minute < 6 ? before : after)(minute);

const SERVERS: readonly Server[] = [
  server('shop', 'shop-0', {
    engine_up: stays(1),
    engine_global_status_uptime: restarts(grows(864_000, 60), minute => 30 + 60 * (minute - 6)),
    engine_global_status_queries: restarts(grows(2_000_000, 300), m => 150 + 300 * (m - 6)),
    engine_global_status_threads_connected: restarts(stays(410), stays(90)),
    engine_global_variables_max_connections: stays(500),
    'engine_info_schema_table_size{schema="shop",table="orders",component="data_length"}':
      stays(3_000_000_000),
    'engine_info_schema_table_size{schema="shop",table="orders",component="index_length"}':
      stays(500_000_000),
    'engine_info_schema_table_size{schema="shop",table="customers",component="data_length"}':
      stays(800_000_000),
  }),
  server('shop', 'shop-1', {
    engine_up: stays(1),
    engine_global_status_uptime: grows(400_000, 60),
    engine_global_status_queries: grows(5_000_000, 120),
    engine_global_status_slow_queries: minute => 7 + Math.floor(minute / 2),
    engine_global_status_bytes_sent: grows(9e12, 75_000_000),
    'engine_global_status_commands_total{command="select"}': grows(1_000_000, 240),
    'engine_global_status_commands_total{command="insert"}': grows(2_000_000, 60),
    engine_global_status_threads_connected: stays(40),
    engine_global_variables_max_connections: stays(400),
    'engine_global_status_buffer_pool_pages{state="data"}': stays(50_000),
    'engine_global_status_buffer_pool_pages{state="dirty"}': stays(2000),
    engine_slave_status_slave_io_running: minute => (minute < 8 ? 1 : 0),
    engine_slave_status_slave_sql_running: stays(1),
    engine_slave_status_seconds_behind_master: minute =>
      minute < 8 ? Math.max(0, minute - 3) * 60 : null,
  }),
  server(
    'shop',
    'shop-proxy',
    {
      proxy_up: stays(1),
      proxy_uptime_seconds: grows(7200, 60),
      'proxy_service_connections{id="reads"}': stays(20),
      'proxy_service_connections{id="writes"}': stays(5),
      'proxy_server_connections{id="shop-0"}': stays(10),
      'proxy_server_total_connections{id="shop-0"}': grows(90_000, 30),
      'proxy_server_total_connections{id="shop-1"}': grows(50_000, 15),
      'proxy_modules{module_name="router",version="1.1"}': stays(1),
      'proxy_modules{module_name="monitor",version="1.5"}': stays(1),
    },
    15_000,
  ),
  ...['bank-0', 'bank-1', 'bank-2'].map(name => {
    const whileThere = (valueAt: Values[string]) => (minute: number) =>
      name === 'bank-2' && minute > 6 ? null : valueAt(minute);
    return server('bank', name, {
      engine_up: whileThere(stays(1)),
      engine_global_status_wsrep_cluster_size: whileThere(minute => (minute > 6 ? 2 : 3)),
      engine_global_status_wsrep_ready: whileThere(stays(1)),
      engine_global_status_wsrep_local_state: whileThere(stays(4)),
      engine_global_status_wsrep_flow_control_paused: whileThere(minute => minute / 10),
    });
  }),
  ...['stock-0', 'stock-1'].map((name, node) =>
    server('stock', name, {
      engine_up: stays(1),
      engine_dist_cluster_uptime_seconds: grows(90_000, 60),
      engine_dist_cluster_nodes_in_quorum: stays(2),
      engine_dist_cluster_total_nodes: stays(3),
      engine_dist_qps: stays(node === 0 ? 820 : 410),
      engine_dist_capacity_disk_system_max_bytes: stays(1_000_000_000_000),
      engine_dist_capacity_disk_system_avail_bytes: stays(
        node === 0 ? 380_000_000_000 : 250_000_000_000,
      ),
      'engine_dist_containers_rows{operation="read"}': grows(6_000_000, node === 0 ? 3000 : 1800),
      'engine_dist_containers_rows{operation="insert"}': grows(700_000, node === 0 ? 300 : 180),
      'engine_dist_containers_rows{operation="delete"}': stays(11),
    }),
  ),
];
