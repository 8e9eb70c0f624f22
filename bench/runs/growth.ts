// Ours alone with more and more series, in pages of at most 5,000 and all at one pace: what a series costs in processor
// time and memory, and whether that stays the same. What the process costs by itself, whatever it scrapes, is in the
// first 10,000: what counts is what comes on top of them.

import { contenderOf } from '../contenders/all.ts';
import type { CorpusSpec } from '../corpus/corpora.ts';
import { Stage, withContender } from '../stage.ts';
import { measureWindow, type Window } from './paced.ts';

export interface GrowthResult extends Window {
  readonly series: number;
  readonly intervalMs: number;
  /** Above those of the base, for each series and each sample more than there; null up to the base. */
  readonly bytesPerAddedSeries: number | null;
  readonly nsPerAddedSample: number | null;
  readonly losses: readonly string[];
}

type Measured = Omit<GrowthResult, 'bytesPerAddedSeries' | 'nsPerAddedSample'>;

const BASE_SERIES = 10_000;
const PAGE_SERIES_MAX = 5000;
/** Long enough for a million series on two quiet cores; one for all sizes, so that a poll has the same number of wake-ups. */
const INTERVAL_MS = 4000;
/** V8 has compiled by then what a few pages of 5,000 lines run through. */
const WARM_POLLS = 8;

export async function runGrowth(
  sizes: readonly number[],
  polls: number,
): Promise<readonly GrowthResult[]> {
  const measured: Measured[] = [];
  for (const series of sizes) measured.push(await measure(series, polls));
  const base = measured.find(({ series }) => series === BASE_SERIES);
  return measured.map(size => grown(size, base ?? size));
}

export function grown(size: Measured, base: Measured): GrowthResult {
  if (size.series <= base.series)
    return { ...size, bytesPerAddedSeries: null, nsPerAddedSample: null };
  // Over windows of the same length.
  const share = size.windowMs / base.windowMs;
  const cpuMs = size.cpuMs - base.cpuMs * share;
  const samples = size.samples - base.samples * share;
  return {
    ...size,
    bytesPerAddedSeries: (size.lastBytes - base.lastBytes) / (size.series - base.series),
    nsPerAddedSample: (cpuMs * 1e6) / samples,
  };
}

async function measure(series: number, polls: number): Promise<Measured> {
  const perPage = Math.min(series, PAGE_SERIES_MAX);
  const spec: CorpusSpec = {
    corpus: 'engine',
    addresses: Math.ceil(series / perPage),
    services: 1,
    series: perPage,
  };
  const intervalMs = INTERVAL_MS;
  const contender = contenderOf('ours');
  await using stage = await Stage.open({ ...spec, isRemote: false, hasLogs: false }, intervalMs);
  return await withContender(contender, stage.task, async running => {
    await stage.polled(WARM_POLLS, WARM_POLLS * intervalMs + 300_000);
    const window = await measureWindow(stage, running, { polls, intervalMs });
    return { series, intervalMs, ...window, losses: await stage.settle(contender) };
  });
}
