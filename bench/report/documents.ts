// The tables of README.md and docs/performance.md, made from the committed results. Two HTML comments in a document mark
// the place of a table; the text between them is never written by hand.

import { readFileSync, writeFileSync } from 'node:fs';
import { CONTENDERS } from '../contenders/all.ts';
import type { Machine } from '../measure/machine.ts';
import { LATEST } from '../options.ts';
import { goalsTable } from './goals.ts';
import { isWhole, pacedOf, type Results, readResults, timesOurs } from './results.ts';
import { costTable, floorLines, otherTables, type Table } from './tables.ts';
import { count, megabytes, median } from './words.ts';

type MakeTable = (results: Results) => string[];

/** Documents and their tables. */
export const DOCUMENTS: readonly { file: string; tables: Readonly<Record<string, MakeTable>> }[] = [
  { file: 'README.md', tables: { comparison: comparisonTable } },
  {
    file: 'docs/performance.md',
    tables: {
      goals: results => markdown(goalsTable(results)),
      costs: costLines,
      others: otherLines,
    },
  },
];

export function writeTables(): void {
  const results = readResults(LATEST);
  for (const { file } of DOCUMENTS) writeFileSync(file, withTables(file, results));
}

/** Returns the text of a document with its tables made from the results. */
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

/** The cost of a sample for each program in each of the large scenarios, and how many times our cost that is. */
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
    ...markdown({ head: ['CPU per delivered sample', ...titles, 'memory as a sidecar'], rows }),
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

/** The day, commit and machine of the results. Where these differ, each is followed by its scenarios. */
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

/** Says which scenarios were run only once, and so have no spread. */
function describeRuns({ paced }: Results): string {
  const runs = Map.groupBy(paced, ({ scenario }) => scenario);
  const once = [...runs].filter(([, of]) => of.every(({ run }) => run === 0)).map(([name]) => name);
  if (once.length === 0) return 'Medians of several runs.';
  return `1 run, no spread${once.length === runs.size ? '' : `: ${once.join(', ')}`}.`;
}

function costLines(results: Results): string[] {
  return [...markdown(costTable(results)), '', describe(results)];
}

function otherLines(results: Results): string[] {
  return [...otherTables(results).map(markdown), floorLines(results)]
    .filter(lines => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

/** The lines of the table in Markdown; [] without rows. */
function markdown({ head, rows }: Table): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)];
}
