// What a run of the bench leaves behind, as it stands in bench/results/latest.json, and how it is read back.

import { readFileSync } from 'node:fs';
import type { Machine } from '../measure/machine.ts';
import type { DrainResult } from '../runs/drain.ts';
import type { GrowthResult } from '../runs/growth.ts';
import type { PacedResult } from '../runs/paced.ts';
import type { StartResult } from '../runs/start.ts';

/** A contender's version, or why it is absent. */
export type Presence = { readonly version: string } | { readonly absent: string };

export interface Results {
  readonly commit: string;
  readonly takenAt: string;
  /** How long the bench took. */
  readonly seconds: number;
  readonly machine: Machine;
  readonly contenders: Readonly<Record<string, Presence>>;
  readonly paced: readonly PacedResult[];
  readonly growth: readonly GrowthResult[];
  readonly start: readonly StartResult[];
  readonly drain: readonly DrainResult[];
  /** Runs that broke off, in words. */
  readonly failures: readonly string[];
}

export function readResults(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/** Whether a result counts: everything that was served has arrived. */
export function isWhole({ losses }: { readonly losses: readonly string[] }): boolean {
  return losses.length === 0;
}

/** What one contender did in one scenario; several groups' results of ours are averaged. */
export function pacedOf(
  results: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
): PacedResult | null {
  const of = results.paced.filter(
    result => result.scenario === scenario && result.contender === contender && isWhole(result),
  );
  const [first] = of;
  if (first === undefined) return null;
  const mean = (read: (result: PacedResult) => number): number =>
    of.reduce((sum, result) => sum + read(result), 0) / of.length;
  return {
    ...first,
    nsPerSample: mean(({ nsPerSample }) => nsPerSample),
    cpuPercent: mean(({ cpuPercent }) => cpuPercent),
    residentBytes: mean(({ residentBytes }) => residentBytes),
    lastBytes: mean(({ lastBytes }) => lastBytes),
    peakBytes: Math.max(...of.map(({ peakBytes }) => peakBytes)),
    wireBytesPerSample: mean(({ wireBytesPerSample }) => wireBytesPerSample),
  };
}

/** How many times ours a contender costs, measured side by side; null where one of them is missing. */
export function ratioOf(
  results: Pick<Results, 'paced'>,
  scenario: string,
  contender: string,
): number | null {
  const other = results.paced.find(
    result => result.scenario === scenario && result.contender === contender && isWhole(result),
  );
  if (other === undefined) return null;
  const ours = results.paced.find(
    ({ scenario, contender, group }) =>
      scenario === other.scenario && contender === 'ours' && group === other.group,
  );
  return ours === undefined || !isWhole(ours) ? null : other.nsPerSample / ours.nsPerSample;
}
