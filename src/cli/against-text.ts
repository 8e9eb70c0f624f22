// The comparison of `check --against` as tables for a terminal, as Markdown for a review, or as JSON. Each table has at most
// `limit` rows; a line tells how many are left out.

import { formatCount } from '../lib/format.ts';
import { printableJson } from '../lib/printable.ts';
import type { Comparison } from './against.ts';
import { CHANGES, type Group, type Loss, seriesOf } from './sent-changes.ts';
import { escapeCell, markdownTable, renderTable, type Rows } from './table.ts';

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
