// One request and its answer over undici's `dispatch`, its cheapest interface: the body goes directly from the socket,
// through our inflater if it is compressed, into the caller's buffer. Guarantees: it ends by the deadline whatever the
// other side does, it holds no more than the limit (and one step of the inflater), and it never throws. It follows no
// redirects, accepts every status, and knows no key.

import {
  constants,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type Gunzip,
  type Inflate,
  type InflateRaw,
  type ZstdDecompress,
} from 'node:zlib';
import type { Dispatcher } from 'undici';
import { causeText } from '../errors.ts';
import type { BodyBuffer } from '../lib/body-buffer.ts';
import type { Clock } from '../lib/clock.ts';
import { type Fault, faultOfError, type Phase } from './service-error.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Takes the body of a successful answer that may be too large for memory. */
export interface BodySink {
  /** Why writing failed; null if it has not. */
  readonly failure: Error | null;
  /** Takes a copy. False asks the caller to wait for the listener of `onDrain`. */
  write(chunk: Buffer): boolean;
  onDrain(listener: () => void): void;
  /** Resolves when everything is stored, or `failure` is set. */
  end(): Promise<void>;
}

/** Names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

interface ExchangeOptions {
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  readonly method: Method;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly clock: Clock;
  /** For the whole exchange: the connection, the answer's head and the last byte of its body. */
  readonly timeoutMs: number;
  /** The timeout of the whole call, of which `timeoutMs` is left; shown in messages. */
  readonly wholeTimeoutMs: number;
  /** The longest time without a byte; `timeoutMs` if null. */
  readonly idleTimeoutMs: number | null;
  readonly signal?: AbortSignal | undefined;
  /** The limit of a successful answer's unpacked body; others are limited by ERROR_BODY_BYTES_MAX. */
  readonly bodyBytesMax: number;
  readonly into: BodyBuffer;
  /** Takes the body of a successful answer instead of `into`. */
  readonly sink: BodySink | null;
  /** True if there is a proxy: then it is the proxy that refuses connections. */
  readonly isProxied: boolean;
}

/** How an exchange ended. `body` is a view of `into`, and empty if the sink took it. */
export type Outcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: AnswerHeaders;
      readonly body: Buffer;
      readonly wireBytes: number;
    }
  | { readonly kind: 'fault'; readonly fault: Fault };

/** The most bytes that are read of an answer without success. */
const ERROR_BODY_BYTES_MAX: number = 64 * 1024;

/** The most memory that is reserved because of a Content-Length. */
const RESERVED_BYTES_MAX = 16 * 1024 * 1024;

// Exposition text shrinks to a tenth, at best to a fiftieth; zeros shrink to a thousandth. Smaller bodies than
// BOMB_BYTES_MIN may have any ratio.
const BOMB_BYTES_MIN = 16 * 1024 * 1024;
const BOMB_RATIO = 200;

/**
 * Sends one request and reads the whole answer.
 * @internal Not part of the library's types, which refer to no other package.
 */
