// The dashboard of slow queries by digest (docs/use/logs.md). Points come with the pulls of logs, some minutes apart, so
// every query looks at an hour. The names have their suffixes: they fit every translation.

import { type DashboardSpec, type Panel, panel, type Query } from './dashboard.ts';

const OF = 'job=~"$service"';
const DIGEST = 'job, digest, db_query_summary';
const LEGEND = '{{job}} {{db_query_summary}} {{digest}}';

const name = (metric: string): string => `prom2otlp_slow_query_${metric}`;

/** What was added within the last hour, for each value of `by`. */
function hour(metric: string, by: string = DIGEST): string {
  return `sum by (${by}) (increase(${name(metric)}{${OF}}[1h]))`;
}

function top(metric: string): Query {
  return { expr: `topk(10, ${hour(metric)})`, legend: LEGEND };
}

/** The ten highest of one sum divided by another, in the last hour. */
function each(one: string, other: string): Query {
  return { expr: `topk(10, ${hour(one)} / (${hour(other)} > 0))`, legend: LEGEND };
}

const most: readonly Panel[] = [
  panel('Ten that took most time, in an hour', 's', top('seconds_total')),
  panel('Ten most frequent, in an hour', 'short', top('executions_total')),
  panel('Ten that read most rows, in an hour', 'short', top('rows_examined_total')),
];

const dear: readonly Panel[] = [
  panel('Longest on average', 's', each('seconds_total', 'executions_total')),
  panel('Most rows read per call', 'short', each('rows_examined_total', 'executions_total')),
  panel('Most bytes sent per call', 'bytes', each('bytes_sent_total', 'executions_total')),
];

const all: readonly Panel[] = [
  {
    ...panel('Duration of 95 % of the slow queries', 's', {
      expr: `histogram_quantile(0.95, ${hour('duration_seconds_bucket', 'job, le')})`,
      legend: '{{job}}',
    }),
    hasExemplars: true,
  },
  panel('Share of the time in locks', 'percentunit', {
    expr: `${hour('lock_seconds_total', 'job')} / (${hour('seconds_total', 'job')} > 0)`,
    legend: '{{job}}',
  }),
  panel('Time by server, in an hour', 's', {
    expr: hour('seconds_total', 'job, server_name'),
    legend: '{{job}} {{server_name}}',
  }),
];

export const queries: DashboardSpec = {
  uid: 'prom2otlp-queries',
  title: 'Slow queries',
  description:
    'Slow queries by digest, with logs.slow_query.digests. The log event prom2otlp.query_digest has the text of a digest. Points of the quantile are traces, where the data source names a store of traces.',
  variable: { name: 'service', label: 'Service', metric: name('executions_total'), key: 'job' },
  rows: [
    { title: 'What costs most', panels: most },
    { title: 'What is dear', panels: dear },
    { title: 'All slow queries', panels: all },
  ],
};
