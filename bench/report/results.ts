// The results of a bench: as a file, and the figures that tables and goals take from it. Runs are combined as medians;
// a ratio is always taken between two programs that ran side by side.

import { readFileSync } from 'node:fs';
import type { Machine } from '../machine.ts';
import type { DrainResult } from '../runs/drain.ts';
import type { GrowthResult } from '../runs/growth.ts';
import type { PacedResult } from '../runs/paced.ts';
import type { StartResult } from '../runs/start.ts';

export const LATEST: string = 'bench/results/latest.json';

export type Presence = { readonly version: string } | { readonly absent: string };

/** What was measured, when and where. */
export interface Taken {
  readonly commit: string;
  readonly takenAt: string;
  readonly machine: Machine;
}

export interface Results {
  /** By scenario: those that ran to their end. */
  readonly taken: Readonly<Record<string, Taken>>;
  readonly contenders: Readonly<Record<string, Presence>>;
  readonly paced: readonly PacedResult[];
  readonly growth: readonly GrowthResult[];
  readonly start: readonly StartResult[];
  readonly drain: readonly DrainResult[];
  /** What broke off. */
  readonly failures: readonly { readonly scenario: string; readonly words: string }[];
}

export const NO_RESULTS: Results = {
  taken: {},
  contenders: {},
  paced: [],
  growth: [],
  start: [],
  drain: [],
  failures: [],
};

export function readResults(): Results {
  return JSON.parse(readFileSync(LATEST, 'utf8')) as Results;
}

/** The results before, in which the scenarios that have run to their end are replaced. */
export function merged(before: Results, run: Results): Results {
  const isNew = (scenario: string): boolean => scenario in run.taken;
  const isOld = ({ scenario }: { readonly scenario: string }): boolean => !isNew(scenario);
  return {
    taken: { ...before.taken, ...run.taken },
    contenders: { ...before.contenders, ...run.contenders },
    paced: [...before.paced.filter(isOld), ...run.paced.filter(one => !isOld(one))],
    growth: isNew('growth') ? run.growth : before.growth,
    start: isNew('start') ? run.start : before.start,
    drain: isNew('drain') ? run.drain : before.drain,
    failures: [...before.failures.filter(isOld), ...run.failures],
  };
}

/** Whether the figures of a result mean something: everything has arrived, at the wanted pace. */
export function isSound(result: Pick<PacedResult, 'losses' | 'tooSlow'>): boolean {
  return result.losses.length === 0 && result.tooSlow === null;
}

export function soundOf(
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

export interface RunRatio {
  readonly run: number;
  readonly ratio: number;
}

/** The cost of one contender divided by the cost of another, for each time that they ran side by side. */
export function ratiosOf(
  results: Pick<Results, 'paced'>,
  scenario: string,
  [one, other]: readonly [one: string, other: string],
): readonly RunRatio[] {
  const others = soundOf(results, scenario, other);
  return soundOf(results, scenario, one).flatMap(({ run, group, nsPerSample }) => {
    const beside = others.find(other => other.run === run && other.group === group);
    return beside === undefined ? [] : [{ run, ratio: nsPerSample / beside.nsPerSample }];
  });
}

// Figures as text and tables of them, the same in the terminal and in documents.

/** The mean of the two middle values if their number is even; NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (
    ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
  );
}

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export type Show = (value: number) => string;

export const megabytes: Show = bytes => `${(bytes / 1e6).toFixed(0)} MB`;

/** A whole number with commas between the thousands. */
export const count: Show = value => Math.round(value).toLocaleString('en-US');

/** `0.38 (0.36 to 0.41)`: the median of the runs, with the lowest and the highest. */
export function spread(values: readonly number[], show: Show): string {
  const middle = show(median(values));
  if (values.length < 2) return middle;
  return `${middle} (${show(Math.min(...values))} to ${show(Math.max(...values))})`;
}
