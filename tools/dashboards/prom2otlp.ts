// The dashboard of prom2otlp itself: scrapes, delivery, the queue, losses.

import {
  type DashboardSpec,
  legendOf,
  type Panel,
  panel,
  type Query,
  stat,
  states,
} from './dashboard.ts';

const OF = 'instance=~"$daemon"';

/** The current value. */
function now(metric: string, legend: string): Query {
  return { expr: `prom2otlp_${metric}{${OF}}`, legend };
}

/** `instance`, and `by` if that is another label. */
function labelsOf(by: string): readonly string[] {
  return by === 'instance' ? [by] : ['instance', by];
}

function rate(metric: string, by: string): string {
  return `sum by (${labelsOf(by).join(', ')}) (rate(prom2otlp_${metric}{${OF}}[$__rate_interval]))`;
}

/** How fast a counter grows, for each value of the label `by`. */
function speed(metric: string, by: string): Query {
  return { expr: rate(metric, by), legend: legendOf(...labelsOf(by)) };
}

/** The mean duration: the growth of a counter of seconds divided by the growth of a counter of events. */
function mean(seconds: string, count: string, by: string): Query {
  return { expr: `${rate(seconds, by)} / ${rate(count, by)}`, legend: legendOf(...labelsOf(by)) };
}

/**
 * The minimum over the label `reason`: each reason is another series, and queries find the old one for some minutes. A
 * service that is stopped is not shown.
 */
function worst(metric: string, by: string, legend: string): Query {
  return { expr: `min by (${by}) (prom2otlp_${metric}{${OF}, reason!="stopped"})`, legend };
}

const overview: readonly Panel[] = [
  states('Services', worst('service_up', 'instance, service', '{{service}}')),
  stat('Versions', 'short', {
    expr: `count by (version) (prom2otlp_build_info{${OF}})`,
    legend: '{{version}}',
  }),
  stat('Up for', 's', {
    expr: `time() - prom2otlp_process_start_time_seconds{${OF}}`,
    legend: '{{instance}}',
  }),
];

const scrapes: readonly Panel[] = [
  states(
    'Metrics, logs and backups are read',
    worst('pull_up', 'instance, pull, target', '{{pull}} of {{target}}'),
  ),
  panel('Scrapes a second, by result', 'reqps', speed('collect_scrapes_total', 'result')),
  panel(
    'Samples a second, by what became of them',
    'short',
    speed('derive_samples_total', 'outcome'),
  ),
  panel('Points a second, by service', 'short', speed('encode_points_total', 'service')),
  panel(
    'Bytes of pages',
    'Bps',
    { ...speed('collect_body_bytes_total', 'instance'), legend: '{{instance}} unpacked' },
    { ...speed('collect_wire_bytes_total', 'instance'), legend: '{{instance}} on the wire' },
  ),
  panel(
    'Lines that could not be read, a second',
    'short',
    speed('decode_bad_lines_total', 'instance'),
  ),
  panel('Names and types against the catalog', 'short', {
    expr: `sum by (instance, kind) (prom2otlp_derive_drift_total{${OF}})`,
    legend: '{{instance}} {{kind}}',
  }),
];

const MONTH_S = 30 * 86_400;

const queue: readonly Panel[] = [
  panel('Share of the queue in use', 'percentunit', {
    expr: `prom2otlp_queue_bytes{${OF}} / prom2otlp_queue_max_bytes{${OF}}`,
    legend: '{{instance}} {{signal}}',
  }),
  {
    ...panel('Until the queue is full, at this rate', 's', {
      expr: `clamp_max(prom2otlp_queue_full_seconds{${OF}}, ${MONTH_S}) or prom2otlp_queue_bytes{${OF}} * 0 + ${MONTH_S}`,
      legend: '{{instance}} {{signal}}',
    }),
    description:
      'At the rate of the last ten minutes; 30 days if it takes longer, or does not grow.',
  },
  panel('Points and records that wait', 'short', now('queue_points', '{{instance}} {{signal}}')),
  panel(
    'Age of the oldest that waits',
    's',
    now('queue_oldest_age_seconds', '{{instance}} {{signal}}'),
  ),
  panel('Commits a second, by outcome', 'short', speed('queue_commits_total', 'outcome')),
  panel(
    'Time that a write to the disk takes',
    's',
    mean('queue_write_seconds_total', 'queue_writes_total', 'instance'),
  ),
  // The series appears with its first count, which a rate would miss.
  panel('Points given up so far', 'short', {
    expr: `sum by (instance, signal, service, reason) (prom2otlp_queue_evicted_points_total{${OF}}) or vector(0)`,
    legend: '{{instance}} {{signal}} {{service}} {{reason}}',
  }),
];

const sending: readonly Panel[] = [
  panel('Requests a second, by outcome', 'reqps', speed('send_requests_total', 'outcome')),
  panel('Points and records a second, by outcome', 'short', speed('send_points_total', 'outcome')),
  panel('Time a request takes', 's', mean('send_seconds_total', 'send_requests_total', 'signal')),
  panel('Bytes sent, compressed', 'Bps', speed('send_bytes_total', 'signal')),
  panel('Sent again because no answer came, a second', 'short', {
    expr: `sum by (instance, signal) (rate(prom2otlp_send_resent_points_total{${OF}}[$__rate_interval])) or vector(0)`,
    legend: '{{instance}} {{signal}}',
  }),
  panel('Since the back end last accepted something', 's', {
    expr: `time() - prom2otlp_send_last_accepted_timestamp_seconds{${OF}}`,
    legend: '{{instance}} {{signal}}',
  }),
];

const logs: readonly Panel[] = [
  panel('Lag', 's', now('logs_lag_seconds', '{{service}} {{type}}')),
  panel('Records a second, by outcome', 'short', speed('logs_records_total', 'outcome')),
  panel('Bytes', 'Bps', speed('logs_bytes_total', 'kind')),
  panel('Archives, by what was done', 'short', speed('logs_archives_total', 'outcome')),
  panel('Pulls, by how they ended', 'short', speed('logs_pulls_total', 'outcome')),
  panel('Gaps', 'short', {
    expr: `sum by (instance, service, type, reason) (prom2otlp_logs_gaps_total{${OF}}) or vector(0)`,
    legend: '{{service}} {{type}} {{reason}}',
  }),
];

const running: readonly Panel[] = [
  panel('Memory', 'bytes', now('process_resident_memory_bytes', '{{instance}}')),
  panel('Processor', 'percentunit', speed('process_cpu_seconds_total', 'instance')),
  panel(
    'Longest time that the event loop was not free',
    's',
    now('process_event_loop_delay_max_seconds', '{{instance}}'),
  ),
];

export const prom2otlp: DashboardSpec = {
  uid: 'prom2otlp-daemon',
  title: 'prom2otlp',
  description:
    'prom2otlp itself, from its own telemetry; docs/operate/telemetry.md explains each metric.',
  variable: {
    name: 'daemon',
    label: 'Daemon',
    metric: 'prom2otlp_build_info',
    key: 'instance',
  },
  rows: [
    { title: 'Overview', panels: overview },
    { title: 'Scrapes', panels: scrapes },
    { title: 'Queue', panels: queue },
    { title: 'Sending', panels: sending },
    { title: 'Logs', panels: logs },
    { title: 'Process', panels: running },
  ],
};
