// The goals that the project has set itself, compared with the results. A goal is an upper limit: of a ratio within one
// run, wherever there is a program to compare with. A goal is met only if its worst run meets it. A goal whose runs are
// missing or incomplete is neither met nor missed.

import { PEERS } from '../scenarios.ts';
import {
  byRun,
  count,
  decimal,
  median,
  megabytes,
  ratiosOf,
  type Read,
  type Results,
  type Row,
  type Show,
  soundOf,
  spread,
  type Table,
} from './results.ts';

type Goal = readonly [
  scenario: string,
  name: string,
  atMost: number,
  /** What should be small. */
  read: Read,
  how: {
    readonly show: Show;
    /** It is ours as a share of this program's, or of the best peer's, chosen in each run; else it is no ratio. */
    readonly beside?: string;
    /** The words after `atMost`: what it is a share of. */
    readonly of?: string;
    /** The contender; `ours` unless told. */
    readonly program?: string;
    /** Compares the values within a run with each other. */
    readonly isEvenness?: boolean;
  },
];

const share: Show = value => value.toFixed(2);
const milliseconds: Show = value => `${count(value)} ms`;
const percent: Show = value => `${count(value * 100)} %`;

const cost: Read = ({ nsPerSample }) => nsPerSample;
const start: Read = ({ startMs }) => startMs;
const resident: Read = ({ lastBytes }) => lastBytes;
const residentOfMillion: Read = ({ series, lastBytes }) =>
  series === 1_000_000 ? lastBytes : undefined;
const drainTime: Read = ({ samplesPerSecond = Number.NaN }) => 1 / samplesPerSecond;

const ofVmagent = { show: share, beside: 'vmagent', of: ' of vmagent' };
const ofBestPeer = { show: share, beside: 'peers', of: ' of the best peer' };

const GOALS: readonly Goal[] = [
  ['fleet', 'fleet, zstd', 0.4, cost, ofVmagent],
  ['fleet', 'fleet, gzip', 0.65, cost, { ...ofVmagent, program: 'ours-gzip' }],
  ['fleet', 'fleet, bytes a sample, zstd', 10, of => of.wireBytesPerSample, { show: decimal }],
  ['targets', 'targets', 0.7, cost, ofVmagent],
  ['histograms', 'histograms', 0.7, cost, ofBestPeer],
  ['captured', 'captured', 0.8, cost, ofBestPeer],
  ['churning', 'churning', 1, cost, ofBestPeer],
  ['sidecar', 'sidecar, processor', 0.8, cost, ofVmagent],
  ['sidecar', 'sidecar, resident after 10 minutes', 72e6, resident, { show: megabytes }],
  [
    'sidecar',
    'sidecar, anonymous after 10 minutes',
    25e6,
    of => of.anonymousBytes,
    { show: megabytes },
  ],
  ['start', 'start to the first accepted point', 350, start, { show: milliseconds }],
  ['start', 'start', 1 / 3, start, { ...ofVmagent, of: " of vmagent's" }],
  [
    'drain',
    'drain, first sent after an outage below a minute',
    2000,
    of => of.firstMs,
    { show: milliseconds },
  ],
  [
    'drain',
    "drain, the fastest peer's samples a second",
    1,
    drainTime,
    { ...ofBestPeer, of: ' of ours' },
  ],
  [
    'growth',
    'growth, resident with 1,000,000 series',
    550e6,
    residentOfMillion,
    { show: megabytes },
  ],
  [
    'growth',
    'growth, cost per added series up to 1,000,000, within',
    0.25,
    // The fixed cost, shared by more series, would hide growth.
    of => of.nsPerAddedSample,
    { show: percent, isEvenness: true },
  ],
];

export function goalsTable(results: Results): Table {
  const rows = GOALS.map(goal => {
    const [, name, atMost, , { of = '', show }] = goal;
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
function valuesOf(results: Results, [scenario, , , read, how]: Goal): readonly number[] {
  const { beside, program = 'ours', isEvenness = false } = how;
  if (beside !== undefined) {
    const others = beside === 'peers' ? PEERS : [beside];
    const ratios = others.flatMap(other => ratiosOf(results, scenario, [program, other], read));
    return byRun(ratios, ({ ratio }) => ratio, beside === 'peers' ? highest : median);
  }
  const ours = soundOf(results, scenario, program);
  const value = (row: Row): number | undefined => read(row.figures);
  if (!isEvenness) return byRun(ours, value);
  return byRun(ours, value, of => highest(of) / Math.min(...of) - 1);
}

function highest(values: readonly number[]): number {
  return Math.max(...values);
}
