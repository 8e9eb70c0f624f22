// The results of a bench: as a file, and the figures that tables and goals take from it. Runs are combined as medians;
// a ratio is always taken between two programs of one group, which ran side by side.

import { readFileSync } from 'node:fs';
import type { Machine } from '../machine.ts';

export const LATEST: string = 'bench/results/latest.json';

export type Presence = { readonly version: string } | { readonly absent: string };

/** What was measured, when and where. */
export interface Taken {
  readonly commit: string;
  readonly takenAt: string;
  readonly machine: Machine;
}

/** One measurement of one program. */
export interface Row {
  readonly scenario: string;
  readonly contender: string;
  /** Rows of one group and run can be compared. */
  readonly group: number;
  /** The number of the run of the scenario, from 0. */
  readonly run: number;
  readonly figures: Figures;
  /** Why the program could not keep the pace. */
  readonly tooSlow: string | null;
  /** What did not arrive. The figures count only if this is empty and `tooSlow` is null. */
  readonly losses: readonly string[];
}

/** Those that a scenario has. */
export interface Figures {
  /** Samples of the pages served within the window; of the backlog. */
  readonly samples?: number;
  readonly series?: number;
  readonly windowMs?: number;
  readonly cpuMs?: number;
  readonly nsPerSample?: number;
  /** Share of one core. */
  readonly cpuPercent?: number;
  /** Resident memory: at the window's end, the part of it that no file backs, and the highest since the start. */
  readonly lastBytes?: number;
  readonly anonymousBytes?: number;
  readonly peakBytes?: number;
  readonly wireBytesPerSample?: number;
  /** Load average of the machine at the end. */
  readonly load?: number;
  /** Above the first 10,000 series. */
  readonly bytesPerAddedSeries?: number;
  readonly nsPerAddedSample?: number;
  /** From the start of the process to the first accepted point. */
  readonly startMs?: number;
  /** From when the back end takes requests again to the first and to the last request. */
  readonly firstMs?: number;
  readonly lastMs?: number;
  readonly samplesPerSecond?: number;
}

/** A figure, or one made of several; undefined where a row has none. */
export type Read = (figures: Figures) => number | undefined;

export interface Results {
  /** By scenario: those that ran to their end. */
  readonly taken: Readonly<Record<string, Taken>>;
  readonly contenders: Readonly<Record<string, Presence>>;
  readonly rows: readonly Row[];
  /** What broke off. */
  readonly failures: readonly { readonly scenario: string; readonly words: string }[];
}

export const NO_RESULTS: Results = { taken: {}, contenders: {}, rows: [], failures: [] };

export function readResults(): Results {
  return JSON.parse(readFileSync(LATEST, 'utf8')) as Results;
}

/** The results before, in which the scenarios that have run to their end are replaced. */
export function merged(before: Results, run: Results): Results {
  const isNew = ({ scenario }: { readonly scenario: string }): boolean => scenario in run.taken;
  return {
    taken: { ...before.taken, ...run.taken },
    contenders: { ...before.contenders, ...run.contenders },
    rows: [...before.rows.filter(row => !isNew(row)), ...run.rows.filter(isNew)],
    failures: [...before.failures.filter(one => !isNew(one)), ...run.failures],
  };
}

/** The rows whose figures mean something: everything has arrived, at the wanted pace. */
export function soundOf({ rows }: Results, scenario: string, contender: string): readonly Row[] {
  return rows.filter(
    row =>
      row.scenario === scenario &&
      row.contender === contender &&
      row.losses.length === 0 &&
      row.tooSlow === null,
  );
}

export function figuresOf(rows: readonly Row[], read: Read): readonly number[] {
  return rows.map(({ figures }) => read(figures)).filter(value => value !== undefined);
}

/** One figure of each run, as long as it has any. */
export function byRun<T extends { readonly run: number }>(
  of: readonly T[],
  read: (one: T) => number | undefined,
  combine: (values: readonly number[]) => number = median,
): readonly number[] {
  return [...Map.groupBy(of, ({ run }) => run).values()]
    .map(of => of.map(read).filter(value => value !== undefined))
    .filter(values => values.length > 0)
    .map(combine);
}

export interface Ratio {
  readonly run: number;
  readonly ratio: number;
}

/** The figure of one contender divided by that of another, for each group that has both. */
export function ratiosOf(
  results: Results,
  scenario: string,
  [one, other]: readonly [one: string, other: string],
  read: Read = ({ nsPerSample }) => nsPerSample,
): readonly Ratio[] {
  const groupOf = ({ run, group }: Row): string => `${run} ${group}`;
  const others = Map.groupBy(soundOf(results, scenario, other), groupOf);
  return [...Map.groupBy(soundOf(results, scenario, one), groupOf)].flatMap(([group, ones]) => {
    const beside = others.get(group);
    if (beside === undefined) return [];
    const ratio = median(figuresOf(ones, read)) / median(figuresOf(beside, read));
    return [{ run: ones[0]?.run ?? 0, ratio }];
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

export const decimal: Show = value => value.toFixed(1);

/** `0.38 (0.36 to 0.41)`: the median, with the lowest and the highest. */
export function spread(values: readonly number[], show: Show): string {
  if (values.length === 0) return '';
  const middle = show(median(values));
  if (values.length < 2) return middle;
  return `${middle} (${show(Math.min(...values))} to ${show(Math.max(...values))})`;
}
