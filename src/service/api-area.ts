// The common operations of the API's areas: read a list, create an item. Answers are read tolerantly: a list may be bare or
// wrapped, whole or in pages, a single item bare or wrapped.

import { membersOf } from '../lib/json-pointer.ts';
import type { ReadOptions, ServiceHttp } from './http-client.ts';
import { type ErrorResult, type Result, unreadableAnswer } from './service-error.ts';

/** The most pages of a list; a longer one is marked as incomplete. */
const PAGES_MAX = 100;

/** The filter of a list. */
export interface OwnedQuery extends ReadOptions {
  /** Only those of this database service. Some deployments require it. */
  readonly service_id?: string | undefined;
}

/** What a list or an item is called in messages and where it may be wrapped, and how an item is read. */
export interface Kind<Item> {
  /** The member that wraps a list, such as `schedules`; without its last letter, the one that wraps an item. */
  readonly name: string;
  /** Null for anything else. */
  readonly read: (json: unknown) => Item | null;
}

interface List<Item> {
  readonly ok: true;
  readonly items: readonly Item[];
  /** False when something is missing: pages beyond the limit, or items that are not objects. */
  readonly isComplete: boolean;
}

/** An area of the API: operations below one path. */
export class ApiArea {
  protected readonly http: ServiceHttp;
  protected readonly path: string;

  constructor(http: ServiceHttp, path: string) {
    this.http = http;
    this.path = path;
  }

  /** Reads all pages of a list. The first request has no page parameter, because some services do not know it. */
  protected async readList<Item>(
    { name, read }: Kind<Item>,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal | undefined,
  ): Promise<List<Item> | ErrorResult> {
    const items: Item[] = [];
    let isComplete = true;
    let last = '';
    for (let page = 1; ; page++) {
      const paged = page === 1 ? query : { ...query, page };
      const answer = await this.http.requestJson('GET', this.path, { query: paged, signal });
      if (!answer.ok) return answer;
      const found = itemsIn(answer.json, name);
      if (found === null)
        return unreadableAnswer(`read the ${name}`, 'holds no list', answer.status);
      // A service that ignores the parameter returns the same page again.
      const text = JSON.stringify(found);
      if (found.length === 0 || text === last)
        return { ok: true, items, isComplete: isComplete && found.length === 0 };
      last = text;
      for (const one of found) {
        const item = read(one);
        if (item === null) isComplete = false;
        else items.push(item);
      }
      if (page >= pagesIn(answer.json)) return { ok: true, items, isComplete };
      if (page >= PAGES_MAX) return { ok: true, items, isComplete: false };
    }
  }

  /** Like `readList`, also filtered here by the database service, because the service may ignore the parameter. */
  protected async readOwned<Item extends { readonly service_id?: string | undefined }>(
    kind: Kind<Item>,
    { service_id: id, signal }: OwnedQuery,
    query: Readonly<Record<string, string>> = {},
  ): Promise<List<Item> | ErrorResult> {
    if (id === undefined) return this.readList(kind, query, signal);
    const list = await this.readList(kind, { ...query, service_id: id }, signal);
    if (!list.ok) return list;
    return { ...list, items: list.items.filter(one => (one.service_id ?? id) === id) };
  }

  /**
   * Creates one item with a single POST. The specification leaves the answer open: any 2xx is a success, and `created`
   * is null if the answer does not contain the item.
   */
  protected async createOne<Item>(
    kind: Kind<Item>,
    body: unknown,
    signal: AbortSignal | undefined,
    path: string = this.path,
  ): Promise<Result<{ readonly created: Item | null }>> {
    const answer = await this.http.requestJson('POST', path, { body, signal });
    if (answer.ok) return { ok: true, created: readOne(answer.json, kind) };
    if (answer.error.reason === 'not_json') return { ok: true, created: null };
    return answer;
  }
}

/** Reads one item, which may be wrapped; null if there is none, as in an empty body. */
export function readOne<Item>(json: unknown, { name, read }: Kind<Item>): Item | null {
  return read(membersOf(json)[name.slice(0, -1)]) ?? read(json);
}

/** The answer itself, the list at its member, or the only list in the answer. */
function itemsIn(json: unknown, name: string): readonly unknown[] | null {
  if (Array.isArray(json)) return json;
  const members = membersOf(json);
  if (Array.isArray(members[name])) return members[name];
  const [only, ...others] = Object.values(members).filter(Array.isArray);
  return others.length > 0 ? null : (only ?? null);
}

function pagesIn(json: unknown): number {
  const count = membersOf(json)['pages_count'];
  return typeof count === 'number' ? count : 1;
}
