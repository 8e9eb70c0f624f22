// The goals that the project has set itself, compared with the results. A goal is an upper limit: of a ratio within one
// run, wherever there is a program to compare with. A goal is met only if its worst run meets it. A goal whose runs are
// missing or incomplete is neither met nor missed.

import { isSameMachine } from '../measure/machine.ts';
import { PEERS } from '../scenarios.ts';
import {
  byRun,
  isSound,
  isWhole,
  pacedByRun,
  ratiosOf,
  type Results,
  type RunRatio,
} from './results.ts';
import { aligned, type Table } from './tables.ts';
import { count, megabytes, percent, spread, median } from './words.ts';

export interface Goal {
  readonly name: string;
  readonly target: string;
  readonly measured: string;
  readonly verdict: 'met' | 'within the spread' | 'MISSED' | 'not measured';
}

export function goalsOf(results: Results): readonly Goal[] {
  return [
    ...fleetGoals(results),
    ratioGoal(results, 'targets-large', 0.25),
    ratioGoal(results, 'targets', 0.7),
    bestPeerGoal(results, 'histograms', 0.7),
    bestPeerGoal(results, 'captured', 0.8),
    bestPeerGoal(results, 'churning', 1),
    ...sidecarGoals(results),
    ...startGoals(results),
    ...firstPageGoals(results),
    ...drainGoals(results),
    ...growthGoals(results),
  ];
}

export function goalsTable(results: Results): Table {
  const head = ['goal', 'at most', 'measured', ''];
  const rows = goalsOf(results).map(goal => [goal.name, goal.target, goal.measured, goal.verdict]);
  return { head, rows };
}

export function goalLines(results: Results): string[] {
  const { head, rows } = goalsTable(results);
  return aligned({ head, rows: rows.filter(([, , , verdict]) => verdict !== 'not measured') });
}

interface Judged {
  readonly name: string;
  readonly atMost: number;
  /** One value of each run. */
  readonly values: readonly number[];
  readonly show: (value: number) => string;
  /** The words after `atMost`: what it is a share of, or its unit. */
  readonly of?: string;
}

export function judge({ name, atMost, values, show, of = '' }: Judged): Goal {
  const target = `${show(atMost)}${of}`;
  if (values.length === 0) return { name, target, measured: '', verdict: 'not measured' };
  const runs = values.length === 1 ? ' (1 run, no spread)' : '';
  const isMet = Math.max(...values) <= atMost;
  const isNear = median(values) <= atMost;
  return {
    name,
    target,
    measured: `${spread(values, show)}${runs}`,
    verdict: isMet ? 'met' : isNear ? 'within the spread' : 'MISSED',
  };
}

const share = (value: number): string => value.toFixed(2);
const milliseconds = (value: number): string => `${count(value)} ms`;
const microseconds = (value: number): string => `${value.toFixed(1)} µs`;

function valuesOf(ratios: readonly RunRatio[]): readonly number[] {
  return byRun(ratios, ({ ratio }) => ratio);
}

function ratioGoal(
  results: Results,
  scenario: string,
  atMost: number,
  { name = scenario, one = 'ours', other = 'vmagent' } = {},
): Goal {
  const values = valuesOf(ratiosOf(results, scenario, [one, other]));
  return judge({ name, atMost, values, show: share, of: ` of ${other}` });
}

/** Our cost as a share of the cheapest peer's, which is chosen in each run from the peers measured beside ours. */
function bestPeerGoal(results: Results, scenario: string, atMost: number): Goal {
  const ratios = PEERS.flatMap(peer =>
    ratiosOf(results, scenario, ['ours', peer]).map(ratio => ({ ...ratio, peer })),
  );
  const best = [...Map.groupBy(ratios, ({ run }) => run).values()].map(of =>
    of.reduce((one, other) => (other.ratio > one.ratio ? other : one)),
  );
  const goal = judge({
    name: scenario,
    atMost,
    values: best.map(({ ratio }) => ratio),
    show: share,
    of: ' of the best peer',
  });
  if (best.length === 0) return goal;
  const peers = [...new Set(best.map(({ peer }) => peer))].join(', ');
  return { ...goal, measured: `${goal.measured}, ${peers}` };
}

const FLEET_BYTES_MAX = 10;

/** The floor of another machine says nothing about this fleet. */
function floorBesideFleet({ floor, taken }: Results): Results['floor'] {
  const [ofFloor, ofFleet] = [taken['floor'], taken['fleet']];
  const isComparable = ofFloor && ofFleet && isSameMachine(ofFloor.machine, ofFleet.machine);
  return isComparable === true ? floor : [];
}

function fleetGoals(results: Results): Goal[] {
  const times = floorBesideFleet(results).flatMap(({ run, nsPerSample }) => {
    const ours = pacedByRun(
      { paced: results.paced.filter(result => result.run === run) },
      'fleet',
      'ours',
      result => result.nsPerSample,
    );
    return ours.map(ns => ({ run, ratio: ns / nsPerSample }));
  });
  return [
    ratioGoal(results, 'fleet', 0.4, { name: 'fleet, zstd' }),
    ratioGoal(results, 'fleet', 0.65, { name: 'fleet, gzip', one: 'ours-gzip' }),
    judge({
      name: 'fleet, zstd',
      atMost: 4,
      values: valuesOf(times),
      show: share,
      of: ' times the floor',
    }),
    judge({
      name: 'fleet, bytes a sample, zstd',
      atMost: FLEET_BYTES_MAX,
      values: pacedByRun(results, 'fleet', 'ours', result => result.wireBytesPerSample),
      show: value => value.toFixed(1),
    }),
  ];
}

