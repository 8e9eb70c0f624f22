// Which contenders run at the same time: what is left of the scenarios' groups once the command line has chosen, and those
// that are absent are taken out.

import type { PacedScenario, Scenario, SpecialScenario } from './scenarios.ts';

export interface PacedRun {
  readonly scenario: PacedScenario;
  readonly contender: string;
  readonly group: number;
  readonly run: number;
}

/** Runs one after the other; what stands in one batch runs side by side. */
export type Batch =
  | { readonly kind: 'paced'; readonly runs: readonly PacedRun[] }
  | {
      readonly kind: SpecialScenario['kind'];
      readonly scenario: SpecialScenario;
      readonly contenders: readonly string[];
    };

/** Each scenario in all of its runs, the first of all before the second of any: an hour that was bad spoils one. */
export function planBatches(
  scenarios: readonly Scenario[],
  isWanted: (contender: string) => boolean,
): readonly Batch[] {
  const runs = Math.max(
    ...scenarios.map(scenario => (scenario.kind === 'paced' ? scenario.runs : 1)),
  );
  return Array.from({ length: runs }, (_, run) =>
    planRun(
      scenarios.filter(scenario => run < (scenario.kind === 'paced' ? scenario.runs : 1)),
      isWanted,
      run,
    ),
  ).flat();
}

function planRun(
  scenarios: readonly Scenario[],
  isWanted: (contender: string) => boolean,
  run: number,
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
      runs.push(...contenders.map(contender => ({ scenario: paced, contender, group, run })));
    }
  }
  return batches;
}

/** A group is as fast as its slowest, and its window as long as those of the others. */
function atPaceOf(scenario: PacedScenario, contenders: readonly string[]): PacedScenario {
  const intervals = contenders.map(name => scenario.slower[name] ?? 0);
  const intervalMs = Math.max(scenario.intervalMs, ...intervals);
  const polls = Math.ceil((scenario.polls * scenario.intervalMs) / intervalMs);
  return { ...scenario, intervalMs, polls };
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
