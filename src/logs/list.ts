// Reads a list of the service page by page over a fixed span of time. The list may change meanwhile: the caller recognises
// items that come twice, and what it lacks is in the next list. A list ends at the last page, at a repeated page, at the
// limit of pages, or where the caller has enough.

import { hash } from 'node:crypto';
import {
  type ErrorResult,
  ownError,
  type Result,
  type ServiceError,
} from '../service/service-error.ts';
import type { LogPage, LogQuery, LogsApi } from '../service/logs-api.ts';

export type ListEnd = Result<{
  /** The service's clock at the first page, to the second; null when the answer has no date. */
  readonly serverNowMs: number | null;
}>;

/** Takes the items of a page. Returns how the list ends here, or null to get the next page. */
export type TakePage = (items: readonly unknown[]) => ListEnd | null | Promise<ListEnd | null>;

/** The end of a list of which the rest is not needed; it says nothing about the rest and the clock. */
export const ENOUGH: ListEnd = { ok: true, serverNowMs: null };

const PAGES_MAX = 1000;

/** Passes the items to `take` page by page. Returns how the list ended. `askPage` may retry; by default it does not. */
export async function listPages(
  api: LogsApi,
  query: LogQuery,
  take: TakePage,
  askPage = (send: () => Promise<Result<LogPage>>): Promise<Result<LogPage>> => send(),
): Promise<ListEnd> {
  const { pageSize, pagination } = api.endpoints;
  let itemCount = 0;
  let serverNowMs: number | null = null;
  let lastPage: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await askPage(() => api.page({ ...query, page, offset: itemCount }));
    if (!answer.ok) return answer;
    const { items, count } = answer;
    if (items === null) return failedList('no_list', 'cannot list logs: the answer holds no list');
    if (page === 0) serverNowMs = answer.serverNowMs;
    const thisPage = pageDigest(items);
    if (thisPage !== null && thisPage === lastPage)
      return failedList('same_page', 'cannot list logs: the same page came twice');
    lastPage = thisPage;
    itemCount += items.length;
    const end = items.length > 0 ? await take(items) : null;
    if (end !== null) return end;
    const isAllThere = count === null || itemCount >= count;
    // A service may send fewer items than the limit, or ignore the limit and send all; and `count` may be of the whole
    // list or of the page. In doubt the next page is requested, which is empty at worst.
    const isOfPage = count === null || count <= items.length;
    const isLast = isAllThere && !(isOfPage && items.length === pageSize);
    if (items.length === 0 || isLast || pagination === 'none') return { ok: true, serverNowMs };
  }
  return failedList('page_limit', `cannot list logs: more than ${PAGES_MAX} pages`);
}

/** Identifies a page; null when its items are all equal. */
function pageDigest(items: readonly unknown[]): string | null {
  const texts = items.map(item => JSON.stringify(item));
  const isMixed = texts.some(text => text !== texts[0]);
  return isMixed ? hash('sha256', texts.join('\n')) : null;
}

/** The error of a list whose pages could be read. */
export function failedList(
  reason: ListReason,
  message: string,
  hint = 'compare logs.endpoints with the output of `check --probe`',
): ErrorResult {
  return { ok: false, error: ownError(reason, message, hint) };
}

const LIST_REASONS = ['page_limit', 'same_page', 'no_list', 'too_many'] as const;
type ListReason = (typeof LIST_REASONS)[number];

/** True when the pages could be read, but together are not a valid list. */
export function isOfList({ reason }: ServiceError): boolean {
  return LIST_REASONS.some(one => one === reason);
}

/** True when the list has more archives than a pull holds in memory. */
export function isTooMany({ reason }: ServiceError): boolean {
  return reason === 'too_many';
}

/** True when the span may be the cause: too many pages, an answer that is too large or takes too long. */
export function isOfSpan(error: ServiceError): boolean {
  return isOfList(error) || error.reason === 'too_large' || error.reason === 'timeout';
}

/** True when the service refuses the request, as it does for times before its retention. */
export function isRefused({ reason }: ServiceError): boolean {
  return reason === 'bad_request';
}
