// Builds the dashboards as Grafana's JSON: rows of panels, each with its queries. This file defines what all panels
// share; services.ts and prom2otlp.ts define the panels.

import { CATALOG } from '../../src/catalog/all.ts';
import { COUNTER_SECTIONS } from '../own-counters.ts';
import { withSuffixes } from './translation.ts';

export interface Query {
  readonly expr: string;
  /** The name of a series in the legend; `{{label}}` is replaced by the value of that label. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** One of Grafana's units: `short`, `s`, `bytes`, `reqps`, `percentunit`, … */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** By default, lines over time. */
  readonly type?: 'timeseries' | 'stat' | 'state-timeline';
  readonly description?: string;
  /** Shows the traces that belong to points of histograms. */
  readonly hasExemplars?: boolean;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface DashboardSpec {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** A variable that selects by the label of a metric; the queries use it as `$name`. */
  readonly variable: {
    readonly name: string;
    readonly label: string;
    readonly metric: string;
    readonly key: string;
  };
  readonly rows: readonly Row[];
}

/** A panel of lines over time. */
export function panel(title: string, unit: string, ...queries: readonly Query[]): Panel {
  return { title, unit, queries };
}

/** A bar over time for each series: 1 is good, 0 is not. */
export function states(title: string, ...queries: readonly Query[]): Panel {
  return { title, unit: 'bool', queries, type: 'state-timeline' };
}

/** The current value alone. */
export function stat(title: string, unit: string, query: Query): Panel {
  return { title, unit, queries: [query], type: 'stat' };
}

/** Labels in the legend: `{{job}} {{state}}`. */
export function legendOf(...labels: readonly string[]): string {
  return labels.map(label => `{{${label}}}`).join(' ');
}

const WIDTH = 8;
const HEIGHT = 7;
const PER_LINE = 3;
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

/** The file that Grafana imports. */
export function dashboardJson(spec: DashboardSpec): Record<string, unknown> {
  return {
    uid: spec.uid,
    title: spec.title,
    description: spec.description,
    tags: ['prom2otlp'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    time: { from: 'now-3h', to: 'now' },
    refresh: '1m',
    links: [
      {
        title: 'prom2otlp',
        type: 'dashboards',
        tags: ['prom2otlp'],
        asDropdown: false,
        keepTime: true,
        includeVars: false,
      },
    ],
    templating: { list: [datasourceVariable(), queryVariable(spec.variable)] },
    panels: layOut(spec.rows),
  };
}

function datasourceVariable(): Record<string, unknown> {
  return { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' };
}

function queryVariable(variable: DashboardSpec['variable']): Record<string, unknown> {
  const { name, label, metric, key } = variable;
  const query = `label_values(${metric}, ${key})`;
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: 'variable' },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    // Matches series without the label, too: "All" works where a back end makes no `job`.
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  };
}

/** Rows one below the other, three panels side by side. */
function layOut(rows: readonly Row[]): Record<string, unknown>[] {
  const panels: Record<string, unknown>[] = [];
  let y = 0;
  for (const row of rows) {
    const id = panels.length + 1;
    panels.push({
      id,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { h: 1, w: 24, x: 0, y },
    });
    y += 1;
    for (const [index, panel] of row.panels.entries()) {
      const x = (index % PER_LINE) * WIDTH;
      const line = Math.floor(index / PER_LINE);
      const gridPos = { h: HEIGHT, w: WIDTH, x, y: y + line * HEIGHT };
      panels.push({ id: panels.length + 1, gridPos, ...panelJson(panel) });
    }
    y += Math.ceil(row.panels.length / PER_LINE) * HEIGHT;
  }
  return panels;
}

function panelJson(panel: Panel): Record<string, unknown> {
  const { type = 'timeseries', title, description, unit, queries, hasExemplars } = panel;
  const custom = type === 'timeseries' ? { fillOpacity: 5, showPoints: 'never' } : {};
  return {
    type,
    title,
    description: description ?? describe(queries),
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, custom, ...(unit === 'bool' ? UP_DOWN : {}) }, overrides: [] },
    options:
      type === 'timeseries' ? { tooltip: { mode: 'multi' }, legend: { displayMode: 'list' } } : {},
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      // prom2otlp's usual interval: with Grafana's default of 15 s, no rate would have two samples.
      interval: '1m',
      ...(hasExemplars === true ? { exemplar: true } : {}),
    })),
  };
}

/** Describes the metrics of a panel in the words of the catalog and of docs/operate/telemetry.md. */
function describe(queries: readonly Query[]): string {
  const names = new Set(queries.flatMap(({ expr }) => expr.match(/[a-z]\w+/g) ?? []));
  const texts = [...names].flatMap(name => {
    const text = WORDS.get(name);
    return text === undefined ? [] : [`${name}: ${text}`];
  });
  return texts.join('\n');
}

const ADDED: readonly (readonly [name: string, text: string])[] = [
  ['up', '1 if the service was on a good page, else 0.'],
  ['scrape_samples_scraped', 'Samples of the service on the last page.'],
  [
    'prom2otlp_backup_restorable_scheduled',
    '1 when a backup that restores will run by an active schedule.',
  ],
  ['prom2otlp_backup_next_run_seconds', 'How long until the next backup begins.'],
  ['prom2otlp_backup_schedules', 'Backup schedules by type and state.'],
  ['prom2otlp_slow_query_executions_total', 'Slow queries.'],
  ['prom2otlp_slow_query_seconds_total', 'Duration of slow queries.'],
  ['prom2otlp_slow_query_lock_seconds_total', 'Time of slow queries in locks.'],
  ['prom2otlp_slow_query_rows_examined_total', 'Rows that slow queries read.'],
  ['prom2otlp_slow_query_bytes_sent_total', 'Bytes that slow queries returned.'],
  ['prom2otlp_slow_query_duration_seconds_bucket', 'Slow queries by duration.'],
];

const WORDS: ReadonlyMap<string, string> = new Map([
  ...CATALOG.flatMap(({ name, description }) => [
    [name, description] as const,
    [withSuffixes(name), description] as const,
  ]),
  ...COUNTER_SECTIONS.flatMap(({ counters }) =>
    counters.map(({ name, help }) => [name, help] as const),
  ),
  ...ADDED,
]);

/** 1 is good and green, 0 is not. */
const UP_DOWN = {
  color: { mode: 'thresholds' },
  thresholds: {
    mode: 'absolute',
    steps: [
      { color: 'red', value: null },
      { color: 'green', value: 1 },
    ],
  },
};
