// What is measured: how much is scraped, how often, and by whom. Rounds are interleaved: every contender once, then again.

import type { CorpusSpec } from './corpus/corpora.ts';

export interface Scenario extends CorpusSpec {
  readonly name: string;
  readonly title: string;
  readonly intervalMs: number;
  /** Pages over TLS and compressed. */
  readonly isRemote: boolean;
  /** How many polls of each page the window of measurement is long, after those that warm up. */
  readonly polls: number;
  /** Names of contenders; those marked with `?` run in the first round only. */
  readonly contenders: readonly string[];
}

const ALL = [
  'prom2otlp',
  'vmagent',
  'prometheus-agent',
  'collector?',
  'plain-stack?',
  'vmagent-gogc100?',
  'prometheus-agent-gogc100?',
];

const ENGINE = { corpus: 'engine', isRemote: false } as const;

function size(
  addresses: number,
  services: number,
  series: number,
): Pick<CorpusSpec, 'addresses' | 'services' | 'series'> {
  return { addresses, services, series };
}

/** Real intervals; small ones run long beside each other, see side-by-side.ts. */
export const PACED: readonly Scenario[] = [
  {
    ...ENGINE,
    name: 'fleet',
    title: '200 services x 500 series in one page, every 10 s',
    ...size(1, 200, 500),
    intervalMs: 10_000,
    polls: 3,
    contenders: ALL,
  },
  {
    ...ENGINE,
    name: 'fleet-remote',
    title: 'the same, pages with gzip over TLS',
    isRemote: true,
    ...size(1, 200, 500),
    intervalMs: 10_000,
    polls: 3,
    contenders: ['prom2otlp', 'vmagent', 'prometheus-agent?', 'collector?', 'plain-stack?'],
  },
  {
    ...ENGINE,
    name: 'targets',
    title: '200 addresses x 500 series, every 2 s',
    ...size(200, 1, 500),
    intervalMs: 2000,
    polls: 8,
    contenders: ALL,
  },
  {
    ...ENGINE,
    name: 'targets-large',
    title: '200 addresses x 5,000 series, every 10 s',
    ...size(200, 1, 5000),
    intervalMs: 10_000,
    polls: 3,
    contenders: ALL,
  },
  {
    ...ENGINE,
    name: 'histograms',
    title: '20 addresses x 1,200 series, two thirds of them histograms, every 5 s',
    corpus: 'histograms',
    ...size(20, 1, 1200),
    intervalMs: 5000,
    polls: 3,
    contenders: ['prom2otlp', 'vmagent', 'prometheus-agent?', 'collector?'],
  },
  {
    ...ENGINE,
    name: 'churning',
    title: '20 addresses x 1,200 series, some of which are new at every poll, every 5 s',
    corpus: 'churning',
    ...size(20, 1, 1200),
    intervalMs: 5000,
    polls: 3,
    contenders: ['prom2otlp', 'vmagent', 'prometheus-agent?', 'collector?'],
  },
  {
    ...ENGINE,
    name: 'captured',
    title:
      '20 addresses with a page of a real exporter, 1,161 series, without timestamps, every 5 s',
    corpus: 'captured',
    ...size(20, 1, 1161),
    intervalMs: 5000,
    polls: 3,
    contenders: ['prom2otlp', 'vmagent', 'prometheus-agent?', 'collector?'],
  },
];

/** What most run: the processes stand idle most of the time, so all of them are measured at once. */
export const SIDE_BY_SIDE: readonly Scenario[] = [
  {
    ...ENGINE,
    name: 'sidecar',
    title: '1 service x 1,200 series, every 15 s',
    ...size(1, 1, 1200),
    intervalMs: 15_000,
    polls: 38,
    contenders: ALL.map(name => name.replace('?', '')),
  },
  {
    ...ENGINE,
    name: 'host',
    title: '20 services x 1,200 series in one page, every 15 s',
    ...size(1, 20, 1200),
    intervalMs: 15_000,
    polls: 38,
    contenders: ALL.map(name => name.replace('?', '')),
  },
];
