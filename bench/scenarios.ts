// The scenarios: how much is scraped, how often, and by which contenders. The contenders of a group run side by side,
// each with its own pages and sink, so that other load on the machine affects both alike; ratios are taken within a
// group. A group has at most two contenders, because they are measured on two cores.

import type { CorpusSpec } from './corpus/corpora.ts';

export interface PacedScenario extends CorpusSpec {
  readonly kind: 'paced';
  readonly name: string;
  readonly title: string;
  readonly intervalMs: number;
  /** Whether pages are served over TLS and compressed. */
  readonly isRemote?: boolean;
  /** Polls of each page before the window of measurement. */
  readonly warmPolls: number;
  /** The length of the window, in polls of each page. */
  readonly polls: number;
  /** Whether logs are pulled, too, by the contenders that can. */
  readonly hasLogs?: boolean;
  readonly groups: readonly (readonly string[])[];
}

/** A scenario that is not the cost of a steady state of one size; see runs/. */
export interface SpecialScenario {
  readonly kind: 'growth' | 'start' | 'drain' | 'floor';
  readonly name: string;
  readonly title: string;
  /** The numbers of series to measure, for growth; the number of series of the page, otherwise. */
  readonly sizes: readonly number[];
  readonly intervalMs: number;
  readonly warmPolls: number;
  /** The number of starts, polls of the window (growth), polls of the backlog (drain), or pages (floor). */
  readonly rounds: number;
  readonly groups: readonly (readonly string[])[];
  /** Whether it is left out unless it is named, because it takes most of the machine's memory. */
  readonly isOnlyByName: boolean;
}

export type Scenario = PacedScenario | SpecialScenario;

/** The programs that others use instead, each as it ships; the cheapest one beside ours is the best peer. */
export const PEERS: readonly string[] = ['vmagent', 'prometheus-agent', 'collector'];
/** Beside `ours`, a copy that notes pauses of its event loop. Its cost is never reported. */
const PROBED = ['ours', 'ours-probed'];
const PLAIN = ['ours', 'plain-stack'];
/** The cost with a back end that does not take zstd. */
const GZIP = ['ours-gzip', 'vmagent'];
const WITH_VMAGENT = ['ours', 'vmagent'];
const WITH_PEERS = PEERS.map(peer => ['ours', peer]);

function size(
  addresses: number,
  services: number,
  series: number,
): Pick<CorpusSpec, 'addresses' | 'services' | 'series'> {
  return { addresses, services, series };
}

/** Own telemetry and V8's idle work come once a minute, so a window is a whole number of minutes. */
const WINDOW_MS = 60_000;
/** The window of scenarios with few polls a minute. After WARM_MS, it ends ten minutes after the start. */
const IDLE_WINDOW_MS = 5 * 60_000;
/** By then V8 has compiled the code that pages run through, and heaps have their size. */
const WARM_MS = 5 * 60_000;
const WARM_POLLS = 40;

function warmPolls(intervalMs: number): number {
  return Math.min(WARM_POLLS, WARM_MS / intervalMs);
}

function paced(
  scenario: Pick<PacedScenario, 'name' | 'title' | 'intervalMs' | 'groups'> &
    Pick<CorpusSpec, 'addresses' | 'services' | 'series'> &
    Partial<PacedScenario>,
): PacedScenario {
  return {
    kind: 'paced',
    corpus: 'engine',
    warmPolls: warmPolls(scenario.intervalMs),
    polls: WINDOW_MS / scenario.intervalMs,
    ...scenario,
  };
}

function special(
  scenario: Pick<SpecialScenario, 'kind' | 'name' | 'title' | 'sizes' | 'rounds' | 'groups'> &
    Partial<SpecialScenario>,
): SpecialScenario {
  return { intervalMs: 1000, warmPolls: 0, isOnlyByName: false, ...scenario };
}

function growth(
  scenario: Pick<SpecialScenario, 'name' | 'title' | 'sizes' | 'intervalMs'> &
    Partial<SpecialScenario>,
): SpecialScenario {
  const { intervalMs } = scenario;
  return special({
    kind: 'growth',
    warmPolls: warmPolls(intervalMs),
    rounds: WINDOW_MS / intervalMs,
    groups: [['ours']],
    ...scenario,
  });
}

function floor(rounds: number): SpecialScenario {
  return special({
    kind: 'floor',
    name: 'floor',
    title: 'what a page of the fleet costs a program that understands nothing',
    sizes: [100_000],
    rounds,
    groups: [['ours']],
  });
}

