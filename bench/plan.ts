// The order of the batches, and how long they take. A batch is a group of a scenario, without contenders that the
// command line has not chosen or that this machine does not have.

import type { Scenario } from './scenarios.ts';

/** Batches run one after the other; the contenders of one run side by side. */
export interface Batch {
  readonly scenario: Scenario;
  readonly contenders: readonly string[];
  /** Its index in the scenario, whichever groups were chosen. */
  readonly group: number;
  readonly run: number;
}

/** Plans the first run of all scenarios before the second run of any, so that one bad hour spoils only one run. */
export function planBatches(
  scenarios: readonly Scenario[],
  isWanted: (contender: string) => boolean,
  runs: number,
): readonly Batch[] {
  return Array.from({ length: runs }, (_, run) =>
    scenarios.flatMap(scenario =>
      groupsOf(scenario, isWanted).map(group => ({ scenario, run, ...group })),
    ),
  ).flat();
}

/** Only whole groups can be compared. If there is none, the wanted contenders of one group run. */
function groupsOf(
  { groups }: Scenario,
  isWanted: (contender: string) => boolean,
): readonly Pick<Batch, 'contenders' | 'group'>[] {
  const numbered = groups.map((contenders, group) => ({ contenders, group }));
  const whole = numbered.filter(({ contenders }) => contenders.every(isWanted));
  if (whole.length > 0) return whole;
  const left = numbered.map(({ contenders, group }) => ({
    contenders: contenders.filter(isWanted),
    group,
  }));
  return left.filter(({ contenders }) => contenders.length > 0).slice(0, 1);
}

/** The time besides the polls: laying out pages, starting programs, and waiting for samples on their way. */
const AROUND_SECONDS = 20;
const START_SECONDS = 8;
/** The time that a contender may wait before its next retry. */
const RETRY_SECONDS = 30;

/** About how long a batch takes, unless it must be repeated. */
export function secondsOf({ scenario }: Batch): number {
  const { kind, intervalMs, warmPolls } = scenario;
  if (kind === 'start') return scenario.rounds * START_SECONDS;
  if (kind === 'drain') return AROUND_SECONDS + scenario.rounds + RETRY_SECONDS;
  if (kind === 'floor') return AROUND_SECONDS;
  const polls = warmPolls + (kind === 'paced' ? scenario.polls : scenario.rounds);
  const times = kind === 'paced' ? 1 : scenario.sizes.length;
  return times * ((polls * intervalMs) / 1000 + AROUND_SECONDS);
}

/** The time that batches take, such as `about 5 h 20 min`. */
export function timeOf(batches: readonly Batch[]): string {
  const seconds = batches.reduce((sum, batch) => sum + secondsOf(batch), 0);
  const minutes = Math.max(1, Math.round(seconds / 60));
  const hours = Math.floor(minutes / 60);
  return `about ${hours === 0 ? '' : `${hours} h `}${minutes % 60} min`;
}
