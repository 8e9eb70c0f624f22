// The parts of the status page's sections: ages, badges, lists of numbers, tables with a limit.

import { formatAge, formatCount } from '../lib/format.ts';
import { html, type Html, type HtmlValue } from './html.ts';

/** A report. Ages are counted from its time (RFC 3339). */
export interface Reported {
  readonly reportedAt: string;
}

/**
 * The one scale of severity, for pills, rows, cards and bars: `bad`: data is missing or lost. `warn`: data will be lost
 * soon, or is doubtful. `busy`: not known yet. `none` has no meaning.
 */
export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'none';

/** The most rows that a table shows; /status.json has all. */
export const TABLE_ROWS_MAX = 2000;
/** A table with more rows than this folds the healthy ones. */
const FOLD_ROWS = 12;
/** The most rows of a long table that stay open: if all fail for one cause, the problem above says it. */
const OPEN_ROWS_MAX = 10;

export function badge(tone: Tone, text: string): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

/** How long before or after the report a time was, with the time as a tooltip; `–` for null. */
export function age(report: Reported, at: string | null): Html {
  if (at === null) return html`–`;
  const text = formatAge(Date.parse(report.reportedAt) - Date.parse(at));
  return html`<span class="t" title="${at.replace(/\.\d+Z$/, 'Z')}">${text}</span>`;
}

/** A second name, in small letters. */
export function faint(text: HtmlValue): Html {
  return html`<small class="faint">${text}</small>`;
}

/** What to do, behind the arrow that marks nothing else; null if there is nothing to do. */
export function remedy(hint: string): Html | null {
  return hint === '' ? null : html`<p class="do">${hint}</p>`;
}

/** A count, faint when it is 0; `–` when it is unknown. */
export function countText(value: number | null): HtmlValue {
  if (value === null) return '–';
  return value === 0 ? html`<i>0</i>` : formatCount(value);
}

/** `engine 118 · proxy 42`, largest first; null when there is nothing to list. */
export function numberList(numbers: Readonly<Record<string, number>>): string | null {
  const entries = Object.entries(numbers).filter(([, count]) => count > 0);
  if (entries.length === 0) return null;
  entries.sort(([, a], [, b]) => b - a);
  return entries.map(([name, count]) => `${name} ${formatCount(count)}`).join(' · ');
}

export function meterBar(share: number, tone: Tone): Html {
  const percent = Math.min(100, Math.max(0, share * 100));
  const width = percent === 0 ? 0 : Math.max(1, percent);
  return html`<svg class="meter ${tone}" viewBox="0 0 100 5" preserveAspectRatio="none" aria-hidden="true"><rect width="${width.toFixed(1)}" height="5"/></svg>`;
}

interface Column<Item> {
  readonly title: string;
  readonly content: (item: Item) => HtmlValue;
  /** `head`: the name of the row. `text`: long words. `n`: a number. */
  readonly style: 'head' | 'text' | 'n' | null;
  /** The value to sort the column by, if that is not its text. */
  readonly sortBy: ((item: Item) => number) | null;
}

export function column<Item>(
  title: string,
  content: (item: Item) => HtmlValue,
  style: Column<Item>['style'] = null,
  sortBy: Column<Item>['sortBy'] = null,
): Column<Item> {
  return { title, content, style, sortBy };
}

export function countColumn<Item>(title: string, of: (item: Item) => number | null): Column<Item> {
  return column(title, item => countText(of(item)), 'n');
}

interface TableOptions<Item> {
  /** The id of the table, for links and for the script. */
  readonly id: string;
  /** The word for a row: `service`. */
  readonly noun: string;
  /** Rows that are `bad`, `warn` or `busy` come first; the first OPEN_ROWS_MAX of them are never folded. */
  readonly toneOf?: (item: Item) => Tone;
  /** The id of the row, for links. */
  readonly anchorOf?: (item: Item) => string;
  readonly isSum?: (item: Item) => boolean;
  readonly isWhole?: boolean;
  /** Rows of one line, for long lists. */
  readonly isLean?: boolean;
}

