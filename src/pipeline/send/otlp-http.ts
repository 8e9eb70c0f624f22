// OTLP over HTTP (opentelemetry.io/docs/specs/otlp/#otlphttp): one POST of the body as the queue holds it, and
// its answer, classified. The body is made anew only where the request needs another form than the row has: JSON, or
// another compression (auto-compression.ts chooses it, where the settings leave it open). Redirects are not followed.

import { Pool, type Dispatcher } from 'undici';
import type { ApiConfig, OtlpSignalConfig } from '../../config/config.ts';
import { causeText } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { otlpJson } from '../encode/otlp-json.ts';
import { compress, decompress } from '../queue/compression.ts';
import { ANSWER_BYTES_MAX, isExportResponse } from './answer.ts';
import type { AutoCompression, Exchange } from './auto-compression.ts';
import { classifyAnswer, type HttpAnswer } from './classify.ts';
import type { Encoding } from '../queue/queue.ts';
import {
  createRedactor,
  createTlsContext,
  noAnswer,
  type SendRequest,
  type SendResult,
  type Transport,
} from './transport.ts';

export interface OtlpHttpOptions {
  /** The full URL of the signal. */
  readonly endpoint: string;
  /** `protocol` is one of the two over HTTP. */
  readonly config: OtlpSignalConfig;
  /** Where the service is reached: its secrets must not be shown either. */
  readonly apis?: readonly ApiConfig[];
  /** Chooses the compression where `config` says `auto`; null: the settings say, and `auto` is gzip. */
  readonly compression?: AutoCompression | null;
  readonly concurrency: number;
  /** The bridge's own version, for User-Agent. */
  readonly version: string;
  readonly clock: Clock;
}

// Longer than the usual interval of a minute, so that a tick finds its connection open.
const KEEP_ALIVE_MS = 120_000;

/** Of an answer whose body could not be read. */
const NO_BODY = Buffer.alloc(0);

/** What is sent in place of a row's own bytes and its Content-Encoding. */
interface Payload {
  readonly body: Buffer;
  readonly encoding: SendRequest['encoding'];
}

export class OtlpHttp implements Transport {
  readonly #options: OtlpHttpOptions;
  readonly #pool: Pool;
  readonly #path: string;
  readonly #redact: (text: string) => string;

