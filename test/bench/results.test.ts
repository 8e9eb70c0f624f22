// Which results count, how those of several runs are combined, and what they say about the goals.

import { expect, test } from 'vitest';
import { goalsTable, verdictOf } from '../../bench/report/goals.ts';
import {
  type Figures,
  merged,
  NO_RESULTS,
  type Results,
  type Row,
  type Taken,
} from '../../bench/report/results.ts';
import { problemsOf, timesOurs, withTables } from '../../bench/report/tables.ts';
import { paceProblem, withAdded } from '../../bench/measure.ts';

function row(scenario: string, contender: string, more: Partial<Row> = {}): Row {
  const figures: Figures = { nsPerSample: 1000, lastBytes: 1, samples: 1000 };
  return { scenario, contender, group: 0, run: 0, figures, tooSlow: null, losses: [], ...more };
}

/** The results of one group: the nanoseconds per sample of each contender. */
function group(
  scenario: string,
  [group, run]: readonly [group: number, run: number],
  costs: Readonly<Record<string, number>>,
): readonly Row[] {
  return Object.entries(costs).map(([contender, nsPerSample]) =>
    row(scenario, contender, { group, run, figures: { nsPerSample } }),
  );
}

function results(more: Partial<Results>, commit = '1'): Results {
  const machine = {
    processor: 'one',
    cores: 2,
    memoryBytes: 1,
    kernel: '1',
    architecture: 'x64',
    node: 'v24',
  };
  const taken: Taken = { commit, takenAt: `2026-01-0${commit}T00:00:00.000Z`, machine };
  const names = new Set((more.rows ?? []).map(({ scenario }) => scenario));
  return {
    ...NO_RESULTS,
    taken: Object.fromEntries([...names].map(name => [name, taken])),
    ...more,
  };
}

function goal(of: Partial<Results>, name: string): readonly string[] {
  return goalsTable(results(of)).rows.find(row => row[0] === name) ?? [];
}

test('a run replaces only the scenarios that it has brought to their end', () => {
  const before = results({
    rows: [row('fleet', 'ours'), row('targets', 'ours'), row('targets', 'vmagent')],
    failures: [
      { scenario: 'targets', words: 'old' },
      { scenario: 'fleet', words: 'kept' },
    ],
  });
  const run = results({ rows: [row('targets', 'ours', { run: 5 })] }, '2');
  const brokenOff = row('fleet', 'ours', { run: 7 });
  const all = merged(before, { ...run, rows: [...run.rows, brokenOff] });
  expect(all.rows).toEqual([row('fleet', 'ours'), row('targets', 'ours', { run: 5 })]);
  expect(all.failures.map(({ words }) => words)).toEqual(['kept']);
  expect(withTables('docs/how-it-works/performance.md', all)).toContain(
    'Measured on 2026-01-01 at commit 1 on 2 cores (one) with 0 GiB and Node v24 (fleet); on 2026-01-02 at commit 2 on 2',
  );
});

test('a program that is too slow gets no figure, and nothing is compared with a slow prom2otlp', () => {
  const slow = { tooSlow: 'it asked for too little' };
  const run = results({
    rows: [
      row('fleet', 'ours'),
      row('fleet', 'collector', slow),
      row('targets', 'ours', slow),
      row('targets', 'vmagent'),
    ],
  });
  expect(timesOurs(run, 'targets', 'vmagent')).toEqual([]);
  expect(problemsOf(run)).toEqual(['targets, ours: it asked for too little']);
  expect(withTables('README.md', run)).toContain('too slow');
});

test('a lost sample is a problem, and leaves no figure', () => {
  const run = results({ rows: [row('fleet', 'ours', { losses: ['one'] })] });
  expect(problemsOf(run)).toEqual(['fleet, ours: one']);
  expect(withTables('README.md', run)).toContain('lost samples');
});

test('too few samples in the window are too slow', () => {
  expect(paceProblem(900, 1000, 10)).toBeNull();
  expect(paceProblem(899, 1000, 10)).toContain('899 of 1000');
  // With one page in an interval, a page less is chance.
  expect(paceProblem(800, 1000, 200)).toBeNull();
});

test('growth counts the cost of added series', () => {
  const size = (series: number, cpuMs: number, lastBytes: number) => ({
    figures: { series, samples: series, windowMs: 1000, cpuMs, lastBytes },
    tooSlow: null,
    losses: [],
  });
  const [base, large] = withAdded([size(10_000, 10, 1e6), size(20_000, 30, 3e6)]);
  expect(base?.figures).not.toHaveProperty('nsPerAddedSample');
  expect(large?.figures).toMatchObject({ nsPerAddedSample: 2000, bytesPerAddedSeries: 200 });
});

test('a goal is met by the worst of its runs', () => {
  expect(verdictOf([0.38, 0.36, 0.4], 0.4)).toBe('met');
  expect(verdictOf([0.38, 0.36, 0.41], 0.4)).toBe('within the spread');
  expect(verdictOf([0.42, 0.36, 0.41], 0.4)).toBe('MISSED');
  expect(verdictOf([], 0.4)).toBe('not measured');
});

test('a ratio is that of two that ran side by side; the best peer is the cheapest in each run', () => {
  const fleet = [
    ...group('fleet', [0, 0], { ours: 400, vmagent: 1000 }),
    ...group('fleet', [1, 0], { 'ours-gzip': 700, vmagent: 1000 }),
    ...group('fleet', [2, 0], { ours: 900, collector: 2000 }),
  ];
  expect(goal({ rows: fleet }, 'fleet, zstd')[2]).toBe('0.40 (1 run, no spread)');
  expect(goal({ rows: fleet }, 'fleet, gzip')[3]).toBe('MISSED');
  const churning = [
    ...group('churning', [0, 0], { ours: 900, vmagent: 1800 }),
    ...group('churning', [1, 0], { ours: 1800, 'prometheus-agent': 2000 }),
    ...group('churning', [0, 1], { ours: 980, vmagent: 1000 }),
    ...group('churning', [1, 1], { ours: 500, 'prometheus-agent': 1000 }),
  ];
  expect(goal({ rows: churning }, 'churning')[2]).toBe('0.94 (0.90 to 0.98)');
});

test('the start and the drain are compared within a run', () => {
  const start = ['ours', 'vmagent'].map((contender, index) =>
    row('start', contender, { figures: { startMs: 300 * (index + 1) } }),
  );
  expect(goal({ rows: start }, 'start').slice(1)).toEqual([
    "0.33 of vmagent's",
    '0.50 (1 run, no spread)',
    'MISSED',
  ]);
  const drain = ['ours', 'vmagent'].map((contender, index) =>
    row('drain', contender, { figures: { firstMs: 1999, samplesPerSecond: 100 / (index + 1) } }),
  );
  const first = 'drain, first sent after an outage below a minute';
  expect(goal({ rows: drain }, first)[3]).toBe('met');
  expect(goal({ rows: drain }, "drain, the fastest peer's samples a second")[2]).toMatch(/^0\.50/);
});
