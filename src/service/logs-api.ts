// The log endpoints (service-spec 4, rule 6) for other programs: one call, one answer, in the shape that has been seen.
// The puller of this program asks them through LogApi, which knows every shape of the configuration.

import type { LogEndpointsConfig } from '../config/config.ts';
import { DEFAULT_ENDPOINTS } from '../config/endpoints.ts';
import { type JsonPointer, parsePointer } from '../lib/json-pointer.ts';
import type { ReadOptions } from './operations.ts';
import type { Priority } from './http-client.ts';
import type { BodySink } from './exchange.ts';
import { type Result, unreadableAnswer } from './service-error.ts';
import type { JsonAnswer, ServiceAnswer, ServiceHttp, ServiceResult } from './http-client.ts';

export interface LogQuery extends ReadOptions {
  readonly from: Date;
  readonly to: Date;
  /** Such as `error-log`; all when absent. */
  readonly type?: string | undefined;
  /** Data source id of a server. */
  readonly server?: string | undefined;
  /** From 0. */
  readonly page?: number | undefined;
}

/** What the list holds: descriptors of archives, with the fields that the service gives them. */
export type LogItem = Readonly<Record<string, unknown>>;

export interface RetentionRequest {
  readonly bucket_name: string;
  readonly provider: string;
  /** Older logs are deleted by the service for good. */
  readonly retention_policy_days: number;
}

export interface ArchiveOptions extends ReadOptions {
  readonly format?: 'raw' | 'json';
  /** 256 MiB when absent. */
  readonly maxBytes?: number;
}

const ARCHIVE_BYTES_MAX = 256 * 1024 * 1024;

export class LogsApi {
  readonly #http: ServiceHttp;
  readonly #api: LogApi;

  constructor(http: ServiceHttp) {
    this.#http = http;
    const { logs: endpoints } = DEFAULT_ENDPOINTS;
    this.#api = new LogApi({ client: http, endpoints, timeoutMs: 10_000, priority: 'command' });
  }

  /** One page of at most 100 archives of a time; `count` is the number of all, null where it is not reported. */
  async list(
    query: LogQuery,
  ): Promise<Result<{ readonly items: readonly LogItem[]; readonly count: number | null }>> {
    const { from, to, type = null, server, page = 0, signal } = query;
    const span = { fromMs: from.getTime(), toMs: to.getTime(), type };
    const asked = server === undefined ? span : { ...span, server };
    const answer = await this.#api.list(asked, page, { signal });
    const read = itemsOf(answer, 'logs');
    if (!read.ok) return read;
    const count = answer.ok ? memberOf(answer.json, 'count') : null;
    return { ok: true, items: read.items, count: typeof count === 'number' ? count : null };
  }

