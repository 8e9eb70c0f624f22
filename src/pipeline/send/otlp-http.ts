// OTLP over HTTP (opentelemetry.io/docs/specs/otlp/#otlphttp): posts a queued body, and classifies the answer. The body
// is encoded again only for JSON or for another compression than the row has (auto-compression.ts chooses it for
// `auto`). Redirects are not followed.

import { brotliDecompressSync, unzipSync, zstdDecompressSync } from 'node:zlib';
import { Pool, type Dispatcher } from 'undici';
import { causeText } from '../../errors.ts';
import { otlpJson } from '../encode/otlp-json.ts';
import { compress, decompress } from '../queue/compression.ts';
import { ANSWER_BYTES_MAX, isExportResponse } from './answer.ts';
import type { AutoCompression, Exchange } from './auto-compression.ts';
import { classifyAnswer, isKeyRefused, type HttpAnswer } from './classify.ts';
import type { Encoding } from '../queue/queue.ts';
import type { AnswerHeaders } from '../../service/exchange.ts';
import {
  createBackEndRedactor,
  createTlsContext,
  IDLE_CLOSED_MS,
  noAnswer,
  notMade,
  refreshHeaders,
  type SendRequest,
  type SendResult,
  type Transport,
  type EndpointOptions,
} from './transport.ts';

export interface OtlpHttpOptions extends EndpointOptions {
  /** Chooses the compression if `config` says `auto`; without it `auto` means gzip. */
  readonly compression?: AutoCompression | null;
  readonly concurrency: number;
}

// Longer than the usual interval of a minute, so that a tick finds its connection open.
const KEEP_ALIVE_MS = 120_000;

/** The body to send, and its Content-Encoding. */
interface Payload {
  readonly body: Buffer;
  readonly encoding: SendRequest['encoding'];
}

export class OtlpHttp implements Transport {
  readonly #options: OtlpHttpOptions;
  readonly #pool: Pool;
  readonly #path: string;
  readonly #redact: (text: string) => string;
  /** Connections so far, also those that failed. */
  #connectionCount = 0;

