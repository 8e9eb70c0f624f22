// Ours alone with more and more series, in pages of at most 5,000: what a series costs in processor time and memory, and
// whether that stays the same. What the process costs by itself, whatever it scrapes, is taken from the smallest size.

import { contenderOf } from '../contenders/all.ts';
import type { CorpusSpec } from '../corpus/corpora.ts';
import { Stage, withContender } from '../stage.ts';
import { measureWindow, type Window } from './paced.ts';

export interface GrowthResult extends Window {
  readonly series: number;
  readonly intervalMs: number;
  /** What grew with the series, for each of them: memory and processor time above those of the smallest. */
  readonly bytesPerSeries: number;
  /** null for the smallest. */
  readonly nsPerAddedSample: number | null;
  readonly losses: readonly string[];
}

type Measured = Omit<GrowthResult, 'bytesPerSeries' | 'nsPerAddedSample'>;

const PAGE_SERIES_MAX = 5000;
/** As many as V8 needs to have compiled what 5,000 series a second run through. */
const SHORT_WARM_POLLS = 20;
const LONG_WARM_POLLS = 6;
/** Of the long interval, whatever the number for the short one is. */
const LONG_POLLS = 3;
/** 20 pages a second each for 100,000 series every second and for a million every 10: the same pace. */
const [SHORT_MS, LONG_MS] = [1000, 10_000];
/** From so many series on a poll of all of them takes a good part of the short interval. */
const LONG_FROM = 500_000;

export async function runGrowth(
  sizes: readonly number[],
  polls: number,
): Promise<readonly GrowthResult[]> {
  const measured: Measured[] = [];
  for (const series of sizes) measured.push(await measure(series, polls));
  const [smallest] = measured;
  return smallest === undefined ? [] : measured.map(size => grown(size, smallest));
}

/** The smallest stands for an idle process: of a large one it is a small part. */
export function grown(size: Measured, smallest: Measured): GrowthResult {
  const bytes = Math.max(0, size.lastBytes - smallest.lastBytes);
  // Over windows of the same length.
  const share = size.windowMs / smallest.windowMs;
  const cpuMs = size.cpuMs - smallest.cpuMs * share;
  const samples = size.samples - smallest.samples * share;
  return {
    ...size,
    bytesPerSeries: bytes / size.series,
    nsPerAddedSample: size === smallest ? null : (cpuMs * 1e6) / samples,
  };
}

async function measure(series: number, shortPolls: number): Promise<Measured> {
  const perPage = Math.min(series, PAGE_SERIES_MAX);
  const spec: CorpusSpec = {
    corpus: 'engine',
    addresses: Math.ceil(series / perPage),
    services: 1,
    series: perPage,
  };
  const isLong = series >= LONG_FROM;
  const intervalMs = isLong ? LONG_MS : SHORT_MS;
  const contender = contenderOf('ours');
  await using stage = await Stage.open({ ...spec, isRemote: false, hasLogs: false }, intervalMs);
  return await withContender(contender, stage.task, async running => {
    const warmPolls = isLong ? LONG_WARM_POLLS : SHORT_WARM_POLLS;
    await stage.polled(warmPolls, warmPolls * intervalMs + 300_000);
    const polls = isLong ? LONG_POLLS : shortPolls;
    const window = await measureWindow(stage, running, { polls, intervalMs });
    return { series, intervalMs, ...window, losses: await stage.settle(contender) };
  });
}
