// Reads a whole list page by page over a frozen window. A list may change while it is read: items that come twice
// are the caller's to recognise, and a list whose count has changed is to be read once more. Guarantees that it
// ends: at the last page, at a page that repeats the one before, or at the limit of pages.

import { hash } from 'node:crypto';
import { follow } from '../lib/json-pointer.ts';
import type { ServiceFailure } from '../service/failure.ts';
import { headerText } from '../service/exchange.ts';
import { ask, type AskOptions } from './ask.ts';
import type { ListQuery, LogApi } from '../service/logs.ts';

/** Why a list could not be read to its end. */
export type ListFailure =
  | { readonly kind: 'service'; readonly failure: ServiceFailure }
  | {
      readonly kind: 'list';
      readonly reason: 'page_limit' | 'same_page' | 'no_list';
      readonly message: string;
    };

export type ListEnd =
  | {
      readonly ok: true;
      /** False when the count changed while paging. */
      readonly isStable: boolean;
      /** The service's clock at the first page, to the second; null when it does not say. */
      readonly serverNowMs: number | null;
      readonly itemCount: number;
    }
  | { readonly ok: false; readonly failure: ListFailure };

const PAGES_MAX = 1000;

/** Gives the items page by page; its return value says how it ended. */
export async function* listPages(
  api: LogApi,
  query: ListQuery,
  options: AskOptions,
): AsyncGenerator<readonly unknown[], ListEnd> {
  const { pageSize, pagination } = api.endpoints;
  let itemCount = 0;
  let firstCount: number | null = null;
  let isStable = true;
  let serverNowMs: number | null = null;
  let lastPage: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const settings = { signal: options.signal };
    const answer = await ask(() => api.list(query, page, settings), options);
    if (!answer.ok) return { ok: false, failure: { kind: 'service', failure: answer.failure } };
    if (page === 0) serverNowMs = dateOf(headerText(answer.headers, 'date'));
    const items = itemsOf(api, answer.json);
    if (items === null) return failed('no_list', 'cannot list logs: the answer holds no list');
    const count = countOf(api, answer.json);
    if (page === 0) firstCount = count;
    else if (count !== firstCount) isStable = false;
    const thisPage = pageDigest(items);
    if (thisPage !== null && thisPage === lastPage)
      return failed('same_page', 'cannot list logs: the same page came twice');
    lastPage = thisPage;
    itemCount += items.length;
    if (items.length > 0) yield items;
    const isLast =
      pagination === 'none' || isLastPage(items.length, { pageSize, itemCount, count });
    if (items.length === 0 || isLast) return { ok: true, isStable, serverNowMs, itemCount };
  }
  return failed('page_limit', `cannot list logs: more than ${PAGES_MAX} pages`);
}

/** Tells a page from the one before; null where its items are all alike, as records without an id may be. */
function pageDigest(items: readonly unknown[]): string | null {
  const texts = items.map(item => JSON.stringify(item));
  const isMixed = texts.some(text => text !== texts[0]);
  return isMixed ? hash('sha256', texts.join('\n')) : null;
}

/**
 * A service may give fewer items than asked for at once, or all of them whatever was asked for; and `count` may
 * be of the whole list or of the page. In doubt there is a next page, which is empty at worst.
 */
function isLastPage(
  pageItems: number,
  list: { readonly pageSize: number; readonly itemCount: number; readonly count: number | null },
): boolean {
  const { pageSize, itemCount, count } = list;
  const isAllThere = count === null || itemCount >= count;
  if (pageItems !== pageSize) return isAllThere;
  return count !== null && count > pageItems && isAllThere;
}

/** The list itself where the pointer leads to it, or where the answer is one. */
export function itemsOf(api: LogApi, json: unknown): readonly unknown[] | null {
  const items = follow(api.pointers.items, json);
  if (Array.isArray(items)) return items;
  if (Array.isArray(json)) return json;
  // No list at all under a count of nothing is an empty one.
  return (items === undefined || items === null) && countOf(api, json) === 0 ? [] : null;
}

function countOf(api: LogApi, json: unknown): number | null {
  const count = follow(api.pointers.count, json);
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

function dateOf(header: string): number | null {
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? null : dateMs;
}

function failed(reason: 'page_limit' | 'same_page' | 'no_list', message: string): ListEnd {
  return { ok: false, failure: { kind: 'list', reason, message } };
}
