// The goals that the project has set itself, compared with the results. A goal is an upper limit: of a ratio within one
// run, wherever there is a program to compare with. A goal is met only if its worst run meets it. A goal whose runs are
// missing or incomplete is neither met nor missed.

import { PEERS } from '../scenarios.ts';
import {
  byRun,
  count,
  decimal,
  figuresOf,
  median,
  megabytes,
  ratiosByRun,
  ratiosOf,
  type Read,
  type Results,
  type Show,
  soundOf,
  spread,
  type Table,
} from './results.ts';

interface Goal {
  readonly name: string;
  readonly scenario: string;
  /** What should be small. */
  readonly read: Read;
  readonly atMost: number;
  readonly show: Show;
  /** Ours as a share of this program's, or of the best peer's, which is chosen in each run; else it is no ratio. */
  readonly beside?: string;
  /** The words after `atMost`: what it is a share of. */
  readonly of?: string;
  /** The contender; `ours` unless told. */
  readonly program?: string;
  /** Compares the values within a run with each other. */
  readonly isEvenness?: boolean;
}

const share: Show = value => value.toFixed(2);
const milliseconds: Show = value => `${count(value)} ms`;
const percent: Show = value => `${count(value * 100)} %`;

const cost = { read: ({ nsPerSample }) => nsPerSample, show: share } satisfies Partial<Goal>;
const ofVmagent = { ...cost, beside: 'vmagent', of: ' of vmagent' } as const;
const ofBestPeer = { ...cost, beside: 'peers', of: ' of the best peer' } as const;
const start: Read = ({ startMs }) => startMs;
const MILLION = 1_000_000;

const GOALS: readonly Goal[] = [
  { name: 'fleet, zstd', scenario: 'fleet', ...ofVmagent, atMost: 0.4 },
  { name: 'fleet, gzip', scenario: 'fleet', program: 'ours-gzip', ...ofVmagent, atMost: 0.65 },
  {
    name: 'fleet, bytes a sample, zstd',
    scenario: 'fleet',
    read: ({ wireBytesPerSample }) => wireBytesPerSample,
    atMost: 10,
    show: decimal,
  },
  { name: 'targets', scenario: 'targets', ...ofVmagent, atMost: 0.7 },
  { name: 'histograms', scenario: 'histograms', ...ofBestPeer, atMost: 0.7 },
  { name: 'captured', scenario: 'captured', ...ofBestPeer, atMost: 0.8 },
  { name: 'churning', scenario: 'churning', ...ofBestPeer, atMost: 1 },
  { name: 'sidecar, processor', scenario: 'sidecar', ...ofVmagent, atMost: 0.8 },
  {
    name: 'sidecar, resident after 10 minutes',
    scenario: 'sidecar',
    read: ({ lastBytes }) => lastBytes,
    atMost: 72e6,
    show: megabytes,
  },
  {
    name: 'sidecar, anonymous after 10 minutes',
    scenario: 'sidecar',
    read: ({ anonymousBytes }) => anonymousBytes,
    atMost: 25e6,
    show: megabytes,
  },
  {
    name: 'start to the first accepted point',
    scenario: 'start',
    read: start,
    atMost: 350,
    show: milliseconds,
  },
  {
    name: 'start',
    scenario: 'start',
    read: start,
    atMost: 1 / 3,
    show: share,
    beside: 'vmagent',
    of: " of vmagent's",
  },
  {
    name: 'drain, first sent after an outage below a minute',
    scenario: 'drain',
    read: ({ firstMs }) => firstMs,
    atMost: 2000,
    show: milliseconds,
  },
  {
    name: "drain, the fastest peer's samples a second",
    scenario: 'drain',
    read: ({ samplesPerSecond = Number.NaN }) => 1 / samplesPerSecond,
    atMost: 1,
    show: share,
    beside: 'peers',
    of: ' of ours',
  },
  {
    name: 'growth, resident with 1,000,000 series',
    scenario: 'growth',
    read: ({ series, lastBytes }) => (series === MILLION ? lastBytes : undefined),
    atMost: 550e6,
    show: megabytes,
  },
  {
    name: 'growth, cost per added series up to 1,000,000, within',
    scenario: 'growth',
    // The fixed cost, shared by more series, would hide growth.
    read: ({ nsPerAddedSample }) => nsPerAddedSample,
    isEvenness: true,
    atMost: 0.25,
    show: percent,
  },
];

export function goalsTable(results: Results): Table {
  const rows = GOALS.map(goal => {
    const { name, atMost, of = '', show } = goal;
    const values = valuesOf(results, goal);
    const once = values.length === 1 ? ' (1 run, no spread)' : '';
    const verdict = verdictOf(values, atMost);
    return [name, `${show(atMost)}${of}`, `${spread(values, show)}${once}`, verdict];
  });
  return { head: ['goal', 'at most', 'measured', ''], rows };
}

export function verdictOf(values: readonly number[], atMost: number): string {
  if (values.length === 0) return 'not measured';
  if (Math.max(...values) <= atMost) return 'met';
  return median(values) <= atMost ? 'within the spread' : 'MISSED';
}

/** One value of each run. */
function valuesOf(results: Results, goal: Goal): readonly number[] {
  const { scenario, program = 'ours', beside, read } = goal;
  if (beside === undefined) {
    const rows = soundOf(results, scenario, program);
    if (goal.isEvenness !== true) return byRun(rows, read);
    return [...Map.groupBy(rows, ({ run }) => run).values()]
      .map(of => figuresOf(of, read))
      .filter(values => values.length > 1)
      .map(values => Math.max(...values) / Math.min(...values) - 1);
  }
  if (beside !== 'peers')
    return ratiosByRun(ratiosOf(results, scenario, [program, beside], read), median);
  const ratios = PEERS.flatMap(peer => ratiosOf(results, scenario, [program, peer], read));
  return ratiosByRun(ratios, values => Math.max(...values));
}