const RANKS: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, busy: 2, none: 3, good: 3 };

/**
 * A table with the worst rows first. If there are many rows, the healthy ones are folded below it.
 * Rows beyond TABLE_ROWS_MAX are only counted.
 */
export function table<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  options: TableOptions<Item>,
): Html {
  const { id, noun, toneOf = () => 'good', isSum = () => false } = options;
  const rankOf = (item: Item): number => (isSum(item) ? -1 : RANKS[toneOf(item)]);
  const sorted = [...items].sort((a, b) => rankOf(a) - rankOf(b)).slice(0, TABLE_ROWS_MAX);
  const worst = sorted.filter(item => rankOf(item) < RANKS.good).length;
  const isShort = options.isWhole === true || sorted.length <= FOLD_ROWS;
  const openCount = isShort ? sorted.length : Math.min(worst, OPEN_ROWS_MAX);
  const open = sorted.slice(0, openCount);
  const folded = sorted.slice(openCount);
  const parts: HtmlValue[] = [];
  if (open.length > 0 || folded.length === 0) parts.push(plainTable(open, columns, options));
  if (folded.length > 0) {
    const more = open.some(item => !isSum(item)) ? ' more' : '';
    const isWell = options.toneOf !== undefined && worst <= openCount;
    const words = `${formatCount(folded.length)}${more} ${noun}${folded.length === 1 ? '' : 's'}${isWell ? ', all well' : ''}`;
    parts.push(
      html`<details id="${id}-rest"><summary>${words}</summary>${plainTable(folded, columns, options)}</details>`,
    );
  }
  const restCount = items.length - TABLE_ROWS_MAX;
  if (restCount > 0)
    parts.push(html`<p class="faint">${formatCount(restCount)} more rows are in /status.json.</p>`);
  return html`<div id="${id}">${parts}</div>`;
}

function plainTable<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  { toneOf = () => 'good', anchorOf, isSum = () => false, isLean = false }: TableOptions<Item>,
): Html {
  const titles = columns.map(
    ({ title, style }) =>
      html`<th${style === 'n' ? html` class="n"` : null} scope="col">${title}</th>`,
  );
  const rows = items.map(item => {
    const tone = isSum(item) ? 'sum' : toneOf(item);
    const name = tone === 'good' || tone === 'none' ? null : html` class="${tone}"`;
    const anchor = anchorOf === undefined ? null : html` id="${anchorOf(item)}"`;
    const cells = columns.map(one => cell(one, item));
    return html`<tr${anchor}${name}>${cells}</tr>
`;
  });
  return html`<div class="scroll" tabindex="0"><table${isLean ? html` class="lean"` : null}><thead><tr>${titles}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

function cell<Item>({ content, style, sortBy }: Column<Item>, item: Item): Html {
  const value = content(item);
  if (style === 'head') return html`<th scope="row">${value}</th>`;
  const name = style === null ? null : html` class="${style}"`;
  const by = sortBy === null ? null : html` data-v="${sortBy(item)}"`;
  return html`<td${name}${by}>${value}</td>`;
}

export interface Named {
  readonly id: string;
  readonly name: string;
}

/** Shows a service by its name, with its id where that differs. */
export function serviceNames(services: readonly Named[]): (id: string) => HtmlValue {
  const names = new Map(services.map(({ id, name }) => [id, name]));
  return id => {
    const name = names.get(id);
    if (name === undefined) return id === '' ? '(none)' : id;
    const link = html`<a href="#s-${encodeURIComponent(id)}">${name}</a>`;
    return name === id ? link : [link, faint(id)];
  };
}

/** A section of the page: a heading, a few words next to it, and the content. */
export function section(title: string, about: string, content: HtmlValue): Html {
  const id = `section-${title.toLowerCase().replaceAll(' ', '-')}`;
  return html`<section id="${id}"><h2>${title} <small>${about}</small></h2>${content}</section>
`;
}
