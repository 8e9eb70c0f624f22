// The log endpoints (service-spec 4, rule 6). The puller and the command line use the configured paths, parameter names
// and pointers into answers; other programs use the observed ones by default.

import type { LogEndpointsConfig } from '../config/config.ts';
import { DEFAULT_ENDPOINTS } from '../config/endpoints.ts';
import {
  follow,
  isObject,
  type JsonPointer,
  membersOf,
  parsePointer,
} from '../lib/json-pointer.ts';
import { ApiArea } from './api-area.ts';
import { type BodySink, headerText, type Part } from './exchange.ts';
import type { JsonAnswer, Query, ReadOptions, ServiceHttp } from './http-client.ts';
import type { Result } from './service-error.ts';

export interface LogQuery extends ReadOptions {
  readonly from: Date;
  readonly to: Date;
  /** Such as `error-log`; all types if absent. */
  readonly type?: string | undefined;
  /** The data source id of a server. */
  readonly server?: string | undefined;
  /** From 0. */
  readonly page?: number | undefined;
  /** The number of items on the pages before, if the service may send fewer per page than requested. */
  readonly offset?: number | undefined;
}

/** An item of a list, such as an archive, with the service's fields. A type or server that is a text is its `value`. */
export type LogItem = Readonly<Record<string, unknown>>;

/** One page of a list. */
export interface LogPage {
  /** Parsed JSON of any kind; null if the answer holds no list. */
  readonly items: readonly unknown[] | null;
  /** The number of items in the whole list; null if it is not reported. */
  readonly count: number | null;
  /** The service's clock, to the second; null if the answer has no date. */
  readonly serverNowMs: number | null;
}

export interface RetentionRequest {
  readonly bucket_name: string;
  readonly provider: string;
  /** The service deletes older logs permanently. */
  readonly retention_policy_days: number;
}

export interface ArchiveOptions extends ReadOptions {
  /** The format of the lines in the archive. */
  readonly format?: 'raw' | 'json';
  /** 256 MiB if absent. */
  readonly maxBytes?: number;
}

export type LogPointers = Readonly<Record<keyof LogEndpointsConfig['pointers'], JsonPointer>>;

/** Two parameters may have the same configured name: one without a value does not replace the other. */
type Pairs = readonly (readonly [name: string, value: Query[string]])[];

type LogItems = Result<{ readonly items: readonly LogItem[]; readonly serverNowMs: number | null }>;
type Retention = Result<{ readonly retention: LogItem; readonly json: unknown }>;

const ARCHIVE_BYTES_MAX = 256 * 1024 * 1024;
const LIST_BYTES_MAX = 32 * 1024 * 1024;
const ACCEPT = 'application/zip, application/gzip, */*;q=0.5';

export class LogsApi extends ApiArea {
  readonly endpoints: LogEndpointsConfig;
  readonly pointers: LogPointers;
  readonly #part: Part;

  constructor(
    http: ServiceHttp,
    endpoints: LogEndpointsConfig = DEFAULT_ENDPOINTS.logs,
    part: Part = 'command',
  ) {
    super(http, endpoints.list);
    this.endpoints = endpoints;
    this.#part = part;
    const pointers = Object.entries<string>(endpoints.pointers);
    this.pointers = Object.fromEntries(
      pointers.map(([name, text]) => [name, parsePointer(text)]),
    ) as Record<keyof LogPointers, JsonPointer>;
  }

  /** One page of archives in a time range (100 by default); `count` is the total number, null if it is not reported. */
  async list(
    query: LogQuery,
  ): Promise<Result<{ readonly items: readonly LogItem[]; readonly count: number | null }>> {
    const answer = await this.page(query);
    if (!answer.ok) return answer;
    const { items, count } = answer;
    if (items === null) return this.unreadable('read the logs', 'holds no list', 200);
    return { ok: true, items: items.filter(isObject), count };
  }

