// `check --against`: the differences of the telemetry when one configuration takes the place of another. Both translate the
// same pages by the daemon's own code; nothing is sent.

import { resolve } from 'node:path';
import { withFixed } from '../config/changes.ts';
import type { Config } from '../config/config.ts';
import { loadConfig, type LoadOptions } from '../config/load.ts';
import { readTextFile } from '../config/text-file.ts';
import type { Page } from '../model/page.ts';
import { apiIdentity } from '../service/clients.ts';
import { guessFormat, pageOf, readPageFile, tellPage } from './page-files.ts';
import { scrapeTargets, type ScrapeOptions } from './probe.ts';
import { changesOf, type Group, lossesOf, type Loss, CHANGES, seriesOf } from './sent-changes.ts';
import { Sent } from './sent-series.ts';
import { scrapeOnce } from './services.ts';
import type { VerbContext } from './verb.ts';
import { formatCount } from '../lib/format.ts';
import { printableJson } from '../lib/printable.ts';
import { escapeCell, markdownTable, renderTable, type Rows } from './table.ts';

export interface Comparison {
  readonly old: string;
  readonly file: string;
  readonly groups: readonly Group[];
  /** How many series each of the two sends. */
  readonly series: { readonly before: number; readonly after: number };
  readonly losses: readonly Loss[];
  /** The changed keys that a reload does not apply. */
  readonly restart: readonly string[];
}

interface Files {
  readonly old: string;
  readonly file: string;
  /** Exposition files; without any, the service is asked. */
  readonly pages: readonly string[];
}

/** Compares two configuration files; null if a page could not be read, which has been printed. */
export async function compareConfigurations(
  { old, file, pages }: Files,
  { environment, clock, err }: VerbContext,
): Promise<Comparison | null> {
  const load = pages.length === 0 ? loadConfig : loadWithoutSecrets;
  const before = load({ file: old, environment });
  const after = load({ file, environment });
  const asked = [{ name: undefined, scrape: scrapeShared() }];
  const files = pages.map(name => ({ name, scrape: pageFrom(name, clock) }));
  // Both sides tell the same of a page.
  const told = new Set<string>();
  const tell = (line: string): void => {
    if (!told.has(line)) err.line(line);
    told.add(line);
  };
  const options = { sources: files.length === 0 ? asked : files, clock, tell };
  const sentBefore = await sentBy(before, options);
  const sentAfter = sentBefore === null ? null : await sentBy(after, options);
  if (sentBefore === null || sentAfter === null) return null;
  return {
    old,
    file,
    groups: changesOf(sentBefore, sentAfter),
    series: { before: countOf(sentBefore), after: countOf(sentAfter) },
    losses: lossesOf({ sent: sentBefore, config: before }, { sent: sentAfter, config: after }),
    restart: withFixed(before, after).restart,
  };
}

interface SentByOptions {
  /** `name`: that of a file. */
  readonly sources: readonly { readonly name: string | undefined; readonly scrape: Scrape }[];
  readonly clock: VerbContext['clock'];
  readonly tell: (line: string) => void;
}

/** What a configuration sends for the pages; null if one could not be read, which has been printed. */
async function sentBy(
  config: Config,
  { sources, clock, tell }: SentByOptions,
): Promise<Sent | null> {
  const sent = new Sent();
  const isDelta = config.otlp.temporality === 'delta';
  const isPrefixed = config.metrics.namespace === 'prefix';
  for (const { name, scrape } of sources) {
    const wanted = forOnePage(config, name !== undefined);
    for await (const one of scrapeTargets(wanted, { clock, scrape })) {
      if (one.kind === 'failure') {
        tell(`${one.who}: ${one.line}`);
        return null;
      }
      const { translation, translated } = one;
      tellPage({ line: tell }, name ?? one.url, translated);
      sent.add(translated.batch.payload, translation.table, { isDelta, isPrefixed });
    }
  }
  return sent;
}

function countOf({ metrics }: Sent): number {
  return [...metrics.values()].reduce((sum, { series }) => sum + series.size, 0);
}

/**
 * In delta temporality most series have their first point on the second page; Sent knows which metrics would be deltas.
 * The inventory only tells why a service is absent, and is not asked where the page is a file.
 */
function forOnePage(config: Config, isFile: boolean): Config {
  const { otlp, inventory } = config;
  return {
    ...config,
    otlp: { ...otlp, temporality: otlp.temporality === 'delta' ? 'cumulative' : otlp.temporality },
    inventory: { ...inventory, isEnabled: inventory.isEnabled && !isFile },
  };
}

type Scrape = NonNullable<ScrapeOptions['scrape']>;

/** Scrapes each page once, for all targets with the same address, key, headers and path. */
function scrapeShared(): Scrape {
  const known = new Map<string, ReturnType<Scrape>>();
  return (target, ...rest) => {
    const key = `${apiIdentity(target.api)} ${target.path}`;
    const page = known.get(key) ?? scrapeOnce(target, ...rest);
    known.set(key, page);
    return page;
  };
}

function pageFrom(file: string, clock: VerbContext['clock']): Scrape {
  const bytes = readPageFile(file);
  const page: Page = pageOf(bytes, guessFormat(bytes), clock.nowMs());
  return () => Promise.resolve({ kind: 'page', page });
}

/** A secret that is not there; where none is sent, any text will do. */
const STAND_IN = 'absent';

