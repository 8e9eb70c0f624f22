// `report`: what a user pastes into an issue, as Markdown. report-parts.ts collects it without names and data.

import type { Mistake } from '../errors.ts';
import { printableJson } from '../lib/printable.ts';
import { choice, withDefault } from './options.ts';
import { withProgress } from './output.ts';
import { reportOf, type ConfigurationPart, type DaemonPart, type Report } from './report-parts.ts';
import { action, type Call, CONFIG_OPTION, configOf, type Verb, type VerbContext } from './verb.ts';
import { formatBytes, formatCount } from '../lib/format.ts';
import { counted } from '../status/problem.ts';
import { escapeCell, markdownTable, type Rows } from './table.ts';

const OPTIONS = {
  config: CONFIG_OPTION,
  format: {
    ...withDefault(
      choice(['markdown', 'json'], 'Markdown, to paste into an issue, or a JSON object'),
      'markdown',
    ),
    alias: { name: 'json', text: 'json' },
  },
};

export const verb: Verb = {
  name: 'report',
  summary: 'what to paste into an issue: versions, configuration, problems; no names, no data',
  about: `Prints versions, the keys of the configuration that differ from their defaults, and what the running daemon says
    at status.listen: its problems, its numbers, the account, the limits that it has learned, and the shape of the last
    pages: how many series and labels each metric has, and its type.

    Services, hosts and targets get placeholders such as service-1; the same name has the same placeholder in the whole
    report. There are no keys, headers, values of labels, texts of logs or words of the service and the back end. It
    asks the daemon alone. Without a daemon, or with a mistake in the configuration, it says so, and prints the rest.`,
  actions: [action({ options: OPTIONS, run: report })],
  exits: { 0: 'printed', 2: 'a mistake on the command line' },
  examples: ['prom2otlp report --config /etc/prom2otlp/prom2otlp.yaml'],
};

async function report(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { environment, out } = context;
  const asking = reportOf(fileOf(call, environment), environment);
  const found = await withProgress(context, 'asking the daemon', asking);
  out.line(call.values.format === 'json' ? printableJson(found) : reportText(found));
  return 0;
}

/** The configuration; the mistake where none is named. */
function fileOf(
  call: Call<typeof OPTIONS>,
  environment: VerbContext['environment'],
): string | Mistake {
  try {
    return configOf(call, environment);
  } catch {
    return { message: 'no configuration is named', hint: 'name one with --config' };
  }
}

// A report as Markdown, in the order in which a maintainer reads it. Long tables are folded.

export function reportText(report: Report): string {
  const { configuration, daemon, noDaemon } = report;
  return [
    versionsText(report),
    '#### Configuration',
    ...configurationTexts(configuration),
    '#### Daemon',
    ...(daemon === null ? [`No daemon: ${escapeCell(noDaemon)}.`] : daemonTexts(daemon)),
  ].join('\n\n');
}

function versionsText({ version, commit, node, system }: Report): string {
  const { platform, arch, libc, container, hasSystemd } = system;
  const origin = commit === '' ? 'commit unknown' : `commit ${commit.slice(0, 12)}`;
  const where = [
    `${platform} ${arch}`,
    libc,
    container ?? 'no container',
    hasSystemd ? 'systemd' : 'no systemd',
  ];
  return [`- prom2otlp ${version} (node ${node}, ${origin})`, `- system: ${where.join(', ')}`].join(
    '\n',
  );
}

function configurationTexts(part: ConfigurationPart): readonly string[] {
  const { services, values, valuesLeftOut, mistakes } = part;
  if (mistakes.length > 0)
    return ['It cannot be used:', mistakes.map(one => `- ${escapeCell(one)}`).join('\n')];
  const count = services === null ? 'services: auto' : counted(services, 'service');
  const rows = values.map(({ key, value }) => [key, value]);
  return [
    `${count}; the keys that differ from their defaults:`,
    markdownTable([['key', 'value'], ...rows]),
    ...restText(valuesLeftOut, 'key'),
  ];
}

