// The scenarios: how much is scraped, how often, and by which contenders. The contenders of a group run side by side,
// each with its own pages and sink, so that other load on the machine affects both alike; ratios are taken within a
// group. A group has at most two contenders, because they are measured on two cores.

import type { CorpusSpec } from './corpus/corpora.ts';

export interface Scenario extends CorpusSpec {
  /** How it is measured: see measure.ts. */
  readonly kind: 'paced' | 'start' | 'drain';
  readonly name: string;
  readonly title: string;
  readonly intervalMs: number;
  /** Polls of each page before the window of measurement. */
  readonly warmPolls: number;
  /** The length of the window in polls of each page; the number of starts, or of polls of the backlog. */
  readonly polls: number;
  /** Whether logs are pulled, too, by the contenders that can. */
  readonly hasLogs: boolean;
  /** Numbers of series, measured one after the other in pages of at most `series`; null for the one size. */
  readonly sizes: readonly number[] | null;
  /** The contenders of a group of a paced scenario run side by side; those of a start or drain are always alone. */
  readonly groups: readonly (readonly string[])[];
}

/** The programs that others use instead, each as it ships; the cheapest one beside ours is the best peer. */
export const PEERS: readonly string[] = ['vmagent', 'prometheus-agent', 'collector'];
const PLAIN = ['ours', 'plain-stack'];
/** The cost with the default compression. */
const GZIP = ['ours-gzip', 'vmagent'];
const WITH_PEERS = PEERS.map(peer => ['ours', peer]);

/** Own telemetry and V8's idle work come once a minute, so a window is a whole number of minutes. */
const WINDOW_MS = 60_000;
/** By then V8 has compiled the code that pages run through, and heaps have their size. */
const WARM_MS = 5 * 60_000;
const WARM_POLLS = 40;

type Declared = Pick<Scenario, 'name' | 'title' | 'intervalMs' | 'groups'> & Partial<Scenario>;

function scenario(declared: Declared): Scenario {
  const { intervalMs } = declared;
  return {
    kind: 'paced',
    corpus: 'engine',
    addresses: 1,
    services: 1,
    series: 1200,
    warmPolls: Math.min(WARM_POLLS, WARM_MS / intervalMs),
    polls: WINDOW_MS / intervalMs,
    hasLogs: false,
    sizes: null,
    ...declared,
  };
}

function alone(...names: readonly string[]): readonly (readonly string[])[] {
  return names.map(name => [name]);
}

const SCENARIOS: readonly Scenario[] = [
  scenario({
    name: 'fleet',
    title: '200 services x 500 series in one page, every 10 s',
    services: 200,
    series: 500,
    intervalMs: 10_000,
    groups: [['ours', 'vmagent'], GZIP, ...WITH_PEERS.slice(1), PLAIN],
  }),
  scenario({
    name: 'targets',
    title: '200 addresses x 500 series, every 2 s',
    addresses: 200,
    series: 500,
    intervalMs: 2000,
    groups: WITH_PEERS,
  }),
  scenario({
    name: 'histograms',
    title: '20 addresses x 1,200 series, two thirds of them histograms, every 4 s',
    corpus: 'histograms',
    addresses: 20,
    intervalMs: 4000,
    groups: WITH_PEERS,
  }),
  scenario({
    name: 'churning',
    title: '20 addresses x 1,200 series, some of them new at every poll, every 4 s',
    corpus: 'churning',
    addresses: 20,
    intervalMs: 4000,
    groups: WITH_PEERS,
  }),
  scenario({
    name: 'captured',
    title: "20 addresses with a real exporter's page, 1,161 series without timestamps, every 4 s",
    corpus: 'captured',
    addresses: 20,
    series: 1161,
    intervalMs: 4000,
    groups: WITH_PEERS,
  }),
  // The most common deployment: the process is idle most of the time, and its memory after ten minutes counts.
  scenario({
    name: 'sidecar',
    title: '1 service x 1,200 series, every 15 s, logs on',
    intervalMs: 15_000,
    polls: (5 * 60_000) / 15_000,
    hasLogs: true,
    groups: [...WITH_PEERS, PLAIN],
  }),
  scenario({
    kind: 'start',
    name: 'start',
    title: 'from the start of the process to the first accepted point, 1 service x 1,200 series',
    intervalMs: 1000,
    polls: 3,
    groups: alone('ours', ...PEERS, 'plain-stack'),
  }),
  scenario({
    kind: 'drain',
    name: 'drain',
    title: 'a backlog of 20 polls of 20 services x 1,000 series, once the back end is there again',
    services: 20,
    series: 1000,
    intervalMs: 1000,
    polls: 20,
    groups: alone('ours', ...PEERS),
  }),
  // Every size at one pace: long enough for a million series on two quiet cores.
  scenario({
    name: 'growth',
    title: 'ours alone, from 1,000 to 1,000,000 series in pages of at most 5,000, every 4 s',
    series: 5000,
    intervalMs: 4000,
    sizes: [1000, 10_000, 100_000, 1_000_000],
    groups: alone('ours'),
  }),
];

/** Checks in about two minutes that all contenders run and that everything arrives. Its figures say little. */
const SMOKE: readonly Scenario[] = [
  small('fleet', {
    services: 20,
    intervalMs: 3000,
    groups: [['ours', 'vmagent'], ['prometheus-agent']],
  }),
  small('targets', {
    addresses: 10,
    intervalMs: 3000,
    groups: [
      ['ours', 'collector'],
      ['ours-gzip', 'plain-stack'],
    ],
  }),
  small('growth', { sizes: [10_000] }),
  small('start', { polls: 1 }),
  small('drain', { services: 2, polls: 5 }),
];

function small(name: string, more: Partial<Scenario>): Scenario {
  const title = 'the smallest form';
  return { ...scenarioOf(name), title, warmPolls: 2, polls: 2, groups: alone('ours'), ...more };
}

/** All scenarios, or those of the smoke test. */
export function scenarios(isSmoke: boolean): readonly Scenario[] {
  return isSmoke ? SMOKE : SCENARIOS;
}

/** Throws where there is no scenario of that name. */
export function scenarioOf(name: string): Scenario {
  const found = SCENARIOS.find(one => one.name === name);
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found;
}
