// Runs what the command line has chosen, batch by batch, and gathers the results.

import { contenderOf } from './contenders/all.ts';
import { describeCommit, describeMachine } from './measure/machine.ts';
import type { Options } from './options.ts';
import { type Batch, type PacedRun, planBatches } from './plan.ts';
import type { Failure, Presence, Results, Taken } from './report/results.ts';
import { type DrainResult, runDrain } from './runs/drain.ts';
import { type GrowthResult, runGrowth } from './runs/growth.ts';
import { type PacedResult, runPaced } from './runs/paced.ts';
import { runStart, type StartResult } from './runs/start.ts';
import { scenarios } from './scenarios.ts';

export class Bench {
  readonly #options: Options;
  readonly #say: (line: string) => void;
  readonly #startedMs = Date.now();
  readonly #commit = describeCommit();
  readonly #contenders: Record<string, Presence> = {};
  #paced: PacedResult[] = [];
  readonly #growth: GrowthResult[] = [];
  readonly #start: StartResult[] = [];
  readonly #drain: DrainResult[] = [];
  readonly #failures: Failure[] = [];
  readonly #taken: Record<string, Taken> = {};

  constructor(options: Options, say: (line: string) => void) {
    this.#options = options;
    this.#say = say;
  }

  /** `keep` is given what there is after each batch. */
  async run(keep: (results: Results) => void): Promise<Results> {
    const { isSmoke } = this.#options;
    const chosen = scenarios(isSmoke).filter(
      ({ name }) => this.#options.scenarios?.includes(name) ?? true,
    );
    await this.#prepare(chosen.flatMap(({ groups }) => groups.flat()));
    const isWanted = (name: string): boolean => 'version' in (this.#contenders[name] ?? {});
    const batches = planBatches(chosen, isWanted);
    for (const [index, batch] of batches.entries()) {
      await this.#runBatch(batch);
      const later = new Set(batches.slice(index + 1).flatMap(scenariosOf));
      for (const name of scenariosOf(batch)) if (!later.has(name)) this.#taken[name] = this.#now();
      keep(this.#results());
    }
    return this.#results();
  }

  #now(): Taken {
    return { commit: this.#commit, takenAt: new Date(this.#startedMs).toISOString() };
  }

  #results(): Results {
    return {
      ...this.#now(),
      taken: { ...this.#taken },
      seconds: Math.round((Date.now() - this.#startedMs) / 1000),
      machine: describeMachine(),
      contenders: this.#contenders,
      paced: this.#paced,
      growth: this.#growth,
      start: this.#start,
      drain: this.#drain,
      failures: this.#failures,
    };
  }

  /** Looks for those that are wanted. */
  async #prepare(names: readonly string[]): Promise<void> {
    const { contenders } = this.#options;
    for (const name of new Set(names)) {
      if (contenders?.includes(name) === false) continue;
      const presence = await contenderOf(name).prepare();
      this.#contenders[name] = presence;
      this.#say(
        'version' in presence
          ? `${name}: ${presence.version}`
          : `${name} is absent: ${presence.absent}`,
      );
    }
  }

  async #runBatch(batch: Batch): Promise<void> {
    const startedMs = Date.now();
    const words = describe(batch);
    try {
      await this.#measure(batch);
    } catch (error) {
      this.#fail(scenariosOf(batch), words, error);
    }
    this.#say(`${words}: ${((Date.now() - startedMs) / 1000).toFixed(0)} s`);
  }

  async #measure(batch: Batch): Promise<void> {
    if (batch.kind === 'paced') {
      const lost = await this.#runSideBySide(batch.runs);
      // A hiccup of the machine, a scrape that took too long, costs samples: the whole group has a second try.
      if (lost.length === 0) return;
      this.#say(`once more: ${lost.join('; ')}`);
      const isOf = (result: PacedResult): boolean =>
        batch.runs.some(
          ({ scenario, group, run }) =>
            scenario.name === result.scenario && group === result.group && run === result.run,
        );
      this.#paced = this.#paced.filter(result => !isOf(result));
      await this.#runSideBySide(batch.runs);
      return;
    }
    const { sizes, rounds } = batch.scenario;
    const series = sizes[0] ?? 0;
    const contenders = batch.contenders.map(contenderOf);
    if (batch.kind === 'growth') this.#growth.push(...(await runGrowth(sizes, rounds)));
    else if (batch.kind === 'start')
      for (const contender of contenders)
        this.#start.push(await runStart(contender, { series, rounds }));
    else {
      // They wait most of the time, each for its own next try.
      const drains = contenders.map(contender => runDrain(contender, { series, polls: rounds }));
      this.#drain.push(...(await Promise.all(drains)));
    }
  }

  /** What did not arrive, in words. */
  async #runSideBySide(runs: readonly PacedRun[]): Promise<readonly string[]> {
    const losses: string[] = [];
    const measured = runs.map(async ({ scenario, contender, group, run }) => {
      try {
        const result = await runPaced(scenario, contenderOf(contender), { group, run });
        this.#paced.push(result);
        losses.push(...result.losses.map(loss => `${scenario.name}, ${contender}: ${loss}`));
      } catch (error) {
        this.#fail([scenario.name], `${scenario.name}, ${contender}`, error);
      }
    });
    await Promise.all(measured);
    return losses;
  }

  #fail(scenarios: readonly string[], words: string, error: unknown): void {
    const cause = error instanceof Error ? error.message : String(error);
    this.#failures.push({ scenarios, words: `${words}: ${cause}` });
    this.#say(`${words} broke off: ${cause}`);
  }
}

function scenariosOf(batch: Batch): readonly string[] {
  if (batch.kind !== 'paced') return [batch.scenario.name];
  return [...new Set(batch.runs.map(({ scenario }) => scenario.name))];
}

function describe(batch: Batch): string {
  if (batch.kind !== 'paced') return `${batch.kind}, ${batch.contenders.join(', ')}`;
  const contenders = new Set(batch.runs.map(({ contender }) => contender));
  return `${scenariosOf(batch).join(', ')}, side by side: ${[...contenders].join(', ')}`;
}
