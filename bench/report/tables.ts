// Results as tables: as lines for a terminal, and in README.md and docs/how-it-works/performance.md, where two HTML
// comments mark the place of a table. The text between them is never written by hand.

import { readFileSync, writeFileSync } from 'node:fs';
import { CONTENDERS } from '../contenders.ts';
import type { Machine } from '../machine.ts';
import { scenarios } from '../scenarios.ts';
import { goalsTable } from './goals.ts';
import {
  byRun,
  count,
  decimal,
  figuresOf,
  median,
  megabytes,
  ratiosOf,
  type Read,
  type Results,
  type Row,
  type Show,
  soundOf,
  spread,
  type Table,
} from './results.ts';

/** Documents, and the lines of their tables. */
export const DOCUMENTS: Readonly<
  Record<string, Readonly<Record<string, (results: Results) => string[]>>>
> = {
  'README.md': {
    comparison: results => [...markdown(comparisonTable(results)), '', takenLine(results)],
  },
  'docs/how-it-works/performance.md': {
    goals: results => markdown(goalsTable(results)),
    costs: results => [...markdown(costTable(results)), '', takenLine(results)],
    others: results =>
      [growthTable, startTable, drainTable].flatMap((tableOf, index) => [
        ...(index === 0 ? [] : ['']),
        ...markdown(tableOf(results)),
      ]),
  },
};

export function writeTables(results: Results): void {
  for (const file of Object.keys(DOCUMENTS)) writeFileSync(file, withTables(file, results));
}

/** The text of a document with its tables made from the results. */
export function withTables(file: string, results: Results): string {
  let text = readFileSync(file, 'utf8');
  for (const [name, linesOf] of Object.entries(DOCUMENTS[file] ?? {})) {
    const begin = `<!-- bench ${name}: npm run bench -- --table -->`;
    const from = text.indexOf(begin);
    const to = text.indexOf('<!-- bench end -->', from);
    if (from < 0 || to < 0) throw new Error(`there is no place for the table ${name} in ${file}`);
    text = `${text.slice(0, from)}${begin}\n${linesOf(results).join('\n')}\n${text.slice(to)}`;
  }
  return text;
}

export function resultTables(results: Results): readonly Table[] {
  return [costTable, growthTable, startTable, drainTable].map(tableOf => tableOf(results));
}

/**
 * What makes the bench fail: runs that broke off, lost samples, scenarios that ours is too slow for. The windows of the
 * smoke test are too short to judge the pace.
 */
export function problemsOf({ failures, rows }: Results, isSmoke = false): readonly string[] {
  const problems = rows.flatMap(({ scenario, contender, losses, tooSlow }) => {
    const isSlow = tooSlow !== null && !isSmoke && contender.startsWith('ours');
    return [...losses, ...(isSlow ? [tooSlow] : [])].map(
      words => `${scenario}, ${contender}: ${words}`,
    );
  });
  return [...failures.map(({ words }) => words), ...problems];
}

/** The cost of a sample for each program in the large scenarios, and how many times our cost that is. */
function comparisonTable(results: Results): Table {
  const columns = ['fleet', 'targets'];
  const isShown = (name: string): boolean =>
    results.rows.some(row => row.contender === name && isPaced(row.scenario));
  const rows = CONTENDERS.filter(({ name }) => isShown(name)).map(({ name, title }) => {
    const cells = columns.map(scenario => {
      const of = soundOf(results, scenario, name);
      if (of.length === 0) return missing(results, scenario, name);
      const times = timesOurs(results, scenario, name);
      const words = times.length === 0 ? '' : ` (${median(times).toFixed(1)} x)`;
      return `${count(median(figuresOf(of, cost)))} ns${words}`;
    });
    const sidecar = figuresOf(soundOf(results, 'sidecar', name), resident);
    const memory =
      sidecar.length === 0 ? missing(results, 'sidecar', name) : megabytes(median(sidecar));
    return [title, ...cells, memory];
  });
  const titles = ['200 services in one page', '200 pages of 500, every 2 s'];
  return { head: ['CPU per delivered sample', ...titles, 'memory as a sidecar'], rows };
}

/** Why there is no figure. */
function missing({ rows }: Results, scenario: string, contender: string): string {
  const runs = rows.filter(row => row.scenario === scenario && row.contender === contender);
  if (runs.length === 0) return 'not measured';
  return runs.some(({ losses }) => losses.length === 0) ? 'too slow' : 'lost samples';
}

/** A contender's cost divided by ours, run by run; [] where they never ran side by side. */
export function timesOurs(results: Results, scenario: string, name: string): readonly number[] {
  if (name === 'ours') return [];
  return byRun(ratiosOf(results, scenario, [name, 'ours']), ({ ratio }) => ratio);
}

