// What the project has set itself, held against the results. A goal whose runs are missing or incomplete is neither met
// nor missed.

import { isSound, pacedOf, ratioOf, type Results } from './results.ts';
import { table } from './tables.ts';
import { count, megabytes, percent } from './words.ts';

export interface Goal {
  readonly name: string;
  readonly target: string;
  readonly measured: string;
  /** null: not measured. */
  readonly isMet: boolean | null;
}

export function goalsOf(results: Results): readonly Goal[] {
  return [
    ...costGoals(results),
    ...sidecarGoals(results),
    ...growthGoals(results),
    drainGoal(results),
    wireGoal(results),
    pauseGoal(results),
  ];
}

export function goalLines(results: Results): string[] {
  const rows = goalsOf(results).filter(({ isMet }) => isMet !== null);
  return table(
    ['goal', 'target', 'measured', ''],
    rows.map(goal => [goal.name, goal.target, goal.measured, verdict(goal)]),
  );
}

export function verdict({ isMet }: Goal): string {
  if (isMet === null) return 'not measured';
  return isMet ? 'met' : 'MISSED';
}

function goal(
  name: string,
  target: string,
  measured: { readonly text: string; readonly isMet: boolean } | null,
): Goal {
  return measured === null
    ? { name, target, measured: '', isMet: null }
    : { name, target, measured: measured.text, isMet: measured.isMet };
}

/** How many times ours each of the others must cost at least, in each scenario. */
const RATIOS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  fleet: { vmagent: 4, 'prometheus-agent': 6, collector: 8, 'plain-stack': 15 },
  'fleet-remote': { vmagent: 2, 'prometheus-agent': 3, collector: 4 },
  targets: { vmagent: 1, 'prometheus-agent': 2, collector: 4 },
  'targets-large': { vmagent: 4, 'prometheus-agent': 6, collector: 8, 'plain-stack': 15 },
  histograms: { vmagent: 1.5, 'prometheus-agent': 1.5, collector: 2 },
  churning: { vmagent: 1, 'prometheus-agent': 1, collector: 1 },
  captured: { vmagent: 1.5, 'prometheus-agent': 1.5, collector: 2 },
  sidecar: { vmagent: 1, 'prometheus-agent': 4, collector: 2, 'plain-stack': 1 },
  host: { vmagent: 1.5, 'prometheus-agent': 4, collector: 4, 'plain-stack': 8 },
};

function costGoals(results: Results): Goal[] {
  const ratioGoal = (scenario: string, contender: string, least: number): Goal => {
    const ratio = ratioOf(results, scenario, contender);
    const target = least === 1 ? 'at most as much' : `at most 1/${least}`;
    const text = ratio === null ? '' : `1/${ratio.toFixed(1)}`;
    return goal(
      `CPU per sample, ${scenario}, of ${contender}'s`,
      target,
      ratio === null ? null : { text, isMet: ratio >= least },
    );
  };
  return Object.entries(RATIOS).flatMap(([scenario, ratios]) =>
    Object.entries(ratios).map(([contender, least]) => ratioGoal(scenario, contender, least)),
  );
}

const DRAIN_FIRST_MS_MAX = 2000;

function drainGoal({ drain }: Results): Goal {
  const ours = drain.find(({ contender }) => contender === 'ours');
  return goal(
    'first request after an outage of less than a minute',
    `within ${count(DRAIN_FIRST_MS_MAX)} ms`,
    ours === undefined
      ? null
      : { text: `${count(ours.firstMs)} ms`, isMet: ours.firstMs <= DRAIN_FIRST_MS_MAX },
  );
}

const SIDECAR_BYTES_MAX = 90e6;
const SIDECAR_CPU_PERCENT_MAX = 0.2;
const START_MS_MAX = 500;

function sidecarGoals(results: Results): Goal[] {
  const sidecar = pacedOf(results, 'sidecar', 'ours');
  const start = results.start.find(({ contender }) => contender === 'ours');
  const median = start?.milliseconds[start.milliseconds.length >> 1];
  return [
    goal(
      'memory of a sidecar after 10 minutes',
      `at most ${megabytes(SIDECAR_BYTES_MAX)}`,
      sidecar && {
        text: megabytes(sidecar.lastBytes),
        isMet: sidecar.lastBytes <= SIDECAR_BYTES_MAX,
      },
    ),
    goal(
      'processor of a sidecar',
      `under ${percent(SIDECAR_CPU_PERCENT_MAX)} of a core`,
      sidecar && {
        text: percent(sidecar.cpuPercent),
        isMet: sidecar.cpuPercent < SIDECAR_CPU_PERCENT_MAX,
      },
    ),
    goal(
      'start to the first accepted point',
      `under ${START_MS_MAX} ms`,
      median === undefined ? null : { text: `${median} ms`, isMet: median < START_MS_MAX },
    ),
  ];
}

const MILLION_BYTES_MAX = 600e6;
const FLAT_WITHIN = 1.2;

function growthGoals({ growth }: Results): Goal[] {
  const million = growth.find(size => size.series === 1_000_000 && isSound(size)) ?? null;
  // What the process costs by itself is shared by more and more series: that is no matter of growth.
  const costs = growth
    .filter(isSound)
    .flatMap(({ nsPerAddedSample }) => (nsPerAddedSample === null ? [] : [nsPerAddedSample]));
  const spread = Math.max(...costs) / Math.min(...costs);
  return [
    goal(
      'memory with 1,000,000 series',
      `at most ${megabytes(MILLION_BYTES_MAX)}`,
      million && {
        text: megabytes(million.lastBytes),
        isMet: million.lastBytes <= MILLION_BYTES_MAX,
      },
    ),
    goal(
      'cost per added sample from 10,000 to 1,000,000 series',
      'within 20 %',
      million !== null && costs.length > 1
        ? {
            text: `within ${percent((spread - 1) * 100, 0)}`,
            isMet: spread <= FLAT_WITHIN,
          }
        : null,
    ),
  ];
}

/** Two runs of gzip differ by where the requests are cut. */
const WIRE_TOLERANCE = 1.005;

function wireGoal({ paced }: Results): Goal {
  const shares = paced.flatMap(({ wireBytesPerSample, gzip1BytesPerSample }) =>
    gzip1BytesPerSample === null ? [] : [wireBytesPerSample / gzip1BytesPerSample],
  );
  const most = Math.max(...shares);
  return goal(
    'bytes sent, of what gzip level 1 makes of the same',
    'at most 100 %',
    shares.length === 0 ? null : { text: percent(most * 100, 1), isMet: most <= WIRE_TOLERANCE },
  );
}

const PAUSE_MS_MAX = 50;

function pauseGoal({ paced }: Results): Goal {
  const pauses = paced.flatMap(result => (result.pauses === null ? [] : [result.pauses.cpuMsMax]));
  const longest = Math.max(...pauses);
  return goal(
    'longest pause of the event loop, fsync apart',
    `at most ${PAUSE_MS_MAX} ms`,
    pauses.length === 0
      ? null
      : { text: `${longest.toFixed(0)} ms`, isMet: longest <= PAUSE_MS_MAX },
  );
}
