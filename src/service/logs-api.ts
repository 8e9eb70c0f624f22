// The log endpoints (service-spec 4, rule 6). LogsApi is a part of the typed client: it has the observed paths and
// shapes, and returns typed answers. LogApi serves the puller and the command line: it has the configured paths and
// shapes, and returns parsed JSON.

import type { LogEndpointsConfig } from '../config/config.ts';
import { DEFAULT_ENDPOINTS } from '../config/endpoints.ts';
import { isObject, type JsonPointer, membersOf, parsePointer } from '../lib/json-pointer.ts';
import type { BodySink } from './exchange.ts';
import { type Result, unreadableAnswer } from './service-error.ts';
import type {
  JsonAnswer,
  Priority,
  ReadOptions,
  ServiceAnswer,
  ServiceHttp,
  ServiceResult,
} from './http-client.ts';

export interface LogQuery extends ReadOptions {
  readonly from: Date;
  readonly to: Date;
  /** Such as `error-log`; all types if absent. */
  readonly type?: string | undefined;
  /** The data source id of a server. */
  readonly server?: string | undefined;
  /** From 0. */
  readonly page?: number | undefined;
}

/** An item of a list, such as an archive, with the service's fields. */
export type LogItem = Readonly<Record<string, unknown>>;

export interface RetentionRequest {
  readonly bucket_name: string;
  readonly provider: string;
  /** The service deletes older logs for good. */
  readonly retention_policy_days: number;
}

export interface ArchiveOptions extends ReadOptions {
  readonly format?: 'raw' | 'json';
  /** 256 MiB if absent. */
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

  /** One page of at most 100 archives in a time range; `count` is the total number, null if it is not reported. */
  async list(
    query: LogQuery,
  ): Promise<Result<{ readonly items: readonly LogItem[]; readonly count: number | null }>> {
    const { from, to, type = null, server, page = 0, signal } = query;
    const span = { fromMs: from.getTime(), toMs: to.getTime(), type };
    const asked = server === undefined ? span : { ...span, server };
    const answer = await this.#api.list(asked, page, { signal });
    const read = itemsOf(answer, 'logs');
    if (!read.ok) return read;
    const count = answer.ok ? membersOf(answer.json)['count'] : null;
    return { ok: true, items: read.items, count: typeof count === 'number' ? count : null };
  }

  /** Several archives in one file, usually a ZIP. `format` is the format of its lines. */
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

  /** The types of logs. */
  async types(options: ReadOptions = {}): Promise<Result<{ readonly items: readonly LogItem[] }>> {
    return itemsOf(await this.#api.types(options), 'logTypes');
  }

  /** The servers that have logs. */
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
  const list = Array.isArray(answer.json) ? answer.json : membersOf(answer.json)[name];
  if (!Array.isArray(list))
    return unreadableAnswer(`read the ${name}`, 'holds no list', answer.status);
  return { ok: true, items: list.filter(isObject) };
}

function objectOf(answer: ServiceResult<JsonAnswer>): Result<{ readonly retention: LogItem }> {
  if (!answer.ok) return answer;
  return { ok: true, retention: membersOf(answer.json) };
}

// The log endpoints of one API with the configured paths, parameter names and pointers into answers. One request per
// call, without interpretation.

export type LogPointers = Readonly<Record<keyof LogEndpointsConfig['pointers'], JsonPointer>>;

interface LogApiOptions {
  readonly client: ServiceHttp;
  readonly endpoints: LogEndpointsConfig;
  /** The API's timeout: for an archive it limits only the time without a byte. */
  readonly timeoutMs: number;
  /** `logs` for the puller, `command` for the command line. */
  readonly priority: Priority;
}

/** The filter of a list. */
export interface ListQuery {
  readonly fromMs: number;
  readonly toMs: number;
  /** Null: all types. */
  readonly type: string | null;
  readonly server?: string;
}

interface CallSettings {
  readonly signal?: AbortSignal | undefined;
}

/** The timeout of a whole archive. */
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

  /** How long logs are kept; the service may require a bucket in the query. */
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
