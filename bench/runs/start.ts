// Measures the time from the start of a contender's process to the first point that the sink accepts. The page is there
// at once, and the scrape interval is short, so that the schedule does not count.

import type { Contender } from '../contenders/contender.ts';
import type { Scenario } from '../scenarios.ts';
import { Stage, withContender } from '../stage.ts';

export interface StartResult {
  readonly run: number;
  readonly contender: string;
  /** The time of each start, shortest first. */
  readonly milliseconds: readonly number[];
  readonly losses: readonly string[];
}

const WITHIN_MS = 60_000;

export async function runStart(
  scenario: Scenario,
  contender: Contender,
  run: number,
): Promise<StartResult> {
  const milliseconds: number[] = [];
  const losses: string[] = [];
  for (let start = 0; start < scenario.polls; start++) {
    await using stage = await Stage.open(scenario);
    const startedMs = Date.now();
    await withContender(contender, stage.task, async () => {
      milliseconds.push((await stage.firstAccepted(WITHIN_MS)) - startedMs);
      losses.push(...(await stage.settle(contender)));
    });
  }
  milliseconds.sort((a, b) => a - b);
  return { run, contender: contender.name, milliseconds, losses };
}
