// Restores from external storage (service-spec 2.5). The specification describes the body but no path: the paths are
// those observed on deployments, and configurable. A restore erases the data of the target service.

import * as z from 'zod';
import type { Clock } from '../lib/clock.ts';
import { membersOf } from '../lib/json.ts';
import { ApiArea, itemsIn, type OwnedQuery, readOne } from './api-area.ts';
import {
  anyId,
  anyText,
  bucketAddress,
  encodedCredentials,
  kindOf,
  objectPath,
  problemsOf,
  secretText,
  serviceId,
  someText,
} from './operations.ts';
import { secretsIn } from './credentials-file.ts';
import type { ReadOptions, ServiceHttp } from './http-client.ts';
import {
  type ErrorResult,
  refusedRequest,
  type RequestProblem,
  type Result,
} from './service-error.ts';

export interface RestoreRequest {
  /** The database service to restore into. Its data is erased. */
  readonly service_id: string;
  /** The path of the backup in the bucket. */
  readonly key: string;
  readonly external_source: {
    /** `gs://NAME` or `s3://NAME`, with or without a slash at the end. */
    readonly bucket: string;
    /** The tool that made the backup, in a word of the service: it decides which it takes. */
    readonly method: string;
    /** Base64 of one of the two formats of section 2.6: see `encodeCredentials`. */
    readonly credentials: string;
    /** Only for an encrypted backup. */
    readonly encryption_key?: string;
  };
}

/** A restore in the service's answer. Any field may be missing; further fields are kept. */
export interface Restore {
  readonly [field: string]: unknown;
  readonly id?: number | string | undefined;
  readonly service_id?: string | undefined;
  /** `Running`, `Succeeded`, or another word of the service. */
  readonly status?: string | undefined;
  readonly message?: string | undefined;
  readonly type?: string | undefined;
  /** RFC 3339. */
  readonly created_at?: string | undefined;
}

export type RestoreQuery = OwnedQuery;

/** The times to which a service can be restored. */
export interface RestoreWindow {
  readonly [field: string]: unknown;
  readonly service_id?: string | undefined;
  /** RFC 3339, as is the end. */
  readonly start_time: string;
  readonly end_time: string;
}

const restoreRequest: z.ZodType = z.strictObject({
  service_id: serviceId,
  key: objectPath,
  external_source: z.strictObject({
    bucket: bucketAddress,
    method: someText,
    credentials: encodedCredentials,
    encryption_key: secretText.optional(),
  }),
});

const restore: z.ZodType<Restore> = z.looseObject({
  id: anyId,
  service_id: anyText,
  status: anyText,
  message: anyText,
  type: anyText,
  created_at: anyText,
});

const restoreWindow: z.ZodType<RestoreWindow> = z.looseObject({
  service_id: anyText,
  start_time: z.string(),
  end_time: z.string(),
});

/** The problems of a request, or null. `create` checks them before it sends anything. */
export function restoreProblems(request: RestoreRequest): readonly RequestProblem[] | null {
  return problemsOf(restoreRequest, request);
}

const RESTORES = kindOf('restores', restore);
const WINDOWS = kindOf('windows', restoreWindow);

export interface RestorePaths {
  readonly restores: string;
  readonly lookup: string | null;
  readonly restoreKey: 'key' | 'id';
}

export class RestoresApi extends ApiArea {
  readonly #keyMember: 'key' | 'id';
  readonly #lookupPath: string;

  /** `restoreKey`: the service's name for the member `key`. */
  constructor(http: ServiceHttp, paths: RestorePaths) {
    super(http, paths.restores);
    this.#keyMember = paths.restoreKey;
    this.#lookupPath = paths.lookup ?? this.#below('/pointintime/lookup');
  }