  /** Connects with the first request. Throws an OperatorError for certificates that cannot be used. */
  constructor(options: OtlpHttpOptions) {
    const { config, concurrency } = options;
    const url = new URL(options.endpoint);
    this.#options = options;
    this.#path = `${url.pathname}${url.search}`;
    this.#redact = createRedactor(config.headers, options.apis ?? []);
    this.#pool = new Pool(url.origin, {
      connections: concurrency,
      // One deadline covers the whole exchange, see #exchange.
      connectTimeout: 0,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      allowH2: false,
      connect: url.protocol === 'https:' ? { secureContext: createTlsContext(config.tls) } : {},
    });
  }

  async send(request: SendRequest, abort: AbortSignal): Promise<SendResult> {
    const result = await this.#attempt(request, abort);
    const isKeyRefused = result.kind === 'hold' && (result.status === 401 || result.status === 403);
    // A rotated key is picked up at once instead of after a minute.
    return isKeyRefused && this.#refreshHeaders() ? await this.#attempt(request, abort) : result;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #attempt(request: SendRequest, abort: AbortSignal): Promise<SendResult> {
    const { config, compression } = this.#options;
    const exchange = async (encoding: Encoding): Promise<Exchange> =>
      await this.#exchangeAs(encoding, request, abort);
    if (config.compression !== 'auto') return (await exchange(config.compression)).result;
    if (compression === null || compression === undefined) return (await exchange('gzip')).result;
    return await compression.send(request.rawBytes, exchange);
  }

  /** One request in this encoding, and what came of it. */
  async #exchangeAs(
    encoding: Encoding,
    request: SendRequest,
    abort: AbortSignal,
  ): Promise<Exchange> {
    const { config, clock } = this.#options;
    const { signal } = request;
    const nothing = { status: 0, isProof: false, isPauseAsked: false };
    let payload: Payload;
    try {
      payload = await this.#payloadOf(request, encoding);
    } catch (error) {
      // Bytes that cannot be read here would never be accepted: they end up aside.
      const reason = `cannot encode anew: ${causeText(error)}`;
      return { ...nothing, result: { kind: 'split', status: 0, reason } };
    }
    try {
      const answer = await this.#exchange(payload, abort);
      const requestFormat = config.protocol === 'http/json' ? 'json' : 'protobuf';
      const context = {
        signal,
        requestFormat,
        nowMs: clock.nowMs(),
        redact: this.#redact,
      } as const;
      const result = classifyAnswer(answer, context);
      const { status } = answer;
      const isProof =
        status === 200 &&
        result.kind === 'accepted' &&
        result.rejected === 0 &&
        isExportResponse(
          answer.contentType,
          requestFormat,
          answer.body === NO_BODY ? null : answer.body,
        );
      const isPauseAsked =
        result.kind !== 'accepted' && (status === 429 || answer.retryAfter !== undefined);
      return { result, status, isProof, isPauseAsked };
    } catch (error) {
      return { ...nothing, result: noAnswer(this.#redact(causeText(error))) };
    }
  }

  /** The row's own bytes where they have the form that is asked for. */
  async #payloadOf(request: SendRequest, encoding: Encoding): Promise<Payload> {
    const isJson = this.#options.config.protocol === 'http/json';
    if (!isJson && encoding === request.encoding) return request;
    const protobuf = await decompress(request.encoding, request.body, request.rawBytes);
    const bytes = isJson ? Buffer.from(otlpJson(request.signal, protobuf)) : protobuf;
    return { body: await compress(encoding, bytes), encoding };
  }

  /** Sends and reads, within the deadline. Rejects when there is no answer. */
  async #exchange(payload: Payload, abort: AbortSignal): Promise<HttpAnswer> {
    const { timeoutMs } = this.#options.config;
    const deadline = new AbortController();
    const stop = AbortSignal.any([abort, deadline.signal]);
    const done = new AbortController();
    void this.#options.clock.sleep(timeoutMs, done.signal).then(() => {
      if (!done.signal.aborted) deadline.abort(new Error(`none within ${String(timeoutMs)} ms`));
    });
    try {
      const response = await this.#pool.request({
        method: 'POST',
        path: this.#path,
        headers: this.#headersFor(payload),
        body: payload.body,
        signal: stop,
      });
      return {
        status: response.statusCode,
        contentType: headerOf(response, 'content-type'),
        retryAfter: headerOf(response, 'retry-after'),
        body: await readBody(response),
      };
    } finally {
      done.abort();
    }
  }

  #headersFor({ encoding }: Payload): Record<string, string> {
    const { protocol, headers } = this.#options.config;
    const own = Object.entries(headers).map(([name, secret]) => [
      name.toLowerCase(),
      secret.reveal(),
    ]);
    return {
      'user-agent': `prom2otlp/${this.#options.version}`,
      ...(Object.fromEntries(own) as Record<string, string>),
      'content-type': protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
      ...(encoding === 'none' ? {} : { 'content-encoding': encoding }),
    };
  }

  #refreshHeaders(): boolean {
    const changes = Object.values(this.#options.config.headers).map(secret => secret.refresh());
    return changes.includes(true);
  }
}

function headerOf(response: Dispatcher.ResponseData, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The body, or nothing of it when it is too large, breaks off or is compressed: the status has decided. */
async function readBody(response: Dispatcher.ResponseData): Promise<Buffer> {
  const { body } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) return NO_BODY;
      chunks.push(chunk);
    }
  } catch {
    return NO_BODY;
  }
  const encoding = headerOf(response, 'content-encoding') ?? 'identity';
  return encoding === 'identity' ? Buffer.concat(chunks, bytes) : NO_BODY;
}
