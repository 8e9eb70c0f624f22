// Reads what the service answers, tolerantly: a list comes bare or wrapped, whole or in pages, a single thing bare or
// wrapped; fields of an unexpected kind count as absent, fields that nobody knows are kept.

import * as z from 'zod';
import type { ServiceHttp } from './http.ts';
import { type Result, unreadableAnswer } from './service-error.ts';

/** More pages than this are not asked for, and the list says that it is not complete. */
const PAGES_MAX = 100;

/** For zod: it writes no functions for schemas that are used rarely; they cost more memory than they save time. */
export const JITLESS = { jitless: true } as const;

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ListRequest<Item> extends ReadOptions {
  readonly path: string;
  /** The member that wraps the list, which names the things too: `schedules`. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly item: z.ZodType<Item>;
}

export interface List<Item> {
  readonly items: readonly Item[];
  /** False when something of it is missing: pages beyond the limit, or items that are no objects. */
  readonly isComplete: boolean;
}

/** A field that counts as absent when it is null or of another kind. */
export function lenient<T>(type: z.ZodType<T>): z.ZodType<T | undefined> {
  return type.optional().catch(undefined);
}

/** Fields of an answer that may be absent. */
export const anyText: z.ZodType<string | undefined> = lenient(z.string());
export const anyNumber: z.ZodType<number | undefined> = lenient(z.number());
export const anyId: z.ZodType<number | string | undefined> = lenient(
  z.union([z.number(), z.string()]),
);

/** Reads all pages of a list. The first request names no page, for services that know of none. */
async function readList<Item>(
  http: ServiceHttp,
  { path, name, query = {}, item, signal }: ListRequest<Item>,
): Promise<Result<List<Item>>> {
  const items: Item[] = [];
  let isComplete = true;
  let last = '';
  for (let page = 1; ; page++) {
    const paged = page === 1 ? query : { ...query, page };
    const answer = await http.requestJson('GET', path, { query: paged, signal });
    if (!answer.ok) return answer;
    const found = itemsIn(answer.json, name);
    if (found === null) return unreadableAnswer(`read the ${name}`, 'holds no list', answer.status);
    // A service that ignores the page gives the same one again.
    const text = JSON.stringify(found);
    if (found.length === 0 || text === last)
      return { ok: true, items, isComplete: isComplete && found.length === 0 };
    last = text;
    for (const one of found) {
      const read = item.safeParse(one, JITLESS);
      if (read.success) items.push(read.data);
      else isComplete = false;
    }
    if (page >= pagesIn(answer.json)) return { ok: true, items, isComplete };
    if (page >= PAGES_MAX) return { ok: true, items, isComplete: false };
  }
}

/** Things that belong to a database service. */
interface Owned {
  readonly service_id?: string | undefined;
}

/** As `readList`, of one service where `serviceId` names one: the service may not know the parameter. */
export async function readOwned<Item extends Owned>(
  http: ServiceHttp,
  request: ListRequest<Item>,
  serviceId: string | undefined,
): Promise<Result<List<Item>>> {
  if (serviceId === undefined) return readList(http, request);
  const query = { ...request.query, service_id: serviceId };
  const read = await readList(http, { ...request, query });
  if (!read.ok) return read;
  const items = read.items.filter(one => (one.service_id ?? serviceId) === serviceId);
  return { ...read, items };
}

export interface CreateRequest<Item> extends ReadOptions {
  readonly path: string;
  /** The member that may wrap the answer. */
  readonly name: string;
  readonly body: unknown;
  readonly item: z.ZodType<Item>;
}

/**
 * Creates one thing, with a single POST. The specification shows no answer for these: any success is one, and what is
 * created is null where the answer does not tell.
 */
export async function createOne<Item>(
  http: ServiceHttp,
  { path, name, body, item, signal }: CreateRequest<Item>,
): Promise<Result<{ readonly created: Item | null }>> {
  const answer = await http.requestJson('POST', path, { body, signal });
  if (answer.ok) return { ok: true, created: readOne(answer.json, name, item) };
  if (answer.error.reason === 'not_json') return { ok: true, created: null };
  return answer;
}

/** Reads one thing, which may be wrapped; null for an answer without one, as an empty body. */
export function readOne<Item>(json: unknown, name: string, item: z.ZodType<Item>): Item | null {
  const wrapped = item.safeParse(membersOf(json)[name], JITLESS);
  const read = wrapped.success ? wrapped : item.safeParse(json, JITLESS);
  return read.success ? read.data : null;
}

/** The list at its member, bare, or the only list that the answer has. */
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

function membersOf(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
}
