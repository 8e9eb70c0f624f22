// The common parts of the API's areas: the fields of requests and answers; reading a list, creating an item. Requests are
// checked strictly: an invalid one is refused before anything is sent, with a message that names the expected form and
// repeats no possible secret. Answers are read tolerantly: a list may be bare or wrapped, whole or in pages, a single item
// bare or wrapped; fields of an unexpected type count as absent, unknown fields are kept.

import * as z from 'zod';
import { systemClock } from '../lib/clock.ts';
import { cronProblem } from '../lib/cron.ts';
import { membersOf } from '../lib/json-pointer.ts';
import type { Query, ReadOptions, RequestOptions, ServiceHttp } from './http-client.ts';
import {
  type ErrorResult,
  type RequestProblem,
  type Result,
  unreadableAnswer,
} from './service-error.ts';

/** What a list or an item is called in messages and where it may be wrapped, and how an item is read. */
export interface Kind<Item> {
  /** The member that wraps a list, such as `schedules`; without its last letter, the one that wraps an item. */
  readonly name: string;
  /** Null for anything else. */
  readonly read: (json: unknown) => Item | null;
}

/** For zod: no generated code for rarely used schemas, because it costs more memory than it saves time. */
export const JITLESS = { jitless: true } as const;

export function kindOf<Item>(name: string, item: z.ZodType<Item>): Kind<Item> {
  return { name, read: json => item.safeParse(json, JITLESS).data ?? null };
}

/** A field that counts as absent when it is null or has another type. */
export function lenient<T>(type: z.ZodType<T>): z.ZodType<T | undefined> {
  return type.optional().catch(undefined);
}

/** Fields of an answer that may be absent. */
export const anyText: z.ZodType<string | undefined> = lenient(z.string());
export const anyNumber: z.ZodType<number | undefined> = lenient(z.number());
export const anyId: z.ZodType<number | string | undefined> = lenient(
  z.union([z.number(), z.string()]),
);

// The common fields of requests, with their rules.

const SHOWN_LENGTH_MAX = 60;
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

const BUCKET_NAME = /^[a-z\d](?:[a-z\d._-]{1,220})[a-z\d]$/;

export const serviceId: z.ZodType<string> = textField(text =>
  /^[^\s\p{C}/?#]{1,200}$/u.test(text) ? null : 'expected the id of a database service',
);

export const scheduleExpression: z.ZodType<string> = textField(text => {
  const problem = text === 'once' ? null : cronProblem(text, systemClock.nowMs());
  if (problem === null) return null;
  return `expected a cron expression of five fields such as "0 3 * * *", or once, got ${shown(text)}: ${problem}`;
});

/** The address of a bucket, without a path. */
export const bucketAddress: z.ZodType<string> = textField(text => {
  const [scheme = '', name = '', ...rest] = text.split(/:\/\/|\//);
  if (!/^(?:s3|gs):\/\//.test(text))
    return `expected s3://NAME or gs://NAME, got ${shown(text)}${/^(?:s3|gs)$/i.test(scheme) ? ': the scheme is in lower case' : ''}`;
  if (rest.length > 0)
    return `expected the bucket alone, as ${scheme}://${name}, without a path after it`;
  return BUCKET_NAME.test(name) ? null : `${shown(name)} is not a bucket name`;
});

export const objectPath: z.ZodType<string> = textField(text => {
  if (text === '') return 'expected the path of the backup in the bucket, got an empty text';
  if (/^\w+:\/\//.test(text)) return 'expected the path in the bucket, without scheme and bucket';
  if (/\p{C}/u.test(text)) return 'expected a path without control characters';
  return text.length <= 1024 ? null : 'expected a path of at most 1024 characters';
});

export const encodedCredentials: z.ZodType<string> = textField(text =>
  text !== '' && BASE64.test(text) ? null : 'expected credentials in standard base64',
);

/** A text that must not be shown. */
export const secretText: z.ZodType<string> = textField(text =>
  text !== '' && !/\p{Cc}/u.test(text) ? null : 'expected one line of text',
);

export const someText: z.ZodType<string> = textField(text =>
  text.trim() === '' ? 'expected a text, got an empty one' : null,
);

/** `check` returns the problem, or null. */
export function textField(check: (text: string) => string | null): z.ZodType<string> {
  return z.string({ error: 'expected a text' }).check(context => {
    const problem = check(context.value);
    if (problem !== null)
      context.issues.push({ code: 'custom', message: problem, input: context.value });
  });
}

/** The problems of a request, or null. */
export function problemsOf(schema: z.ZodType, request: unknown): readonly RequestProblem[] | null {
  const read = schema.safeParse(request);
  if (read.success) return null;
  return read.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, 60)}…` : text);
}

// The operations.

/** The most pages of a list; a longer one is marked as incomplete. */
const PAGES_MAX = 100;

/** The filter of a list. */
export interface OwnedQuery extends ReadOptions {
  /** Only those of this database service. Some deployments require it. */
  readonly service_id?: string | undefined;
}

interface List<Item> {
  readonly ok: true;
  readonly items: readonly Item[];
  /** False when something is missing: pages, items that the service has counted, or items that are not objects. */
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

  /** The error of an answer with a status of success and an unusable body. */
  protected unreadable(what: string, cause: string, status: number): ErrorResult {
    return unreadableAnswer(what, cause, status, this.http.nameOf('api.base_url'));
  }

  /** Reads all pages of a list. The first request has no page parameter, because some services do not know it. */
  protected async readList<Item>(
    { name, read }: Kind<Item>,
    query: Query,
    signal: AbortSignal | undefined,
  ): Promise<List<Item> | ErrorResult> {
    const items: Item[] = [];
    let isComplete = true;
    let seenCount = 0;
    let last = '';
    for (let page = 1; ; page++) {
      const paged = page === 1 ? query : { ...query, page };
      const answer = await this.http.requestJson('GET', this.path, { query: paged, signal });
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
  ): Promise<List<Item> | ErrorResult> {
    const list = await this.readList(kind, { ...query, service_id: id }, signal);
    if (!list.ok || id === undefined) return list;
    return { ...list, items: list.items.filter(one => (one.service_id ?? id) === id) };
  }

  /**
   * Creates one item with a single POST. The specification leaves the answer open: any 2xx is a success, and `created`
   * is null if the answer does not contain the item.
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
function itemsIn(json: unknown, name: string): readonly unknown[] | null {
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
 * True if there are more items after this page, by the number of pages; without it by the number of items, or a link to the
 * next page.
 */
function isMoreAfter(json: unknown, name: string, page: number, seenCount: number): boolean {
  const members = membersOf(json);
  const pages = numberOf(members['pages_count']);
  if (pages !== null) return page < pages;
  const isLinked = NEXT_MEMBERS.some(member => !isNothing(members[member] ?? null));
  return isLinked || seenCount < (numberOf(members[`${name}_count`]) ?? 0);
}

const NEXT_MEMBERS: readonly string[] = ['next', 'next_page', 'next_page_token', 'has_more'];

function numberOf(value: unknown): number | null {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : null;
}
