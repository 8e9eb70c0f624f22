// The common parts of the API's operations. Requests are checked strictly: an invalid one is refused before anything is
// sent, with a message that names the expected form and repeats no possible secret. Answers are read tolerantly: a list
// may be bare or wrapped, whole or in pages, a single item bare or wrapped; fields of an unexpected type count as absent,
// unknown fields are kept.

import * as z from 'zod';
import { systemClock } from '../lib/clock.ts';
import { cronProblem } from '../lib/cron.ts';
import { membersOf } from '../lib/json-pointer.ts';
import type { ReadOptions, ServiceHttp } from './http-client.ts';
import { type RequestProblem, type Result, unreadableAnswer } from './service-error.ts';

/** The most pages of a list; a longer one is marked as incomplete. */
const PAGES_MAX = 100;

/** For zod: no generated code for rarely used schemas, because it costs more memory than it saves time. */
export const JITLESS = { jitless: true } as const;

export interface ListRequest<Item> extends ReadOptions {
  readonly path: string;
  /** The member that wraps the list, such as `schedules`; also used in messages. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly item: z.ZodType<Item>;
}

export interface List<Item> {
  readonly items: readonly Item[];
  /** False when something is missing: pages beyond the limit, or items that are not objects. */
  readonly isComplete: boolean;
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

/** Reads all pages of a list. The first request has no page parameter, because some services do not know it. */
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
    // A service that ignores the parameter returns the same page again.
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

/** An item that belongs to a database service. */
interface Owned {
  readonly service_id?: string | undefined;
}

/** Like `readList`, filtered by `serviceId`, because the service may ignore the parameter. */
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
 * Creates one item with a single POST. The specification leaves the answer open: any 2xx is a success, and `created` is
 * null if the answer does not contain the item.
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

/** Reads one item, which may be wrapped; null if there is none, as in an empty body. */
export function readOne<Item>(json: unknown, name: string, item: z.ZodType<Item>): Item | null {
  const wrapped = item.safeParse(membersOf(json)[name], JITLESS);
  const read = wrapped.success ? wrapped : item.safeParse(json, JITLESS);
  return read.success ? read.data : null;
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

// The common fields of requests, with their rules.

const SHOWN_LENGTH_MAX = 60;
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

/** A valid bucket name for both kinds of storage. */
const BUCKET_NAME = /^[a-z\d](?:[a-z\d._-]{1,220})[a-z\d]$/;

/** The id of a database service. */
export const serviceId: z.ZodType<string> = textField(text =>
  /^[^\s\p{C}/?#]{1,200}$/u.test(text) ? null : 'expected the id of a database service',
);

/** A cron expression of five fields, or the word `once`. */
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

/** The path of an object in a bucket. */
export const objectPath: z.ZodType<string> = textField(text => {
  if (text === '') return 'expected the path of the backup in the bucket, got an empty text';
  if (/^\w+:\/\//.test(text)) return 'expected the path in the bucket, without scheme and bucket';
  if (/\p{C}/u.test(text)) return 'expected a path without control characters';
  return text.length <= 1024 ? null : 'expected a path of at most 1024 characters';
});

/** Credentials as they are sent. */
export const encodedCredentials: z.ZodType<string> = textField(text =>
  text !== '' && BASE64.test(text) ? null : 'expected credentials in standard base64',
);

/** A text that must not be shown. */
export const secretText: z.ZodType<string> = textField(text =>
  text !== '' && !/\p{Cc}/u.test(text) ? null : 'expected one line of text',
);

/** A non-empty text. */
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
