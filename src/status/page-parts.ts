// The small parts that the sections of the status page are made of: times as ages, states as badges, lists of
// numbers, tables with a bound.

import { formatAge, formatCount } from '../lib/format.ts';
import { html, type Html, type HtmlValue } from './html.ts';

/** What ages are counted from: the time of a report, RFC 3339. */
export interface Reported {
  readonly reportedAt: string;
}

/** The meaning of a colour; `none` has no meaning. */
export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'none';

/** Rows that a table shows; /status.json has them all. */
export const TABLE_ROWS_MAX = 500;

export function badge(tone: Tone, text: string): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

/** How long before (or after) the report a time was, with the time itself to hover over; `–` for none. */
export function age(report: Reported, at: string | null): Html {
  if (at === null) return html`–`;
  const text = formatAge(Date.parse(report.reportedAt) - Date.parse(at));
  return html`<time datetime="${at}" title="${at}">${text}</time>`;
}

/** A number in a cell, faint when it is 0, with a few words below it. */
export function countCell(count: number, words: string | null = null): Html {
  const text = formatCount(count);
  const shown = count === 0 ? html`<span class="faint">${text}</span>` : text;
  return html`<td class="n">${shown}${words === null ? null : html`<small>${words}</small>`}</td>`;
}

/** `engine 118 · proxy 42`, largest first; null when there is nothing to list. */
export function numberList(numbers: Readonly<Record<string, number>>): string | null {
  const entries = Object.entries(numbers).filter(([, count]) => count > 0);
  if (entries.length === 0) return null;
  entries.sort(([, a], [, b]) => b - a);
  return entries.map(([name, count]) => `${name} ${formatCount(count)}`).join(' · ');
}

/** A part of a whole as a bar. */
export function meterBar(share: number, tone: Tone): Html {
  const percent = Math.min(100, Math.max(0, share * 100));
  const width = percent === 0 ? 0 : Math.max(1, percent);
  return html`<svg class="meter ${tone}" viewBox="0 0 100 5" preserveAspectRatio="none" aria-hidden="true"><rect width="${width.toFixed(1)}" height="5"/></svg>`;
}

export interface TableColumn {
  readonly title: string;
  readonly isNumber?: boolean;
}

/** A table of the first TABLE_ROWS_MAX items; a line below it counts the others. */
export function table<Item>(
  columns: readonly TableColumn[],
  items: readonly Item[],
  rowOf: (item: Item) => Html,
): Html {
  const heads = columns.map(({ title, isNumber }) =>
    isNumber === true
      ? html`<th class="n" scope="col">${title}</th>`
      : html`<th scope="col">${title}</th>`,
  );
  const rows = items.slice(0, TABLE_ROWS_MAX).map(item => rowOf(item));
  const restCount = items.length - TABLE_ROWS_MAX;
  const rest =
    restCount > 0
      ? html`<p class="faint">${formatCount(restCount)} more rows are in <a href="/status.json">status.json</a>.</p>`
      : null;
  return html`<div class="scroll"><table><thead><tr>${heads}</tr></thead>
<tbody>${rows}</tbody></table></div>${rest}`;
}

/** A part of the page with a heading and a few words beside it. */
export function section(title: string, about: string, content: HtmlValue): Html {
  return html`<section><h2>${title} <small>${about}</small></h2>${content}</section>
`;
}
