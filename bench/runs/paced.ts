// Measures one contender in one scenario, at the pace of production: the contender warms up, then a window of whole
// intervals is measured, then the pages stop and everything that was served must arrive.

import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender, RunningContender } from '../contenders/contender.ts';
import { cpuMsBetween, processUsage } from '../process-usage.ts';
import type { Scenario } from '../scenarios.ts';
import { Stage, withContender } from '../stage.ts';
import { sumPolls } from '../verify.ts';

export interface PacedResult extends Window {
  readonly scenario: string;
  readonly contender: string;
  /** The group's index. Contenders of one group ran side by side: ratios are taken within it. */
  readonly group: number;
  /** The number of the run of the scenario, from 0. */
  readonly run: number;
  /** What did not arrive; the result counts only if this is empty. */
  readonly losses: readonly string[];
}

export interface Window {
  /** The samples of the pages served within the window. The result counts only if all of them arrived. */
  readonly samples: number;
  readonly windowMs: number;
  readonly cpuMs: number;
  readonly nsPerSample: number;
  /** Share of one core. */
  readonly cpuPercent: number;
  /** Resident memory: at the window's end, the part of it that no file backs, and the highest since the start. */
  readonly lastBytes: number;
  readonly anonymousBytes: number;
  readonly peakBytes: number;
  readonly wireBytesPerSample: number;
  /** Load average of the machine at the end. */
  readonly load: number;
  /** Why the contender could not keep the pace; the result counts only if this is null. */
  readonly tooSlow: string | null;
}

/** With a single page, a window begins at this share of the interval after a poll, so that it holds whole polls. */
const PHASE = 0.6;
/** Extra time for the first pages, because the machine may be busy otherwise. */
export const WARM_EXTRA_MS = 300_000;

export async function runPaced(
  scenario: Scenario,
  contender: Contender,
  { group, run }: Pick<PacedResult, 'group' | 'run'>,
): Promise<PacedResult> {
  const { intervalMs, warmPolls } = scenario;
  await using stage = await Stage.open(scenario);
  return await withContender(contender, stage.task, async running => {
    await stage.polled(warmPolls, warmPolls * intervalMs + WARM_EXTRA_MS);
    const lastPollMs = stage.polls.at(-1)?.timeMs ?? Date.now();
    if (stage.task.origins.length === 1)
      await sleep(Math.max(0, lastPollMs + PHASE * intervalMs - Date.now()));
    const window = await measureWindow(stage, running, scenario);
    const losses = await stage.settle(contender);
    return { scenario: scenario.name, contender: contender.name, group, run, ...window, losses };
  });
}

export async function measureWindow(
  stage: Stage,
  { pid }: RunningContender,
  { polls, intervalMs }: Pick<Scenario, 'polls' | 'intervalMs'>,
): Promise<Window> {
  await stage.look();
  const pollsBefore = stage.polls.length;
  const countsBefore = await stage.counts();
  const startMs = Date.now();
  const before = processUsage(pid);
  await sleep(polls * intervalMs);
  const after = processUsage(pid);
  const windowMs = Date.now() - startMs;
  await stage.look();
  const counts = await stage.counts();
  const { samples } = sumPolls(stage.polls.slice(pollsBefore));
  const cpuMs = cpuMsBetween(before, after);
  const { samplesPerPage: page, task } = stage;
  const wanted = (page * task.origins.length * windowMs) / intervalMs;
  return {
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
    tooSlow: paceProblem(samples, wanted, page),
  };
}

/** The share of the wanted samples that may be missing. */
const SLOW_SHARE = 0.1;

/** Why a contender did not keep the pace; null if it did. A page more or less in the window is chance. */
export function paceProblem(samples: number, wanted: number, page: number): string | null {
  if (samples >= wanted - Math.max(SLOW_SHARE * wanted, page)) return null;
  return `it asked for ${samples} of ${Math.round(wanted)} samples in the window`;
}
