// Measures our program alone with more and more series, in pages of at most 5,000 and all at one pace: the processor
// time and memory per series, and whether they stay the same. The first 10,000 series include the fixed cost of the
// process, so only the cost of further series counts.

import { bridge } from '../contenders/bridge.ts';
import type { CorpusSpec } from '../corpus/corpora.ts';
import type { Poll } from '../page-server.ts';
import type { SpecialScenario } from '../scenarios.ts';
import { Stage, withContender } from '../stage.ts';
import { measureWindow, type Window } from './paced.ts';

export interface GrowthResult extends Window {
  readonly scenario: string;
  readonly run: number;
  readonly series: number;
  readonly intervalMs: number;
  /** Memory and time above the base, divided by the series and samples above the base; null up to the base. */
  readonly bytesPerAddedSeries: number | null;
  readonly nsPerAddedSample: number | null;
  /** The longest time between two polls of one page: twice the interval if a poll was left out. */
  readonly gapMs: number;
  readonly losses: readonly string[];
}

type Measured = Omit<GrowthResult, 'bytesPerAddedSeries' | 'nsPerAddedSample'>;

const BASE_SERIES = 10_000;
const PAGE_SERIES_MAX = 5000;
/** For more series than this, the configuration raises the limit of remembered series, by default 3,000,000. */
const UNTOLD_SERIES_MAX = 2_000_000;

/** Uses one interval for all sizes, so that wake-ups are equally frequent. */
export async function runGrowth(
  scenario: SpecialScenario,
  run: number,
): Promise<readonly GrowthResult[]> {
  const measured: Measured[] = [];
  for (const series of scenario.sizes) measured.push(await measure(scenario, series, run));
  const base = measured.find(({ series }) => series === BASE_SERIES);
  return measured.map(size => grown(size, base ?? size));
}

export function grown(size: Measured, base: Measured): GrowthResult {
  if (size.series <= base.series)
    return { ...size, bytesPerAddedSeries: null, nsPerAddedSample: null };
  // Scales the base to the length of this size's window.
  const share = size.windowMs / base.windowMs;
  const cpuMs = size.cpuMs - base.cpuMs * share;
  const samples = size.samples - base.samples * share;
  return {
    ...size,
    bytesPerAddedSeries: (size.lastBytes - base.lastBytes) / (size.series - base.series),
    nsPerAddedSample: (cpuMs * 1e6) / samples,
  };
}

async function measure(
  { name: scenario, rounds: polls, warmPolls, intervalMs }: SpecialScenario,
  series: number,
  run: number,
): Promise<Measured> {
  const perPage = Math.min(series, PAGE_SERIES_MAX);
  const spec: CorpusSpec = {
    corpus: 'engine',
    addresses: Math.ceil(series / perPage),
    services: 1,
    series: perPage,
  };
  const contender = bridge({ seriesMax: series > UNTOLD_SERIES_MAX ? 2 * series : null });
  await using stage = await Stage.open(spec, intervalMs);
  return await withContender(contender, stage.task, async running => {
    await stage.polled(warmPolls, warmPolls * intervalMs + 300_000);
    const pollsBefore = stage.polls.length;
    const window = await measureWindow(stage, running, { polls, intervalMs });
    const gapMs = longestGap(stage.polls.slice(pollsBefore));
    const losses = await stage.settle(contender);
    return { scenario, run, series, intervalMs, ...window, gapMs, losses };
  });
}

function longestGap(polls: readonly Poll[]): number {
  const last = new Map<number, number>();
  let gapMs = 0;
  for (const { address, timeMs } of polls) {
    gapMs = Math.max(gapMs, timeMs - (last.get(address) ?? timeMs));
    last.set(address, timeMs);
  }
  return gapMs;
}
