// Results as tables, the same in terminal and documents, and as lines for a terminal.

import { CONTENDERS } from '../contenders/all.ts';
import type { DrainResult } from '../runs/drain.ts';
import type { GrowthResult } from '../runs/growth.ts';
import { scenarios } from '../scenarios.ts';
import { firstNs, isSound, pacedOf, type Results, threePolls, timesOurs } from './results.ts';
import { count, megabytes, percent, spread, median } from './words.ts';

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function resultLines(results: Results): string[] {
  return [
    '',
    `at commit ${results.commit}`,
    ...[costTable(results), ...otherTables(results)].flatMap(aligned),
    '',
    ...floorLines(results),
    ...results.paced.flatMap(result =>
      result.tooSlow === null ? [] : [`${nameOf(result)}: ${result.tooSlow}`],
    ),
  ];
}

/** The results that make the bench fail: runs that broke off, lost samples, scenarios that ours is too slow for. */
export function problemsOf(results: Results): string[] {
  const lost = [...results.paced, ...results.start, ...results.drain].flatMap(result =>
    result.losses.map(loss => `${nameOf(result)}: ${loss}`),
  );
  const grown = results.growth.flatMap(({ series, losses, tooSlow }) =>
    [...losses, ...(tooSlow === null ? [] : [tooSlow])].map(
      loss => `growth, ${series} series: ${loss}`,
    ),
  );
  const broken = results.failures.map(({ words }) => words);
  const slow = results.paced.flatMap(({ scenario, contender, tooSlow }) =>
    tooSlow === null || !contender.startsWith('ours')
      ? []
      : [`${scenario}, ${contender}: ${tooSlow}`],
  );
  return [...broken, ...lost, ...grown, ...slow];
}

function nameOf(result: { readonly scenario?: string; readonly contender: string }): string {
  return result.scenario === undefined
    ? result.contender
    : `${result.scenario}, ${result.contender}`;
}

/** Everything that was measured in a steady state. */
export function costTable(results: Results): Table {
  const rows = scenarios(false)
    .filter(({ kind }) => kind === 'paced')
    .flatMap(({ name: scenario }) =>
      CONTENDERS.flatMap(({ name }) => {
        const result = pacedOf(results, scenario, name);
        if (result === null || name === 'ours-probed') return [];
        const ratios = name === 'ours' ? [] : timesOurs(results, scenario, name);
        return [
          [
            scenario,
            name,
            count(result.nsPerSample),
            ratios.length === 0 ? '' : spread(ratios, ratio => ratio.toFixed(1)),
            percent(result.cpuPercent),
            megabytes(result.lastBytes),
            result.anonymousBytes === null ? '' : megabytes(result.anonymousBytes),
            megabytes(result.peakBytes),
            result.wireBytesPerSample.toFixed(1),
            firstNs(result),
            threePolls(result),
            results.taken[scenario]?.commit ?? '',
          ],
        ];
      }),
    );
  const head = [
    'scenario',
    'program',
    'ns/sample',
    'times ours',
    'CPU',
    'memory',
    'anonymous',
    'peak',
    'bytes/sample',
    'ns/sample at first',
    'polls 1 to 3, µs a series',
    'commit',
  ];
  return { head, rows };
}

/** The tables of growth, starts, drains and pauses. */
export function otherTables(results: Results): readonly Table[] {
  return [growthTable, startTable, drainTable, pausesTable].map(tableOf => tableOf(results));
}

function growthTable({ growth }: Results): Table {
  const sizes = Map.groupBy(growth.filter(isSound), ({ series }) => series);
  const rows = [...sizes].map(([series, of]) => {
    const figure = (read: (size: GrowthResult) => number | null, show: typeof count): string => {
      const values = of.map(read).filter(value => value !== null);
      return values.length === 0 ? '' : spread(values, show);
    };
    return [
      count(series),
      figure(size => size.nsPerSample, count),
      figure(size => size.nsPerAddedSample, count),
      figure(size => size.lastBytes, megabytes),
      figure(size => size.bytesPerAddedSeries, count),
    ];
  });
  const head = ['series', 'ns/sample', 'ns/added sample', 'memory', 'bytes/added series'];
  return { head, rows };
}

function startTable({ start }: Results): Table {
  const rows = [...Map.groupBy(start, ({ contender }) => contender)].map(([contender, of]) => {
    const all = of.flatMap(({ milliseconds }) => milliseconds).toSorted((a, b) => a - b);
    return [contender, count(median(all)), all.join(', ')];
  });
  return { head: ['program', 'start to the first accepted point, median ms', 'all'], rows };
}

function drainTable({ drain }: Results): Table {
  const rows = [...Map.groupBy(drain, ({ contender }) => contender)].map(([contender, of]) => {
    const figure = (read: (run: DrainResult) => number): string => spread(of.map(read), count);
    return [
      contender,
      count(median(of.map(({ samples }) => samples))),
      figure(run => run.firstMs),
      figure(run => run.samplesPerSecond),
      figure(run => run.nsPerSample),
    ];
  });
  const head = [
    'program',
    'backlog, samples',
    'first sent after ms',
    'samples/s from then on',
    'ns/sample',
  ];
  return { head, rows };
}

/** The longest pauses of all runs, by scenario. */
function pausesTable({ paced }: Results): Table {
  const probed = paced.flatMap(({ scenario, pauses }) =>
    pauses === null ? [] : [{ scenario, ...pauses }],
  );
  const rows = [...Map.groupBy(probed, ({ scenario }) => scenario)].map(([scenario, of]) => [
    scenario,
    count(Math.max(...of.map(({ cpuMsMax }) => cpuMsMax))),
    count(Math.max(...of.map(({ wallMsMax }) => wallMsMax))),
    count(Math.max(...of.map(({ firstPagesCpuMsMax }) => firstPagesCpuMsMax))),
  ]);
  const head = [
    'scenario',
    'longest pause, own work, ms',
    'with waits for disk and processor',
    'first pages',
  ];
  return { head, rows };
}

export function floorLines({ floor }: Results): string[] {
  if (floor.length === 0) return [];
  const ns = floor.map(({ nsPerSample }) => nsPerSample);
  return [`The floor under a page of the fleet: ${spread(ns, count)} ns a sample.`];
}

/** The table as lines, each column as wide as its widest cell; [] without rows. */
export function aligned({ head, rows }: Table): string[] {
  if (rows.length === 0) return [];
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return ['', ...all.map(line)];
}
