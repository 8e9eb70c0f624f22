// Which contenders run at the same time: what is left of the scenarios' groups once the command line has chosen, and those
// that are absent are taken out.

import type { PacedScenario, Scenario, SpecialScenario } from './scenarios.ts';

export interface PacedRun {
  readonly scenario: PacedScenario;
  readonly contender: string;
  readonly group: number;
}

/** Runs one after the other; what stands in one batch runs side by side. */
export type Batch =
  | { readonly kind: 'paced'; readonly runs: readonly PacedRun[] }
  | {
      readonly kind: SpecialScenario['kind'];
      readonly scenario: SpecialScenario;
      readonly contenders: readonly string[];
    };

export function planBatches(
  scenarios: readonly Scenario[],
  isWanted: (contender: string) => boolean,
): readonly Batch[] {
  const batches: Batch[] = [];
  const together = new Map<string, PacedRun[]>();
  for (const scenario of scenarios) {
    if (scenario.kind !== 'paced') {
      const contenders = scenario.groups.flat().filter(isWanted);
      if (contenders.length > 0) batches.push({ kind: scenario.kind, scenario, contenders });
      continue;
    }
    for (const [group, contenders] of groupsOf(scenario, isWanted).entries()) {
      const key = `${scenario.together} ${group}`;
      const runs = together.get(key) ?? [];
      if (runs.length === 0) batches.push({ kind: 'paced', runs });
      together.set(key, runs);
      const paced = atPaceOf(scenario, contenders);
      runs.push(...contenders.map(contender => ({ scenario: paced, contender, group })));
    }
  }
  return batches;
}

/** A group is as fast as its slowest. */
function atPaceOf(scenario: PacedScenario, contenders: readonly string[]): PacedScenario {
  const intervals = contenders.map(name => scenario.slower[name] ?? 0);
  return { ...scenario, intervalMs: Math.max(scenario.intervalMs, ...intervals) };
}

/** Ours stands in every group to be compared with: where only it is left, once is enough. */
function groupsOf(
  { groups }: PacedScenario,
  isWanted: (contender: string) => boolean,
): readonly (readonly string[])[] {
  const left = groups.map(group => group.filter(isWanted)).filter(group => group.length > 0);
  const compared = left.filter(group => group.some(name => name !== 'ours'));
  return compared.length > 0 ? compared : left.slice(0, 1);
}
