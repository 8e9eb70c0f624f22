// Which contenders run side by side (never more than two), how often and for how long.

import { expect, test } from 'vitest';
import { planBatches } from '../../bench/bench.ts';
import { CONTENDERS } from '../../bench/contenders.ts';
import { scenarioOf, scenarios } from '../../bench/scenarios.ts';

function plan(names: readonly string[], contenders: readonly string[], runs = 1): string[] {
  const isWanted = (name: string): boolean => contenders.includes(name);
  return planBatches(names.map(scenarioOf), isWanted, runs).map(
    ({ scenario, group, contenders }) => `${scenario.name} ${group}: ${contenders.join(' ')}`,
  );
}

test('only whole groups run, each with the number that it always has', () => {
  expect(plan(['fleet'], ['ours', 'vmagent'])).toEqual(['fleet 0: ours vmagent']);
  expect(plan(['fleet'], ['ours', 'collector', 'plain-stack'])).toEqual([
    'fleet 3: ours collector',
    'fleet 4: ours plain-stack',
  ]);
});

test('who is left alone runs once', () => {
  expect(plan(['fleet'], ['ours'])).toEqual(['fleet 0: ours']);
  expect(plan(['drain'], ['ours', 'vmagent'])).toEqual(['drain 0: ours', 'drain 0: vmagent']);
});

test('all scenarios run once before any runs again', () => {
  expect(plan(['fleet', 'churning'], ['ours', 'vmagent'], 2)).toEqual([
    'fleet 0: ours vmagent',
    'churning 0: ours vmagent',
    'fleet 0: ours vmagent',
    'churning 0: ours vmagent',
  ]);
});

test('every name in a scenario is a contender, and no group is more than two', () => {
  const known = CONTENDERS.map(({ name }) => name);
  for (const { groups } of [...scenarios(false), ...scenarios(true)]) {
    expect(known).toEqual(expect.arrayContaining(groups.flat()));
    for (const group of groups) {
      expect(new Set(group).size).toBe(group.length);
      expect(group.length).toBeLessThanOrEqual(2);
    }
  }
});

test('a window is whole minutes, after five minutes or forty polls', () => {
  for (const { kind, name, intervalMs, warmPolls, polls } of scenarios(false)) {
    if (kind !== 'paced') continue;
    expect([name, (polls * intervalMs) % 60_000]).toEqual([name, 0]);
    expect(warmPolls >= 40 || warmPolls * intervalMs >= 5 * 60_000).toBe(true);
  }
});
