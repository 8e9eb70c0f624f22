// The log endpoints of one API in the shape that the configuration gives them: paths, names of parameters, where
// answers hold what. One request per call; what it means is for others to say.

import type { LogEndpointsConfig } from '../config/config.ts';
import { type JsonPointer, parsePointer } from '../lib/json-pointer.ts';
import type { BodySink } from './exchange.ts';
import type { JsonAnswer, ServiceAnswer, ServiceHttp, ServiceResult } from './http.ts';
import type { Priority } from './call.ts';

export type LogPointers = Readonly<Record<keyof LogEndpointsConfig['pointers'], JsonPointer>>;

export interface LogApiOptions {
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

export interface CallSettings {
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