  /** Archives as one file, packed as the service packs them: usually a ZIP. `format` is that of the lines in it. */
  async archive(
    ids: readonly string[],
    { format = 'raw', maxBytes = ARCHIVE_BYTES_MAX, signal }: ArchiveOptions = {},
  ): Promise<Result<{ readonly bytes: Buffer; readonly contentType: string }>> {
    const { archive, parameters } = DEFAULT_ENDPOINTS.logs;
    const answer = await this.#http.get(archive, {
      query: { [parameters.ids]: ids.join(','), [parameters.format]: format },
      accept: 'application/zip, application/gzip, */*;q=0.5',
      maxBodyBytes: maxBytes,
      signal,
    });
    if (!answer.ok) return answer;
    return { ok: true, bytes: answer.body, contentType: answer.contentType };
  }

  /** The types of logs that there are. */
  async types(options: ReadOptions = {}): Promise<Result<{ readonly items: readonly LogItem[] }>> {
    return itemsOf(await this.#api.types(options), 'logTypes');
  }

  /** The servers that log. */
  async servers({
    from,
    to,
    type,
    signal,
  }: Partial<LogQuery> = {}): Promise<Result<{ readonly items: readonly LogItem[] }>> {
    const asked = {
      ...(from === undefined ? {} : { fromMs: from.getTime() }),
      ...(to === undefined ? {} : { toMs: to.getTime() }),
      ...(type === undefined ? {} : { type }),
    };
    return itemsOf(await this.#api.servers(asked, { signal }), 'servers');
  }

  /** How long logs are kept. */
  async retention(
    query: Readonly<Record<string, string>> = {},
    options: ReadOptions = {},
  ): Promise<Result<{ readonly retention: LogItem }>> {
    return objectOf(await this.#api.retention(query, options));
  }

  async setRetention(
    request: RetentionRequest,
    options: ReadOptions = {},
  ): Promise<Result<{ readonly retention: LogItem }>> {
    return objectOf(await this.#api.setRetention(request, options));
  }
}

function itemsOf(
  answer: ServiceResult<JsonAnswer>,
  name: string,
): Result<{ readonly items: readonly LogItem[] }> {
  if (!answer.ok) return answer;
  const list = Array.isArray(answer.json) ? answer.json : memberOf(answer.json, name);
  if (!Array.isArray(list))
    return unreadableAnswer(`read the ${name}`, 'holds no list', answer.status);
  return { ok: true, items: list.filter(isObject) };
}

function objectOf(answer: ServiceResult<JsonAnswer>): Result<{ readonly retention: LogItem }> {
  if (!answer.ok) return answer;
  return { ok: true, retention: isObject(answer.json) ? answer.json : {} };
}

function memberOf(json: unknown, name: string): unknown {
  return isObject(json) ? json[name] : undefined;
}

function isObject(value: unknown): value is LogItem {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// The log endpoints of one API in the shape that the configuration gives them: paths, names of parameters, where
// answers hold what. One request per call; what it means is for others to say.

export type LogPointers = Readonly<Record<keyof LogEndpointsConfig['pointers'], JsonPointer>>;

interface LogApiOptions {
  readonly client: ServiceHttp;
  readonly endpoints: LogEndpointsConfig;
  /** The API's own timeout, which holds for every answer but an archive, and between any two pieces of that. */
  readonly timeoutMs: number;
  /** `logs` for the puller, `command` for people. */
  readonly priority: Priority;
}

/** What a list is asked for. */
export interface ListQuery {
  readonly fromMs: number;
  readonly toMs: number;
  /** null: of any type. */
  readonly type: string | null;
  readonly server?: string;
}

interface CallSettings {
  readonly signal?: AbortSignal | undefined;
}

/** Of a whole archive, however slowly it comes. */
const ARCHIVE_TIMEOUT_MS = 900_000;
const LIST_BYTES_MAX = 32 * 1024 * 1024;

export class LogApi {
  readonly endpoints: LogEndpointsConfig;
  readonly pointers: LogPointers;
  readonly #options: LogApiOptions;

  constructor(options: LogApiOptions) {
    this.#options = options;
    this.endpoints = options.endpoints;
    const pointers = Object.entries<string>(options.endpoints.pointers);
    this.pointers = Object.fromEntries(
      pointers.map(([name, text]) => [name, parsePointer(text)]),
    ) as Record<keyof LogPointers, JsonPointer>;
  }

  /** One page; `page` counts from 0. */
  list(query: ListQuery, page: number, settings: CallSettings): Promise<ServiceResult<JsonAnswer>> {
    const { parameters: names, pageSize, pagination } = this.endpoints;
    const paging = {
      [names.limit]: pageSize,
      [names.offset]: pagination === 'page' ? page + 1 : page * pageSize,
    };
    const order = this.pointers.start.at(-1);
    return this.#get(this.endpoints.list, settings, {
      [names.from]: new Date(query.fromMs).toISOString(),
      [names.to]: new Date(query.toMs).toISOString(),
      ...(query.type === null ? {} : { [names.type]: query.type }),
      ...(query.server === undefined ? {} : { [names.server]: query.server }),
      ...(order === undefined ? {} : { [names.order]: order }),
      ...(pagination === 'none' ? {} : paging),
    });
  }

  /** One archive, of at most `maxBytes`, into a sink. */
  archive(
    id: string,
    sink: BodySink,
    settings: CallSettings & { readonly maxBytes: number; readonly format?: 'json' | 'raw' },
  ): Promise<ServiceResult<ServiceAnswer>> {
    const { parameters, archive, format } = this.endpoints;
    const { client, timeoutMs, priority } = this.#options;
    return client.download(archive, {
      query: { [parameters.ids]: id, [parameters.format]: settings.format ?? format },
      accept: 'application/zip, application/gzip, */*;q=0.5',
      sink,
      maxBodyBytes: settings.maxBytes,
      idleTimeoutMs: timeoutMs,
      timeoutMs: Math.max(ARCHIVE_TIMEOUT_MS, timeoutMs),
      signal: settings.signal,
      priority,
    });
  }

  types(settings: CallSettings): Promise<ServiceResult<JsonAnswer>> {
    return this.#get(this.endpoints.types, settings, {});
  }

  servers(query: Partial<ListQuery>, settings: CallSettings): Promise<ServiceResult<JsonAnswer>> {
    const { parameters: names } = this.endpoints;
    const { fromMs, toMs, type } = query;
    return this.#get(this.endpoints.servers, settings, {
      ...(fromMs === undefined ? {} : { [names.from]: new Date(fromMs).toISOString() }),
      ...(toMs === undefined ? {} : { [names.to]: new Date(toMs).toISOString() }),
      ...(type === undefined || type === null ? {} : { [names.type]: type }),
    });
  }

  /** How long logs are kept; the service may want to know of which bucket. */
  retention(
    query: Readonly<Record<string, string>>,
    settings: CallSettings,
  ): Promise<ServiceResult<JsonAnswer>> {
    return this.#get(this.endpoints.retention, settings, query);
  }

  setRetention(body: object, settings: CallSettings): Promise<ServiceResult<JsonAnswer>> {
    const { client, priority } = this.#options;
    return client.requestJson('POST', this.endpoints.retention, { ...settings, body, priority });
  }

  #get(
    path: string,
    { signal }: CallSettings,
    query: Readonly<Record<string, string | number>>,
  ): Promise<ServiceResult<JsonAnswer>> {
    const { client, priority } = this.#options;
    const maxBodyBytes = LIST_BYTES_MAX;
    return client.requestJson('GET', path, { query, signal, priority, maxBodyBytes });
  }
}
