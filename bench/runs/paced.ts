// Measures one contender in one scenario, at the pace of production: the contender warms up, then a window of whole
// intervals is measured, then the pages stop and everything that was served must arrive.

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
  /** The group's index. Contenders of one group ran side by side: ratios are taken within it. */
  readonly group: number;
  /** The number of the run of the scenario, from 0. */
  readonly run: number;
  /** The samples of the pages served within the window. The result counts only if all of them arrived. */
  readonly samples: number;
  readonly windowMs: number;
  readonly cpuMs: number;
  readonly nsPerSample: number;
  /** Share of one core. */
  readonly cpuPercent: number;
  /** Resident memory: the mean of the window, at the window's end, and the highest since the process began. */
  readonly residentBytes: number;
  readonly lastBytes: number;
  /** The part of `lastBytes` that no file backs; null in results from before it was measured. */
  readonly anonymousBytes: number | null;
  readonly peakBytes: number;
  readonly wireBytesPerSample: number;
  readonly rawBytesPerSample: number;
  readonly requests: number;
  /** Load average of the machine at the end. */
  readonly load: number;
  /** From the start of the process to the window; null in results from before it was measured. */
  readonly first: FirstMinutes | null;
  /** The pauses of `ours-probed`; null for all others. */
  readonly pauses: Pauses | null;
  /** Why the contender could not keep the pace; the result counts only if this is null. */
  readonly tooSlow: string | null;
  /** What did not arrive; the result counts only if this is empty. */
  readonly losses: readonly string[];
}

/** The cost of a program until it is warm: its start, and the first pages. */
export interface FirstMinutes {
  readonly seconds: number;
  readonly samples: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
  /** Processor time since the start, in µs a series, once all pages have been served once, and three times. */
  readonly firstPollUs: number;
  readonly threePollsUs: number;
}

/** With a single page, a window begins at this share of the interval after a poll, so that it holds whole polls. */
const PHASE = 0.6;

/** Extra time for the first pages, because the machine may be busy otherwise. */
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

/** Some pages may have been served more often by then, so µs a series is the cost of a sample times `polls`. */
function firstPages(stage: Stage, { pid }: RunningContender, polls: number): FirstPages {
  const { tickedMs: cpuMs, peakBytes } = processUsage(pid);
  const { samples } = sumPolls(stage.polls);
  return { samples, cpuMs, peakBytes, usPerSeries: ((cpuMs * 1000) / samples) * polls };
}

export type Window = Omit<
  PacedResult,
  'scenario' | 'contender' | 'group' | 'run' | 'losses' | 'first' | 'pauses'
>;

/** The share of one poll of all pages that may be on its way when a window begins or ends: work of another window. */
const BEHIND_MAX = 0.05;
/** The intervals that a window waits for that, at its beginning and at its end. */
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

/** The share of the wanted samples that may be missing or still on their way. */
const SLOW_SHARE = 0.1;

/** Why the work of a window is not the work for the samples served in it; null if it is. */
export function paceProblem(window: {
  readonly samples: number;
  readonly wanted: number;
  /** How many more samples were on their way at the end than at the beginning. */
  readonly behind: number;
  /** The samples of a page, because one page more or less in the window is chance. */
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

/** The bytes per sample of the requests that arrived in the window; they may hold samples served just before it. */
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
