// One contender in one scenario, paced as in production: it warms up, then a window of whole intervals is measured, then
// pages stop and everything that was served must arrive.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender, RunningContender } from '../contenders/contender.ts';
import { load } from '../measure/machine.ts';
import { cpuMsBetween, processUsage, type ProcessUsage } from '../measure/process-usage.ts';
import { longestPauses, type Pauses } from '../measure/pauses.ts';
import type { PacedScenario } from '../scenarios.ts';
import type { SinkCounts } from '../sink.ts';
import { Stage, withContender } from '../stage.ts';
import { sumPolls } from '../verify.ts';

export interface PacedResult {
  readonly scenario: string;
  readonly contender: string;
  /** Those of a group ran side by side: ratios are taken within it. */
  readonly group: number;
  /** The how many-th run of the scenario, from 0. */
  readonly run: number;
  /** Of the pages served within the window; all of them arrived, or the result does not count. */
  readonly samples: number;
  readonly windowMs: number;
  readonly cpuMs: number;
  readonly nsPerSample: number;
  /** Share of one core. */
  readonly cpuPercent: number;
  /** Mean within the window, at its end, and the highest of its life. */
  readonly residentBytes: number;
  readonly lastBytes: number;
  /** Of `lastBytes`, what no file holds; null in results from before it was measured. */
  readonly anonymousBytes: number | null;
  readonly peakBytes: number;
  readonly wireBytesPerSample: number;
  readonly rawBytesPerSample: number;
  readonly requests: number;
  /** Load average of the machine at the end. */
  readonly load: number;
  /** From the start of the process to the window; null in results from before it was measured. */
  readonly first: FirstMinutes | null;
  /** Of `ours-probed`; null for all others. */
  readonly pauses: Pauses | null;
  /** Why it could not keep the pace, or null; such a result does not count. */
  readonly tooSlow: string | null;
  /** What did not arrive; the result counts only without any. */
  readonly losses: readonly string[];
}

/** What a program costs until it is warm: its start, and the first pages. */
export interface FirstMinutes {
  readonly seconds: number;
  readonly samples: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
  /** Processor time from the start on, in µs a series, when all pages were served once, and three times. */
  readonly firstPollUs: number;
  readonly threePollsUs: number;
}

/** A window begins in the middle between two polls of a single page, so that it holds whole ones. */
const PHASE = 0.6;

/** A machine that is busy otherwise may take a while for the first pages. */
const WARM_EXTRA_MS = 300_000;

export async function runPaced(
  scenario: PacedScenario,
  contender: Contender,
  { group, run }: Pick<PacedResult, 'group' | 'run'>,
): Promise<PacedResult> {
  const { intervalMs, polls, warmPolls } = scenario;
  await using stage = await Stage.open(scenario, intervalMs);
  const bornMs = Date.now();
  return await withContender(contender, stage.task, async running => {
    const afterPolls = async (polls: number): Promise<FirstPages> => {
      await stage.polled(polls, polls * intervalMs + WARM_EXTRA_MS);
      const lastPollMs = stage.polls.at(-1)?.timeMs ?? Date.now();
      if (stage.task.origins.length === 1)
        await sleep(Math.max(0, lastPollMs + PHASE * intervalMs - Date.now()));
      return firstPages(stage, running, polls);
    };
    const { usPerSeries: firstPollUs } = await afterPolls(1);
    const { usPerSeries: threePollsUs } = await afterPolls(Math.min(3, warmPolls));
    const { samples, cpuMs, peakBytes } = await afterPolls(warmPolls);
    const startMs = Date.now();
    const seconds = (startMs - bornMs) / 1000;
    const first = { seconds, samples, cpuMs, peakBytes, firstPollUs, threePollsUs };
    const firstPollMs = stage.polls[0]?.timeMs ?? startMs;
    const window = await measureWindow(stage, running, { polls, intervalMs });
    const losses = await stage.settle(contender);
    const { pausesFile = null } = running;
    const pauses = pausesFile === null ? null : longestPauses(pausesFile, firstPollMs, startMs);
    const names = { scenario: scenario.name, contender: contender.name, group, run };
    return { ...names, ...window, losses, first, pauses };
  });
}

type FirstPages = Pick<FirstMinutes, 'samples' | 'cpuMs' | 'peakBytes'> & {
  readonly usPerSeries: number;
};

