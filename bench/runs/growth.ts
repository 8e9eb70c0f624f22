// Ours alone with more and more series, in pages of at most 5,000: what a series costs in processor time and memory, and
// whether that stays the same. Small ones are polled more often, so that there is something to measure.

import { contenderOf } from '../contenders/all.ts';
import type { CorpusSpec } from '../corpus/corpora.ts';
import { Stage, withContender } from '../stage.ts';
import { measureWindow, type Window } from './paced.ts';

export interface GrowthResult extends Window {
  readonly series: number;
  readonly intervalMs: number;
  /** What grew with the series: resident memory above that of an idle process, for each. */
  readonly bytesPerSeries: number;
  readonly losses: readonly string[];
}

const PAGE_SERIES_MAX = 5000;
const WARM_POLLS = 6;
/** Of the long interval, whatever the number for the short one is. */
const LONG_POLLS = 3;
const [SHORT_MS, LONG_MS] = [2000, 10_000];
/** From so many series on a poll of all of them takes a good part of the short interval. */
const LONG_FROM = 500_000;

export async function runGrowth(
  sizes: readonly number[],
  polls: number,
): Promise<readonly GrowthResult[]> {
  const results: GrowthResult[] = [];
  let idleBytes = 0;
  for (const series of sizes) {
    const result = await measure(series, polls);
    // The smallest stands for an idle process: its own series are a part of a percent of it.
    idleBytes ||= result.lastBytes;
    const grown = Math.max(0, result.lastBytes - idleBytes);
    results.push({ ...result, bytesPerSeries: grown / series });
  }
  return results;
}

async function measure(
  series: number,
  shortPolls: number,
): Promise<Omit<GrowthResult, 'bytesPerSeries'>> {
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
    await stage.polled(WARM_POLLS, WARM_POLLS * intervalMs + 300_000);
    const polls = isLong ? LONG_POLLS : shortPolls;
    const window = await measureWindow(stage, running, polls * intervalMs);
    return { series, intervalMs, ...window, losses: await stage.settle(contender) };
  });
}