const SCENARIOS: readonly Scenario[] = [
  paced({
    name: 'fleet',
    title: '200 services x 500 series in one page, every 10 s',
    ...size(1, 200, 500),
    intervalMs: 10_000,
    groups: [WITH_VMAGENT, GZIP, ...WITH_PEERS.slice(1), PLAIN, PROBED],
  }),
  floor(200),
  paced({
    name: 'fleet-remote',
    title: 'the same as fleet, pages with gzip over TLS',
    ...size(1, 200, 500),
    isRemote: true,
    intervalMs: 10_000,
    groups: [WITH_VMAGENT, PROBED],
  }),
  paced({
    name: 'targets',
    title: '200 addresses x 500 series, every 2 s',
    ...size(200, 1, 500),
    intervalMs: 2000,
    groups: [...WITH_PEERS, PROBED],
  }),
  paced({
    name: 'histograms',
    title: '20 addresses x 1,200 series, two thirds of them histograms, every 4 s',
    corpus: 'histograms',
    ...size(20, 1, 1200),
    intervalMs: 4000,
    groups: [...WITH_PEERS, PROBED],
  }),
  paced({
    name: 'churning',
    title: '20 addresses x 1,200 series, some of them new at every poll, every 4 s',
    corpus: 'churning',
    ...size(20, 1, 1200),
    intervalMs: 4000,
    groups: [...WITH_PEERS, PROBED],
  }),
  paced({
    name: 'captured',
    title: "20 addresses with a real exporter's page, 1,161 series without timestamps, every 4 s",
    corpus: 'captured',
    ...size(20, 1, 1161),
    intervalMs: 4000,
    groups: [...WITH_PEERS, PROBED],
  }),
  // The most common deployment: the process is idle most of the time, and its memory after ten minutes counts.
  paced({
    name: 'sidecar',
    title: '1 service x 1,200 series, every 15 s, logs on',
    ...size(1, 1, 1200),
    intervalMs: 15_000,
    polls: IDLE_WINDOW_MS / 15_000,
    hasLogs: true,
    groups: [...WITH_PEERS, PLAIN, PROBED],
  }),
  paced({
    name: 'host',
    title: '20 services x 1,200 series in one page, every 15 s',
    ...size(1, 20, 1200),
    intervalMs: 15_000,
    groups: [WITH_VMAGENT, PROBED],
  }),
  special({
    kind: 'start',
    name: 'start',
    title: 'from the start of the process to the first accepted point, 1 service x 1,200 series',
    sizes: [1200],
    rounds: 3,
    groups: ['ours', ...PEERS, 'plain-stack'].map(contender => [contender]),
  }),
  special({
    kind: 'drain',
    name: 'drain',
    title: 'a backlog of 20 polls of 20 services x 1,000 series, once the back end is there again',
    sizes: [20_000],
    rounds: 20,
    groups: ['ours', ...PEERS].map(contender => [contender]),
  }),
  // The heaviest scenarios come last: if the bench breaks off there, the earlier results are saved already.
  paced({
    name: 'targets-large',
    title: '200 addresses x 5,000 series, every 10 s',
    ...size(200, 1, 5000),
    intervalMs: 10_000,
    groups: [...WITH_PEERS, PROBED],
  }),
  growth({
    name: 'growth',
    title: 'ours alone, from 1,000 to 1,000,000 series in pages of at most 5,000, every 4 s',
    sizes: [1000, 10_000, 100_000, 1_000_000],
    // Long enough for a million series on two quiet cores.
    intervalMs: 4000,
  }),
  growth({
    name: 'growth-5m',
    title: 'ours alone, 5,000,000 series in 1,000 pages, every 60 s; only by its name',
    sizes: [5_000_000],
    intervalMs: 60_000,
    rounds: IDLE_WINDOW_MS / 60_000,
    isOnlyByName: true,
  }),
];

/** Checks in about two minutes that all contenders run and that everything arrives. Its figures say little. */
const SMOKE: readonly Scenario[] = [
  paced({
    name: 'fleet',
    title: '20 services x 500 series in one page, every 3 s',
    ...size(1, 20, 500),
    intervalMs: 3000,
    warmPolls: 2,
    polls: 2,
    groups: [
      ['ours', 'vmagent'],
      ['ours-probed', 'prometheus-agent'],
    ],
  }),
  floor(1),
  paced({
    name: 'targets',
    title: '10 addresses x 500 series, every 3 s',
    ...size(10, 1, 500),
    intervalMs: 3000,
    warmPolls: 2,
    polls: 2,
    groups: [
      ['ours', 'collector'],
      ['ours-gzip', 'plain-stack'],
    ],
  }),
  growth({
    name: 'growth',
    title: 'ours alone, 10,000 series',
    sizes: [10_000],
    intervalMs: 4000,
    warmPolls: 2,
    rounds: 2,
  }),
  special({
    kind: 'start',
    name: 'start',
    title: 'from the start of the process to the first accepted point',
    sizes: [1200],
    rounds: 1,
    groups: [['ours']],
  }),
  special({
    kind: 'drain',
    name: 'drain',
    title: 'a backlog of 5 polls of 2 services x 1,000 series',
    sizes: [2000],
    rounds: 5,
    groups: [['ours']],
  }),
];

/** All scenarios, or those of the smoke test. */
export function scenarios(isSmoke: boolean): readonly Scenario[] {
  return isSmoke ? SMOKE : SCENARIOS;
}

/** Throws where there is no paced scenario of that name. */
export function pacedScenario(name: string): PacedScenario {
  const found = SCENARIOS.find(scenario => scenario.name === name);
  if (found?.kind !== 'paced') throw new Error(`${name} is no paced scenario`);
  return found;
}

/** The scenarios with the given names; for null, all scenarios but those that run only by name. */
export function chosenScenarios(
  isSmoke: boolean,
  names: readonly string[] | null,
): readonly Scenario[] {
  const isOnlyByName = (scenario: Scenario): boolean =>
    scenario.kind !== 'paced' && scenario.isOnlyByName;
  return scenarios(isSmoke).filter(scenario =>
    names === null ? !isOnlyByName(scenario) : names.includes(scenario.name),
  );
}
