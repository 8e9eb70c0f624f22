// Which results count, and how the results of several runs are combined.

import { expect, test } from 'vitest';
import { LATEST, readOptions } from '../../bench/options.ts';
import type { Machine } from '../../bench/measure/machine.ts';
import { withTables } from '../../bench/report/documents.ts';
import { goalsOf } from '../../bench/report/goals.ts';
import {
  mergeResults,
  pacedOf,
  type Results,
  readResults,
  timesOurs,
} from '../../bench/report/results.ts';
import { problemsOf } from '../../bench/report/tables.ts';
import { grown } from '../../bench/runs/growth.ts';
import { type PacedResult, paceProblem, type Window } from '../../bench/runs/paced.ts';

const WINDOW: Window = {
  samples: 1000,
  windowMs: 1000,
  cpuMs: 1,
  nsPerSample: 1000,
  cpuPercent: 0.1,
  residentBytes: 1,
  lastBytes: 1,
  anonymousBytes: 1,
  peakBytes: 1,
  wireBytesPerSample: 1,
  rawBytesPerSample: 1,
  requests: 1,
  load: 0,
  tooSlow: null,
};

function paced(scenario: string, contender: string, more: Partial<PacedResult> = {}): PacedResult {
  const names = { scenario, contender, group: 0, run: 0 };
  return { ...names, ...WINDOW, losses: [], first: null, pauses: null, ...more };
}

const DRAIN = {
  run: 0,
  samples: 1,
  firstMs: 1,
  lastMs: 2,
  samplesPerSecond: 1,
  nsPerSample: 1,
  losses: [],
};

const MACHINE: Machine = {
  processor: 'one',
  cores: 2,
  memoryBytes: 1,
  kernel: '1',
  architecture: 'x64',
  node: 'v24',
};

const TAKEN = { commit: '1', takenAt: '2026-01-01T00:00:00.000Z' };

function results(commit: string, more: Partial<Results>): Results {
  const taken = { commit, takenAt: `2026-01-0${commit}T00:00:00.000Z`, machine: MACHINE };
  const names = new Set((more.paced ?? []).map(({ scenario }) => scenario));
  return {
    ...taken,
    taken: Object.fromEntries([...names].map(name => [name, taken])),
    seconds: 1,
    contenders: {},
    paced: [],
    growth: [],
    start: [],
    drain: [],
    floor: [],
    failures: [],
    ...more,
  };
}

test('a merge replaces only the scenarios that ran to their end', () => {
  const drain = [{ ...DRAIN, contender: 'ours' }];
  const before = results('1', {
    paced: [paced('fleet', 'ours'), paced('targets', 'ours'), paced('targets', 'vmagent')],
    drain,
    failures: [
      { scenarios: ['targets'], words: 'old' },
      { scenarios: ['fleet'], words: 'kept' },
    ],
  });
  const run = results('2', { paced: [paced('targets', 'ours', { samples: 5 })] });
  const brokenOff = paced('fleet', 'ours', { samples: 7 });
  const merged = mergeResults(before, { ...run, paced: [...run.paced, brokenOff] });
  expect(merged.paced).toEqual([paced('fleet', 'ours'), paced('targets', 'ours', { samples: 5 })]);
  expect(merged.drain).toBe(drain);
  expect(merged.failures.map(({ words }) => words)).toEqual(['kept']);
  expect([merged.taken['fleet']?.commit, merged.taken['targets']?.commit]).toEqual(['1', '2']);
  const footer = withTables('docs/performance.md', merged);
  expect(footer).toContain(
    'Measured on 2026-01-01 at commit 1 on 2 cores (one) with 0 GiB and Node v24 (fleet); on 2026-01-02 at commit 2 on 2',
  );
});

test('a merge of the same commit and machine keeps the groups that the run left out', () => {
  const before = results('1', {
    paced: [paced('fleet', 'ours'), paced('fleet', 'ours', { group: 1 })],
  });
  const groups = (merged: Results): number[][] =>
    merged.paced.map(({ group, samples }) => [group, samples]);
  const run = { paced: [paced('fleet', 'ours', { group: 1, samples: 5 })] };
  expect(groups(mergeResults(before, results('1', run)))).toEqual([
    [0, WINDOW.samples],
    [1, 5],
  ]);
  expect(groups(mergeResults(before, results('2', run)))).toEqual([[1, 5]]);
  const taken = { fleet: { ...TAKEN, machine: { ...MACHINE, processor: 'other' } } };
  expect(groups(mergeResults(before, { ...results('1', run), taken }))).toEqual([[1, 5]]);
});

