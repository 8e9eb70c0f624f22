// The goals that the project has set itself, compared with the results. A goal is an upper limit: of a ratio within one
// run, wherever there is a program to compare with. A goal is met only if its worst run meets it. A goal whose runs are
// missing or incomplete is neither met nor missed.

import type { PacedResult } from '../runs/paced.ts';
import { PEERS } from '../scenarios.ts';
import {
  byRun,
  count,
  isSound,
  median,
  megabytes,
  ratiosOf,
  type Results,
  type RunRatio,
  type Show,
  soundOf,
  spread,
  type Table,
} from './results.ts';

interface Goal {
  readonly name: string;
  readonly atMost: number;
  /** The words after `atMost`: what it is a share of. */
  readonly of: string;
  readonly show: Show;
  /** One value of each run. */
  readonly values: readonly number[];
}

const share: Show = value => value.toFixed(2);
const milliseconds: Show = value => `${count(value)} ms`;

export function goalsTable(results: Results): Table {
  const rows = goalsOf(results).map(({ name, atMost, of, show, values }) => {
    const once = values.length === 1 ? ' (1 run, no spread)' : '';
    const measured = values.length === 0 ? '' : `${spread(values, show)}${once}`;
    return [name, `${show(atMost)}${of}`, measured, verdictOf(values, atMost)];
  });
  return { head: ['goal', 'at most', 'measured', ''], rows };
}

export function verdictOf(values: readonly number[], atMost: number): string {
  if (values.length === 0) return 'not measured';
  if (Math.max(...values) <= atMost) return 'met';
  return median(values) <= atMost ? 'within the spread' : 'MISSED';
}

function goalsOf(results: Results): readonly Goal[] {
  return [
    ...steadyGoals(results),
    ...startGoals(results),
    ...drainGoals(results),
    ...growthGoals(results),
  ];
}

/** A goal that is no ratio. */
function absolute(name: string, atMost: number, show: Show, values: readonly number[]): Goal {
  return { name, atMost, of: '', show, values };
}

function steadyGoals(results: Results): readonly Goal[] {
  const ratio = (name: string, scenario: string, atMost: number, one = 'ours'): Goal => {
    const values = valuesOf(ratiosOf(results, scenario, [one, 'vmagent']));
    return { name, atMost, of: ' of vmagent', show: share, values };
  };
  const peer = (scenario: string, atMost: number): Goal => {
    const values = valuesOf(ratiosToBestPeer(results, scenario));
    return { name: scenario, atMost, of: ' of the best peer', show: share, values };
  };
  const ours = (scenario: string, read: (result: PacedResult) => number): readonly number[] =>
    byRun(soundOf(results, scenario, 'ours'), read);
  const bytes = ours('fleet', ({ wireBytesPerSample }) => wireBytesPerSample);
  const resident = ours('sidecar', ({ lastBytes }) => lastBytes);
  const anonymous = ours('sidecar', ({ anonymousBytes }) => anonymousBytes);
  return [
    ratio('fleet, zstd', 'fleet', 0.4),
    ratio('fleet, gzip', 'fleet', 0.65, 'ours-gzip'),
    absolute('fleet, bytes a sample, zstd', 10, value => value.toFixed(1), bytes),
    ratio('targets', 'targets', 0.7),
    peer('histograms', 0.7),
    peer('captured', 0.8),
    peer('churning', 1),
    ratio('sidecar, processor', 'sidecar', 0.8),
    absolute('sidecar, resident after 10 minutes', 72e6, megabytes, resident),
    absolute('sidecar, anonymous after 10 minutes', 25e6, megabytes, anonymous),
  ];
}

function startGoals({ start }: Results): readonly Goal[] {
  const of = (name: string): readonly RunValue[] =>
    start
      .filter(({ contender }) => contender === name)
      .map(({ run, milliseconds }) => ({ run, value: median(milliseconds) }));
  const times = byRun(of('ours'), ({ value }) => value);
  const values = sharesByRun(of('ours'), of('vmagent'));
  return [
    absolute('start to the first accepted point', 350, milliseconds, times),
    { name: 'start', atMost: 1 / 3, of: " of vmagent's", show: share, values },
  ];
}

function drainGoals({ drain }: Results): readonly Goal[] {
  const ours = drain.filter(({ contender }) => contender === 'ours');
  const others = drain.filter(({ contender }) => contender !== 'ours');
  const speeds = (of: typeof drain): readonly RunValue[] =>
    of.map(({ run, samplesPerSecond: value }) => ({ run, value }));
  const first = byRun(ours, ({ firstMs }) => firstMs);
  const values = sharesByRun(speeds(others), speeds(ours));
  const fastest = "drain, the fastest peer's samples a second";
  return [
    absolute('drain, first sent after an outage below a minute', 2000, milliseconds, first),
    { name: fastest, atMost: 1, of: ' of ours', show: share, values },
  ];
}

function growthGoals(results: Results): readonly Goal[] {
  const million = results.growth.filter(size => size.series === 1_000_000 && isSound(size));
  const resident = byRun(million, ({ lastBytes }) => lastBytes);
  const percent: Show = value => `${count(value * 100)} %`;
  const flat = 'growth, cost per added series up to 1,000,000, within';
  return [
    absolute('growth, resident with 1,000,000 series', 550e6, megabytes, resident),
    absolute(flat, 0.25, percent, unevenness(results)),
  ];
}

function valuesOf(ratios: readonly RunRatio[]): readonly number[] {
  return byRun(ratios, ({ ratio }) => ratio);
}

/** Our cost as a share of the cheapest peer's, which is chosen in each run from the peers measured beside ours. */
function ratiosToBestPeer(results: Results, scenario: string): readonly RunRatio[] {
  const ratios = PEERS.flatMap(peer => ratiosOf(results, scenario, ['ours', peer]));
  return [...Map.groupBy(ratios, ({ run }) => run)].map(([run, of]) => ({
    run,
    ratio: Math.max(...of.map(({ ratio }) => ratio)),
  }));
}

interface RunValue {
  readonly run: number;
  readonly value: number;
}

/** For each run, the highest of the one values divided by that of the other. */
function sharesByRun(ones: readonly RunValue[], others: readonly RunValue[]): readonly number[] {
  return others.flatMap(({ run, value }) => {
    const of = ones.filter(one => one.run === run).map(one => one.value);
    return of.length === 0 ? [] : [Math.max(...of) / value];
  });
}

/** Compares the cost of added samples only: the fixed cost, shared by more series, would hide growth. */
function unevenness({ growth }: Results): readonly number[] {
  const sizes = growth.filter(size => isSound(size) && size.nsPerAddedSample !== null);
  return [...Map.groupBy(sizes, ({ run }) => run).values()]
    .filter(of => of.some(({ series }) => series === 1_000_000))
    .map(of => of.map(({ nsPerAddedSample }) => nsPerAddedSample ?? 0))
    .map(costs => Math.max(...costs) / Math.min(...costs) - 1);
}
