// The command line of the bench.

import { parseArgs } from 'node:util';
import { CONTENDERS } from './contenders/all.ts';
import { planBatches, timeOf } from './plan.ts';
import { chosenScenarios, scenarios } from './scenarios.ts';

export interface Options {
  readonly mode: 'run' | 'list' | 'help' | 'table';
  readonly isSmoke: boolean;
  /** Names; null for all. */
  readonly scenarios: readonly string[] | null;
  readonly contenders: readonly string[] | null;
  /** How many times everything is measured: the figures are medians. */
  readonly runs: number;
  /** The file for the results; null for the terminal only. */
  readonly output: string | null;
  /** Whether the file keeps its results of other scenarios. */
  readonly isMerging: boolean;
}

export const LATEST: string = 'bench/results/latest.json';

const RUNS = 3;
/** How long so many runs of the whole bench take when all contenders are there. */
const timeOfRuns = (runs: number): string =>
  timeOf(planBatches(chosenScenarios(false, null), () => true, runs));

export const HELP: string = `usage: npm run bench -- [options]

  (none)                    the whole bench, ${timeOfRuns(RUNS)}; results go to ${LATEST}
  --runs N                  how often everything is measured, ${RUNS} unless told; with 1 ${timeOfRuns(1)}
  --smoke                   about two minutes: everything runs and everything arrives
  --scenario NAME,…         only these; results are printed
  --contender NAME,…        only these
  --output FILE             where the results go, as JSON
  --merge                   with --scenario: these are replaced there, or in ${LATEST}, by what was measured
  --list                    scenarios and contenders
  --table                   writes the tables of the documents from ${LATEST}
  --help                    this

The time of what is chosen is printed at the start.

examples: npm run bench -- --runs 1 --scenario fleet --contender ours,vmagent
          npm run bench -- --scenario growth --output growth.json
          npm run bench -- --scenario growth,targets-large --merge`;

/** Throws an Error whose message is for the user. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      smoke: { type: 'boolean', default: false },
      scenario: { type: 'string' },
      contender: { type: 'string' },
      runs: { type: 'string' },
      output: { type: 'string' },
      merge: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      table: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const isSmoke = values.smoke;
  const known = scenarios(isSmoke).map(({ name }) => name);
  const scenarioNames = namesOf('scenario', values.scenario, known);
  const chosenContenders = namesOf(
    'contender',
    values.contender,
    CONTENDERS.map(({ name }) => name),
  );
  const runs = runsOf(values.runs ?? String(isSmoke ? 1 : RUNS));
  const isMerging = values.merge;
  if (isMerging && (isSmoke || scenarioNames === null))
    throw new Error('cannot merge everything: --merge needs --scenario, and no --smoke');
  const isWhole = !isSmoke && scenarioNames === null && chosenContenders === null;
  return {
    mode: values.help ? 'help' : values.list ? 'list' : values.table ? 'table' : 'run',
    isSmoke,
    scenarios: scenarioNames,
    contenders: chosenContenders,
    runs,
    output: values.output ?? (isWhole || isMerging ? LATEST : null),
    isMerging,
  };
}

function runsOf(text: string): number {
  if (!/^[1-9]\d?$/.test(text))
    throw new Error(`cannot run it ${text} times: --runs takes 1 to 99`);
  return Number(text);
}

function namesOf(
  what: string,
  text: string | undefined,
  known: readonly string[],
): readonly string[] | null {
  if (text === undefined) return null;
  const names = text.split(',').filter(name => name !== '');
  const unknown = names.filter(name => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`there is no ${what} ${unknown.join(', ')}: there are ${known.join(', ')}`);
  return names;
}