  /** Connects with the first request. Throws an OperatorError for certificates that cannot be used. */
  constructor(options: OtlpHttpOptions) {
    const { config, concurrency } = options;
    const url = new URL(options.endpoint);
    this.#options = options;
    this.#path = `${url.pathname}${url.search}`;
    this.#redact = createBackEndRedactor(options);
    this.#pool = new Pool(url.origin, {
      connections: concurrency,
      // Without it a back end that never ends the handshake would block all later requests.
      connectTimeout: config.timeoutMs,
      // One deadline covers the whole exchange, see #exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      allowH2: false,
      connect: url.protocol === 'https:' ? { secureContext: createTlsContext(config.tls) } : {},
    });
    const count = (): void => void this.#connectionCount++;
    this.#pool.on('connect', count).on('connectionError', count);
  }

  async send(request: SendRequest, abort: AbortSignal): Promise<SendResult> {
    const result = await this.#attempt(request, abort);
    const isRefused = result.kind === 'hold' && isKeyRefused(result.status);
    const isRotated = isRefused && refreshHeaders(this.#options.config);
    return isRotated ? await this.#attempt(request, abort) : result;
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

  /** Sends one request in this encoding. */
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
      return { ...nothing, result: notMade('cannot encode again', error) };
    }
    try {
      const answer = await this.#exchange(payload, abort);
      const requestFormat = config.protocol === 'http/json' ? 'json' : 'protobuf';
      const nowMs = clock.nowMs();
      const context = { signal, requestFormat, nowMs, redact: this.#redact } as const;
      const result = classifyAnswer(answer, context);
      const { status } = answer;
      const isProof =
        status === 200 &&
        result.kind === 'accepted' &&
        result.rejected === 0 &&
        isExportResponse(answer.contentType, requestFormat, answer.body);
      const isPauseAsked =
        result.kind !== 'accepted' && (status === 429 || answer.retryAfter !== undefined);
      return { result, status, isProof, isPauseAsked };
    } catch (error) {
      return { ...nothing, result: noAnswer(this.#redact(causeText(error))) };
    }
  }

  /** The row's own bytes if they already have the requested form. */
  async #payloadOf(request: SendRequest, encoding: Encoding): Promise<Payload> {
    const isJson = this.#options.config.protocol === 'http/json';
    if (!isJson && encoding === request.encoding) return request;
    const protobuf = await decompress(request.encoding, request.body, request.rawBytes);
    const bytes = isJson ? Buffer.from(otlpJson(request.signal, protobuf)) : protobuf;
    return { body: await compress(encoding, bytes), encoding };
  }

  /**
   * Sends and reads the answer, within the deadline. Rejects when there is none. The back end may close an idle
   * connection at the moment in which it is used again: then another one is used at once.
   */
  async #exchange(payload: Payload, abort: AbortSignal): Promise<HttpAnswer> {
    const { config, clock, concurrency } = this.#options;
    let reader = new AnswerReader();
    let stopped: Error | null = null;
    const stop = (error: Error): void => reader.stop((stopped = error));
    const onAbort = (): void => stop(new Error('given up'));
    if (abort.aborted) onAbort();
    abort.addEventListener('abort', onAbort);
    const late = `none within ${config.timeoutMs} ms`;
    const cancelTimeout = clock.after(config.timeoutMs, () => stop(new Error(late)));
    try {
      const { body } = payload;
      const headers = this.#headersFor(payload);
      // All connections may be closed.
      for (let left = concurrency; ; left--) {
        const connections = this.#connectionCount;
        const sentMs = clock.monotonicMs();
        this.#pool.dispatch({ method: 'POST', path: this.#path, headers, body }, reader);
        try {
          return await reader.answer;
        } catch (error) {
          const wasIdle =
            connections === this.#connectionCount &&
            clock.monotonicMs() - sentMs < IDLE_CLOSED_MS &&
            isClosed(error);
          if (left === 0 || stopped !== null || !wasIdle) throw error;
          reader = new AnswerReader();
        }
      }
    } finally {
      cancelTimeout();
      abort.removeEventListener('abort', onAbort);
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
}

/**
 * Reads one answer from undici's `dispatch`, which costs a small daemon half as much as its `request`, with a stream and
 * a signal. Without a body that can be read, the status alone decides.
 */
class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #done = Promise.withResolvers<HttpAnswer>();
  #controller: Dispatcher.DispatchController | null = null;
  #stopped: Error | null = null;
  #head: Omit<HttpAnswer, 'body'> | null = null;
  #encoding = 'identity';
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  /** Rejects when no head of an answer arrives. */
  get answer(): Promise<HttpAnswer> {
    return this.#done.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // An abort would also end the connection, which later requests wait for.
    if (this.#stopped !== null) throw this.#stopped;
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: AnswerHeaders,
  ): void {
    if (status < 200) return;
    const contentType = firstOf(headers['content-type']);
    this.#head = { status, contentType, retryAfter: firstOf(headers['retry-after']) };
    const encoding = firstOf(headers['content-encoding']) ?? 'identity';
    this.#encoding = encoding.trim().toLowerCase();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > ANSWER_BYTES_MAX) this.stop(new Error('the answer is too long'));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#finish(unpacked(this.#encoding, Buffer.concat(this.#chunks)));
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#finish(null);
    this.#done.reject(error);
  }

  /** Ends the exchange with what there is of the answer, or with this error. */
  stop(error: Error): void {
    this.#stopped = error;
    this.onResponseError(this.#controller, error);
    this.#controller?.abort(error);
  }

  #finish(body: Buffer | null): void {
    if (this.#head !== null) this.#done.resolve({ ...this.#head, body });
  }
}

const CLOSED_CODES: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** True if the back end has closed the connection. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && CLOSED_CODES.has(error.code);
}

/** Some gateways compress answers although nobody has asked for it. */
const UNPACK: Readonly<
  Record<string, (body: Buffer, options: { maxOutputLength: number }) => Buffer>
> = {
  identity: body => body,
  gzip: unzipSync,
  'x-gzip': unzipSync,
  deflate: unzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/** The uncompressed body; null if it cannot be read. */
function unpacked(encoding: string, body: Buffer): Buffer | null {
  if (body.length === 0) return body;
  try {
    return UNPACK[encoding]?.(body, { maxOutputLength: ANSWER_BYTES_MAX }) ?? null;
  } catch {
    return null;
  }
}

function firstOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}