/** Like loadConfig(), but a variable or file that is named and absent is no mistake. */
function loadWithoutSecrets({ file, environment }: LoadOptions): Config {
  const path = resolve(file);
  const read = readTextFile(path);
  const text = 'text' in read ? read.text : '';
  const names = [...text.matchAll(/\$\{env:([^}]*)\}/g)].map(([, name = '']) => name);
  return loadConfig({
    file,
    environment: { ...Object.fromEntries(names.map(name => [name, STAND_IN])), ...environment },
    readFile: one => {
      const found = readTextFile(one);
      return 'text' in found || one === path ? found : { text: STAND_IN };
    },
  });
}

// The comparison of `check --against` as tables for a terminal, as Markdown for a review, or as JSON. Each table has at most
// `limit` rows; a line tells how many are left out.

interface TextOptions {
  readonly format: 'table' | 'json' | 'markdown';
  readonly limit: number;
}

/** Names and services that a cell or list of JSON shows. */
const SHOWN = 4;
const LISTED = 100;

export function againstText(found: Comparison, { format, limit }: TextOptions): string {
  if (format === 'json') return jsonText(found, limit);
  const isMarkdown = format === 'markdown';
  const tables = [
    tableText(CHANGE_HEAD, found.groups.map(changeRow), { limit, isMarkdown }),
    tableText(LOSS_HEAD, found.losses.map(lossRow), { limit, isMarkdown }),
  ].filter(text => text !== '');
  const { old, file, restart } = found;
  const title = `${old} → ${file}: ${summaryOf(found)}`;
  const ends = restart.length === 0 ? [] : [`a restart applies: ${restart.join(', ')}`];
  return [isMarkdown ? `**${escapeCell(title)}**` : title, ...tables, ...ends].join('\n\n');
}

const CHANGE_HEAD = ['CHANGE', 'SERIES', 'METRICS', 'SERVICES', 'DETAIL'];
const LOSS_HEAD = ['LOSES SERIES', 'TITLE', 'NAMES', 'SERVICES'];

/** Such as `1,214 series before, 1,200 after; 14 gone; of those shipped, 2 alerts and 1 panel lose series`. */
function summaryOf({ groups, losses, series }: Comparison): string {
  const count = (kind: string): number => losses.filter(one => one.kind === kind).length;
  const changes = countsOf(groups).map(
    ([change, n]) => `${formatCount(n)} ${WORDS[change] ?? change}`,
  );
  const losers = ['alert', 'panel']
    .filter(kind => count(kind) > 0)
    .map(kind => `${count(kind)} ${kind}${count(kind) === 1 ? '' : 's'}`);
  return [
    `${formatCount(series.before)} series before, ${formatCount(series.after)} after`,
    changes.length === 0 ? 'no series changes' : changes.join(', '),
    ...(losers.length === 0 ? [] : [`of those shipped, ${losers.join(' and ')} lose series`]),
  ].join('; ');
}

const WORDS: Readonly<Record<string, string>> = {
  type: 'of another type',
  temporality: 'of another temporality',
  unit: 'with another unit',
  attributes: 'with other attributes',
  resource: 'with another Resource',
};

/** How many series change in each way; one whose Resource changes twice counts once. */
function countsOf(groups: readonly Group[]): readonly (readonly [string, number])[] {
  return CHANGES.map(change => {
    const those = groups.filter(one => one.change === change);
    const services = new Map(those.flatMap(one => [...one.services]));
    const sum = those.reduce((total, one) => total + seriesOf(one), 0);
    return [change, change === 'resource' ? seriesOf({ services }) : sum] as const;
  }).filter(([, count]) => count > 0);
}

function changeRow(group: Group): readonly string[] {
  const { change, metrics, services, detail } = group;
  const series = String(seriesOf(group));
  return [change, series, listText(metrics), listText(services.keys()), detail];
}

function lossRow({ kind, title, series, services }: Loss): readonly string[] {
  return [kind, title, listText(series), listText(services)];
}

/** The first names, and how many more there are. */
function listText(names: Iterable<string>): string {
  const list = [...names];
  const rest = list.length - SHOWN;
  return list.slice(0, SHOWN).join(', ') + (rest > 0 ? ` and ${formatCount(rest)} more` : '');
}

function tableText(
  head: readonly string[],
  rows: Rows,
  { limit, isMarkdown }: { readonly limit: number; readonly isMarkdown: boolean },
): string {
  if (rows.length === 0) return '';
  const shown = [head, ...rows.slice(0, limit)];
  const rest = rows.length - limit;
  const more =
    rest > 0 ? `${isMarkdown ? '\n' : ''}\n${formatCount(rest)} more rows; --limit shows them` : '';
  return (isMarkdown ? markdownTable(shown) : renderTable(shown)) + more;
}

function jsonText(
  { old, file, groups, series, losses, restart }: Comparison,
  limit: number,
): string {
  const changes = groups.slice(0, limit).map(({ change, detail, metrics, services }) => ({
    change,
    detail,
    series: seriesOf({ services }),
    metrics: [...metrics].slice(0, LISTED),
    services: [...services.keys()].slice(0, LISTED),
  }));
  return printableJson({
    old,
    new: file,
    series,
    counts: Object.fromEntries(countsOf(groups)),
    changes,
    changesLeftOut: groups.length - changes.length,
    losses: losses
      .slice(0, limit)
      .map(one => ({ ...one, services: one.services.slice(0, LISTED) })),
    lossesLeftOut: Math.max(losses.length - limit, 0),
    restart,
  });
}
