// Which results count, how those of several runs are combined, and what they say about the goals.

import { expect, test } from 'vitest';
import { goalsTable, verdictOf } from '../../bench/report/goals.ts';
import { merged, NO_RESULTS, type Results, type Taken } from '../../bench/report/results.ts';
import { problemsOf, timesOurs, withTables } from '../../bench/report/tables.ts';
import { grown } from '../../bench/runs/growth.ts';
import { type PacedResult, paceProblem, type Window } from '../../bench/runs/paced.ts';

const WINDOW: Window = {
  samples: 1000,
  windowMs: 1000,
  cpuMs: 1,
  nsPerSample: 1000,
  cpuPercent: 0.1,
  lastBytes: 1,
  anonymousBytes: 1,
  peakBytes: 1,
  wireBytesPerSample: 1,
  load: 0,
  tooSlow: null,
};

function paced(scenario: string, contender: string, more: Partial<PacedResult> = {}): PacedResult {
  return { scenario, contender, group: 0, run: 0, ...WINDOW, losses: [], ...more };
}

/** The results of one group: the nanoseconds per sample of each contender. */
function group(
  scenario: string,
  [group, run]: readonly [group: number, run: number],
  costs: Readonly<Record<string, number>>,
): readonly PacedResult[] {
  return Object.entries(costs).map(([contender, nsPerSample]) =>
    paced(scenario, contender, { group, run, nsPerSample }),
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
  const names = new Set((more.paced ?? []).map(({ scenario }) => scenario));
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
    paced: [paced('fleet', 'ours'), paced('targets', 'ours'), paced('targets', 'vmagent')],
    failures: [
      { scenario: 'targets', words: 'old' },
      { scenario: 'fleet', words: 'kept' },
    ],
  });
  const run = results({ paced: [paced('targets', 'ours', { samples: 5 })] }, '2');
  const brokenOff = paced('fleet', 'ours', { samples: 7 });
  const all = merged(before, { ...run, paced: [...run.paced, brokenOff] });
  expect(all.paced).toEqual([paced('fleet', 'ours'), paced('targets', 'ours', { samples: 5 })]);
  expect(all.failures.map(({ words }) => words)).toEqual(['kept']);
  expect(withTables('docs/how-it-works/performance.md', all)).toContain(
    'Measured on 2026-01-01 at commit 1 on 2 cores (one) with 0 GiB and Node v24 (fleet); on 2026-01-02 at commit 2 on 2',
  );
});

test('a program that is too slow gets no figure, and nothing is compared with a slow prom2otlp', () => {
  const slow = { tooSlow: 'it asked for too little' };
  const run = results({
    paced: [
      paced('fleet', 'ours'),
      paced('fleet', 'collector', slow),
      paced('targets', 'ours', slow),
      paced('targets', 'vmagent'),
    ],
  });
  expect(timesOurs(run, 'targets', 'vmagent')).toEqual([]);
  expect(problemsOf(run)).toEqual(['targets, ours: it asked for too little']);
  expect(withTables('README.md', run)).toContain('too slow');
});

test('a lost sample is a problem, and leaves no figure', () => {
  const run = results({ paced: [paced('fleet', 'ours', { losses: ['one'] })] });
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
  const size = { ...WINDOW, run: 0, losses: [] };
  const base = { ...size, series: 10_000, samples: 10_000, cpuMs: 10, lastBytes: 1e6 };
  const large = { ...size, series: 20_000, samples: 20_000, cpuMs: 30, lastBytes: 3e6 };
  expect(grown(large, base)).toMatchObject({ nsPerAddedSample: 2000, bytesPerAddedSeries: 200 });
  expect(grown(base, base)).toMatchObject({ nsPerAddedSample: null, bytesPerAddedSeries: null });
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
  expect(goal({ paced: fleet }, 'fleet, zstd')[2]).toBe('0.40 (1 run, no spread)');
  expect(goal({ paced: fleet }, 'fleet, gzip')[3]).toBe('MISSED');
  const churning = [
    ...group('churning', [0, 0], { ours: 900, vmagent: 1800 }),
    ...group('churning', [1, 0], { ours: 1800, 'prometheus-agent': 2000 }),
    ...group('churning', [0, 1], { ours: 980, vmagent: 1000 }),
    ...group('churning', [1, 1], { ours: 500, 'prometheus-agent': 1000 }),
  ];
  expect(goal({ paced: churning }, 'churning')[2]).toBe('0.94 (0.90 to 0.98)');
});

test('the start and the drain are compared within a run', () => {
  const start = ['ours', 'vmagent'].map((contender, index) => ({
    run: 0,
    contender,
    milliseconds: [300 * (index + 1)],
    losses: [],
  }));
  expect(goal({ start }, 'start').slice(1)).toEqual([
    "0.33 of vmagent's",
    '0.50 (1 run, no spread)',
    'MISSED',
  ]);
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
  expect(goal({ drain }, 'drain, first sent after an outage below a minute')[3]).toBe('met');
  expect(goal({ drain }, "drain, the fastest peer's samples a second")[2]).toMatch(/^0\.50/);
});
