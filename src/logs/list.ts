// Asks the service for lists. `ask` repeats a request after no answer, 408, 429 and 5xx, with exponential waits and
// full jitter, or after the time in Retry-After, as long as the caller has time. It does not repeat a request that the
// service refuses. `listPages` reads a whole list page by page over a frozen window. A list may change meanwhile: the
// caller recognises items that come twice, and reads a list again whose count has changed. A list ends at the last
// page, at a page that repeats the one before, or at the limit of pages.

import { hash } from 'node:crypto';
import { backoffMs } from '../lib/hold-off.ts';
import type { Clock } from '../lib/clock.ts';
import { follow } from '../lib/json-pointer.ts';
import { headerText } from '../service/exchange.ts';
import {
  type ErrorResult,
  type FailureReason,
  type ServiceError,
  ownError,
} from '../service/service-error.ts';
import type { JsonAnswer, ServiceResult } from '../service/http-client.ts';
import type { ListQuery, LogApi } from '../service/logs-api.ts';

export interface AskOptions {
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Monotonic: no try begins later. */
  readonly giveUpAtMs: number;
  /** Called with each failure, also with those that were followed by another try. */
  readonly onFailure: (failure: ServiceError) => void;
}

const ASK_BACKOFF = { firstMs: 1000, maxMs: 60_000 } as const;
/** A longer Retry-After is not waited for. */
const RETRY_AFTER_MS_MAX = 900_000;
const STATUS_REQUEST_TIMEOUT = 408;

const RETRIED: ReadonlySet<FailureReason> = new Set([
  'dns',
  'refused',
  'connect_timeout',
  'network',
  'proxy',
  'timeout',
  'reset',
  'cut',
  'rate_limited',
  'server_error',
]);

/** The first good answer, or the last failure. `send` is called once per try. */
export async function ask<Answer>(
  send: () => Promise<ServiceResult<Answer>>,
  options: AskOptions,
): Promise<ServiceResult<Answer>> {
  const { clock, random, signal, giveUpAtMs, onFailure } = options;
  for (let failureCount = 1; ; failureCount++) {
    const result = await send();
    if (result.ok) return result;
    const { error: failure } = result;
    if (failure.reason !== 'aborted') onFailure(failure);
    if (!isRetried(failure) || signal.aborted) return result;
    const askedMs = Math.min(failure.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
    const waitMs = Math.max(backoffMs(ASK_BACKOFF, failureCount, random), askedMs);
    if (clock.monotonicMs() + waitMs > giveUpAtMs) return result;
    await clock.sleep(waitMs, signal);
    if (signal.aborted) return result;
  }
}

function isRetried({ reason, status }: ServiceError): boolean {
  return RETRIED.has(reason) || status === STATUS_REQUEST_TIMEOUT;
}

export type ListEnd =
  | {
      readonly ok: true;
      /** False when the count changed while paging. */
      readonly isStable: boolean;
      /** The service's clock at the first page, to the second; null when it does not say. */
      readonly serverNowMs: number | null;
      readonly itemCount: number;
    }
  | ErrorResult;

const PAGES_MAX = 1000;

/** Yields the items page by page, and returns how the list ended. */
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
    if (!answer.ok) return answer;
    if (page === 0) serverNowMs = timeOf(answer);
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
 * A service may send fewer items than the limit, or all items in spite of it; and `count` may
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

/** The service's clock in an answer, to the second; null where the answer has no date. */
export function timeOf(answer: JsonAnswer): number | null {
  const dateMs = Date.parse(headerText(answer.headers, 'date'));
  return Number.isNaN(dateMs) ? null : dateMs;
}

/** The error of a list whose pages could be read. */
export function failed(reason: ListReason, message: string): ErrorResult {
  const hint = 'compare logs.endpoints with the output of `check --probe`';
  return { ok: false, error: ownError(reason, message, hint) };
}

type ListReason = 'page_limit' | 'same_page' | 'no_list';
/** What is wrong with a list whose pages could be read. */
const LIST_REASONS: ReadonlySet<string> = new Set(['page_limit', 'same_page', 'no_list']);

/** True when the pages could be read, and are no list together. */
export function isOfList({ reason }: ServiceError): boolean {
  return LIST_REASONS.has(reason);
}

/** True when a shorter window may help: too many pages, an answer that is too large or takes too long. */
export function isOfWindow(error: ServiceError): boolean {
  return isOfList(error) || error.reason === 'too_large' || error.reason === 'timeout';
}

/** True when the service refuses the request, as it does for times before its retention. */
export function isRefused({ reason }: ServiceError): boolean {
  return reason === 'bad_request';
}
