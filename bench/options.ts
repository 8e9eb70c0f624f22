// The command line of the bench.

import { parseArgs } from 'node:util';
import { CONTENDERS } from './contenders/all.ts';
import { scenarios } from './scenarios.ts';

export interface Options {
  readonly mode: 'run' | 'list' | 'help' | 'table';
  readonly isSmoke: boolean;
  /** Names; null for all. */
  readonly scenarios: readonly string[] | null;
  readonly contenders: readonly string[] | null;
  /** Where results go; null: nowhere but the terminal. */
  readonly output: string | null;
  /** Whether what is there of other scenarios stays. */
  readonly isMerging: boolean;
}

export const LATEST: string = 'bench/results/latest.json';

export const HELP: string = `usage: npm run bench -- [options]

  (none)                    the whole bench, about 40 minutes; results go to ${LATEST}
  --smoke                   about a minute: everything runs and everything arrives
  --scenario NAME,…         only these; results are printed
  --contender NAME,…        only these
  --output FILE             where the results go, as JSON
  --merge                   with --scenario: only these are replaced there, or in ${LATEST}
  --list                    scenarios and contenders
  --table                   writes the README's table from ${LATEST}
  --help                    this

examples: npm run bench -- --scenario fleet --contender ours,vmagent
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
      output: { type: 'string' },
      merge: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      table: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const isSmoke = values.smoke;
  const known = scenarios(isSmoke).map(({ name }) => name);
  const chosenScenarios = namesOf('scenario', values.scenario, known);
  const chosenContenders = namesOf(
    'contender',
    values.contender,
    CONTENDERS.map(({ name }) => name),
  );
  const isMerging = values.merge;
  if (isMerging && (isSmoke || chosenScenarios === null || chosenContenders !== null))
    throw new Error(
      '--merge replaces whole scenarios: with --scenario, not --contender or --smoke',
    );
  const isWhole = !isSmoke && chosenScenarios === null && chosenContenders === null;
  return {
    mode: values.help ? 'help' : values.list ? 'list' : values.table ? 'table' : 'run',
    isSmoke,
    scenarios: chosenScenarios,
    contenders: chosenContenders,
    output: values.output ?? (isWhole || isMerging ? LATEST : null),
    isMerging,
  };
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