export function exchange(options: ExchangeOptions): Promise<Outcome> {
  if (options.signal?.aborted === true)
    return Promise.resolve({ kind: 'fault', fault: { reason: 'aborted' } });
  return new Promise(resolve => {
    const running = new Exchange(options, resolve);
    const { dispatcher, origin, method, path, headers, body } = options;
    const idleMs = Math.ceil(options.idleTimeoutMs ?? options.timeoutMs);
    dispatcher.dispatch(
      {
        origin,
        method,
        path,
        headers,
        body,
        headersTimeout: idleMs,
        bodyTimeout: idleMs,
      },
      running,
    );
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #onAbort = (): void => this.#fail({ reason: 'aborted' });
  readonly #cancelTimeout: () => void;
  #isSettled = false;
  #phase: Phase = 'connect';
  #controller: Dispatcher.DispatchController | null = null;
  #inflater: Inflater | null = null;
  #status = 0;
  #headers: AnswerHeaders = {};
  #wireBytes = 0;
  #bodyBytes = 0;

  constructor(options: ExchangeOptions, resolve: (outcome: Outcome) => void) {
    this.#options = options;
    this.#resolve = resolve;
    const { clock, timeoutMs, signal, into, sink } = options;
    into.clear();
    sink?.onDrain(() => this.#controller?.resume());
    this.#cancelTimeout = clock.after(timeoutMs, () => this.#timeOut());
    signal?.addEventListener('abort', this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isSettled) controller.abort(new Error('given up'));
    else this.#phase = 'head';
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: AnswerHeaders,
  ): void {
    if (this.#isSettled || status < 200) return;
    this.#phase = 'body';
    this.#status = status;
    this.#headers = headers;
    const encoding = headerText(headers, 'content-encoding').trim().toLowerCase();
    const isPacked = encoding !== '' && encoding !== 'identity';
    if (isPacked && !isContentEncoding(encoding)) {
      const detail = `its encoding is ${JSON.stringify(encoding.slice(0, 40))}`;
      return this.#fail({ reason: 'encoding', detail });
    }
    const declaredBytes = Number(headerText(headers, 'content-length'));
    if (declaredBytes > this.#bodyBytesMax && this.#isSuccess) return this.#failTooLarge();
    if (isPacked) this.#inflater = this.#createInflater(encoding);
    else if (this.#isSuccess && declaredBytes > 0 && this.#sink === null)
      this.#options.into.reserve(Math.min(declaredBytes, RESERVED_BYTES_MAX));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    this.#wireBytes += chunk.length;
    // The chunk is only valid during this call (connection.ts), and the inflater reads it later.
    const isTaken = this.#inflater?.write(Buffer.from(chunk)) ?? this.#keep(chunk);
    if (!isTaken) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#isSettled) return;
    // The connection may be reused now, so undici must not abort it if the inflater fails.
    this.#controller = null;
    if (this.#inflater === null) this.#finish();
    else this.#inflater.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (!this.#isSettled) this.#fail(faultOfError(error, this.#phase, this.#options.isProxied));
  }

  get #isSuccess(): boolean {
    return this.#status >= 200 && this.#status < 300;
  }

  get #sink(): BodySink | null {
    return this.#isSuccess ? this.#options.sink : null;
  }

  get #bodyBytesMax(): number {
    return this.#isSuccess ? this.#options.bodyBytesMax : ERROR_BODY_BYTES_MAX;
  }

  #createInflater(encoding: 'gzip' | 'x-gzip' | 'deflate' | 'zstd'): Inflater {
    return createInflater(encoding, {
      onData: piece => void this.#keep(piece),
      onDrain: () => this.#controller?.resume(),
      onEnd: () => this.#finish(),
      onError: (error, isCut) =>
        this.#fail({ reason: isCut ? 'cut' : 'encoding', detail: error.message }),
    });
  }

  /** False asks for a pause. */
  #keep(piece: Buffer): boolean {
    const sink = this.#sink;
    this.#bodyBytes += piece.length;
    const bytes = this.#bodyBytes;
    if (bytes > this.#bodyBytesMax) this.#failTooLarge();
    else if (bytes > BOMB_BYTES_MIN && bytes > this.#wireBytes * BOMB_RATIO)
      this.#fail({ reason: 'bomb' });
    else if (sink === null) this.#options.into.append(piece);
    else if (sink.failure === null) return sink.write(piece);
    else this.#failStorage(sink.failure);
    return true;
  }

  #failStorage(cause: Error): void {
    this.#fail({ reason: 'not_stored', detail: causeText(cause) });
  }

  #failTooLarge(): void {
    this.#fail({ reason: 'too_large', detail: `${this.#bodyBytesMax} bytes` });
  }

  #timeOut(): void {
    const reason = this.#phase === 'connect' ? 'connect_timeout' : 'timeout';
    this.#fail({ reason, detail: `${Math.round(this.#options.wholeTimeoutMs)} ms` });
  }

  #fail(fault: Fault): void {
    // The status of a failed answer is the reason; its body only adds details.
    if (this.#status !== 0 && !this.#isSuccess && fault.reason !== 'aborted') return this.#finish();
    this.#settle({ kind: 'fault', fault });
    // Frees the memory that an oversized body has filled.
    if (fault.reason === 'too_large' || fault.reason === 'bomb') this.#options.into.release();
  }

  #finish(): void {
    const sink = this.#sink;
    if (sink === null) return this.#answer();
    void sink.end().then(() => {
      if (sink.failure === null) this.#answer();
      else this.#failStorage(sink.failure);
    });
  }

  #answer(): void {
    this.#settle({
      kind: 'answer',
      status: this.#status,
      headers: this.#headers,
      body: this.#options.into.bytes,
      wireBytes: this.#wireBytes,
    });
  }

  #settle(outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#cancelTimeout();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#inflater?.destroy();
    this.#controller?.abort(new Error('given up'));
    this.#resolve(outcome);
  }
}

