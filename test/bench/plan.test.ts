// What runs beside what: every contender once in each scenario, ours in every group, and no group for ours alone.

import { expect, test } from 'vitest';
import { CONTENDERS } from '../../bench/contenders/all.ts';
import { type Batch, planBatches } from '../../bench/plan.ts';
import { scenarios } from '../../bench/scenarios.ts';

function words(batch: Batch): string {
  if (batch.kind !== 'paced') return `${batch.scenario.name}: ${batch.contenders.join(' ')}`;
  return batch.runs.map(run => `${run.scenario.name}/${run.contender}`).join(' ');
}

function plan(names: readonly string[], contenders: readonly string[]): string[] {
  const chosen = scenarios(false).filter(({ name }) => names.includes(name));
  const once = chosen.map(scenario => ({ ...scenario, runs: 1 }));
  return planBatches(once, name => contenders.includes(name)).map(words);
}

test('each group holds prom2otlp and the chosen programs', () => {
  expect(plan(['fleet'], ['ours', 'vmagent'])).toEqual(['fleet/ours fleet/vmagent']);
  expect(plan(['fleet'], ['ours', 'collector', 'plain-stack'])).toEqual([
    'fleet/ours fleet/collector',
    'fleet/ours fleet/plain-stack',
  ]);
});

test('prom2otlp alone runs once', () => {
  expect(plan(['fleet'], ['ours'])).toEqual(['fleet/ours']);
  expect(plan(['fleet', 'start'], ['vmagent'])).toEqual(['fleet/vmagent', 'start: vmagent']);
});

test('small scenarios run at the same time', () => {
  expect(plan(['sidecar', 'host'], ['ours'])).toEqual(['sidecar/ours host/ours']);
});

test('the slowest program sets the pace of a group', () => {
  const chosen = scenarios(false).filter(({ name }) => name === 'targets-large');
  const batches = planBatches(chosen, name => ['ours', 'vmagent', 'plain-stack'].includes(name));
  const paces = batches.map(batch =>
    batch.kind === 'paced'
      ? batch.runs.map(({ scenario, run }) => [run, scenario.intervalMs, scenario.polls])
      : [],
  );
  const both = [0, 1, 2].flatMap(run => [
    [
      [run, 10_000, 30],
      [run, 10_000, 30],
    ],
    [
      [run, 30_000, 10],
      [run, 30_000, 10],
    ],
  ]);
  expect(paces).toEqual(both);
});

test('every name in a scenario is a contender, and none runs twice in one group', () => {
  const known = CONTENDERS.map(({ name }) => name);
  for (const { groups } of [...scenarios(false), ...scenarios(true)]) {
    expect(known).toEqual(expect.arrayContaining(groups.flat()));
    for (const group of groups) {
      expect(group).toContain('ours');
      expect(new Set(group).size).toBe(group.length);
    }
  }
});
