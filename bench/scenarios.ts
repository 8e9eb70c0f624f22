// What is measured: how much is scraped, how often, and by whom. The contenders of a group run side by side, each with
// pages and a sink of its own, so that whatever else the machine does meets all of them alike; `ours` is in every
// group, and ratios are taken within a group.

import type { CorpusSpec } from './corpus/corpora.ts';

export interface PacedScenario extends CorpusSpec {
  readonly kind: 'paced';
  readonly name: string;
  readonly title: string;
  readonly intervalMs: number;
  /** Pages over TLS and compressed. */
  readonly isRemote: boolean;
  /** Polls of each page before the window of measurement. */
  readonly warmPolls: number;
  /** How many polls of each page the window is long. */
  readonly polls: number;
  /** How often all of it is measured anew: the figures are medians. */
  readonly runs: number;
  /** Whether logs are pulled, too, by those who can. */
  readonly hasLogs: boolean;
  /** Scenarios with the same word here run at the same time. */
  readonly together: string;
  readonly groups: readonly (readonly string[])[];
  /** Who needs more than an interval for a poll of all pages: its groups run at this one. */
  readonly slower: Readonly<Record<string, number>>;
}

/** Something other than the cost of a steady state; see runs/. */
export interface SpecialScenario {
  readonly kind: 'growth' | 'start' | 'drain';
  readonly name: string;
  readonly title: string;
  /** Series of the sizes that are measured, for growth; of the page otherwise. */
  readonly sizes: readonly number[];
  /** How often it is started, for a start; polls of the window or of the backlog otherwise. */
  readonly rounds: number;
  readonly groups: readonly (readonly string[])[];
}

export type Scenario = PacedScenario | SpecialScenario;

const ALL = [
  'ours',
  'vmagent',
  'vmagent-gogc100',
  'prometheus-agent',
  'prometheus-agent-gogc100',
  'collector',
  'plain-stack',
];
const MAIN = ['ours', 'vmagent', 'prometheus-agent', 'collector'];
/** Ours with a look at its event loop; seldom beside others: their work on its processor cannot be told from its own. */
const PROBED = 'ours-probed';
/** Where all at once would fill the machine. */
const IN_GROUPS = [
  ['ours', 'vmagent', 'prometheus-agent', 'collector'],
  ['ours', 'vmagent-gogc100', 'prometheus-agent-gogc100', 'plain-stack', PROBED],
];

/** Where two are as much as two cores can do. */
const IN_PAIRS = [
  ['ours', 'vmagent'],
  ['ours', 'ours-gzip'],
  ['ours', 'prometheus-agent'],
  ['ours', 'collector'],
  ['ours', 'plain-stack'],
  ['ours', PROBED],
];

function size(
  addresses: number,
  services: number,
  series: number,
): Pick<CorpusSpec, 'addresses' | 'services' | 'series'> {
  return { addresses, services, series };
}

const WINDOW_MS = 5 * 60_000;
const RUNS = 3;

function paced(
  scenario: Pick<PacedScenario, 'name' | 'title' | 'intervalMs' | 'groups'> &
    Pick<CorpusSpec, 'addresses' | 'services' | 'series'> &
    Partial<PacedScenario>,
): PacedScenario {
  return {
    kind: 'paced',
    corpus: 'engine',
    isRemote: false,
    polls: WINDOW_MS / scenario.intervalMs,
    runs: RUNS,
    // What the first pages cost (compiling, laying out) is over by then.
    warmPolls: 5,
    hasLogs: false,
    together: scenario.name,
    slower: {},
    ...scenario,
  };
}

