// Which contenders run side by side (never more than two), how often and for how long.

import { expect, test } from 'vitest';
import { CONTENDERS } from '../../bench/contenders/all.ts';
import { HELP, readOptions } from '../../bench/options.ts';
import { type Batch, planBatches, secondsOf, timeOf } from '../../bench/plan.ts';
import { chosenScenarios, scenarios } from '../../bench/scenarios.ts';

function words({ scenario, contenders }: Batch): string {
  return `${scenario.name}: ${contenders.join(' ')}`;
}

function plan(names: readonly string[], contenders: readonly string[], runs = 1): string[] {
  const isWanted = (name: string): boolean => contenders.includes(name);
  return planBatches(chosenScenarios(false, names), isWanted, runs).map(words);
}

test('only whole groups run', () => {
  expect(plan(['fleet'], ['ours', 'vmagent'])).toEqual(['fleet: ours vmagent']);
  expect(plan(['fleet'], ['ours', 'ours-gzip', 'vmagent'])).toEqual([
    'fleet: ours vmagent',
    'fleet: ours-gzip vmagent',
  ]);
  expect(plan(['fleet'], ['ours', 'collector', 'plain-stack'])).toEqual([
    'fleet: ours collector',
    'fleet: ours plain-stack',
  ]);
});

test('a group has the same number whichever others were chosen', () => {
  const isWanted = (name: string): boolean => ['ours', 'collector'].includes(name);
  expect(planBatches(chosenScenarios(false, ['targets']), isWanted, 1)).toMatchObject([
    { contenders: ['ours', 'collector'], group: 2 },
  ]);
});

test('who is left alone runs once', () => {
  expect(plan(['fleet'], ['ours'])).toEqual(['fleet: ours']);
  expect(plan(['fleet', 'start'], ['vmagent'])).toEqual(['fleet: vmagent', 'start: vmagent']);
  expect(plan(['drain'], ['ours', 'vmagent'])).toEqual(['drain: ours', 'drain: vmagent']);
});

test('all scenarios run once before any runs again', () => {
  expect(plan(['fleet', 'host'], ['ours', 'vmagent'], 2)).toEqual([
    'fleet: ours vmagent',
    'host: ours vmagent',
    'fleet: ours vmagent',
    'host: ours vmagent',
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
  for (const scenario of scenarios(false)) {
    if (scenario.kind !== 'paced' && scenario.kind !== 'growth') continue;
    const { intervalMs, warmPolls } = scenario;
    const polls = scenario.kind === 'paced' ? scenario.polls : scenario.rounds;
    expect([scenario.name, (polls * intervalMs) % 60_000]).toEqual([scenario.name, 0]);
    expect(warmPolls >= 40 || warmPolls * intervalMs >= 5 * 60_000).toBe(true);
  }
});

test('what takes most of the memory runs only by its name', () => {
  const names = chosenScenarios(false, null).map(({ name }) => name);
  expect(names).not.toContain('growth-5m');
  expect(chosenScenarios(false, ['growth-5m'])).toHaveLength(1);
});

test('the time is told before', () => {
  const batches = planBatches(chosenScenarios(false, ['fleet']), () => true, 2);
  expect(batches.map(secondsOf)).toEqual(batches.map(() => 380));
  expect(timeOf(batches)).toBe('about 1 h 16 min');
  expect(timeOf(batches.slice(0, 1))).toBe('about 6 min');
  expect(HELP).toMatch(/the whole bench, about \d+ h \d+ min;/);
});

test('--runs is a number', () => {
  expect(readOptions([]).runs).toBe(3);
  expect(readOptions(['--runs', '1']).runs).toBe(1);
  expect(readOptions(['--smoke']).runs).toBe(1);
  for (const bad of ['0', 'two', '1.5'])
    expect(() => readOptions(['--runs', bad])).toThrow(`cannot run it ${bad} times`);
});
