// Measures one contender in one scenario. Paced: it warms up, then a window of whole intervals is measured, then the
// pages stop and everything that was served must arrive; with more sizes, one after the other. Start: from the start of
// the process to the first point that the sink accepts. Drain: the back end refuses everything for some polls, then
// takes requests again, while pages are no longer served.

import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender, RunningContender } from './contenders.ts';
import { cpuMsBetween, processUsage } from './process-usage.ts';
import type { Figures, Row } from './report/results.ts';
import type { Scenario } from './scenarios.ts';
import { Stage } from './stage.ts';

/** A row without the names of what was measured. */
export type Measured = Pick<Row, 'figures' | 'losses' | 'tooSlow'>;

export function measure(scenario: Scenario, contender: Contender): Promise<readonly Measured[]> {
  if (scenario.kind === 'paced') return measurePaced(scenario, contender);
  return scenario.kind === 'start'
    ? measureStarts(scenario, contender)
    : measureDrain(scenario, contender);
}

/** With a single page, a window begins at this share of the interval after a poll, so that it holds whole polls. */
const PHASE = 0.6;
/** Extra time for the first pages, because the machine may be busy otherwise. */
const WARM_EXTRA_MS = 300_000;

async function measurePaced(scenario: Scenario, contender: Contender): Promise<Measured[]> {
  const { sizes, series: most } = scenario;
  if (sizes === null) return [await measureSize(scenario, contender)];
  const measured: Measured[] = [];
  for (const size of sizes) {
    const series = Math.min(size, most);
    const spec = { ...scenario, addresses: Math.ceil(size / series), series };
    measured.push(await measureSize(spec, contender));
  }
  return withAdded(measured);
}

async function measureSize(scenario: Scenario, contender: Contender): Promise<Measured> {
  const { intervalMs, warmPolls } = scenario;
  await using stage = await Stage.open(scenario);
  const { pages } = stage;
  return await withContender(contender, stage, async running => {
    await stage.polled(warmPolls, warmPolls * intervalMs + WARM_EXTRA_MS);
    if (pages.origins.length === 1)
      await sleep(Math.max(0, pages.lastPollMs + PHASE * intervalMs - Date.now()));
    const window = await measureWindow(stage, running, scenario);
    return { ...window, losses: await stage.settle(contender) };
  });
}

async function measureWindow(
  { pages, sink }: Stage,
  { pid }: RunningContender,
  { polls, intervalMs }: Scenario,
): Promise<Pick<Measured, 'figures' | 'tooSlow'>> {
  const samplesBefore = pages.samples;
  const countsBefore = await sink.ask('counts');
  const startMs = Date.now();
  const before = processUsage(pid);
  await sleep(polls * intervalMs);
  const after = processUsage(pid);
  const windowMs = Date.now() - startMs;
  const counts = await sink.ask('counts');
  const samples = pages.samples - samplesBefore;
  const cpuMs = cpuMsBetween(before, after);
  const { samplesPerPage: page, origins } = pages;
  const series = page * origins.length;
  const figures: Figures = {
    series,
    samples,
    windowMs,
    cpuMs,
    nsPerSample: (cpuMs * 1e6) / samples,
    cpuPercent: (cpuMs / windowMs) * 100,
    lastBytes: after.residentBytes,
    anonymousBytes: after.anonymousBytes,
    peakBytes: after.peakBytes,
    wireBytesPerSample:
      (counts.bodyBytes - countsBefore.bodyBytes) / (counts.samples - countsBefore.samples),
    load: loadavg()[0] ?? 0,
  };
  return { figures, tooSlow: paceProblem(samples, (series * windowMs) / intervalMs, page) };
}

/** The share of the wanted samples that may be missing. */
const SLOW_SHARE = 0.1;

/** Why a contender did not keep the pace; null if it did. A page more or less in the window is chance. */
export function paceProblem(samples: number, wanted: number, page: number): string | null {
  if (samples >= wanted - Math.max(SLOW_SHARE * wanted, page)) return null;
  return `it asked for ${samples} of ${Math.round(wanted)} samples in the window`;
}

/** These first series include the fixed cost of the process, so only the cost of further series counts. */
const BASE_SERIES = 10_000;

/** Adds memory and time above the base, divided by the series and samples above the base, to the larger sizes. */
export function withAdded(sizes: readonly Measured[]): Measured[] {
  const base = sizes.find(({ figures }) => figures.series === BASE_SERIES)?.figures;
  return sizes.map(size => {
    const { series = 0, samples = 0, windowMs = 0, cpuMs = 0, lastBytes = 0 } = size.figures;
    if (base === undefined || series <= BASE_SERIES) return size;
    // Scales the base to the length of this size's window.
    const share = windowMs / (base.windowMs ?? 0);
    const addedMs = cpuMs - (base.cpuMs ?? 0) * share;
    const addedSamples = samples - (base.samples ?? 0) * share;
    const added = {
      bytesPerAddedSeries: (lastBytes - (base.lastBytes ?? 0)) / (series - BASE_SERIES),
      nsPerAddedSample: (addedMs * 1e6) / addedSamples,
    };
    return { ...size, figures: { ...size.figures, ...added } };
  });
}

const START_WITHIN_MS = 60_000;

async function measureStarts(scenario: Scenario, contender: Contender): Promise<Measured[]> {
  const starts: Measured[] = [];
  for (let start = 0; start < scenario.polls; start++) {
    await using stage = await Stage.open(scenario);
    const startedMs = Date.now();
    const measured = await withContender(contender, stage, async () => {
      const startMs = (await stage.firstAccepted(START_WITHIN_MS)) - startedMs;
      return { figures: { startMs }, losses: await stage.settle(contender), tooSlow: null };
    });
    starts.push(measured);
  }
  return starts;
}

/** Long enough for the back-off of every contender, which can be half a minute. */
const FIRST_WITHIN_MS = 120_000;

async function measureDrain(scenario: Scenario, contender: Contender): Promise<Measured[]> {
  const { polls, intervalMs } = scenario;
  await using stage = await Stage.open(scenario);
  const { pages, sink } = stage;
  await sink.ask('shut');
  return await withContender(contender, stage, async ({ pid }) => {
    await stage.polled(polls, polls * intervalMs * 3 + 60_000);
    pages.isPaused = true;
    await sleep(intervalMs);
    const { samples } = pages;
    const before = processUsage(pid);
    const openedMs = Date.now();
    await sink.ask('open');
    const firstMs = (await stage.firstAccepted(FIRST_WITHIN_MS)) - openedMs;
    const losses = await stage.settle(contender);
    const cpuMs = cpuMsBetween(before, processUsage(pid));
    const lastMs = (await sink.ask('counts')).lastSampleAtMs - openedMs;
    const samplesPerSecond = samples / Math.max((lastMs - firstMs) / 1000, 0.001);
    const nsPerSample = (cpuMs * 1e6) / samples;
    const figures = { samples, firstMs, lastMs, samplesPerSecond, nsPerSample };
    return [{ figures, losses, tooSlow: null }];
  });
}

/** Starts a contender, runs `work` with it, and stops the contender whatever happens. */
async function withContender<T>(
  contender: Contender,
  { task }: Stage,
  work: (running: RunningContender) => Promise<T>,
): Promise<T> {
  const running = await contender.start(task);
  try {
    return await work(running);
  } finally {
    await running.stop();
  }
}