const SCENARIOS: readonly Scenario[] = [
  paced({
    name: 'fleet',
    title: '200 services x 500 series in one page, every 10 s',
    ...size(1, 200, 500),
    intervalMs: 10_000,
    // V8 goes on compiling while a page comes every 10 s.
    warmPolls: 12,
    groups: IN_GROUPS,
  }),
  paced({
    name: 'fleet-remote',
    title: 'the same, pages with gzip over TLS',
    ...size(1, 200, 500),
    isRemote: true,
    intervalMs: 10_000,
    groups: [[...MAIN, PROBED]],
  }),
  paced({
    name: 'targets',
    title: '200 addresses x 500 series, every 2 s',
    ...size(200, 1, 500),
    intervalMs: 2000,
    warmPolls: 8,
    groups: IN_GROUPS,
  }),
  paced({
    name: 'histograms',
    title: '20 addresses x 1,200 series, two thirds of them histograms, every 4 s',
    corpus: 'histograms',
    ...size(20, 1, 1200),
    intervalMs: 4000,
    together: 'corpora',
    groups: [MAIN, ['ours', PROBED]],
  }),
  paced({
    name: 'churning',
    title: '20 addresses x 1,200 series, some of them new at every poll, every 4 s',
    corpus: 'churning',
    ...size(20, 1, 1200),
    intervalMs: 4000,
    together: 'corpora',
    groups: [MAIN, ['ours', PROBED]],
  }),
  paced({
    name: 'captured',
    title: "20 addresses with a real exporter's page, 1,161 series without timestamps, every 4 s",
    corpus: 'captured',
    ...size(20, 1, 1161),
    intervalMs: 4000,
    together: 'corpora',
    groups: [MAIN, ['ours', PROBED]],
  }),
  // What most run: the processes stand idle most of the time, and memory after ten minutes is what counts.
  paced({
    name: 'sidecar',
    title: '1 service x 1,200 series, every 15 s, logs on',
    ...size(1, 1, 1200),
    intervalMs: 15_000,
    warmPolls: 2,
    polls: 38,
    hasLogs: true,
    together: 'small',
    groups: [ALL, ['ours', PROBED]],
  }),
  paced({
    name: 'host',
    title: '20 services x 1,200 series in one page, every 15 s',
    ...size(1, 20, 1200),
    intervalMs: 15_000,
    warmPolls: 2,
    polls: 38,
    together: 'small',
    groups: [ALL, ['ours', PROBED]],
  }),
  {
    kind: 'start',
    name: 'start',
    title: 'from the start of the process to the first accepted point, 1 service x 1,200 series',
    sizes: [1200],
    rounds: 3,
    groups: [ALL],
  },
  {
    kind: 'drain',
    name: 'drain',
    title: 'a backlog of 20 polls of 20 services x 1,000 series, once the back end is there again',
    sizes: [20_000],
    rounds: 20,
    groups: [['ours', 'vmagent', 'prometheus-agent', 'collector']],
  },
  // The heaviest last: what is measured is kept when it is broken off.
  paced({
    name: 'targets-large',
    title: '200 addresses x 5,000 series, every 10 s; beside the plain stack every 30 s',
    ...size(200, 1, 5000),
    intervalMs: 10_000,
    warmPolls: 4,
    groups: IN_PAIRS,
    slower: { 'plain-stack': 30_000 },
  }),
  {
    kind: 'growth',
    name: 'growth',
    title: 'ours alone, from 1,000 to 1,000,000 series in pages of at most 5,000, every 4 s',
    sizes: [1000, 10_000, 100_000, 1_000_000],
    rounds: 75,
    groups: [['ours']],
  },
];

/** About a minute: that all contenders run, everything arrives, and nothing is broken. Its figures say little. */
const SMOKE: readonly Scenario[] = [
  paced({
    name: 'fleet',
    title: '20 services x 500 series in one page, every 3 s',
    ...size(1, 20, 500),
    intervalMs: 3000,
    warmPolls: 2,
    polls: 2,
    runs: 1,
    groups: [[...MAIN, 'plain-stack', PROBED]],
  }),
  paced({
    name: 'targets',
    title: '10 addresses x 500 series, every 3 s',
    ...size(10, 1, 500),
    intervalMs: 3000,
    warmPolls: 2,
    polls: 2,
    runs: 1,
    groups: [['ours', 'vmagent']],
  }),
  {
    kind: 'growth',
    name: 'growth',
    title: 'ours alone, 10,000 series',
    sizes: [10_000],
    rounds: 2,
    groups: [['ours']],
  },
  {
    kind: 'start',
    name: 'start',
    title: 'from the start of the process to the first accepted point',
    sizes: [1200],
    rounds: 1,
    groups: [['ours']],
  },
  {
    kind: 'drain',
    name: 'drain',
    title: 'a backlog of 5 polls of 2 services x 1,000 series',
    sizes: [2000],
    rounds: 5,
    groups: [['ours']],
  },
];

/** All scenarios, or those of the smoke test. */
export function scenarios(isSmoke: boolean): readonly Scenario[] {
  return isSmoke ? SMOKE : SCENARIOS;
}
