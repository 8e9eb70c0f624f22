// The tables of README.md and docs/performance.md, made of the committed results. A document marks the place of a table by
// two comments of HTML; what stands between them is never written by hand.

import { readFileSync, writeFileSync } from 'node:fs';
import { CONTENDERS } from '../contenders/all.ts';
import { LATEST } from '../options.ts';
import type { PacedResult } from '../runs/paced.ts';
import { scenarios } from '../scenarios.ts';
import { goalsOf, verdict } from './goals.ts';
import {
  firstNs,
  intervalOf,
  isSound,
  isWhole,
  pacedOf,
  ratioOf,
  type Results,
  readResults,
} from './results.ts';
import { count, megabytes, percent } from './words.ts';

type MakeTable = (results: Results) => string[];

/** Documents and their tables. */
export const DOCUMENTS: readonly { file: string; tables: Readonly<Record<string, MakeTable>> }[] = [
  { file: 'README.md', tables: { comparison: comparisonTable } },
  {
    file: 'docs/performance.md',
    tables: { goals: goalsTable, costs: costTable, others: otherTables },
  },
];

export function writeTables(): void {
  const results = readResults(LATEST);
  for (const { file } of DOCUMENTS) writeFileSync(file, withTables(file, results));
}

/** A document's text with its tables as the results have them. */
export function withTables(file: string, results: Results): string {
  const tables = DOCUMENTS.find(document => document.file === file)?.tables ?? {};
  let text = readFileSync(file, 'utf8');
  for (const [name, make] of Object.entries(tables)) text = replace(text, name, make(results));
  return text;
}

function replace(text: string, name: string, lines: readonly string[]): string {
  const [begin, end] = [`<!-- bench ${name}: npm run bench -- --table -->`, '<!-- bench end -->'];
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`there is no place for the table ${name}`);
  return `${text.slice(0, from)}${begin}\n${lines.join('\n')}\n${text.slice(to)}`;
}

/** Each program in each of the large scenarios: what a sample costs, and how many times ours that is. */
function comparisonTable(results: Results): string[] {
  const columns = ['fleet', 'targets-large', 'targets'];
  const titles = ['200 services in one page', '200 pages of 5,000', '200 pages of 500, every 2 s'];
  const isShown = (name: string): boolean =>
    name !== 'ours-probed' && results.paced.some(({ contender }) => contender === name);
  const rows = CONTENDERS.filter(({ name }) => isShown(name)).map(({ name, title }) => {
    const cells = columns.map(scenario => {
      const result = pacedOf(results, scenario, name);
      if (result === null) return missing(results, scenario, name);
      const ratio = ratioOf(results, scenario, name);
      const times = name === 'ours' || ratio === null ? '' : ` (${ratio.toFixed(1)} x)`;
      return `${count(result.nsPerSample)} ns${times}${slowerPace(result)}`;
    });
    const sidecar = pacedOf(results, 'sidecar', name);
    const memory =
      sidecar === null ? missing(results, 'sidecar', name) : megabytes(sidecar.lastBytes);
    return [title, ...cells, memory];
  });
  return [
    ...markdown(['CPU per delivered sample', ...titles, 'memory as a sidecar'], rows),
    '',
    describe(results),
  ];
}

/** Of a group that was given more time than the scenario's own. */
function slowerPace({ scenario, intervalMs }: PacedResult): string {
  return intervalMs === intervalOf(scenario) ? '' : `, every ${intervalMs / 1000} s`;
}

/** Why there is no figure. */
function missing({ paced }: Results, scenario: string, contender: string): string {
  const runs = paced.filter(run => run.scenario === scenario && run.contender === contender);
  if (runs.length === 0) return 'not measured';
  return runs.some(isWhole) ? 'too slow' : 'lost samples';
}

