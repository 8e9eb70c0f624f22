// The log endpoints (service-spec 4, rule 6) for other programs: one call, one answer, in the shape that has been seen.
// The puller of this program asks them through LogApi, which knows every shape of the configuration.

import { DEFAULTS } from '../config/defaults.ts';
import type { ReadOptions } from './answers.ts';
import type { JsonAnswer, ServiceHttp, ServiceResult } from './http.ts';
import { LogApi } from './log-api.ts';
import { errorOf, type Result, unreadableAnswer } from './service-error.ts';

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

const { page_size: pageSize, ...shape } = DEFAULTS.logs.endpoints;

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
    const endpoints = { ...shape, pageSize };
    this.#api = new LogApi({ client: http, endpoints, timeoutMs: 10_000, priority: 'command' });
  }

  /** One page of at most 100 archives of a time; `count` says how many there are in all, where it is told. */
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
    const { archive, parameters } = shape;
    const answer = await this.#http.get(archive, {
      query: { [parameters.ids]: ids.join(','), [parameters.format]: format },
      accept: 'application/zip, application/gzip, */*;q=0.5',
      maxBodyBytes: maxBytes,
      signal,
    });
    if (!answer.ok) return errorOf(answer.failure, true);
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
    return objectOf(await this.#api.retention(query, options), true);
  }

  async setRetention(
    request: RetentionRequest,
    options: ReadOptions = {},
  ): Promise<Result<{ readonly retention: LogItem }>> {
    return objectOf(await this.#api.setRetention(request, options), false);
  }
}

function itemsOf(
  answer: ServiceResult<JsonAnswer>,
  name: string,
): Result<{ readonly items: readonly LogItem[] }> {
  if (!answer.ok) return errorOf(answer.failure, true);
  const list = Array.isArray(answer.json) ? answer.json : memberOf(answer.json, name);
  if (!Array.isArray(list))
    return unreadableAnswer(`read the ${name}`, 'holds no list', answer.status);
  return { ok: true, items: list.filter(isObject) };
}

function objectOf(
  answer: ServiceResult<JsonAnswer>,
  isReading: boolean,
): Result<{ readonly retention: LogItem }> {
  if (!answer.ok) return errorOf(answer.failure, isReading);
  return { ok: true, retention: isObject(answer.json) ? answer.json : {} };
}

function memberOf(json: unknown, name: string): unknown {
  return isObject(json) ? json[name] : undefined;
}

function isObject(value: unknown): value is LogItem {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
