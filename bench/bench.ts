// Runs the scenarios and contenders chosen on the command line, batch by batch, and gathers the results.

import { contenderOf } from './contenders/all.ts';
import { describeCommit, describeMachine } from './measure/machine.ts';
import type { Options } from './options.ts';
import { type Batch, planBatches, timeOf } from './plan.ts';
import type { Failure, Presence, Results, Taken } from './report/results.ts';
import { type DrainResult, runDrain } from './runs/drain.ts';
import { type FloorResult, runFloor } from './runs/floor.ts';
import { type GrowthResult, runGrowth } from './runs/growth.ts';
import { type PacedResult, runPaced } from './runs/paced.ts';
import { runStart, type StartResult } from './runs/start.ts';
import { chosenScenarios, type PacedScenario } from './scenarios.ts';

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
  readonly #floor: FloorResult[] = [];
  readonly #failures: Failure[] = [];
  readonly #taken: Record<string, Taken> = {};

  constructor(options: Options, say: (line: string) => void) {
    this.#options = options;
    this.#say = say;
  }

  /** Calls `keep` after each batch with the results so far. */
  async run(keep: (results: Results) => void): Promise<Results> {
    const { isSmoke, scenarios, runs } = this.#options;
    const chosen = chosenScenarios(isSmoke, scenarios);
    await this.#prepare(chosen.flatMap(({ groups }) => groups.flat()));
    const isWanted = (name: string): boolean => 'version' in (this.#contenders[name] ?? {});
    const batches = planBatches(chosen, isWanted, runs);
    this.#say(`${timeOf(batches)}, ${runs === 1 ? '1 run' : `${runs} runs`}`);
    for (const [index, batch] of batches.entries()) {
      await this.#runBatch(batch);
      const { name } = batch.scenario;
      const isLast = batches.slice(index + 1).every(({ scenario }) => scenario.name !== name);
      if (isLast) this.#taken[name] = this.#now();
      keep(this.#results());
    }
    return this.#results();
  }

  #now(): Taken {
    const takenAt = new Date(this.#startedMs).toISOString();
    return { commit: this.#commit, takenAt, machine: describeMachine() };
  }

  #results(): Results {
    return {
      ...this.#now(),
      taken: { ...this.#taken },
      seconds: Math.round((Date.now() - this.#startedMs) / 1000),
      contenders: this.#contenders,
      paced: this.#paced,
      growth: this.#growth,
      start: this.#start,
      drain: this.#drain,
      floor: this.#floor,
      failures: this.#failures,
    };
  }

  /** Prepares the wanted contenders, and notes and prints the version of each, or why it is absent. */
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
    const words = `${batch.scenario.name}, ${batch.contenders.join(' beside ')}`;
    try {
      await this.#measure(batch);
    } catch (error) {
      this.#fail(batch, words, error);
    }
    this.#say(`${words}: ${((Date.now() - startedMs) / 1000).toFixed(0)} s`);
  }

  async #measure(batch: Batch): Promise<void> {
    const { scenario, contenders, run } = batch;
    if (scenario.kind === 'paced') return await this.#measurePaced(scenario, batch);
    const { rounds } = scenario;
    const series = scenario.sizes[0] ?? 0;
    if (scenario.kind === 'growth') this.#growth.push(...(await runGrowth(scenario, run)));
    else if (scenario.kind === 'floor') this.#floor.push(await runFloor(rounds, run));
    else
      for (const contender of contenders.map(contenderOf)) {
        if (scenario.kind === 'start')
          this.#start.push(await runStart(contender, { series, rounds, run }));
        else this.#drain.push(await runDrain(contender, { series, polls: rounds, run }));
      }
  }

  /** Measures the whole group once more after a loss: a hiccup of the machine, or one slow scrape, costs samples. */
  async #measurePaced(scenario: PacedScenario, batch: Batch): Promise<void> {
    const lost = await this.#runSideBySide(scenario, batch);
    if (lost.length === 0) return;
    this.#say(`once more: ${lost.join('; ')}`);
    this.#paced = this.#paced.filter(
      ({ scenario, group, run }) =>
        scenario !== batch.scenario.name || group !== batch.group || run !== batch.run,
    );
    await this.#runSideBySide(scenario, batch);
  }

  /** Measures the contenders of a batch side by side, and says what did not arrive. */
  async #runSideBySide(scenario: PacedScenario, batch: Batch): Promise<readonly string[]> {
    const losses: string[] = [];
    const measured = batch.contenders.map(async contender => {
      const words = `${scenario.name}, ${contender}`;
      try {
        const result = await runPaced(scenario, contenderOf(contender), batch);
        this.#paced.push(result);
        losses.push(...result.losses.map(loss => `${words}: ${loss}`));
      } catch (error) {
        this.#fail(batch, words, error);
      }
    });
    await Promise.all(measured);
    return losses;
  }

  #fail({ scenario }: Batch, words: string, error: unknown): void {
    const cause = error instanceof Error ? error.message : String(error);
    this.#failures.push({ scenarios: [scenario.name], words: `${words}: ${cause}` });
    this.#say(`${words} broke off: ${cause}`);
  }
}
