// Measures how fast a backlog is sent: the back end refuses everything for some polls, then takes requests again, while
// pages are no longer served. Everything scraped meanwhile must arrive, too.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from '../contenders/contender.ts';
import { cpuMsBetween, processUsage } from '../process-usage.ts';
import type { Scenario } from '../scenarios.ts';
import { Stage, withContender } from '../stage.ts';
import { sumPolls } from '../verify.ts';

export interface DrainResult {
  readonly run: number;
  readonly contender: string;
  /** The samples of the backlog. */
  readonly samples: number;
  /** The time from when the back end takes requests again to the first and to the last request. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly samplesPerSecond: number;
  readonly nsPerSample: number;
  readonly losses: readonly string[];
}

/** Long enough for the back-off of every contender, which can be half a minute. */
const FIRST_WITHIN_MS = 120_000;

export async function runDrain(
  scenario: Scenario,
  contender: Contender,
  run: number,
): Promise<DrainResult> {
  const { polls, intervalMs } = scenario;
  await using stage = await Stage.open(scenario);
  await stage.openSink(false);
  return await withContender(contender, stage.task, async ({ pid }) => {
    await stage.polled(polls, polls * intervalMs * 3 + 60_000);
    await stage.pausePages(true);
    await sleep(intervalMs);
    await stage.look();
    const { samples } = sumPolls(stage.polls);
    const before = processUsage(pid);
    const openedMs = Date.now();
    await stage.openSink(true);
    const firstMs = (await stage.firstAccepted(FIRST_WITHIN_MS)) - openedMs;
    const losses = await stage.settle(contender);
    const cpuMs = cpuMsBetween(before, processUsage(pid));
    const lastMs = (await stage.counts()).lastSampleAtMs - openedMs;
    const samplesPerSecond = samples / Math.max((lastMs - firstMs) / 1000, 0.001);
    const nsPerSample = (cpuMs * 1e6) / samples;
    const names = { run, contender: contender.name };
    return { ...names, samples, firstMs, lastMs, samplesPerSecond, nsPerSample, losses };
  });
}
