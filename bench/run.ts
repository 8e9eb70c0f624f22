// `npm run bench`: measures this project and the programs that others would use instead, and says which goals are
// met. A result counts only when every sample that was served has arrived; see docs/how-it-works/performance.md.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { type Batch, Bench, planBatches } from './bench.ts';
import { CONTENDERS } from './contenders.ts';
import { goalsTable } from './report/goals.ts';
import { LATEST, merged, readResults, type Results } from './report/results.ts';
import { aligned, problemsOf, resultTables, writeTables } from './report/tables.ts';
import { scenarios } from './scenarios.ts';

const HELP = `usage: npm run bench -- [options]

  (none)                    the whole bench; half a day on two idle cores
  --runs N                  how often everything is measured, 3 unless told
  --smoke                   about two minutes: everything runs and everything arrives
  --scenario NAME,…         only these
  --contender NAME,…        only these
  --save                    replaces the results of these scenarios in ${LATEST}; the whole bench always does
  --list                    scenarios and contenders
  --table                   writes the tables of the documents from ${LATEST}

examples: npm run bench -- --runs 1 --scenario fleet --contender ours,vmagent
          npm run bench -- --scenario growth,targets --save`;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      smoke: { type: 'boolean', default: false },
      scenario: { type: 'string' },
      contender: { type: 'string' },
      runs: { type: 'string' },
      save: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      table: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) print([HELP]);
  else if (values.list) print(list());
  else if (values.table) writeTables(readResults());
  else {
    const { smoke: isSmoke } = values;
    const chosen = chosenFrom('scenario', values.scenario, scenarios(isSmoke));
    const contenders = chosenFrom('contender', values.contender, CONTENDERS);
    const runs = Number(values.runs ?? (isSmoke ? 1 : 3));
    if (!(runs >= 1 && runs < 100)) throw new Error('cannot run it: --runs takes 1 to 99');
    const isWhole = values.scenario === undefined && values.contender === undefined;
    const bench = new Bench(line => print([line]));
    await bench.prepare(contenders.map(({ name }) => name));
    const batches = planBatches(chosen, name => bench.has(name), runs);
    return await run(bench, batches, { isSmoke, isSaved: !isSmoke && (isWhole || values.save) });
  }
  return 0;
}

async function run(
  bench: Bench,
  batches: readonly Batch[],
  { isSmoke, isSaved }: { readonly isSmoke: boolean; readonly isSaved: boolean },
): Promise<number> {
  // Reads the file before anything is measured, so that an unreadable file does not cost the results.
  const before = isSaved ? readResults() : null;
  const results = await bench.run(batches, results => {
    if (before !== null) save(merged(before, results));
  });
  for (const table of resultTables(results)) print(aligned(table));
  if (before !== null) print(aligned(goalsTable(merged(before, results))));
  const problems = problemsOf(results, isSmoke);
  print(problems);
  return problems.length === 0 ? 0 : 1;
}

function save(results: Results): void {
  mkdirSync(dirname(LATEST), { recursive: true });
  writeFileSync(LATEST, `${JSON.stringify(results, null, 2)}\n`);
}

interface Named {
  readonly name: string;
  readonly title: string;
}

function chosenFrom<T extends Named>(
  what: string,
  text: string | undefined,
  known: readonly T[],
): readonly T[] {
  const names = text?.split(',') ?? known.map(({ name }) => name);
  return names.map(name => {
    const found = known.find(one => one.name === name);
    if (found !== undefined) return found;
    const all = known.map(one => one.name).join(', ');
    throw new Error(`there is no ${what} ${name}: there are ${all}`);
  });
}

function list(): string[] {
  const rows = (entries: readonly Named[]): string[] =>
    entries.map(({ name, title }) => `  ${name.padEnd(20)}${title}`);
  return ['scenarios', ...rows(scenarios(false)), '', 'contenders', ...rows(CONTENDERS)];
}

function print(lines: readonly string[]): void {
  for (const line of lines) console.log(line);
}

// Exits on a signal, so that `exit` listeners end the started programs. Each program adds a listener: hence no maximum.
process.setMaxListeners(0);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
