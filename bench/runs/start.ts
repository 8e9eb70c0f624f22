// Measures the time from the start of a contender's process to the first point that the sink accepts. The page is there
// at once, and the scrape interval is short, so that the schedule does not count.

import type { Contender } from '../contenders/contender.ts';
import { Stage, withContender } from '../stage.ts';

export interface StartResult {
  readonly run: number;
  readonly contender: string;
  /** The time of each start, shortest first. */
  readonly milliseconds: readonly number[];
  readonly losses: readonly string[];
}

const INTERVAL_MS = 1000;
const WITHIN_MS = 60_000;

export async function runStart(
  contender: Contender,
  {
    series,
    rounds,
    run,
  }: { readonly series: number; readonly rounds: number; readonly run: number },
): Promise<StartResult> {
  const milliseconds: number[] = [];
  const losses: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const options = { corpus: 'engine', addresses: 1, services: 1, series } as const;
    await using stage = await Stage.open(options, INTERVAL_MS);
    const startedMs = Date.now();
    await withContender(contender, stage.task, async () => {
      milliseconds.push((await stage.firstAccepted(WITHIN_MS)) - startedMs);
      losses.push(...(await stage.settle(contender)));
    });
  }
  milliseconds.sort((a, b) => a - b);
  return { run, contender: contender.name, milliseconds, losses };
}
