// `npm run bench`: measures this project and the programs that others would use instead, in every scenario, and says
// which goals are met. A result counts only when every sample that was served has arrived; see docs/performance.md.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CONTENDERS } from './contenders/all.ts';
import { Bench } from './bench.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { writeTables } from './report/documents.ts';
import { goalLines } from './report/goals.ts';
import { mergeResults, readResults, type Results } from './report/results.ts';
import { problemsOf, resultLines } from './report/tables.ts';
import { scenarios } from './scenarios.ts';

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options.mode === 'run') return await run(options);
  if (options.mode === 'table') writeTables();
  else print(options.mode === 'list' ? list() : [HELP]);
  return 0;
}

async function run(options: Options): Promise<number> {
  const { output, isSmoke } = options;
  // Reads the file before anything is measured, so that an unreadable file does not cost the results.
  const before = options.isMerging && output !== null ? readResults(output) : null;
  const bench = new Bench(options, line => print([line]));
  const results = await bench.run(results => {
    if (output !== null) save(output, before === null ? results : mergeResults(before, results));
  });
  print(resultLines(results));
  if (!isSmoke) print(goalLines(results));
  if (output !== null) print(['', `results: ${output}`]);
  const problems = problemsOf(results);
  print(problems);
  return problems.length === 0 ? 0 : 1;
}

function save(file: string, results: Results): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}

function list(): string[] {
  const rows = (entries: readonly { readonly name: string; readonly title: string }[]): string[] =>
    entries.map(({ name, title }) => `  ${name.padEnd(26)}${title}`);
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
