// What a run of the bench leaves behind, as it stands in bench/results/latest.json, and how it is read back.

import { readFileSync } from 'node:fs';
import { type Machine, isSameMachine } from '../measure/machine.ts';
import type { DrainResult } from '../runs/drain.ts';
import type { GrowthResult } from '../runs/growth.ts';
import type { PacedResult } from '../runs/paced.ts';
import type { StartResult } from '../runs/start.ts';
import { scenarios } from '../scenarios.ts';
import { count } from './words.ts';

/** A contender's version, or why it is absent. */
export type Presence = { readonly version: string } | { readonly absent: string };

/** Of which sources a scenario's figures are, and of which day. */
export interface Taken {
  readonly commit: string;
  readonly takenAt: string;
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
  readonly machine: Machine;
  readonly contenders: Readonly<Record<string, Presence>>;
  readonly paced: readonly PacedResult[];
  readonly growth: readonly GrowthResult[];
  readonly start: readonly StartResult[];
  readonly drain: readonly DrainResult[];
  readonly failures: readonly Failure[];
}

export function readResults(file: string): Results {
  const results = JSON.parse(readFileSync(file, 'utf8')) as Results & Partial<Results>;
  const { commit, takenAt, paced } = results;
  const named = [...paced.map(({ scenario }) => scenario), ...specialsOf(results)];
  return {
    ...results,
    // Files from before `--merge` have one commit, and one interval for each scenario.
    taken: results.taken ?? Object.fromEntries(named.map(name => [name, { commit, takenAt }])),
    paced: paced.map(run => ({
      ...run,
      tooSlow: run.tooSlow ?? null,
      intervalMs: run.intervalMs ?? intervalOf(run.scenario),
      run: run.run ?? 0,
      first: run.first ?? null,
      anonymousBytes: run.anonymousBytes ?? null,
    })),
  };
}

/** Of a paced scenario, as it is now. */
export function intervalOf(name: string): number {
  const scenario = scenarios(false).find(scenario => scenario.name === name);
  return scenario?.kind === 'paced' ? scenario.intervalMs : 0;
}

/** Scenarios other than paced ones, which have their results each in a place of its own. */
function specialsOf(results: Results): readonly string[] {
  return (['growth', 'start', 'drain'] as const).filter(name => results[name].length > 0);
}

/** The results of before with the scenarios of a run in the place of their own. Throws where they cannot stand together. */
export function mergeResults(before: Results, run: Results): Results {
  checkMergeable(before, run.machine);
  const isNew = (scenario: string): boolean => scenario in run.taken;
  const isKept = ({ scenario }: PacedResult): boolean => !isNew(scenario);
  return {
    ...run,
    taken: { ...before.taken, ...run.taken },
    contenders: { ...before.contenders, ...run.contenders },
    paced: [...before.paced.filter(isKept), ...run.paced.filter(({ scenario }) => isNew(scenario))],
    growth: isNew('growth') ? run.growth : before.growth,
    start: isNew('start') ? run.start : before.start,
    drain: isNew('drain') ? run.drain : before.drain,
    failures: [
      ...before.failures.filter(({ scenarios }) => !scenarios.some(isNew)),
      ...run.failures,
    ],
  };
}

/** Figures of several machines, or of several versions of Node, do not stand in one table. */
export function checkMergeable(before: Results, machine: Machine): void {
  if (!isSameMachine(before.machine, machine))
    throw new Error('cannot merge: the results are of another machine; run the whole bench');
}

/** Whether a result counts: everything that was served has arrived. */
export function isWhole({ losses }: { readonly losses: readonly string[] }): boolean {
  return losses.length === 0;
}

/** Whether its figures mean something: everything has arrived, at the pace that was wanted. */
export function isSound(result: Pick<PacedResult, 'losses' | 'tooSlow'>): boolean {
  return isWhole(result) && result.tooSlow === null;
}

/** What one contender did in one scenario: the medians of its runs, and of ours in several groups at one pace. */
export function pacedOf(
  results: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
): PacedResult | null {
  const sound = results.paced.filter(
    result => result.scenario === scenario && result.contender === contender && isSound(result),
  );
  const [first] = sound;
  if (first === undefined) return null;
  const of = sound.filter(({ intervalMs }) => intervalMs === first.intervalMs);
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

/**
 * How many times ours a contender costs: the median of the runs, each measured side by side; null where there is none.
 */
export function ratioOf(
  results: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
): number | null {
  const of = results.paced.filter(result => result.scenario === scenario && isSound(result));
  const ratios = of
    .filter(result => result.contender === contender)
    .flatMap(other => {
      const ours = of.find(
        ({ contender, group, run }) =>
          contender === 'ours' && group === other.group && run === other.run,
      );
      return ours === undefined ? [] : [other.nsPerSample / ours.nsPerSample];
    });
  return ratios.length === 0 ? null : median(ratios);
}

/** Of the start and the first pages, which the window leaves out. */
export function firstNs({ first }: PacedResult): string {
  return first === null ? '' : count((first.cpuMs * 1e6) / Math.max(first.samples, 1));
}

/** Of an even number, the mean of the two in the middle. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (
    ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
  );
}
