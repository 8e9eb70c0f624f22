// What a run of the bench leaves behind, as it stands in bench/results/latest.json, and how it is read back.

import { readFileSync } from 'node:fs';
import type { Machine } from '../measure/machine.ts';
import type { DrainResult } from '../runs/drain.ts';
import type { FloorResult } from '../runs/floor.ts';
import type { GrowthResult } from '../runs/growth.ts';
import type { PacedResult } from '../runs/paced.ts';
import type { StartResult } from '../runs/start.ts';
import { count, median } from './words.ts';

/** A contender's version, or why it is absent. */
export type Presence = { readonly version: string } | { readonly absent: string };

/** Of which sources a scenario's figures are, of which day, and of which machine. */
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
  /** By scenario, of those that were run to their end: `--merge` brings figures of several runs together. */
  readonly taken: Readonly<Record<string, Taken>>;
  /** How long the bench took, the last time. */
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

/** The results of before with the scenarios of a run in place of their own. They may be of another machine. */
export function mergeResults(before: Results, run: Results): Results {
  const isNew = (scenario: string): boolean => scenario in run.taken;
  const merged = <T extends { readonly scenario: string }>(
    old: readonly T[],
    now: readonly T[],
  ) => [
    ...old.filter(({ scenario }) => !isNew(scenario)),
    ...now.filter(({ scenario }) => isNew(scenario)),
  ];
  return {
    ...run,
    taken: { ...before.taken, ...run.taken },
    contenders: { ...before.contenders, ...run.contenders },
    paced: merged(before.paced, run.paced),
    growth: merged(before.growth, run.growth),
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

/** Whether its figures mean something: everything has arrived, at the pace that was wanted. */
export function isSound(result: Pick<PacedResult, 'losses' | 'tooSlow'>): boolean {
  return isWhole(result) && result.tooSlow === null;
}

/** What one contender did in one scenario: the medians of its runs, and of all its groups. */
export function pacedOf(
  results: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
): PacedResult | null {
  const of = soundOf(results, scenario, contender);
  const [first] = of;
  if (first === undefined) return null;
  const middle = (read: (result: PacedResult) => number): number => median(of.map(read));
  return {
    ...first,
    nsPerSample: middle(({ nsPerSample }) => nsPerSample),
    cpuPercent: middle(({ cpuPercent }) => cpuPercent),
    residentBytes: middle(({ residentBytes }) => residentBytes),
    lastBytes: middle(({ lastBytes }) => lastBytes),
    peakBytes: Math.max(...of.map(({ peakBytes }) => peakBytes)),
    wireBytesPerSample: middle(({ wireBytesPerSample }) => wireBytesPerSample),
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

/** One figure of each run; of several groups in a run, their median. */
export function byRun<T extends { readonly run: number }>(
  results: readonly T[],
  read: (result: T) => number,
): readonly number[] {
  return [...Map.groupBy(results, ({ run }) => run).values()].map(of => median(of.map(read)));
}

/** The same of a contender in a scenario. */
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

/** What one costs of what the other costs, of each time that they ran side by side. */
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

/** How many times ours a contender costs, run by run; [] where they never ran side by side. */
export function timesOurs(
  results: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
): readonly number[] {
  const ratios = ratiosOf(results, scenario, [contender, 'ours']);
  return byRun(ratios, ({ ratio }) => ratio);
}

/** Of the start and the first minutes, which the window leaves out. */
export function firstNs({ first }: PacedResult): string {
  return first === null ? '' : count((first.cpuMs * 1e6) / Math.max(first.samples, 1));
}

/** Of the first three polls of all pages together, in µs a series. */
export function threePolls({ first }: PacedResult): string {
  return first === null ? '' : first.threePollsUs.toFixed(1);
}
