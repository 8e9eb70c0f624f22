// Runs the chosen scenarios and contenders, batch by batch, and gathers the results. A batch is a group of a scenario,
// without contenders that were not chosen or that this machine does not have.

import { contenderOf } from './contenders.ts';
import { describeCommit, describeMachine } from './machine.ts';
import { measure } from './measure.ts';
import { NO_RESULTS, type Presence, type Results, type Row, type Taken } from './report/results.ts';
import type { Scenario } from './scenarios.ts';

/** Batches run one after the other. */
export interface Batch {
  readonly scenario: Scenario;
  readonly contenders: readonly string[];
  /** Its index in the scenario, whichever groups were chosen; 0 for those that are alone and compared all the same. */
  readonly group: number;
  readonly run: number;
}

/** Plans the first run of all scenarios before the second run of any, so that one bad hour spoils only one run. */
export function planBatches(
  scenarios: readonly Scenario[],
  isWanted: (contender: string) => boolean,
  runs: number,
): readonly Batch[] {
  return Array.from({ length: runs }, (_, run) =>
    scenarios.flatMap(scenario =>
      groupsOf(scenario, isWanted).map(group => ({ scenario, run, ...group })),
    ),
  ).flat();
}

/** Only whole groups can be compared. If there is none, the wanted contenders of one group run. */
function groupsOf(
  { groups, kind }: Scenario,
  isWanted: (contender: string) => boolean,
): readonly Pick<Batch, 'contenders' | 'group'>[] {
  const numbered = groups.map((contenders, index) => ({
    contenders,
    group: kind === 'paced' ? index : 0,
  }));
  const whole = numbered.filter(({ contenders }) => contenders.every(isWanted));
  if (whole.length > 0) return whole;
  const left = numbered.map(({ contenders, group }) => ({
    contenders: contenders.filter(isWanted),
    group,
  }));
  return left.filter(({ contenders }) => contenders.length > 0).slice(0, 1);
}

export class Bench {
  readonly #say: (line: string) => void;
  readonly #contenders: Record<string, Presence> = {};
  #results: Results = NO_RESULTS;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  has(contender: string): boolean {
    return 'version' in (this.#contenders[contender] ?? {});
  }

  /** Prepares contenders, and notes and prints the version of each, or why it is absent. */
  async prepare(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const presence = await contenderOf(name).prepare();
      this.#contenders[name] = presence;
      const words = 'version' in presence ? presence.version : `absent: ${presence.absent}`;
      this.#say(`${name}: ${words}`);
    }
  }

  /** Calls `keep` with the results whenever a scenario has ended. */
  async run(batches: readonly Batch[], keep: (results: Results) => void): Promise<Results> {
    const taken: Taken = {
      commit: describeCommit(),
      takenAt: new Date().toISOString(),
      machine: describeMachine(),
    };
    for (const [index, batch] of batches.entries()) {
      const startedMs = Date.now();
      const { name } = batch.scenario;
      await this.#measure(batch);
      const seconds = ((Date.now() - startedMs) / 1000).toFixed(0);
      this.#say(`${name}, ${batch.contenders.join(' beside ')}: ${seconds} s`);
      const isLast = batches.slice(index + 1).every(({ scenario }) => scenario.name !== name);
      if (!isLast) continue;
      this.#results = {
        ...this.#results,
        contenders: this.#contenders,
        taken: { ...this.#results.taken, [name]: taken },
      };
      keep(this.#results);
    }
    return this.#results;
  }

  /** Measures the whole group once more after a loss: a hiccup of the machine, or one slow scrape, costs samples. */
  async #measure(batch: Batch): Promise<void> {
    let rows = await this.#measureGroup(batch);
    const losses = rows.flatMap(({ losses }) => losses);
    if (losses.length > 0) {
      this.#say(`once more: ${losses.join('; ')}`);
      rows = await this.#measureGroup(batch);
    }
    this.#results = { ...this.#results, rows: [...this.#results.rows, ...rows] };
  }

  async #measureGroup({ scenario, contenders, group, run }: Batch): Promise<readonly Row[]> {
    const measured = contenders.map(async contender => {
      try {
        const rows = await measure(scenario, contenderOf(contender));
        return rows.map(row => ({ scenario: scenario.name, contender, group, run, ...row }));
      } catch (error) {
        this.#fail(scenario.name, contender, error);
        return [];
      }
    });
    return (await Promise.all(measured)).flat();
  }

  #fail(scenario: string, contender: string, error: unknown): void {
    const cause = error instanceof Error ? error.message : String(error);
    const failure = { scenario, words: `${scenario}, ${contender}: ${cause}` };
    this.#results = { ...this.#results, failures: [...this.#results.failures, failure] };
    this.#say(`${failure.words} (broken off)`);
  }
}