/** Some pages may have been served once more by then: what counts is a sample's cost, so many times. */
function firstPages(stage: Stage, { pid }: RunningContender, polls: number): FirstPages {
  const { tickedMs: cpuMs, peakBytes } = processUsage(pid);
  const { samples } = sumPolls(stage.polls);
  return { samples, cpuMs, peakBytes, usPerSeries: ((cpuMs * 1000) / samples) * polls };
}

export type Window = Omit<
  PacedResult,
  'scenario' | 'contender' | 'group' | 'run' | 'losses' | 'first' | 'pauses'
>;

/** Of the samples of one poll of all pages: more on its way, and a window would begin or end with work of others. */
const BEHIND_MAX = 0.05;
/** Intervals that a window waits for that, before it and at its end. */
const CATCH_UP_INTERVALS = 2;

export async function measureWindow(
  stage: Stage,
  { pid }: RunningContender,
  { polls, intervalMs }: { readonly polls: number; readonly intervalMs: number },
): Promise<Window> {
  const page = stage.samplesPerPage;
  const round = page * stage.task.origins.length;
  const catchUp = (): Promise<void> =>
    stage.caughtUp(BEHIND_MAX * round, CATCH_UP_INTERVALS * intervalMs);
  const windowMs = polls * intervalMs;
  await catchUp();
  const behindBefore = await stage.behind();
  const pollsBefore = stage.polls.length;
  const countsBefore = await stage.counts();
  const startMs = Date.now();
  const before = processUsage(pid);
  const resident: number[] = [];
  while (Date.now() < startMs + windowMs) {
    await sleep(Math.min(1000, startMs + windowMs - Date.now()));
    resident.push(processUsage(pid).residentBytes);
  }
  await catchUp();
  const after = processUsage(pid);
  const elapsedMs = Date.now() - startMs;
  const behind = (await stage.behind()) - behindBefore;
  const counts = await stage.counts();
  const { samples } = sumPolls(stage.polls.slice(pollsBefore));
  return {
    samples,
    windowMs: elapsedMs,
    ...cpuOf(before, after, { samples, elapsedMs }),
    residentBytes: resident.reduce((sum, bytes) => sum + bytes, 0) / Math.max(resident.length, 1),
    lastBytes: after.residentBytes,
    anonymousBytes: after.anonymousBytes,
    peakBytes: after.peakBytes,
    ...bytesOf(countsBefore, counts),
    requests: counts.requests - countsBefore.requests,
    load: load(),
    tooSlow: paceProblem({ samples, wanted: (round * elapsedMs) / intervalMs, behind, page }),
  };
}

/** Of the samples that should have been served. */
const SLOW_SHARE = 0.1;

/** Why the work of a window is not that of the samples served in it; null where it is. */
export function paceProblem(window: {
  readonly samples: number;
  readonly wanted: number;
  /** How much more was on its way at the end than at the beginning. */
  readonly behind: number;
  /** Samples of a page: whether one more falls into the window is chance. */
  readonly page: number;
}): string | null {
  const { samples, wanted, behind, page } = window;
  const few = Math.max(SLOW_SHARE * wanted, page);
  if (samples < wanted - few)
    return `it asked for ${samples} of ${Math.round(wanted)} samples in the window`;
  if (Math.abs(behind) > few) return `it was ${behind} samples further behind after the window`;
  return null;
}

function cpuOf(
  before: ProcessUsage,
  after: ProcessUsage,
  { samples, elapsedMs }: { samples: number; elapsedMs: number },
): Pick<Window, 'cpuMs' | 'nsPerSample' | 'cpuPercent'> {
  const cpuMs = cpuMsBetween(before, after);
  return { cpuMs, nsPerSample: (cpuMs * 1e6) / samples, cpuPercent: (cpuMs / elapsedMs) * 100 };
}

/** Of what arrived within the window, which may have been served a little before it. */
function bytesOf(
  before: SinkCounts,
  after: SinkCounts,
): Pick<Window, 'wireBytesPerSample' | 'rawBytesPerSample'> {
  const samples = after.samples - before.samples;
  return {
    wireBytesPerSample: (after.bodyBytes - before.bodyBytes) / samples,
    rawBytesPerSample: (after.rawBytes - before.rawBytes) / samples,
  };
}
