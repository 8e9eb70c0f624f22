// A goal counts as met beyond the spread of its runs, and compared with the program that ran beside it.

import { expect, test } from 'vitest';
import { type Goal, goalsOf, judge } from '../../bench/report/goals.ts';
import { LATEST } from '../../bench/options.ts';
import { type Results, readResults } from '../../bench/report/results.ts';
import type { PacedResult } from '../../bench/runs/paced.ts';

const NONE: Results = {
  ...readResults(LATEST),
  paced: [],
  growth: [],
  start: [],
  drain: [],
  floor: [],
};
const [SOUND] = readResults(LATEST).paced;

/** The results of one group; `costs` has the nanoseconds per sample of each contender. */
function group(
  scenario: string,
  [group, run]: readonly [group: number, run: number],
  costs: Readonly<Record<string, number>>,
): PacedResult[] {
  if (SOUND === undefined) throw new Error('there are no results');
  const names = { scenario, group, run, losses: [], tooSlow: null };
  return Object.entries(costs).map(([contender, nsPerSample]) => ({
    ...SOUND,
    ...names,
    contender,
    nsPerSample,
  }));
}

function goalOf(results: Partial<Results>, name: string, target = ''): Goal {
  const goal = goalsOf({ ...NONE, ...results }).find(
    goal => goal.name === name && goal.target.includes(target),
  );
  if (goal === undefined) throw new Error(`there is no goal ${name}`);
  return goal;
}

test('a goal is met by the worst of its runs', () => {
  const check = (values: readonly number[], measured: string, verdict: Goal['verdict']): void => {
    const goal = judge({ name: 'a', atMost: 0.4, values, show: value => value.toFixed(2) });
    expect(goal).toEqual({ name: 'a', target: '0.40', measured, verdict });
  };
  check([0.38, 0.36, 0.4], '0.38 (0.36 to 0.40)', 'met');
  check([0.38, 0.36, 0.41], '0.38 (0.36 to 0.41)', 'within the spread');
  check([0.42, 0.36, 0.41], '0.41 (0.36 to 0.42)', 'MISSED');
  check([0.39], '0.39 (1 run, no spread)', 'met');
  check([0.41], '0.41 (1 run, no spread)', 'MISSED');
  check([], '', 'not measured');
});

test('a ratio is that of two that ran side by side', () => {
  const paced = [
    ...group('fleet', [0, 0], { ours: 400, vmagent: 1000 }),
    ...group('fleet', [1, 0], { 'ours-gzip': 700, vmagent: 1000 }),
    ...group('fleet', [2, 0], { ours: 900, collector: 2000 }),
  ];
  expect(goalOf({ paced }, 'fleet, zstd', 'vmagent')).toMatchObject({ verdict: 'met' });
  expect(goalOf({ paced }, 'fleet, gzip')).toMatchObject({ verdict: 'MISSED' });
});

test('the best peer is the cheapest beside ours, in each run', () => {
  const paced = [
    ...group('churning', [0, 0], { ours: 900, vmagent: 1800 }),
    ...group('churning', [1, 0], { ours: 1800, 'prometheus-agent': 2000 }),
    ...group('churning', [0, 1], { ours: 980, vmagent: 1000 }),
    ...group('churning', [1, 1], { ours: 500, 'prometheus-agent': 1000 }),
  ];
  const goal = goalOf({ paced }, 'churning');
  expect(goal.measured).toBe('0.94 (0.90 to 0.98), prometheus-agent, vmagent');
  expect(goal.verdict).toBe('met');
});

test('the floor, the start and the drain are compared within a run', () => {
  const paced = [0, 1].flatMap(run => group('fleet', [0, run], { ours: 900 * (run + 1) }));
  const floor = [0, 1].map(run => ({ run, nsPerSample: 300 * (run + 1) }));
  expect(goalOf({ paced, floor }, 'fleet, zstd', 'floor').measured).toBe('3.00 (3.00 to 3.00)');
  const start = ['ours', 'vmagent'].map((contender, index) => ({
    run: 0,
    contender,
    milliseconds: [300 * (index + 1)],
    losses: [],
  }));
  expect(goalOf({ start }, 'start')).toMatchObject({
    verdict: 'MISSED',
    target: "0.33 of vmagent's",
  });
  const drain = ['ours', 'vmagent'].map((contender, index) => ({
    run: 0,
    contender,
    samples: 1,
    firstMs: 1999,
    lastMs: 3000,
    samplesPerSecond: 100 / (index + 1),
    nsPerSample: 1,
    losses: [],
  }));
  expect(goalOf({ drain }, 'drain, first sent after an outage below a minute').verdict).toBe('met');
  expect(goalOf({ drain }, "drain, the fastest peer's samples a second").measured).toMatch(
    /^0\.50/,
  );
});
