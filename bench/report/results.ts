// The results of a run of the bench, as bench/results/latest.json holds them. Reads, merges and selects them.

import { readFileSync } from 'node:fs';
import { isSameMachine, type Machine } from '../measure/machine.ts';
import type { DrainResult } from '../runs/drain.ts';
import type { FloorResult } from '../runs/floor.ts';
import type { GrowthResult } from '../runs/growth.ts';
import type { FirstMinutes, PacedResult } from '../runs/paced.ts';
import type { StartResult } from '../runs/start.ts';
import { count, median } from './words.ts';

/** A contender's version, or why it is absent. */
export type Presence = { readonly version: string } | { readonly absent: string };

/** The commit, day and machine that a scenario was measured with. */
export interface Taken {
  readonly commit: string;
  readonly takenAt: string;
  readonly machine: Machine;
}

/** A run that broke off. */
export interface Failure {
  readonly scenarios: readonly string[];
  readonly words: string;
}

export interface Results extends Taken {
  /** By scenario, of the scenarios that were run to their end: `--merge` brings figures of several runs together. */
  readonly taken: Readonly<Record<string, Taken>>;
  /** How long the last run of the bench took. */
  readonly seconds: number;
  readonly contenders: Readonly<Record<string, Presence>>;
  readonly paced: readonly PacedResult[];
  readonly growth: readonly GrowthResult[];
  readonly start: readonly StartResult[];
  readonly drain: readonly DrainResult[];
  readonly floor: readonly FloorResult[];
  readonly failures: readonly Failure[];
}

export function readResults(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/**
 * Replaces scenarios of the earlier results with those of a run. The earlier results may be of another machine. If both
 * are of the same commit and machine, groups that the run left out remain: a scenario may be measured in parts.
 */
export function mergeResults(before: Results, run: Results): Results {
  const isNew = (scenario: string): boolean => scenario in run.taken;
  const isKept = ({ scenario, group }: PacedResult): boolean => {
    const [old, now] = [before.taken[scenario], run.taken[scenario]];
    if (now === undefined) return true;
    const isSameSource = old?.commit === now.commit && isSameMachine(old.machine, now.machine);
    return isSameSource && run.paced.every(one => one.scenario !== scenario || one.group !== group);
  };
  const paced = run.paced.filter(({ scenario }) => isNew(scenario));
  const growth = run.growth.filter(({ scenario }) => isNew(scenario));
  return {
    ...run,
    taken: { ...before.taken, ...run.taken },
    contenders: { ...before.contenders, ...run.contenders },
    paced: [...before.paced.filter(isKept), ...paced],
    growth: [...before.growth.filter(({ scenario }) => !isNew(scenario)), ...growth],
    start: isNew('start') ? run.start : before.start,
    drain: isNew('drain') ? run.drain : before.drain,
    floor: isNew('floor') ? run.floor : before.floor,
    failures: [
      ...before.failures.filter(({ scenarios }) => !scenarios.some(isNew)),
      ...run.failures,
    ],
  };
}

/** Whether a result counts: everything that was served has arrived. */
export function isWhole({ losses }: { readonly losses: readonly string[] }): boolean {
  return losses.length === 0;
}

/** Whether the figures of a result mean something: everything has arrived, at the wanted pace. */
export function isSound(result: Pick<PacedResult, 'losses' | 'tooSlow'>): boolean {
  return isWhole(result) && result.tooSlow === null;
}

/** One contender in one scenario: medians of its runs and groups, the highest peak, and the first run's words. */
export function pacedOf(
  results: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
): PacedResult | null {
  const of = soundOf(results, scenario, contender);
  const [first] = of;
  if (first === undefined) return null;
  const middle = (read: (result: PacedResult) => number): number => median(of.map(read));
  const anonymous = of.flatMap(({ anonymousBytes }) => anonymousBytes ?? []);
  return {
    ...first,
    anonymousBytes: anonymous.length === 0 ? null : median(anonymous),
    first: middleFirst(of.flatMap(one => one.first ?? [])),
    nsPerSample: middle(({ nsPerSample }) => nsPerSample),
    cpuPercent: middle(({ cpuPercent }) => cpuPercent),
    residentBytes: middle(({ residentBytes }) => residentBytes),
    lastBytes: middle(({ lastBytes }) => lastBytes),
    peakBytes: Math.max(...of.map(({ peakBytes }) => peakBytes)),
    wireBytesPerSample: middle(({ wireBytesPerSample }) => wireBytesPerSample),
  };
}

function middleFirst(all: readonly FirstMinutes[]): FirstMinutes | null {
  const [first] = all;
  if (first === undefined) return null;
  const middle = (read: (one: FirstMinutes) => number): number => median(all.map(read));
  return {
    seconds: middle(({ seconds }) => seconds),
    samples: middle(({ samples }) => samples),
    cpuMs: middle(({ cpuMs }) => cpuMs),
    peakBytes: Math.max(...all.map(({ peakBytes }) => peakBytes)),
    firstPollUs: middle(({ firstPollUs }) => firstPollUs),
    threePollsUs: middle(({ threePollsUs }) => threePollsUs),
  };
}

function soundOf(
  { paced }: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
): readonly PacedResult[] {
  return paced.filter(
    result => result.scenario === scenario && result.contender === contender && isSound(result),
  );
}

/** One figure of each run: the median of its groups. */
export function byRun<T extends { readonly run: number }>(
  results: readonly T[],
  read: (result: T) => number,
): readonly number[] {
  return [...Map.groupBy(results, ({ run }) => run).values()].map(of => median(of.map(read)));
}

/** `byRun` for the sound results of one contender in one scenario. */
export function pacedByRun(
  results: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
  read: (result: PacedResult) => number | null,
): readonly number[] {
  const known = soundOf(results, scenario, contender).flatMap(result => {
    const value = read(result);
    return value === null ? [] : [{ run: result.run, value }];
  });
  return byRun(known, ({ value }) => value);
}

export interface RunRatio {
  readonly run: number;
  readonly ratio: number;
}

/** The cost of one contender divided by the cost of another, for each time that they ran side by side. */
export function ratiosOf(
  results: Pick<Results, 'paced'>,
  scenario: string,
  [one, other]: readonly [one: string, other: string],
  read: (result: PacedResult) => number | null = ({ nsPerSample }) => nsPerSample,
): readonly RunRatio[] {
  const others = soundOf(results, scenario, other);
  return soundOf(results, scenario, one).flatMap(result => {
    const { run, group } = result;
    const beside = others.find(other => other.run === run && other.group === group);
    const [value, ofOther] = [read(result), beside === undefined ? null : read(beside)];
    return value === null || ofOther === null ? [] : [{ run, ratio: value / ofOther }];
  });
}

/** A contender's cost divided by ours, run by run; [] where they never ran side by side. */
export function timesOurs(
  results: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
): readonly number[] {
  const ratios = ratiosOf(results, scenario, [contender, 'ours']);
  return byRun(ratios, ({ ratio }) => ratio);
}

/** The cost of a sample in the start and the first minutes, which the window leaves out. */
export function firstNs({ first }: PacedResult): string {
  return first === null ? '' : count((first.cpuMs * 1e6) / Math.max(first.samples, 1));
}

/** The cost of the first three polls of all pages together, in µs a series. */
export function threePolls({ first }: PacedResult): string {
  return first === null ? '' : first.threePollsUs.toFixed(1);
}