function restText(count: number, noun: string): readonly string[] {
  return count === 0 ? [] : [`${counted(count, noun)} more`];
}

function daemonTexts(daemon: DaemonPart): readonly string[] {
  const { version, state, started, isConfigurationStale, numbers, problems } = daemon;
  const stale = isConfigurationStale ? '; the configuration was changed, and is not in use' : '';
  return [
    `prom2otlp ${escapeCell(version)}, ${state}, started ${started}${stale}`,
    markdownTable([['', 'count', 'unit', ''], ...numbers]),
    problems.length === 0 ? 'No problems.' : problems.map(problemText).join('\n'),
    ...learnedTexts(daemon),
    ...accountTexts(daemon),
    ...pageTexts(daemon),
  ];
}

function problemText(problem: DaemonPart['problems'][number]): string {
  const { severity, subject, message, since, lastSeen } = problem;
  return `- **${severity}** ${escapeCell(`${subject}: ${message}`)} (since ${since}, last seen ${lastSeen})`;
}

function learnedTexts({ learned }: DaemonPart): readonly string[] {
  return learned.map(({ signal, bytes, points }) => {
    const limits = [
      ...(points === null ? [] : [counted(points, 'point')]),
      ...(bytes === null ? [] : [formatBytes(bytes)]),
    ];
    return `Learned limit of a request with ${signal}: ${limits.join(' or ')}.`;
  });
}

function accountTexts({ account: { samples, points } }: DaemonPart): readonly string[] {
  const { droppedByReason, ...sums } = samples;
  const rows = [
    ...Object.entries(sums).map(([name, count]) => [`samples ${name}`, formatCount(count)]),
    ...Object.entries(droppedByReason).map(([name, count]) => [
      `samples dropped: ${name}`,
      formatCount(count),
    ]),
    ...Object.entries(points).map(([name, count]) => [`points ${name}`, formatCount(count)]),
  ];
  return folded('Account', [['', 'count'], ...rows]);
}

function pageTexts({ targets, targetsLeftOut, shape }: DaemonPart): readonly string[] {
  const table = markdownTable([PAGE_HEAD, ...targets.map(pageRow)]);
  return [
    targets.length === 0 ? 'No metrics are read.' : table,
    ...restText(targetsLeftOut, 'target'),
    ...shapeTexts(shape),
  ];
}

const PAGE_HEAD = [
  'last page of',
  'state',
  'reason',
  'size',
  'samples',
  'bad lines',
  'metrics',
  'series by family',
];

function pageRow(target: DaemonPart['targets'][number]): readonly string[] {
  const { name, state, reason, bodyBytes, samples, badLines, page } = target;
  const counts = [samples, badLines, page?.metrics ?? null];
  const families = Object.entries(page?.families ?? {});
  return [
    name,
    state,
    reason,
    formatBytes(bodyBytes),
    ...counts.map(count => (count === null ? '' : formatCount(count))),
    families.map(([family, count]) => `${family} ${formatCount(count)}`).join(', '),
  ];
}

const METRIC_HEAD = ['metric', 'family', 'declared', 'type', 'by', 'series', 'labels', 'targets'];

function shapeTexts(shape: DaemonPart['shape']): readonly string[] {
  if (shape === null) return ['The daemon does not say which metrics its pages have.'];
  const rows = shape.metrics.map(one => [
    one.name,
    one.family,
    one.declared,
    one.type,
    one.typeSource,
    ...[one.series, one.labels, one.targets].map(formatCount),
  ]);
  const title = `Metrics of the last pages: ${formatCount(rows.length + shape.metricsLeftOut)}`;
  return [...folded(title, [METRIC_HEAD, ...rows]), ...restText(shape.metricsLeftOut, 'metric')];
}

/** Markdown within a folded block needs blank lines around it. */
function folded(title: string, rows: Rows): readonly string[] {
  return [`<details><summary>${title}</summary>`, markdownTable(rows), '</details>'];
}