function describe(results: Results): string {
  const { machine, contenders } = results;
  const { processor, cores, memoryBytes, node } = machine;
  const versions = ['vmagent', 'prometheus-agent', 'collector'].flatMap(name => {
    const presence = contenders[name];
    return presence !== undefined && 'version' in presence ? [`${name} ${presence.version}`] : [];
  });
  const gigabytes = (memoryBytes / 2 ** 30).toFixed(0);
  return (
    `Measured ${describeTaken(results)} on ${cores} cores (${processor}) with ` +
    `${gigabytes} GiB, Node ${node}; ${versions.join(', ')}.`
  );
}

/** When, and of which sources: of each scenario, where they are not all of the same run. */
function describeTaken({ taken }: Results): string {
  const runs = Map.groupBy(
    Object.entries(taken),
    ([, { commit, takenAt }]) => `on ${takenAt.slice(0, 10)} at commit ${commit}`,
  );
  return [...runs]
    .map(([words, of]) =>
      runs.size === 1 ? words : `${words} (${of.map(([scenario]) => scenario).join(', ')})`,
    )
    .join(', ');
}

function goalsTable(results: Results): string[] {
  return markdown(
    ['goal', 'target', 'measured', ''],
    goalsOf(results).map(goal => [goal.name, goal.target, goal.measured, verdict(goal)]),
  );
}

/** Everything that was measured in a steady state. */
function costTable(results: Results): string[] {
  const rows = scenarios(false)
    .filter(({ kind }) => kind === 'paced')
    .flatMap(({ name: scenario }) =>
      CONTENDERS.flatMap(({ name }) => {
        const result = pacedOf(results, scenario, name);
        if (result === null || name === 'ours-probed') return [];
        const ratio = name === 'ours' ? null : ratioOf(results, scenario, name);
        return [
          [
            `${scenario}${slowerPace(result)}`,
            name,
            count(result.nsPerSample),
            ratio === null ? '' : ratio.toFixed(1),
            percent(result.cpuPercent),
            megabytes(result.lastBytes),
            result.anonymousBytes === null ? '' : megabytes(result.anonymousBytes),
            megabytes(result.peakBytes),
            result.wireBytesPerSample.toFixed(1),
            firstNs(result),
            results.taken[scenario]?.commit ?? '',
          ],
        ];
      }),
    );
  const head = [
    'scenario',
    'program',
    'ns/sample',
    'times ours',
    'CPU',
    'memory',
    'anonymous',
    'peak',
    'bytes/sample',
    'ns/sample at first',
    'commit',
  ];
  return [...markdown(head, rows), '', describe(results)];
}

function otherTables({ growth, start, drain, paced }: Results): string[] {
  const pauses = paced.flatMap(({ scenario, pauses }) =>
    pauses === null
      ? []
      : [[scenario, ...[pauses.cpuMsMax, pauses.wallMsMax, pauses.firstPagesCpuMsMax].map(count)]],
  );
  return [
    ...markdown(
      ['series', 'ns/sample', 'ns/added sample', 'memory', 'bytes/added series'],
      growth
        .filter(isSound)
        .map(run => [
          count(run.series),
          count(run.nsPerSample),
          run.nsPerAddedSample === null ? '' : count(run.nsPerAddedSample),
          megabytes(run.lastBytes),
          run.bytesPerAddedSeries === null ? '' : count(run.bytesPerAddedSeries),
        ]),
    ),
    '',
    ...markdown(
      ['program', 'start to the first accepted point, median ms', 'all'],
      start.map(({ contender, milliseconds: all }) => [
        contender,
        String(all[all.length >> 1]),
        all.join(', '),
      ]),
    ),
    '',
    ...markdown(
      ['program', 'backlog, samples', 'first sent after ms', 'samples/s from then on', 'ns/sample'],
      drain.map(run => [
        run.contender,
        count(run.samples),
        count(run.firstMs),
        count(run.samplesPerSecond),
        count(run.nsPerSample),
      ]),
    ),
    '',
    ...markdown(
      [
        'scenario',
        'longest pause, own work, ms',
        'with waits for disk and processor',
        'first pages',
      ],
      pauses,
    ),
  ];
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)];
}
