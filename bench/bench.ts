// Runs the chosen scenarios and contenders, batch by batch, and gathers the results. A batch is a group of a scenario,
// without contenders that were not chosen or that this machine does not have.

import { contenderOf } from './contenders/contender-list.ts';
import { describeCommit, describeMachine } from './machine.ts';
import { NO_RESULTS, type Presence, type Results, type Taken } from './report/results.ts';
import { runDrain } from './runs/drain.ts';
import { runGrowth } from './runs/growth.ts';
import { type PacedResult, runPaced } from './runs/paced.ts';
import { runStart } from './runs/start.ts';
import type { Scenario } from './scenarios.ts';

/** Batches run one after the other; the contenders of one run side by side. */
export interface Batch {
  readonly scenario: Scenario;
  readonly contenders: readonly string[];
  /** Its index in the scenario, whichever groups were chosen. */
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
  { groups }: Scenario,
  isWanted: (contender: string) => boolean,
): readonly Pick<Batch, 'contenders' | 'group'>[] {
  const numbered = groups.map((contenders, group) => ({ contenders, group }));
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
      this.#say(
        'version' in presence
          ? `${name}: ${presence.version}`
          : `${name} is absent: ${presence.absent}`,
      );
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
      const words = `${name}, ${batch.contenders.join(' beside ')}`;
      try {
        await this.#measure(batch);
      } catch (error) {
        this.#fail(name, words, error);
      }
      this.#say(`${words}: ${((Date.now() - startedMs) / 1000).toFixed(0)} s`);
      const isLast = batches.slice(index + 1).every(({ scenario }) => scenario.name !== name);
      if (!isLast) continue;
      const { contenders } = this.#results;
      this.#results = {
        ...this.#results,
        contenders: { ...contenders, ...this.#contenders },
        taken: { ...this.#results.taken, [name]: taken },
      };
      keep(this.#results);
    }
    return this.#results;
  }

  async #measure(batch: Batch): Promise<void> {
    const { scenario, contenders, run } = batch;
    if (scenario.kind === 'paced') return await this.#measurePaced(batch);
    for (const contender of contenders.map(contenderOf)) {
      if (scenario.kind === 'growth')
        this.#add('growth', await runGrowth(scenario, contender, run));
      else if (scenario.kind === 'start')
        this.#add('start', [await runStart(scenario, contender, run)]);
      else this.#add('drain', [await runDrain(scenario, contender, run)]);
    }
  }

  /** Measures the whole group once more after a loss: a hiccup of the machine, or one slow scrape, costs samples. */
  async #measurePaced(batch: Batch): Promise<void> {
    const first = await this.#runSideBySide(batch);
    const losses = first.flatMap(({ losses }) => losses);
    if (losses.length > 0) this.#say(`once more: ${losses.join('; ')}`);
    this.#add('paced', losses.length > 0 ? await this.#runSideBySide(batch) : first);
  }

  async #runSideBySide(batch: Batch): Promise<readonly PacedResult[]> {
    const measured = batch.contenders.map(async name => {
      try {
        return [await runPaced(batch.scenario, contenderOf(name), batch)];
      } catch (error) {
        this.#fail(batch.scenario.name, `${batch.scenario.name}, ${name}`, error);
        return [];
      }
    });
    return (await Promise.all(measured)).flat();
  }

  #add<Kind extends 'paced' | 'growth' | 'start' | 'drain'>(
    kind: Kind,
    results: Results[Kind],
  ): void {
    this.#results = { ...this.#results, [kind]: [...this.#results[kind], ...results] };
  }

  #fail(scenario: string, words: string, error: unknown): void {
    const cause = error instanceof Error ? error.message : String(error);
    const failure = { scenario, words: `${words}: ${cause}` };
    this.#results = { ...this.#results, failures: [...this.#results.failures, failure] };
    this.#say(`${words} broke off: ${cause}`);
  }
}