/** The days, commits and machines of the results, each with its scenarios, and the versions of the programs. */
function takenLine({ taken, contenders }: Results): string {
  const runs = Map.groupBy(
    Object.entries(taken),
    ([, { commit, takenAt, machine }]) =>
      `on ${takenAt.slice(0, 10)} at commit ${commit} on ${machineText(machine)}`,
  );
  const words = [...runs].map(
    ([words, of]) => `${words} (${of.map(([scenario]) => scenario).join(', ')})`,
  );
  const versions = ['vmagent', 'prometheus-agent', 'collector'].flatMap(name => {
    const presence = contenders[name];
    return presence !== undefined && 'version' in presence ? [`${name} ${presence.version}`] : [];
  });
  return `Measured ${[...words, versions.join(', ')].join('; ')}.`;
}

function machineText({ processor, cores, memoryBytes, node }: Machine): string {
  return `${cores} cores (${processor}) with ${(memoryBytes / 2 ** 30).toFixed(0)} GiB and Node ${node}`;
}

const PACED = scenarios(false).filter(({ kind, sizes }) => kind === 'paced' && sizes === null);

function isPaced(scenario: string): boolean {
  return PACED.some(({ name }) => name === scenario);
}

const cost: Read = ({ nsPerSample }) => nsPerSample;
const resident: Read = ({ lastBytes }) => lastBytes;

/** Everything that was measured in a steady state: medians of the runs and groups, and the highest peak. */
function costTable(results: Results): Table {
  const rows = PACED.flatMap(({ name: scenario }) =>
    CONTENDERS.flatMap(({ name }) => {
      const of = soundOf(results, scenario, name);
      const middle = (read: Read, show: Show): string => show(median(figuresOf(of, read)));
      const cells = [
        scenario,
        name,
        middle(cost, count),
        spread(timesOurs(results, scenario, name), decimal),
        `${middle(({ cpuPercent }) => cpuPercent, hundredths)} %`,
        middle(resident, megabytes),
        middle(({ anonymousBytes }) => anonymousBytes, megabytes),
        megabytes(Math.max(...figuresOf(of, ({ peakBytes }) => peakBytes))),
        middle(({ wireBytesPerSample }) => wireBytesPerSample, decimal),
      ];
      return of.length === 0 ? [] : [cells];
    }),
  );
  const memory = ['memory', 'anonymous', 'peak', 'bytes/sample'];
  return { head: ['scenario', 'program', 'ns/sample', 'times ours', 'CPU', ...memory], rows };
}

function hundredths(value: number): string {
  return value.toFixed(2);
}

function growthTable(results: Results): Table {
  const sizes = Map.groupBy(soundOf(results, 'growth', 'ours'), ({ figures }) => figures.series);
  const rows = [...sizes].map(([series = 0, of]) => [
    count(series),
    spread(figuresOf(of, cost), count),
    spread(
      figuresOf(of, ({ nsPerAddedSample }) => nsPerAddedSample),
      count,
    ),
    spread(figuresOf(of, resident), megabytes),
    spread(
      figuresOf(of, ({ bytesPerAddedSeries }) => bytesPerAddedSeries),
      count,
    ),
  ]);
  const head = ['series', 'ns/sample', 'ns/added sample', 'memory', 'bytes/added series'];
  return { head, rows };
}

/** One line for each program of a scenario. */
function byContender(
  { rows }: Results,
  scenario: string,
  cellsOf: (of: readonly Row[]) => readonly string[],
): Table['rows'] {
  const of = Map.groupBy(
    rows.filter(row => row.scenario === scenario),
    ({ contender }) => contender,
  );
  return [...of].map(([contender, rows]) => [contender, ...cellsOf(rows)]);
}

function startTable(results: Results): Table {
  const rows = byContender(results, 'start', of => {
    const all = figuresOf(of, ({ startMs }) => startMs).toSorted((a, b) => a - b);
    return [count(median(all)), all.join(', ')];
  });
  return { head: ['program', 'start to the first accepted point, median ms', 'all'], rows };
}

function drainTable(results: Results): Table {
  const rows = byContender(results, 'drain', of => [
    count(median(figuresOf(of, ({ samples }) => samples))),
    spread(
      figuresOf(of, ({ firstMs }) => firstMs),
      count,
    ),
    spread(
      figuresOf(of, ({ samplesPerSecond }) => samplesPerSecond),
      count,
    ),
    spread(figuresOf(of, cost), count),
  ]);
  const times = ['first sent after ms', 'samples/s from then on', 'ns/sample'];
  return { head: ['program', 'backlog, samples', ...times], rows };
}

/** The table in Markdown; [] without rows. */
function markdown({ head, rows }: Table): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)];
}

/** The table as lines, each column as wide as its widest cell; [] without rows. */
export function aligned({ head, rows }: Table): string[] {
  if (rows.length === 0) return [];
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return ['', ...all.map(line)];
}
