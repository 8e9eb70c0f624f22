// Measures one program alone with more and more series, in pages of at most 5,000 and all at one pace, so that wake-ups
// are equally frequent: the processor time and memory per series, and whether they stay the same. The first 10,000 series
// include the fixed cost of the process, so only the cost of further series counts.

import type { Contender } from '../contenders/contender.ts';
import type { Scenario } from '../scenarios.ts';
import { Stage, withContender } from '../stage.ts';
import { measureWindow, WARM_EXTRA_MS, type Window } from './paced.ts';

export interface GrowthResult extends Window {
  readonly run: number;
  readonly series: number;
  /** Memory and time above the base, divided by the series and samples above the base; null up to the base. */
  readonly bytesPerAddedSeries: number | null;
  readonly nsPerAddedSample: number | null;
  readonly losses: readonly string[];
}

type Measured = Omit<GrowthResult, 'bytesPerAddedSeries' | 'nsPerAddedSample'>;

const SIZES = [1000, 10_000, 100_000, 1_000_000];
const BASE_SERIES = 10_000;

/** Measures the sizes up to that of the scenario; the smoke test has one. */
export async function runGrowth(
  scenario: Scenario,
  contender: Contender,
  run: number,
): Promise<readonly GrowthResult[]> {
  const most = scenario.addresses * scenario.series;
  const measured: Measured[] = [];
  for (const series of most > BASE_SERIES ? SIZES : [most]) {
    const perPage = Math.min(series, scenario.series);
    const spec = { ...scenario, addresses: Math.ceil(series / perPage), series: perPage };
    measured.push({ run, series, ...(await measure(spec, contender)) });
  }
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
  spec: Scenario,
  contender: Contender,
): Promise<Window & { readonly losses: readonly string[] }> {
  const { warmPolls, intervalMs } = spec;
  await using stage = await Stage.open(spec);
  return await withContender(contender, stage.task, async running => {
    await stage.polled(warmPolls, warmPolls * intervalMs + WARM_EXTRA_MS);
    const window = await measureWindow(stage, running, spec);
    return { ...window, losses: await stage.settle(contender) };
  });
}