const SIDECAR_RESIDENT_MAX = 72e6;
const SIDECAR_ANONYMOUS_MAX = 25e6;

function sidecarGoals(results: Results): Goal[] {
  return [
    ratioGoal(results, 'sidecar', 0.8, { name: 'sidecar, processor' }),
    judge({
      name: 'sidecar, resident after 10 minutes',
      atMost: SIDECAR_RESIDENT_MAX,
      values: pacedByRun(results, 'sidecar', 'ours', ({ lastBytes }) => lastBytes),
      show: megabytes,
    }),
    judge({
      name: 'sidecar, anonymous after 10 minutes',
      atMost: SIDECAR_ANONYMOUS_MAX,
      values: pacedByRun(results, 'sidecar', 'ours', ({ anonymousBytes }) => anonymousBytes),
      show: megabytes,
    }),
  ];
}

const START_MS_MAX = 350;

function startGoals({ start }: Results): Goal[] {
  const of = (name: string) =>
    start
      .filter(({ contender }) => contender === name)
      .map(({ run, milliseconds }) => ({ run, ms: median(milliseconds) }));
  const vmagent = new Map(of('vmagent').map(({ run, ms }) => [run, ms]));
  const shares = of('ours').flatMap(({ run, ms }) => {
    const other = vmagent.get(run);
    return other === undefined ? [] : [{ run, ratio: ms / other }];
  });
  return [
    judge({
      name: 'start to the first accepted point',
      atMost: START_MS_MAX,
      values: byRun(of('ours'), ({ ms }) => ms),
      show: milliseconds,
    }),
    judge({
      name: 'start',
      atMost: 1 / 3,
      values: valuesOf(shares),
      show: share,
      of: " of vmagent's",
    }),
  ];
}

const THREE_POLLS_US_MAX = 12;

/** Goals for the first pages of the scenario with a million series. */
function firstPageGoals(results: Results): Goal[] {
  const agent = ratiosOf(
    results,
    'targets-large',
    ['ours', 'prometheus-agent'],
    ({ first }) => first?.firstPollUs ?? null,
  );
  return [
    judge({
      name: 'first page, targets-large',
      atMost: 1,
      values: valuesOf(agent),
      show: share,
      of: ' of prometheus-agent',
    }),
    judge({
      name: 'polls 1 to 3, targets-large, a series',
      atMost: THREE_POLLS_US_MAX,
      values: pacedByRun(
        results,
        'targets-large',
        'ours',
        ({ first }) => first?.threePollsUs ?? null,
      ),
      show: microseconds,
    }),
  ];
}

const DRAIN_FIRST_MS_MAX = 2000;

function drainGoals({ drain }: Results): Goal[] {
  const ours = drain.filter(({ contender }) => contender === 'ours');
  const shares = ours.flatMap(({ run, samplesPerSecond }) => {
    const others = drain.filter(other => other.run === run && other.contender !== 'ours');
    const fastest = Math.max(...others.map(other => other.samplesPerSecond));
    return others.length === 0 ? [] : [{ run, ratio: fastest / samplesPerSecond }];
  });
  return [
    judge({
      name: 'drain, first sent after an outage below a minute',
      atMost: DRAIN_FIRST_MS_MAX,
      values: byRun(ours, ({ firstMs }) => firstMs),
      show: milliseconds,
    }),
    judge({
      name: "drain, the fastest peer's samples a second",
      atMost: 1,
      values: valuesOf(shares),
      show: share,
      of: ' of ours',
    }),
  ];
}

const MILLION_BYTES_MAX = 550e6;
const FLAT_WITHIN = 0.25;
const LARGE_SERIES = 5_000_000;
/** A poll that takes longer than its interval makes the next one drop out: then two polls are two intervals apart. */
const GAP_MAX = 1.5;

function growthGoals({ growth }: Results): Goal[] {
  const million = growth.filter(size => size.series === 1_000_000 && isSound(size));
  const large = growth.filter(size => size.series === LARGE_SERIES && isWhole(size));
  // Compares the cost of added samples only: the fixed cost of the process, shared by more series, would hide growth.
  const uneven = million.map(({ run }) => {
    const costs = growth
      .filter(size => size.run === run && isSound(size))
      .flatMap(({ nsPerAddedSample }) => (nsPerAddedSample === null ? [] : [nsPerAddedSample]));
    return { run, ratio: Math.max(...costs) / Math.min(...costs) - 1 };
  });
  return [
    judge({
      name: 'growth, resident with 1,000,000 series',
      atMost: MILLION_BYTES_MAX,
      values: byRun(million, ({ lastBytes }) => lastBytes),
      show: megabytes,
    }),
    judge({
      name: 'growth, cost per added series up to 1,000,000, within',
      atMost: FLAT_WITHIN,
      values: valuesOf(uneven),
      show: value => percent(value * 100, 0),
    }),
    judge({
      name: 'growth, no poll of 5,000,000 series longer than 60 s: between two of a page',
      atMost: GAP_MAX,
      values: byRun(large, ({ gapMs, intervalMs }) => gapMs / intervalMs),
      show: share,
      of: ' intervals',
    }),
  ];
}