test('each scenario names its machine, and the fleet is compared with a floor of its own machine only', () => {
  const floor = [{ run: 0, nsPerSample: 100 }];
  const fleet = results('1', { paced: [paced('fleet', 'ours')], floor });
  const before = { ...fleet, taken: { ...fleet.taken, floor: { ...TAKEN, machine: MACHINE } } };
  const isCompared = (of: Results): boolean =>
    goalsOf(of).some(
      ({ target, verdict }) => target.includes('the floor') && verdict !== 'not measured',
    );
  expect(isCompared(before)).toBe(true);
  const patched = { ...MACHINE, kernel: '2' };
  const other = { ...MACHINE, processor: 'other' };
  for (const [machine, isKept] of [
    [patched, true],
    [other, false],
  ] as const) {
    const run = results('2', { paced: [paced('fleet', 'ours')] });
    const taken = { fleet: { ...TAKEN, machine } };
    const merged = mergeResults(before, { ...run, taken });
    expect(isCompared(merged)).toBe(isKept);
    expect(withTables('docs/performance.md', merged)).toContain(`2 cores (${machine.processor})`);
  }
});

test('every scenario has its commit', () => {
  const { taken, paced } = readResults(LATEST);
  for (const { scenario } of paced) expect(taken[scenario]?.commit).toBeDefined();
});

test('a program that is too slow gets no figure, and nothing is compared with a slow prom2otlp', () => {
  const slow = { tooSlow: 'it asked for too little' };
  const run = results('1', {
    paced: [
      paced('fleet', 'ours'),
      paced('fleet', 'collector', slow),
      paced('targets', 'ours', slow),
      paced('targets', 'vmagent'),
    ],
  });
  expect(pacedOf(run, 'fleet', 'collector')).toBeNull();
  expect(timesOurs(run, 'targets', 'vmagent')).toEqual([]);
  expect(problemsOf(run)).toEqual(['targets, ours: it asked for too little']);
  expect(withTables('README.md', run)).toContain('too slow');
});

test('three runs give their medians, and ratios are taken within a run', () => {
  const first = { seconds: 300, samples: 1, peakBytes: 1, firstPollUs: 1 };
  const run = results('1', {
    paced: [1000, 3000, 2000].flatMap((ns, run) => [
      paced('fleet', 'ours', {
        run,
        nsPerSample: ns,
        anonymousBytes: ns,
        first: { ...first, cpuMs: ns, threePollsUs: ns },
      }),
      paced('fleet', 'vmagent', { run, nsPerSample: ns * (run + 1) }),
    ]),
  });
  expect(pacedOf(run, 'fleet', 'ours')).toMatchObject({
    nsPerSample: 2000,
    anonymousBytes: 2000,
    first: { cpuMs: 2000, threePollsUs: 2000 },
  });
  expect(pacedOf(run, 'fleet', 'vmagent')?.first).toBeNull();
  expect(timesOurs(run, 'fleet', 'vmagent')).toEqual([1, 2, 3]);
  expect(withTables('docs/performance.md', run)).toContain('2.0 (1.0 to 3.0)');
});

test('too few polls or postponed work count as a lost pace', () => {
  const window = { samples: 1_000_000, wanted: 1_000_000, behind: 0, page: 5000 };
  expect(paceProblem(window)).toBeNull();
  expect(paceProblem({ ...window, samples: 890_000 })).toMatch(/890000 of 1000000/);
  expect(paceProblem({ ...window, behind: 110_000 })).toMatch(/110000 samples further behind/);
  expect(paceProblem({ ...window, behind: -110_000 })).not.toBeNull();
  // One of three polls of a single page may fall outside the window.
  expect(paceProblem({ samples: 2, wanted: 3, behind: 0, page: 1 })).toBeNull();
});

test('growth is measured against the base over the same time', () => {
  const names = { scenario: 'growth', run: 0, gapMs: 1000 };
  const size = { ...WINDOW, ...names, intervalMs: 1000, losses: [] };
  const base = { ...size, series: 1000, cpuMs: 2, lastBytes: 50 };
  // The window is twice as long: 4 ms are for the process itself and its first 1,000 series.
  const window = { windowMs: 2000, samples: 12_000, cpuMs: 14, lastBytes: 100 };
  const large = { ...size, ...window, series: 1010 };
  expect(grown(base, base)).toMatchObject({ nsPerAddedSample: null, bytesPerAddedSeries: null });
  expect(grown(large, base)).toMatchObject({ nsPerAddedSample: 1000, bytesPerAddedSeries: 5 });
});

test('--merge needs scenarios', () => {
  const options = readOptions(['--scenario', 'growth,fleet', '--merge']);
  expect(options).toMatchObject({ isMerging: true, output: LATEST });
  for (const args of [['--merge'], ['--merge', '--smoke', '--scenario', 'fleet']])
    expect(() => readOptions(args)).toThrow('cannot merge everything');
});