  /** The configured path may have a query. */
  #below(rest: string): string {
    return this.path.replace(/(?=\?|$)/, rest);
  }

  /** All restores that the key can see, or those into one service. */
  async list(
    query: RestoreQuery = {},
  ): Promise<Result<{ readonly restores: readonly Restore[]; readonly isComplete: boolean }>> {
    const read = await this.readOwned(RESTORES, query);
    return read.ok ? { ok: true, restores: read.items, isComplete: read.isComplete } : read;
  }

  async show(
    id: string | number,
    { signal }: ReadOptions = {},
  ): Promise<Result<{ readonly restore: Restore }>> {
    const path = this.#below(`/${encodeURIComponent(String(id))}`);
    const options = { signal, isPlain: false, isExact: true };
    const answer = await this.http.requestJson('GET', path, options);
    if (!answer.ok) return answer;
    const found = readOne(answer.json, RESTORES);
    if (found !== null) return { ok: true, restore: found };
    return this.unreadable('read the restore', 'is no JSON object', answer.status);
  }

  /** The point-in-time window of one service; null if the answer has none. Many deployments have no such look-up. */
  async window(
    id: string,
    { signal }: ReadOptions = {},
  ): Promise<Result<{ readonly window: RestoreWindow | null }>> {
    const options = { query: { service_id: id }, signal, isExact: true };
    const answer = await this.http.requestJson('GET', this.#lookupPath, options);
    if (!answer.ok) return answer;
    // One window, one by each service's id, or a list of windows.
    const { json } = answer;
    const candidates = [json, membersOf(json)[id], ...(itemsIn(json, WINDOWS.name) ?? [])];
    const windows = candidates.map(one => readOne(one, WINDOWS));
    const own = windows.find(one => one !== null && (one.service_id ?? id) === id);
    return { ok: true, window: own ?? null };
  }

  /**
   * Begins a restore with a single request; `restoreOnce` also handles a lost answer. `restore` is null if the answer
   * does not describe it.
   */
  async create(
    request: RestoreRequest,
    { signal }: ReadOptions = {},
  ): Promise<Result<{ readonly restore: Restore | null }>> {
    const problems = restoreProblems(request);
    if (problems !== null) return refusedRequest('create the restore', problems);
    const { key, ...others } = request;
    const body = { ...others, [this.#keyMember]: key };
    const { credentials, encryption_key } = request.external_source;
    const own = encryption_key === undefined ? [] : [encryption_key];
    const secrets = [...secretsIn(credentials), ...own];
    const result = await this.createOne(RESTORES, { body, signal, secrets });
    return result.ok ? { ok: true, restore: result.created } : result;
  }
}

// Begins a restore at most once, even if an answer is lost. The service cannot distinguish a repeated request from a second
// restore, and a restore erases data, so the request is never repeated. After a lost answer, a new restore in the list of
// restores shows that it has begun. A list without it proves nothing, because the request may still be on its way.

export interface RestoreOnceOptions extends ReadOptions {
  readonly clock: Clock;
  /** Called with a line about each unusual event. */
  readonly onNews?: (line: string) => void;
}

export interface Begun {
  /** Null if the answer does not describe it. */
  readonly restore: Restore | null;
}

/** How often, and at which interval, the list is checked: a request without an answer may still arrive. */
const LOOKS = 3;
const LOOK_APART_MS = 5000;

/** An error with `isOutcomeUnknown` means that the restore may be running: check the service before you try again. */
export async function restoreOnce(
  api: RestoresApi,
  request: RestoreRequest,
  options: RestoreOnceOptions,
): Promise<Result<Begun>> {
  const { signal, onNews = () => undefined } = options;
  const before = await listKnown(api, request, signal);
  const result = await api.create(request, { signal });
  if (result.ok || !result.error.isOutcomeUnknown) return result;
  onNews(`${result.error.message}: the restore may have begun anyway`);
  if (typeof before === 'string') return unsure(result, before);
  const found = await findNew(api, request, before, options);
  if (typeof found === 'string') return unsure(result, found);
  onNews('it has begun: it is in the list of restores, and was not before');
  return { ok: true, restore: found };
}

/** The restores into the service by id, or by time without an id; or why they cannot be compared. */
async function listKnown(
  api: RestoresApi,
  { service_id }: RestoreRequest,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, Restore> | string> {
  const list = await api.list({ service_id, signal });
  if (!list.ok || !list.isComplete) return 'the restores cannot be listed';
  const known = new Map<string, Restore>();
  for (const one of list.restores) {
    // A restore may get its time later: the time counts only without an id.
    const key = one.id ?? one.created_at;
    if (key === undefined) return 'a restore in the list has neither an id nor a time';
    known.set(String(key), one);
  }
  return known;
}

/** The new restore, or why it is not known whether there is one. */
async function findNew(
  api: RestoresApi,
  request: RestoreRequest,
  before: ReadonlyMap<string, Restore>,
  { clock, signal }: RestoreOnceOptions,
): Promise<Restore | string> {
  let why = 'it is not in the list of restores';
  for (let look = 0; look < LOOKS; look++) {
    await clock.sleep(LOOK_APART_MS, signal);
    if (signal?.aborted === true) return 'the program was stopped before it could check';
    const list = await listKnown(api, request, signal);
    if (typeof list === 'string') {
      why = list;
      continue;
    }
    for (const [key, one] of list) if (!before.has(key)) return one;
  }
  return why;
}

function unsure({ error }: ErrorResult, why: string): ErrorResult {
  const hint =
    `it is not known whether it has begun (${why}). A second restore would erase the service again: ` +
    'check the list of restores and the data of the service before you try again';
  return { ok: false, error: { ...error, hint } };
}