/** A header's text; repeated headers are joined by commas; '' if it is absent. */
export function headerText(headers: AnswerHeaders, name: string): string {
  const value = headers[name];
  if (value === undefined) return '';
  return typeof value === 'string' ? value : value.join(', ');
}

// Unpacks the body of an answer while it arrives (undici does not), in small steps off the main thread. Every piece goes
// to `onData`, which counts, and may destroy the inflater in the middle of a bomb; at most one more step is unpacked.

interface InflaterEvents {
  /** A piece of the unpacked body; only valid during the call. */
  readonly onData: (piece: Buffer) => void;
  /** Called after a `write` that returned false, once there is room again. */
  readonly onDrain: () => void;
  readonly onEnd: () => void;
  /** The bytes are invalid, or incomplete (`isCut`). */
  readonly onError: (error: Error, isCut: boolean) => void;
}

interface Inflater {
  /** False asks the caller to wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  end(): void;
  /** No event comes after this. */
  destroy(): void;
}

/** Content-Encoding values that can be unpacked. */
export type ContentEncoding = 'gzip' | 'x-gzip' | 'deflate' | 'zstd';

const STEP_BYTES = 64 * 1024;
/** RFC 9659: the largest window of a zstd frame over HTTP, as a power of two (8 MiB). */
const ZSTD_WINDOW_LOG_MAX = 23;
/** The error code of zlib's and zstd's streams when more input was expected. */
const CUT_CODE = 'Z_BUF_ERROR';

type Stream = Gunzip | Inflate | InflateRaw | ZstdDecompress;

function isContentEncoding(name: string): name is ContentEncoding {
  return name === 'gzip' || name === 'x-gzip' || name === 'deflate' || name === 'zstd';
}

export function createInflater(encoding: ContentEncoding, events: InflaterEvents): Inflater {
  let stream: Stream | null = null;
  let inputBytes = 0;
  let isDestroyed = false;
  const finish = (): void => {
    // Only gzip may have several members. For other encodings Node unpacks the first frame and silently drops the rest,
    // which would truncate a page.
    const isLeftOver = !encoding.endsWith('gzip') && (stream?.bytesWritten ?? 0) < inputBytes;
    if (isLeftOver) events.onError(new Error('data follows after the end'), false);
    else events.onEnd();
  };
  const open = (firstByte: number): Stream => {
    const opened = createStream(encoding, firstByte);
    const whileAlive = (react: () => void): void => {
      if (!isDestroyed) react();
    };
    opened.on('data', (piece: Buffer) => whileAlive(() => events.onData(piece)));
    opened.on('drain', () => whileAlive(events.onDrain));
    opened.on('end', () => whileAlive(finish));
    opened.on('error', (error: NodeJS.ErrnoException) =>
      whileAlive(() => events.onError(error, error.code === CUT_CODE)),
    );
    return opened;
  };
  return {
    write(chunk) {
      if (isDestroyed || chunk.length === 0) return true;
      inputBytes += chunk.length;
      stream ??= open(chunk.readUInt8(0));
      return stream.write(chunk);
    },
    end() {
      // An empty body is valid in any encoding.
      if (stream === null) events.onEnd();
      else stream.end();
    },
    destroy() {
      isDestroyed = true;
      stream?.destroy();
    },
  };
}

function createStream(encoding: ContentEncoding, firstByte: number): Stream {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ chunkSize: STEP_BYTES });
    case 'zstd':
      return createZstdDecompress({
        chunkSize: STEP_BYTES,
        params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
      });
    case 'deflate': {
      // The name means the zlib format, but some servers send raw deflate. RFC 1950: the low four bits of the first byte
      // are 8, which a compressing raw stream never has.
      const isZlib = (firstByte & 0x0f) === 8;
      return isZlib
        ? createInflate({ chunkSize: STEP_BYTES })
        : createInflateRaw({ chunkSize: STEP_BYTES });
    }
    default:
      return encoding satisfies never;
  }
}