  /** Like `list`, for the puller: with items of any kind, and the time of the service. */
  async page(query: LogQuery): Promise<Result<LogPage>> {
    const { parameters: names, pageSize, pagination } = this.endpoints;
    const { page = 0, offset = page * pageSize } = query;
    const order = this.pointers.start.at(-1);
    const answer = await this.#get(this.path, query, [
      ...this.#filterOf(query),
      [names.server, query.server],
      [names.order, order],
      [names.limit, pagination === 'none' ? undefined : pageSize],
      [names.offset, { none: undefined, page: page + 1, offset }[pagination]],
    ]);
    if (!answer.ok) return answer;
    const { json } = answer;
    const count = follow(this.pointers.count, json);
    const isCount = typeof count === 'number' && Number.isSafeInteger(count) && count >= 0;
    const found = follow(this.pointers.items, json);
    // A missing list with a count of 0 is an empty list.
    const isEmpty = (found === undefined || found === null) && count === 0;
    const items = [found, json, isEmpty ? [] : null].find(Array.isArray) ?? null;
    return { ok: true, items, count: isCount ? count : null, serverNowMs: timeOf(answer) };
  }

  /** Several archives in one file, usually a ZIP. */
  async archive(
    ids: readonly string[],
    options: ArchiveOptions = {},
  ): Promise<Result<{ readonly bytes: Buffer; readonly contentType: string }>> {
    const answer = await this.http.get(this.endpoints.archive, this.#archiveRequest(ids, options));
    if (!answer.ok) return answer;
    return { ok: true, bytes: answer.body, contentType: answer.contentType };
  }

  /** Like `archive`, into a sink, in the configured format by default. Bytes of a failed attempt stay in the sink. */
  async download(
    ids: readonly string[],
    sink: BodySink,
    options: ArchiveOptions,
  ): Promise<Result<object>> {
    const { archive, format } = this.endpoints;
    const request = this.#archiveRequest(ids, { format, ...options });
    return this.http.get(archive, { ...request, sink, part: this.#part });
  }

  /** The types of logs. */
  async types(options: ReadOptions = {}): Promise<LogItems> {
    const answer = await this.#get(this.endpoints.types, options, []);
    return answer.ok ? this.#itemsOf(answer, 'log types') : answer;
  }

  /** The servers that have logs. */
  async servers(query: Partial<LogQuery> = {}): Promise<LogItems> {
    const answer = await this.#get(this.endpoints.servers, query, this.#filterOf(query));
    return answer.ok ? this.#itemsOf(answer, 'servers') : answer;
  }

  /** How long logs are kept; the service may require a bucket in the query. */
  async retention(
    query: Readonly<Record<string, string>> = {},
    options: ReadOptions = {},
  ): Promise<Retention> {
    const pairs = Object.entries(query);
    return retentionOf(await this.#get(this.endpoints.retention, options, pairs, false));
  }

  async setRetention(request: RetentionRequest, { signal }: ReadOptions = {}): Promise<Retention> {
    const options = { body: request, signal, part: this.#part };
    const answer = await this.http.requestJson('POST', this.endpoints.retention, options);
    // The specification leaves the answer open.
    if (!answer.ok && answer.error.reason === 'not_json')
      return { ok: true, retention: {}, json: undefined };
    return retentionOf(answer);
  }

  #filterOf({ from, to, type }: Partial<LogQuery>): Pairs {
    const { parameters: names } = this.endpoints;
    return [
      [names.from, from?.toISOString()],
      [names.to, to?.toISOString()],
      [names.type, type],
    ];
  }

  #archiveRequest(ids: readonly string[], options: ArchiveOptions) {
    const { parameters: names } = this.endpoints;
    const { format = 'raw', maxBytes = ARCHIVE_BYTES_MAX, signal } = options;
    const query = { [names.ids]: ids.join(','), [names.format]: format };
    return { query, accept: ACCEPT, maxBodyBytes: maxBytes, signal };
  }

  #get(
    path: string,
    { signal }: ReadOptions,
    pairs: Pairs,
    isPlain?: boolean,
  ): Promise<Result<JsonAnswer>> {
    const query = Object.fromEntries(pairs.filter(([, value]) => value !== undefined));
    const more = isPlain === undefined ? {} : { isPlain };
    const limits = { part: this.#part, maxBodyBytes: LIST_BYTES_MAX, ...more };
    // Archives are downloaded by their ids.
    return this.http.requestJson('GET', path, { query, signal, isExact: true, ...limits });
  }

  /** The list in an answer of any shape: the answer itself, the one at the pointer, or the first one. */
  #itemsOf(answer: JsonAnswer, name: string): LogItems {
    const { json, status } = answer;
    const places = [follow(this.pointers.items, json), json, ...Object.values(membersOf(json))];
    const list = places.find(Array.isArray);
    if (list === undefined) return this.unreadable(`read the ${name}`, 'holds no list', status);
    const items = list.map((value: unknown) => (isObject(value) ? value : { value }));
    return { ok: true, items, serverNowMs: timeOf(answer) };
  }
}

function retentionOf(answer: Result<JsonAnswer>): Retention {
  if (!answer.ok) return answer;
  return { ok: true, retention: membersOf(answer.json), json: answer.json };
}

function timeOf({ headers }: JsonAnswer): number | null {
  const dateMs = Date.parse(headerText(headers, 'date'));
  return Number.isNaN(dateMs) ? null : dateMs;
}
