// OTLP over HTTP (opentelemetry.io/docs/specs/otlp/#otlphttp): posts a queued body, and classifies the answer. The body
// is encoded again only for JSON, or for another compression than the row has. Redirects are not followed.

import { type BodyBuffer, BodyBufferPool } from '../../lib/body-buffer.ts';
import { USER_AGENT } from '../../lib/version.ts';
import { type Link, openLink } from '../../service/connection.ts';
import { exchange, firstHeader, type Outcome } from '../../service/exchange.ts';
import { otlpJson } from '../encode/otlp-json.ts';
import { compress, decompress } from '../queue/compression.ts';
import type { Encoding } from '../queue/commit.ts';
import { ANSWER_BYTES_MAX } from './answer.ts';
import { classifyAnswer } from './classify.ts';
import {
  createBackEndRedactor,
  createTlsContext,
  type EndpointOptions,
  IDLE_CLOSED_MS,
  noAnswer,
  notInTime,
  notMade,
  type SendRequest,
  type SendResult,
  type Transport,
} from './transport.ts';

const NO_BODY = Buffer.alloc(0);

type AnswerOutcome = Extract<Outcome, { readonly kind: 'answer' }>;

type Payload = Pick<SendRequest, 'body' | 'encoding'>;

interface Attempt {
  readonly payload: Payload;
  readonly headers: Readonly<Record<string, string>>;
  readonly into: BodyBuffer;
}

export class OtlpHttp implements Transport {
  readonly #options: EndpointOptions;
  readonly #link: Link;
  readonly #path: string;
  readonly #redact: (text: string) => string;
  readonly #buffers = new BodyBufferPool();

  /** Connects with the first request. */
  constructor(options: EndpointOptions) {
    const { config, concurrency } = options;
    const { origin, pathname, search } = new URL(options.config.endpoint);
    this.#options = options;
    this.#path = `${pathname}${search}`;
    this.#redact = createBackEndRedactor(options);
    this.#link = openLink(origin, {
      connections: concurrency,
      timeoutMs: config.timeoutMs,
      secureContext: () => createTlsContext(config.tls),
      proxy: config.proxy,
    });
  }

  async send(request: SendRequest, abort: AbortSignal, onSend?: () => void): Promise<SendResult> {
    let payload: Payload;
    try {
      payload = await this.#payloadOf(request, this.#options.config.compression);
    } catch (error) {
      return notMade('cannot encode again', error);
    }
    const into = this.#buffers.take();
    try {
      const headers = this.#headersFor(payload, request.authorization);
      const outcome = await this.#exchange({ payload, headers, into }, abort, onSend);
      return outcome.kind === 'answer' ? this.#judge(outcome, request) : outcome;
    } finally {
      this.#buffers.give(into);
    }
  }

  async close(): Promise<void> {
    await this.#link.dispatcher.destroy();
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
   * Sends and reads the answer, within the deadline. The back end may close an idle connection just when it is used
   * again: then the request goes out over another connection at once.
   */
  async #exchange(
    { payload, headers, into }: Attempt,
    signal: AbortSignal,
    onSend?: () => void,
  ): Promise<AnswerOutcome | SendResult> {
    const { clock, concurrency } = this.#options;
    const { timeoutMs } = this.#options.config;
    const request = {
      method: 'POST',
      path: this.#path,
      accept: '',
      body: payload.body,
      timeoutMs,
      deadlineMs: clock.monotonicMs() + timeoutMs,
      idleTimeoutMs: 0,
      maxBodyBytes: ANSWER_BYTES_MAX,
      signal,
      into,
      sink: null,
      isStatusEnough: true,
    } as const;
    const way = { ...this.#link, headers, clock };
    // Retries once per connection, because all of them may be closed.
    for (let left = concurrency; ; left--) {
      const sentMs = clock.monotonicMs();
      onSend?.();
      const outcome = await exchange(request, way);
      if (outcome.kind === 'answer') return outcome;
      const isAtOnce = clock.monotonicMs() - sentMs < IDLE_CLOSED_MS;
      if (outcome.isStale === true && isAtOnce && left > 0) continue;
      const { detail = 'given up', isDeadline = false } = outcome.fault;
      return isDeadline
        ? notInTime(timeoutMs)
        : noAnswer(this.#redact(detail), this.#link.isProxied);
    }
  }

  #judge(
    { status, headers, body: read, isWhole }: AnswerOutcome,
    { signal }: SendRequest,
  ): SendResult {
    const contentType = firstHeader(headers, 'content-type');
    const retryAfter = firstHeader(headers, 'retry-after');
    const body = isWhole ? read : NO_BODY;
    const requestFormat = this.#options.config.protocol === 'http/json' ? 'json' : 'protobuf';
    const nowMs = this.#options.clock.nowMs();
    const context = { signal, requestFormat, nowMs, redact: this.#redact } as const;
    return classifyAnswer({ status, contentType, retryAfter, body }, context);
  }

  #headersFor({ encoding }: Payload, authorization: string | undefined): Record<string, string> {
    const { protocol, headers } = this.#options.config;
    const own = Object.entries(headers).map(([name, secret]) => [
      name.toLowerCase(),
      secret.reveal(),
    ]);
    return {
      'user-agent': USER_AGENT,
      ...(Object.fromEntries(own) as Record<string, string>),
      ...(authorization === undefined ? {} : { authorization }),
      'content-type': protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
      ...(encoding === 'none' ? {} : { 'content-encoding': encoding }),
    };
  }
}
