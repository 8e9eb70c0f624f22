// One request and its answer over undici's `dispatch`, its cheapest interface: the body goes directly from the socket,
// through our inflater if it is compressed, into the caller's buffer. Guarantees: it ends by the deadline whatever the
// other side does, it holds no more than the limit (and one step of the inflater), and it never throws. It follows no
// redirects, accepts every status, and knows no key. Requests to the back end (send/otlp-http.ts) use it, too.

import {
  type BrotliDecompress,
  constants,
  createBrotliDecompress,
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
import { causeText, systemRemedy } from '../errors.ts';
import type { BodyBuffer } from '../lib/body-buffer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Link } from './connection.ts';
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

/** One request, and its limits. */
export interface Request {
  readonly method: Method;
  /** Below the origin, with the query. */
  readonly path: string;
  readonly accept: string;
  readonly body: string | Buffer | null;
  /** For the whole call, including waits and repeated requests. */
  readonly timeoutMs: number;
  /** Monotonic: `timeoutMs` after the call began. */
  readonly deadlineMs: number;
  /** The longest time without a byte; 0 leaves it to the deadline. */
  readonly idleTimeoutMs: number;
  /** The limit of the unpacked body; an answer without success is also limited by ERROR_BODY_BYTES_MAX. */
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly into: BodyBuffer;
  /** Takes the body of a successful answer instead of `into`. */
  readonly sink: BodySink | null;
  /** True if the status alone is the answer, even a successful one: the body only adds details. */
  readonly isStatusEnough: boolean;
}

/** A request to the API. */
export interface Call extends Request {
  /** Texts in the body that no message may show, besides the secrets of the API. */
  readonly secrets: readonly string[];
  /** True if it has neither body nor query, so that only the key can be wrong. */
  readonly isPlain: boolean;
  readonly part: Part;
}

/** What asks the service; a label of the counter of requests. */
export type Part = 'metrics' | 'command' | 'logs' | 'inventory' | 'history';

/** How a request is sent. */
interface Way extends Link {
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/** How an exchange ended. `body` is a view of `into`, and empty if the sink took it. */
export type Outcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: AnswerHeaders;
      readonly body: Buffer;
      readonly wireBytes: number;
      /** False if the end of the body is missing, or it could not be unpacked. */
      readonly isWhole: boolean;
    }
  | {
      readonly kind: 'fault';
      readonly fault: Fault;
      /** The request was sent on a kept connection that had just been closed: it may be sent again. */
      readonly isStale?: boolean;
    };

/**
 * The Accept header for a page of metrics: prefers OpenMetrics, then the plain text format, then any other type, with
 * names in UTF-8 as they are.
 */
export const PAGE_ACCEPT: string = [
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8',
  'text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6',
  'text/plain;version=0.0.4;q=0.5',
  '*/*;q=0.1',
].join(',');

/** The end of an OpenMetrics page, which needs no newline. */
const EOF = '# EOF';

/** The most bytes that are read of an answer without success. */
const ERROR_BODY_BYTES_MAX: number = 64 * 1024;

/** The most memory that is reserved because of a Content-Length. */
const RESERVED_BYTES_MAX = 16 * 1024 * 1024;

// Exposition text shrinks to a tenth, at best to a fiftieth; zeros shrink to a thousandth. Smaller bodies than
// BOMB_BYTES_MIN may have any ratio.
const BOMB_BYTES_MIN = 16 * 1024 * 1024;
const BOMB_RATIO = 200;

/** Sends one request and reads the whole answer. */
export function exchange(call: Request, way: Way): Promise<Outcome> {
  if (call.signal?.aborted === true)
    return Promise.resolve({ kind: 'fault', fault: { reason: 'aborted' } });
  return new Promise(resolve => {
    const { dispatcher, origin, headers } = way;
    const { method, path, body, idleTimeoutMs } = call;
    const timeouts = { headersTimeout: idleTimeoutMs, bodyTimeout: idleTimeoutMs };
    const running = new Exchange(call, way, resolve);
    dispatcher.dispatch({ origin, method, path, headers, body, ...timeouts }, running);
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #call: Request;
  readonly #way: Way;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #onAbort = (): void => this.#fail({ reason: 'aborted' });
  readonly #cancelTimeout: () => void;
  #isSettled = false;
  #isOnKept = false;
  #phase: Phase = 'connect';
  #controller: Dispatcher.DispatchController | null = null;
  /** Unpacks the body while it arrives (undici does not), in small steps off the main thread. */
  #unpacker: Unpacker | null = null;
  #encoding = '';
  /** False for a body in an unknown encoding that is not needed. It is read, so that the connection stays, but not kept. */
  #isReadable = true;
  #status = 0;
  #headers: AnswerHeaders = {};
  #wireBytes = 0;
  #bodyBytes = 0;

  constructor(call: Request, way: Way, resolve: (outcome: Outcome) => void) {
    const { clock } = way;
    this.#call = call;
    this.#way = way;
    this.#resolve = resolve;
    // One timeout for everything: the connection, the head of the answer and its whole body.
    const leftMs = Math.max(call.deadlineMs - clock.monotonicMs(), 1);
    call.into.clear();
    call.sink?.onDrain(() => (this.#unpacker ?? this.#controller)?.resume());
    this.#cancelTimeout = clock.after(leftMs, () => this.#timeOut());
    call.signal?.addEventListener('abort', this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Throws, because an abort would also end the connection, which later requests may use.
    if (this.#isSettled) throw new Error('given up');
    this.#controller = controller;
    this.#phase = 'head';
    this.#isOnKept = !this.#way.isOpening();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: AnswerHeaders,
  ): void {
    if (this.#isSettled) return;
    this.#phase = 'body';
    this.#status = status;
    this.#headers = headers;
    const encoding = headerText(headers, 'content-encoding').trim().toLowerCase();
    if (encoding !== 'identity') this.#encoding = encoding;
    this.#isReadable = this.#encoding === '' || ENCODINGS.has(encoding);
    if (!this.#isReadable && this.#isBodyNeeded) {
      const detail = `its encoding is ${JSON.stringify(encoding.slice(0, 40))}`;
      return this.#fail({ reason: 'encoding', detail });
    }
    const declaredBytes = Number(headerText(headers, 'content-length'));
    if (declaredBytes > this.#bodyBytesMax && this.#isBodyNeeded) return this.#failTooLarge();
    if (this.#encoding === '' && this.#isSuccess && declaredBytes > 0 && this.#sink === null)
      this.#call.into.reserve(Math.min(declaredBytes, this.#bodyBytesMax, RESERVED_BYTES_MAX));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled || chunk.length === 0) return;
    this.#wireBytes += chunk.length;
    if (!this.#isReadable) {
      if (this.#wireBytes > this.#bodyBytesMax) this.#failTooLarge();
      return;
    }
    if (this.#encoding !== '') this.#unpacker ??= this.#openUnpacker(chunk.readUInt8(0));
    // The chunk is only valid during this call (connection.ts), and the unpacker reads it later.
    const isTaken = this.#unpacker?.write(Buffer.from(chunk)) ?? this.#keep(chunk);
    if (!isTaken) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#isSettled) return;
    // The connection may be reused now, so undici must not abort it if the unpacker fails.
    this.#controller = null;
    // An empty body is valid in any encoding.
    if (!this.#isReadable) this.#answer(this.#wireBytes === 0);
    else if (this.#unpacker === null) this.#finish();
    else this.#unpacker.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (!this.#isSettled) this.#fail(faultOfError(error, this.#phase, this.#way.isProxied));
  }

  get #isSuccess(): boolean {
    return isSuccess(this.#call, this.#status);
  }

  /** A failure of the body fails the exchange. */
  get #isBodyNeeded(): boolean {
    return this.#isSuccess && !this.#call.isStatusEnough;
  }

  get #sink(): BodySink | null {
    return this.#isSuccess ? this.#call.sink : null;
  }

  /**
   * True if the last line of a page without a length is not complete: digits of its number may be missing. A packed body
   * or JSON shows by itself that it is cut.
   */
  get #isCutLine(): boolean {
    const call = this.#call;
    const headers = this.#headers;
    const hasLength =
      headers['content-length'] !== undefined ||
      /\bchunked\b/i.test(headerText(headers, 'transfer-encoding'));
    if (hasLength || !this.#isSuccess || !call.accept.includes('text/plain')) return false;
    const end = call.into.bytes.subarray(-EOF.length).toString('latin1');
    return this.#encoding === '' && end !== '' && !end.endsWith('\n') && end !== EOF;
  }

  get #bodyBytesMax(): number {
    const { maxBodyBytes, isStatusEnough } = this.#call;
    return this.#isSuccess || isStatusEnough ? maxBodyBytes : ERROR_BODY_BYTES_MAX;
  }

  #openUnpacker(firstByte: number): Unpacker {
    const unpacker = createUnpacker(this.#encoding, firstByte);
    const whileAlive = (react: () => void): void => {
      if (!this.#isSettled) react();
    };
    // A piece may end the exchange in the middle of a bomb; at most one more step is unpacked. An unpacker that waits for
    // the sink soon makes the connection wait.
    unpacker.on('data', (piece: Buffer) =>
      whileAlive(() => {
        if (!this.#keep(piece)) unpacker.pause();
      }),
    );
    unpacker.on('drain', () => whileAlive(() => this.#controller?.resume()));
    unpacker.on('end', () => {
      // Only gzip may have several members. For other encodings Node unpacks the first frame and silently drops the
      // rest, which would truncate a page.
      const isLeftOver =
        !this.#encoding.endsWith('gzip') && unpacker.bytesWritten < this.#wireBytes;
      const detail = 'data follows after the end';
      whileAlive(() => (isLeftOver ? this.#fail({ reason: 'encoding', detail }) : this.#finish()));
    });
    unpacker.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      const reason = code === CUT_CODE ? 'cut' : 'encoding';
      whileAlive(() => this.#fail({ reason, detail: message }));
    });
    return unpacker;
  }

  /** False asks for a pause. */
  #keep(piece: Buffer): boolean {
    const sink = this.#sink;
    this.#bodyBytes += piece.length;
    const bytes = this.#bodyBytes;
    if (bytes > this.#bodyBytesMax) this.#failTooLarge();
    else if (bytes > BOMB_BYTES_MIN && bytes > this.#wireBytes * BOMB_RATIO)
      this.#fail({ reason: 'bomb' });
    else if (sink === null) this.#call.into.append(piece);
    else if (sink.failure === null) return sink.write(piece);
    else this.#failStorage(sink.failure);
    return true;
  }

  #failStorage(cause: Error): void {
    const hint = systemRemedy(cause) ?? undefined;
    this.#fail({ reason: 'not_stored', detail: causeText(cause), hint });
  }

  #failTooLarge(): void {
    this.#fail({ reason: 'too_large', detail: `${this.#bodyBytesMax} bytes` });
  }

  #timeOut(): void {
    const reason = this.#phase === 'connect' ? 'connect_timeout' : 'timeout';
    const detail = `${Math.round(this.#call.timeoutMs)} ms`;
    this.#fail({ reason, detail, isDeadline: true });
  }

  #fail(fault: Fault): void {
    // The status of a failed answer is the reason; its body only adds details.
    const isGivenUp = fault.reason === 'aborted' && !this.#call.isStatusEnough;
    if (this.#status !== 0 && !this.#isBodyNeeded && !isGivenUp) return this.#answer(false);
    const isStale = fault.reason === 'reset' && this.#isOnKept;
    // Without a connection, nothing was sent; after that, only an answer tells whether it was done.
    const found = { ...fault, mayBeDone: this.#phase !== 'connect' };
    this.#settle({ kind: 'fault', fault: found, ...(isStale ? { isStale } : {}) });
    // Frees the memory that an oversized body has filled.
    if (fault.reason === 'too_large' || fault.reason === 'bomb') this.#call.into.release();
  }

  #finish(): void {
    const sink = this.#sink;
    if (this.#isCutLine) return this.#fail({ reason: 'cut', detail: 'in the middle of a line' });
    if (sink === null) return this.#answer(true);
    void sink.end().then(() => {
      if (sink.failure === null) this.#answer(true);
      else this.#failStorage(sink.failure);
    });
  }

  #answer(isWhole: boolean): void {
    this.#settle({
      kind: 'answer',
      status: this.#status,
      headers: this.#headers,
      body: this.#call.into.bytes,
      wireBytes: this.#wireBytes,
      isWhole,
    });
  }

  #settle(outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#cancelTimeout();
    this.#call.signal?.removeEventListener('abort', this.#onAbort);
    this.#unpacker?.destroy();
    this.#controller?.abort(new Error('given up'));
    this.#resolve(outcome);
  }
}

/**
 * True for a status of success. A download must have arrived: 202 only announces it. 206 is a part, which no request asks
 * for. 303 answers a request that was carried out and has its result elsewhere.
 */
export function isSuccess(
  { method, sink }: Pick<Request, 'method' | 'sink'>,
  status: number,
): boolean {
  if (sink !== null) return status === 200 || status === 204;
  if (status === 303 && method !== 'GET') return true;
  return status >= 200 && status < 300 && status !== 206;
}

/** A header's text; repeated headers are joined by commas; '' if it is absent. */
export function headerText(headers: AnswerHeaders, name: string): string {
  const value = headers[name];
  if (value === undefined) return '';
  return typeof value === 'string' ? value : value.join(', ');
}

/** The same for a header that has one value: a proxy may have added its own, and the first one counts. */
export function firstHeader(headers: AnswerHeaders, name: string): string {
  const value = headers[name];
  return (typeof value === 'object' ? value[0] : value) ?? '';
}

const ENCODINGS: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd']);
const STEP_BYTES = 64 * 1024;
/** RFC 9659: the largest window of a zstd frame over HTTP, as a power of two (8 MiB). */
const ZSTD_WINDOW_LOG_MAX = 23;
/** The error code of zlib's and zstd's streams when more input was expected. */
const CUT_CODE = 'Z_BUF_ERROR';

type Unpacker = BrotliDecompress | Gunzip | Inflate | InflateRaw | ZstdDecompress;

function createUnpacker(encoding: string, firstByte: number): Unpacker {
  const chunkSize = STEP_BYTES;
  if (encoding.endsWith('gzip')) return createGunzip({ chunkSize });
  if (encoding === 'br') return createBrotliDecompress({ chunkSize });
  if (encoding === 'zstd') {
    const params = { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX };
    return createZstdDecompress({ chunkSize, params });
  }
  // `deflate` means the zlib format, but some servers send raw deflate. RFC 1950: the low four bits of the first byte are
  // 8, which a compressing raw stream never has.
  const isZlib = (firstByte & 0x0f) === 8;
  return isZlib ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize });
}
