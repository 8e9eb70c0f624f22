// The tables of README.md and docs/performance.md, made of the committed results. A document marks the place of a table by
// two comments of HTML; what stands between them is never written by hand.

import { readFileSync, writeFileSync } from 'node:fs';
import { CONTENDERS } from '../contenders/all.ts';
import type { Machine } from '../measure/machine.ts';
import { LATEST } from '../options.ts';
import type { DrainResult } from '../runs/drain.ts';
import type { GrowthResult } from '../runs/growth.ts';
import { scenarios } from '../scenarios.ts';
import { goalsOf } from './goals.ts';
import { median } from './median.ts';
import {
  firstNs,
  isSound,
  isWhole,
  pacedOf,
  type Results,
  readResults,
  threePolls,
  timesOurs,
} from './results.ts';
import { count, megabytes, percent, spread } from './words.ts';

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
      const ratios = name === 'ours' ? [] : timesOurs(results, scenario, name);
      const times = ratios.length === 0 ? '' : ` (${median(ratios).toFixed(1)} x)`;
      return `${count(result.nsPerSample)} ns${times}`;
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

/** Why there is no figure. */
function missing({ paced }: Results, scenario: string, contender: string): string {
  const runs = paced.filter(run => run.scenario === scenario && run.contender === contender);
  if (runs.length === 0) return 'not measured';
  return runs.some(isWhole) ? 'too slow' : 'lost samples';
}

function describe(results: Results): string {
  const versions = ['vmagent', 'prometheus-agent', 'collector'].flatMap(name => {
    const presence = results.contenders[name];
    return presence !== undefined && 'version' in presence ? [`${name} ${presence.version}`] : [];
  });
  return `Measured ${describeTaken(results)}; ${versions.join(', ')}. ${describeRuns(results)}`;
}

/** When, of which sources, and on what: of each scenario, where they are not all of the same run. */
function describeTaken({ taken }: Results): string {
  const runs = Map.groupBy(
    Object.entries(taken),
    ([, { commit, takenAt, machine }]) =>
      `on ${takenAt.slice(0, 10)} at commit ${commit} on ${describeMachine(machine)}`,
  );
  return [...runs]
    .map(([words, of]) =>
      runs.size === 1 ? words : `${words} (${of.map(([scenario]) => scenario).join(', ')})`,
    )
    .join('; ');
}

function describeMachine({ processor, cores, memoryBytes, node }: Machine): string {
  const gigabytes = (memoryBytes / 2 ** 30).toFixed(0);
  return `${cores} cores (${processor}) with ${gigabytes} GiB and Node ${node}`;
}

/** Where there is no spread. */
function describeRuns({ paced }: Results): string {
  const runs = Map.groupBy(paced, ({ scenario }) => scenario);
  const once = [...runs].filter(([, of]) => of.every(({ run }) => run === 0)).map(([name]) => name);
  if (once.length === 0) return 'Medians of several runs.';
  return `1 run, no spread${once.length === runs.size ? '' : `: ${once.join(', ')}`}.`;
}

function goalsTable(results: Results): string[] {
  return markdown(
    ['goal', 'at most', 'measured', ''],
    goalsOf(results).map(goal => [goal.name, goal.target, goal.measured, goal.verdict]),
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
        const ratios = name === 'ours' ? [] : timesOurs(results, scenario, name);
        return [
          [
            scenario,
            name,
            count(result.nsPerSample),
            ratios.length === 0 ? '' : spread(ratios, ratio => ratio.toFixed(1)),
            percent(result.cpuPercent),
            megabytes(result.lastBytes),
            result.anonymousBytes === null ? '' : megabytes(result.anonymousBytes),
            megabytes(result.peakBytes),
            result.wireBytesPerSample.toFixed(1),
            firstNs(result),
            threePolls(result),
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
    'polls 1 to 3, µs a series',
    'commit',
  ];
  return [...markdown(head, rows), '', describe(results)];
}

function otherTables(results: Results): string[] {
  const tables = [growthTable, startTable, drainTable, pausesTable, floorLines];
  return tables
    .map(tableOf => tableOf(results))
    .filter(lines => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function growthTable({ growth }: Results): string[] {
  const sizes = Map.groupBy(growth.filter(isSound), ({ series }) => series);
  const rows = [...sizes].map(([series, of]) => {
    const figure = (read: (size: GrowthResult) => number | null, show: typeof count): string => {
      const values = of.map(read).filter(value => value !== null);
      return values.length === 0 ? '' : spread(values, show);
    };
    return [
      count(series),
      figure(size => size.nsPerSample, count),
      figure(size => size.nsPerAddedSample, count),
      figure(size => size.lastBytes, megabytes),
      figure(size => size.bytesPerAddedSeries, count),
    ];
  });
  const head = ['series', 'ns/sample', 'ns/added sample', 'memory', 'bytes/added series'];
  return markdown(head, rows);
}

function startTable({ start }: Results): string[] {
  const rows = [...Map.groupBy(start, ({ contender }) => contender)].map(([contender, of]) => {
    const all = of.flatMap(({ milliseconds }) => milliseconds).toSorted((a, b) => a - b);
    return [contender, count(median(all)), all.join(', ')];
  });
  return markdown(['program', 'start to the first accepted point, median ms', 'all'], rows);
}

function drainTable({ drain }: Results): string[] {
  const rows = [...Map.groupBy(drain, ({ contender }) => contender)].map(([contender, of]) => {
    const figure = (read: (run: DrainResult) => number): string => spread(of.map(read), count);
    return [
      contender,
      count(median(of.map(({ samples }) => samples))),
      figure(run => run.firstMs),
      figure(run => run.samplesPerSecond),
      figure(run => run.nsPerSample),
    ];
  });
  return markdown(
    ['program', 'backlog, samples', 'first sent after ms', 'samples/s from then on', 'ns/sample'],
    rows,
  );
}

/** The longest of all runs. */
function pausesTable({ paced }: Results): string[] {
  const probed = paced.flatMap(({ scenario, pauses }) =>
    pauses === null ? [] : [{ scenario, ...pauses }],
  );
  const rows = [...Map.groupBy(probed, ({ scenario }) => scenario)].map(([scenario, of]) => [
    scenario,
    count(Math.max(...of.map(({ cpuMsMax }) => cpuMsMax))),
    count(Math.max(...of.map(({ wallMsMax }) => wallMsMax))),
    count(Math.max(...of.map(({ firstPagesCpuMsMax }) => firstPagesCpuMsMax))),
  ]);
  return markdown(
    ['scenario', 'longest pause, own work, ms', 'with waits for disk and processor', 'first pages'],
    rows,
  );
}

function floorLines({ floor }: Results): string[] {
  if (floor.length === 0) return [];
  const ns = floor.map(({ nsPerSample }) => nsPerSample);
  return [`The floor under a page of the fleet: ${spread(ns, count)} ns a sample.`];
}

/** [] without rows. */
function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)];
}
