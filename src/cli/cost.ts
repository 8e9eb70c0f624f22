// `cost`: what the telemetry costs in the units that bills use, and which lines of metrics.exclude save the most. It asks
// the running daemon of the configuration; without one, it scrapes once.

import { loadConfig } from '../config/load.ts';
import { formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import { isObject } from '../lib/json.ts';
import { printableJson, printableLine } from '../lib/printable.ts';
import type { SeriesTable } from '../model/series-table.ts';
import { compress } from '../pipeline/queue/compression.ts';
import {
  COST_LIMIT_MAX,
  type CostReport,
  costReport,
  type NamedCost,
} from '../status/cost-report.ts';
import { format, integer, withDefault } from './options.ts';
import { withProgress } from './output.ts';
import { askDaemon, daemonOf } from './own-daemon.ts';
import { printTable } from './table.ts';
import { action, type Call, CONFIG_OPTION, configOf, type Verb, type VerbContext } from './verb.ts';

const OPTIONS = {
  config: CONFIG_OPTION,
  limit: withDefault(
    integer({ min: 1, max: COST_LIMIT_MAX }, 'the most services, families and metrics each'),
    '20',
  ),
  format: format('tables, or one JSON object'),
};

/** The daemon compresses its last pages for the answer. */
const TIMEOUT_MS = 10_000;
/** COST_LIMIT_MAX rows of each table are a tenth of this. */
const ANSWER_LENGTH_MAX = 16 * 2 ** 20;

const LINE_LENGTH_MAX = 1000;

export const verb: Verb = {
  name: 'cost',
  summary: 'series, points and bytes that a back end bills, and what leaving some out saves',
  about: `Shows series, points and bytes by service, family and metric, largest first, and the ten entries of
    metrics.exclude that save most, each alone. It asks /cost.json of the running daemon; if none answers, it scrapes
    once and sends nothing. Points go by metrics.interval, as if each scrape found new values. Bytes are of the requests,
    before and after compression. Active series count each bucket, quantile, sum and count, as Prometheus does. There
    are no prices. Log records and their bytes are only known from a daemon, since it started.`,
  actions: [action({ options: OPTIONS, run: cost })],
  exits: {
    0: 'shown',
    1: 'no running daemon has figures, and a page cannot be read',
    2: 'a mistake on the command line or in the configuration',
  },
  examples: ['prom2otlp cost --config /etc/prom2otlp/prom2otlp.yaml --limit 5'],
};

async function cost(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const file = configOf(call, context.environment);
  const reading = read(file, call.values.limit, context);
  const report = await withProgress(context, 'counting', reading);
  if (report === null) return 1;
  if (call.values.format === 'json') context.out.line(printableJson(report));
  else print(report, context);
  return 0;
}

async function read(file: string, limit: number, context: VerbContext): Promise<CostReport | null> {
  const { environment } = context;
  const daemon = daemonOf(file, environment);
  if (daemon !== null) {
    const path = `cost.json?limit=${limit}`;
    const told = await askDaemon(daemon, {
      path,
      timeoutMs: TIMEOUT_MS,
      lengthMax: ANSWER_LENGTH_MAX,
    });
    const found = told.ok && told.status === 200 ? reportIn(told.text) : null;
    // Before its first page, a daemon has no figures.
    if (found !== null && found.total.series > 0) return found;
    if (told.ok && told.status !== 200) {
      const line = `cannot get ${daemon.url}${path}: it answered ${told.status}: ${told.text.trim()}; check status.token`;
      context.err.line(printableLine(line).slice(0, LINE_LENGTH_MAX));
    }
  }
  return scrape(file, limit, context);
}

/** Null for anything that is not a report of this program. */
function reportIn(json: string): CostReport | null {
  try {
    const found: unknown = JSON.parse(json);
    return isObject(found) && Array.isArray(found['excludes'])
      ? (found as unknown as CostReport)
      : null;
  } catch {
    return null;
  }
}

async function scrape(
  file: string,
  limit: number,
  { environment, clock, err }: VerbContext,
): Promise<CostReport | null> {
  const config = loadConfig({ file, environment });
  const { compression } = config.otlp.metrics;
  const { scrapeTargets } = await import('./probe.ts');
  const tables: SeriesTable[] = [];
  const sizes = { points: 0, bytes: 0, compressedBytes: 0 };
  let isGood = true;
  for await (const one of scrapeTargets(config, { clock })) {
    if (one.kind === 'failure') {
      err.line(`${one.who}: ${one.line}`);
      isGood = false;
      continue;
    }
    const { payload, parts } = one.translated.batch;
    tables.push(one.translation.table);
    sizes.points += parts.reduce((sum, { points }) => sum + points, 0);
    sizes.bytes += payload.length;
    sizes.compressedBytes += (await compress(compression, payload)).length;
  }
  const { intervalMs } = config.metrics;
  const options = { source: 'scrape', intervalMs, compression, limit, logs: null } as const;
  return isGood ? costReport(tables, sizes, options) : null;
}

const SOURCES = {
  daemon: 'from the running daemon',
  scrape: 'from one scrape: no running daemon has figures',
};

function print(report: CostReport, { out }: VerbContext): void {
  const { source, intervalMs, compression, bytesPerPoint, compressedBytesPerPoint } = report;
  const [raw, packed] = [bytesPerPoint, compressedBytesPerPoint].map(bytes =>
    bytes === null ? '?' : bytes.toFixed(1),
  );
  out.line(`${SOURCES[source]}; a scrape every ${formatDuration(intervalMs)}`);
  out.line(`a point is ${raw} bytes, ${packed} with compression ${compression}`);
  const lists = [
    ['SERVICE', [{ name: '(all)', ...report.total }, ...report.services]],
    ['FAMILY', report.families],
    ['METRIC', report.metrics],
  ] as const;
  for (const [title, costs] of lists) {
    out.line('');
    printTable(out, [[title, ...HEAD], ...costs.map(rowOf)], { key: 0 });
  }
  if (report.excludes.length > 0) {
    out.line('');
    const rows = report.excludes.map(one => rowOf({ ...one, name: yamlOf(one.name) }));
    printTable(out, [['EACH SAVES', ...HEAD], ...rows], { key: 0 });
  }
  if (report.logs === null) return;
  const { recordsPerDay, compressedBytesPerDay, services } = report.logs;
  out.line('');
  const all = ['(all)', formatCount(recordsPerDay), formatBytes(compressedBytesPerDay)];
  const rows = services.map(one => [one.name, formatCount(one.recordsPerDay), '']);
  printTable(out, [['LOGS OF', 'RECORDS/DAY', 'SENT/DAY'], all, ...rows], { key: 0 });
}

const HEAD = ['SERIES', 'ACTIVE', 'POINTS/MIN', 'POINTS/DAY', 'BYTES/DAY', 'SENT/DAY'];

function rowOf({ name, ...cost }: NamedCost): readonly string[] {
  return [
    name,
    formatCount(cost.series),
    formatCount(cost.activeSeries),
    formatCount(cost.pointsPerMinute),
    formatCount(cost.pointsPerDay),
    formatBytes(cost.bytesPerDay),
    formatBytes(cost.compressedBytesPerDay),
  ];
}

/** The line to paste. */
function yamlOf(pattern: string): string {
  return `metrics: {exclude: ['${pattern.replaceAll("'", "''")}']}`;
}
