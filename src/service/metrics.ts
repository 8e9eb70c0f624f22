// The metrics page (service-spec 2.7): Prometheus text with the series of every database service that the key can see,
// or of one. Unread, as the service wrote it.

import type { ReadOptions } from './answers.ts';
import type { ServiceHttp } from './http.ts';
import type { Result } from './service-error.ts';

export interface MetricsQuery extends ReadOptions {
  /** The *name* of one database service, not its id. The specification shows no parameter; this one has been seen. */
  readonly service?: string | undefined;
  /** Of the unpacked page, in bytes; 512 MiB when absent. */
  readonly maxBytes?: number | undefined;
}

export interface MetricsPage {
  readonly text: string;
  /** The Content-Type header: it tells text 0.0.4 and OpenMetrics apart. */
  readonly contentType: string;
}

const ACCEPT =
  'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const PAGE_BYTES_MAX = 512 * 1024 * 1024;

export class MetricsApi {
  readonly #http: ServiceHttp;
  readonly #path: string;

  constructor(http: ServiceHttp, path: string) {
    this.#http = http;
    this.#path = path;
  }

  async read({ service, signal, maxBytes }: MetricsQuery = {}): Promise<Result<MetricsPage>> {
    const answer = await this.#http.get(this.#path, {
      accept: ACCEPT,
      query: service === undefined ? {} : { service },
      maxBodyBytes: maxBytes ?? PAGE_BYTES_MAX,
      signal,
    });
    if (!answer.ok) return answer;
    return { ok: true, text: answer.body.toString('utf8'), contentType: answer.contentType };
  }
}
