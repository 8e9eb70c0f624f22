// The common operations of the API's areas: read a list, create an item. Answers are read tolerantly: a list may be bare or
// wrapped, whole or in pages, a single item bare or wrapped.

import { membersOf } from '../lib/json.ts';
import type { Query, ReadOptions, RequestOptions, ServiceHttp } from './http-client.ts';
import { type ErrorResult, ownError, type Result } from './service-error.ts';

/** The most pages of a list; a longer one is marked as incomplete. */
const PAGES_MAX = 100;

/** The filter of a list. */
export interface OwnedQuery extends ReadOptions {
  /** Lists only the items of this database service. Some deployments require it. */
  readonly service_id?: string | undefined;
}

/** The name of a list in messages and answers, and the reader of its items. */
export interface Kind<Item> {
  /** The member that wraps a list, such as `schedules`; without its last letter, the one that wraps an item. */
  readonly name: string;
  /** Reads an item; null for anything else. */
  readonly read: (json: unknown) => Item | null;
}

type List<Item> = Result<{
  readonly items: readonly Item[];
  /** False when something is missing: pages, items that the service has counted, or items that are not objects. */
  readonly isComplete: boolean;
}>;

/** An area of the API: operations below one path. */
export class ApiArea {
  protected readonly http: ServiceHttp;
  protected readonly path: string;

  constructor(http: ServiceHttp, path: string) {
    this.http = http;
    this.path = path;
  }

  /** The error of an answer with a status of success and an unusable body. */
  protected unreadable(what: string, cause: string, status: number): ErrorResult {
    const hint = `check that ${this.http.nameOf('api.base_url')} and the path are those of the service`;
    const error = ownError('unreadable', `cannot ${what}: the answer ${cause}`, hint);
    return { ok: false, error: { ...error, status } };
  }

  /** Reads all pages of a list. The first request has no page parameter, because some services do not know it. */
  protected async readList<Item>(
    { name, read }: Kind<Item>,
    query: Query,
    signal: AbortSignal | undefined,
    path: string = this.path,
  ): Promise<List<Item>> {
    const items: Item[] = [];
    let isComplete = true;
    let seenCount = 0;
    let last = '';
    for (let page = 1; ; page++) {
      const paged = page === 1 ? query : { ...query, page };
      const options = { query: paged, signal, isExact: true };
      const answer = await this.http.requestJson('GET', path, options);
      if (!answer.ok) return answer;
      const found = itemsIn(answer.json, name);
      if (found === null)
        return this.unreadable(`read the ${name}`, 'holds no list', answer.status);
      if (isInPart(answer.json, answer.status)) isComplete = false;
      // A service that ignores the parameter returns the same page again.
      const text = JSON.stringify(found);
      const isRepeated = text === last && found.length > 0;
      last = text;
      if (!isRepeated) {
        seenCount += found.length;
        for (const one of found) {
          const item = read(one);
          if (item === null) isComplete = false;
          else items.push(item);
        }
      }
      if (!isMoreAfter(answer.json, name, page, seenCount)) return { ok: true, items, isComplete };
      if (isRepeated || found.length === 0 || page >= PAGES_MAX)
        return { ok: true, items, isComplete: false };
    }
  }

  /** Like `readList`, also filtered here by the database service, because the service may ignore the parameter. */
  protected async readOwned<Item extends { readonly service_id?: string | undefined }>(
    kind: Kind<Item>,
    { service_id: id, signal }: OwnedQuery,
    query: Query = {},
  ): Promise<List<Item>> {
    const list = await this.readList(kind, { ...query, service_id: id }, signal);
    if (!list.ok || id === undefined) return list;
    return { ...list, items: list.items.filter(one => (one.service_id ?? id) === id) };
  }

  /**
   * Creates one item with a single POST. The specification leaves the answer open: any 2xx but a web page, which is not
   * from the service, is a success. `created` is null if the answer does not contain the item.
   */
  protected async createOne<Item>(
    kind: Kind<Item>,
    { path = this.path, ...options }: RequestOptions & { readonly path?: string },
  ): Promise<Result<{ readonly created: Item | null }>> {
    const answer = await this.http.requestJson('POST', path, options);
    if (answer.ok) return { ok: true, created: readOne(answer.json, kind) };
    if (answer.error.reason === 'not_json') return { ok: true, created: null };
    return answer;
  }
}

/** Reads one item, which may be wrapped; null if there is none, as in an empty body. */
export function readOne<Item>(json: unknown, { name, read }: Kind<Item>): Item | null {
  return read(membersOf(json)[name.slice(0, -1)]) ?? read(json);
}

/**
 * The answer itself, the list at its member, or the only list in the answer. A member that is null is an empty list if the
 * answer counts none.
 */
export function itemsIn(json: unknown, name: string): readonly unknown[] | null {
  if (Array.isArray(json)) return json;
  const members = membersOf(json);
  if (Array.isArray(members[name])) return members[name];
  if (members[name] === null) return members[`${name}_count`] === 0 ? [] : null;
  const lists = Object.entries(members).filter(
    ([member]) => ![...FAILURES, 'detail'].includes(member),
  );
  const [only, ...others] = lists.map(([, value]) => value).filter(Array.isArray);
  return others.length > 0 ? null : (only ?? null);
}

/** The members of an answer that say what went wrong. */
const FAILURES: readonly string[] = ['errors', 'error', 'exception'];
/** Several outcomes: some may be failures. */
const MULTI_STATUS = 207;

/** True if the answer says that something is missing from it. */
function isInPart(json: unknown, status: number): boolean {
  const members = membersOf(json);
  const said = FAILURES.map(name => members[name]).filter(value => value !== undefined);
  return status === MULTI_STATUS || said.some(value => !isNothing(value));
}

function isNothing(value: unknown): boolean {
  // Also an empty object: some services list errors by name.
  if (typeof value === 'object') return Object.keys(value ?? {}).length === 0;
  return value === '' || value === false || value === 0;
}

/**
 * True if there are more items after this page. The number of pages decides; without it the number of items, or a link to
 * the next page.
 */
function isMoreAfter(json: unknown, name: string, page: number, seenCount: number): boolean {
  const members = membersOf(json);
  const pages = numberOf(members['pages_count']);
  if (pages !== null) return page < pages;
  const isLinked = NEXT_MEMBERS.some(member => !isNothing(members[member] ?? null));
  return isLinked || seenCount < (numberOf(members[`${name}_count`]) ?? 0);
}

const NEXT_MEMBERS: readonly string[] = ['next', 'next_page', 'next_page_token', 'has_more'];

/** A count, which may be written as text; null for anything else. */
function numberOf(value: unknown): number | null {
  const count = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return Number.isFinite(count) ? (count as number) : null;
}
