// OTLP over gRPC (opentelemetry.io/docs/specs/otlp/#otlpgrpc): makes one unary call of a signal's Export with the
// queued protobuf, and classifies its outcome. The library neither encodes nor retries; it only compresses with gzip if
// configured. It is loaded only when a signal uses gRPC.

import {
  ChannelCredentials,
  Client,
  compressionAlgorithms,
  logVerbosity,
  Metadata,
  setLogVerbosity,
  status,
  type ClientOptions,
  type ServiceError,
} from '@grpc/grpc-js';
import { USER_AGENT } from '../../lib/version.ts';
import type { Signal } from '../../model/batch.ts';
import { fieldsOf, orElse, WireReader } from '../encode/wire-reader.ts';
import { WIRE } from '../encode/wire.ts';
import { decompress } from '../queue/compression.ts';
import { ANSWER_BYTES_MAX, oneLine, readPartialSuccess } from './answer.ts';
import { refusedForSettings, refusedAs } from './classify.ts';
import {
  createBackEndRedactor,
  createTlsContext,
  IDLE_CLOSED_MS,
  noAnswer,
  notInTime,
  notMade,
  type SendRequest,
  type SendResult,
  type Transport,
  type EndpointOptions,
} from './transport.ts';

const METHODS: Readonly<Record<Signal, string>> = {
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
};

/** The default minimum of servers; more frequent pings make them close the connection. */
const KEEPALIVE_MS = 300_000;

/** The library's codes for a back end that was not reached or did not answer. */
const SILENT_CODES: ReadonlySet<number> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.UNAVAILABLE,
]);
const CUT_CODE: number = status.UNAVAILABLE;
/** The library's message, with code RESOURCE_EXHAUSTED, for an answer beyond the limit. */
const ANSWER_TOO_LARGE = new RegExp(
  `^Received message .*(?:vs|than) ${String(ANSWER_BYTES_MAX)}\\)?$`,
);

const NO_BYTES = Buffer.alloc(0);

/** How a call ended, as reported by the back end, or by the library, whose reports have no trailers. */
interface Ending extends GrpcAnswer {
  readonly hasTrailers: boolean;
  /** The back end had begun to answer. */
  readonly isBegun: boolean;
  /** We gave up waiting. */
  readonly isLate: boolean;
}

export class OtlpGrpc implements Transport {
  readonly #options: EndpointOptions;
  readonly #credentials: ChannelCredentials;
  readonly #redact: (text: string) => string;
  #client: Client | null = null;
  /** The last client that has had an answer. */
  #answered: Client | null = null;

  /** Connects with the first request. */
  constructor(options: EndpointOptions) {
    const { endpoint, tls } = options.config;
    this.#options = options;
    this.#redact = createBackEndRedactor(options);
    this.#credentials = endpoint.startsWith('https:')
      ? ChannelCredentials.createFromSecureContext(createTlsContext(tls))
      : ChannelCredentials.createInsecure();
    // Failures are in the result of the call; the library would also write them to the console.
    setLogVerbosity(logVerbosity.NONE);
  }

  async send(request: SendRequest, abort: AbortSignal, onSend?: () => void): Promise<SendResult> {
    const { config } = this.#options;
    if (config.proxy !== null && /^https:/i.test(config.proxy.reveal())) {
      const reason =
        'gRPC needs a proxy over http://: check otlp.proxy or the variable HTTPS_PROXY';
      return refusedForSettings(0, reason);
    }
    let bytes: Buffer;
    try {
      bytes = await decompress(request.encoding, request.body, request.rawBytes);
    } catch (error) {
      return notMade('cannot unpack', error);
    }
    const metadata = this.#metadata(request.authorization);
    if (typeof metadata === 'string') return refusedForSettings(0, metadata);
    const { clock } = this.#options;
    const deadlineMs = clock.monotonicMs() + this.#options.config.timeoutMs;
    const call = { signal: request.signal, bytes, metadata, deadlineMs, abort, onSend };
    let client = (this.#client ??= this.#connect());
    const sentMs = clock.monotonicMs();
    let ending = await this.#call(client, call);
    const isAtOnce = clock.monotonicMs() - sentMs < IDLE_CLOSED_MS;
    if (client === this.#answered && isAtOnce && isCut(ending)) {
      // The back end may close an idle connection just when it is used again.
      this.#drop(client);
      client = this.#client ??= this.#connect();
      ending = await this.#call(client, call);
    }
    if (!isSilence(ending)) {
      this.#answered = client;
      return this.#judge(request.signal, ending);
    }
    // The library would wait for its own back-off before it connects again, or reuse a dead connection.
    this.#drop(client);
    return ending.isLate
      ? notInTime(config.timeoutMs)
      : noAnswer(this.#redact(causeOf(ending.details)), config.proxy !== null);
  }

  close(): Promise<void> {
    this.#drop(this.#client);
    return Promise.resolve();
  }

  #judge(signal: Signal, ending: Ending): SendResult {
    const { code, details, hasTrailers, isBegun } = ending;
    const isTooLarge = isBegun && !hasTrailers && ANSWER_TOO_LARGE.test(details);
    if (!isTooLarge) return classifyGrpcAnswer(ending, { signal, redact: this.#redact });
    // The outcome is unknown, a retry would end the same, and no OTLP back end answers like this.
    const reason = `the answer is larger than ${String(ANSWER_BYTES_MAX)} bytes; check otlp.endpoint`;
    return refusedForSettings(code, reason);
  }

  #connect(): Client {
    const { config } = this.#options;
    const { hostname, port, protocol } = new URL(config.endpoint);
    const number = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
    const address = `${hostname}:${number}`;
    const proxy = config.proxy === null ? null : new URL(config.proxy.reveal());
    const options: ClientOptions = {
      'grpc.primary_user_agent': USER_AGENT,
      'grpc.default_compression_algorithm':
        config.compression === 'none' ? compressionAlgorithms.identity : compressionAlgorithms.gzip,
      'grpc.max_send_message_length': -1,
      'grpc.max_receive_message_length': ANSWER_BYTES_MAX,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
      ...(proxy === null ? {} : tunnelTo(address, proxy)),
      // No proxies from the environment, no settings from DNS, no uncounted retries.
      'grpc.enable_http_proxy': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_retries': 0,
      // A new client must not reuse the connections of a dropped one.
      'grpc.use_local_subchannel_pool': 1,
    };
    const first = proxy === null ? address : `${proxy.hostname}:${proxy.port || '80'}`;
    return new Client(`dns:${first}`, this.#credentials, options);
  }

  #drop(client: Client | null): void {
    if (client === null) return;
    if (this.#client === client) this.#client = null;
    client.close();
  }

  #call(
    client: Client,
    call: {
      readonly signal: Signal;
      readonly bytes: Buffer;
      readonly metadata: Metadata;
      /** Monotonic: the library's own deadlines follow the wall clock, which may be set. */
      readonly deadlineMs: number;
      readonly abort: AbortSignal;
      readonly onSend: (() => void) | undefined;
    },
  ): Promise<Ending> {
    const { abort, bytes, metadata, deadlineMs } = call;
    const { clock } = this.#options;
    call.onSend?.();
    return new Promise(resolve => {
      let isBegun = false;
      let isLate = false;
      const finish = (error: ServiceError | null, answer?: Buffer): void => {
        cancelTimer();
        abort.removeEventListener('abort', cancel);
        resolve({ ...endingOf(error, answer ?? Buffer.alloc(0)), isBegun, isLate });
      };
      const method = METHODS[call.signal];
      const active = client.makeUnaryRequest(method, asIs, asIs, bytes, metadata, {}, finish);
      active.on('metadata', () => (isBegun = true));
      const cancel = (): void => active.cancel();
      const cancelTimer = clock.after(deadlineMs - clock.monotonicMs(), () => {
        isLate = true;
        active.cancel();
      });
      abort.addEventListener('abort', cancel);
      if (abort.aborted) cancel();
    });
  }

  /** The configured headers, or an error message if one cannot be sent. */
  #metadata(authorization: string | undefined): Metadata | string {
    const metadata = new Metadata();
    if (authorization !== undefined) metadata.set('authorization', authorization);
    // Tells the server; what ends the call is our own clock.
    metadata.set('grpc-timeout', `${String(Math.ceil(this.#options.config.timeoutMs))}m`);
    for (const [name, secret] of Object.entries(this.#options.config.headers)) {
      try {
        metadata.set(name, secret.reveal());
      } catch {
        // The library's own message repeats the value.
        return `cannot send the header ${name}: gRPC takes visible ASCII only; check otlp.headers`;
      }
    }
    return metadata;
  }
}

/** The library's options for CONNECT; it gives the proxy the user and the password as Basic. */
function tunnelTo(address: string, proxy: URL): ClientOptions {
  const target = {
    'grpc.http_connect_target': `dns:${address}`,
    'grpc.default_authority': address,
  };
  if (proxy.username === '') return target;
  const pair = [proxy.username, proxy.password].map(decodeURIComponent).join(':');
  return { ...target, 'grpc.http_connect_creds': pair };
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

/** Despite its type, the library's error may be a plain Error, when it does not know the compression of the answer. */
function endingOf(
  error: Partial<ServiceError> | null,
  body: Buffer,
): Omit<Ending, 'isBegun' | 'isLate'> {
  if (error === null)
    return { code: 0, details: '', statusDetails: NO_BYTES, body, hasTrailers: true };
  const {
    code = status.INTERNAL,
    details = 'its answer is compressed in an unknown way',
    metadata = new Metadata(),
  } = error;
  const found = metadata.get('grpc-status-details-bin')[0];
  const statusDetails = Buffer.isBuffer(found) ? found : NO_BYTES;
  const hasTrailers = Object.keys(metadata.getMap()).length > 0;
  return { code, details, statusDetails, body, hasTrailers };
}

function isSilence({ code, hasTrailers }: Ending): boolean {
  return SILENT_CODES.has(code) && !hasTrailers;
}

/** The connection has ended before an answer. */
function isCut(ending: Ending): boolean {
  return ending.code === CUT_CODE && !ending.isBegun && isSilence(ending);
}

/** The cause of a failed connection in the library's message. */
function causeOf(details: string): string {
  const words = /Last error: (?:Error(?: \[\w+\])?: )?([\s\S]*?)\.? Resolution note: /;
  const cause = words.exec(details)?.[1] ?? details;
  // The library does not say why a proxy gave no tunnel.
  return cause === 'undefined' ? 'the proxy did not connect' : cause;
}

// Judges the status of a gRPC call as the HTTP status that means the same (classify.ts; section J of the mapping).
//
// google.rpc.Status  3 details  repeated Any          google.protobuf.Any    1 type_url  2 value
// google.rpc.RetryInfo  1 retry_delay  Duration       google.protobuf.Duration  1 seconds  2 nanos

export interface GrpcAnswer {
  readonly code: number;
  /** The back end's message (`grpc-message`). */
  readonly details: string;
  /** The trailer `grpc-status-details-bin`; empty if there was none. */
  readonly statusDetails: Buffer;
  /** The response; empty unless the code is OK. */
  readonly body: Buffer;
}

/** By code: google.golang.org/grpc/codes, grpc.io/docs/guides/status-codes. */
const STATUSES: readonly (readonly [name: string, like: number, hint?: string])[] = [
  ['OK', 200],
  ['CANCELLED', 503],
  ['UNKNOWN', 500],
  ['INVALID_ARGUMENT', 400],
  ['DEADLINE_EXCEEDED', 503],
  ['NOT_FOUND', 500, 'check otlp.endpoint'],
  ['ALREADY_EXISTS', 500],
  ['PERMISSION_DENIED', 401, 'check otlp.headers and what they may write'],
  // Only with a RetryInfo is it a request to wait.
  ['RESOURCE_EXHAUSTED', 500, 'see the quota or the limits of the back end'],
  ['FAILED_PRECONDITION', 500],
  ['ABORTED', 503],
  ['OUT_OF_RANGE', 503],
  ['UNIMPLEMENTED', 405, 'check otlp.endpoint and otlp.protocol'],
  ['INTERNAL', 500],
  ['UNAVAILABLE', 503],
  ['DATA_LOSS', 503],
  ['UNAUTHENTICATED', 401, 'check otlp.headers'],
];

/** The messages of servers in Go, Java, C++, C#, Rust and JavaScript for a request that is too large. */
const TOO_LARGE = /messag.*(?:larger than|exceeds|too large)/i;

/** `redact` removes secrets from the back end's message before it is shortened. */
export function classifyGrpcAnswer(
  answer: GrpcAnswer,
  context: { readonly signal: Signal; readonly redact: (text: string) => string },
): SendResult {
  const { code, body } = answer;
  const [name, like, hint] = STATUSES[code] ?? [`status ${String(code)}`, 500];
  if (like === 200) {
    const { rejected, message } = readPartialSuccess(context.signal, 'protobuf', body);
    return { kind: 'accepted', rejected, message: oneLine(context.redact(message)) };
  }
  const said = oneLine(context.redact(answer.details));
  const words = `the back end answered ${name}${said === '' ? '' : `: ${said}`}`;
  const retryAfterMs = readRetryDelay(answer.statusDetails);
  const refused = (like: number, hint?: string): SendResult => {
    const reason = hint === undefined ? words : `${words}; ${hint}`;
    return refusedAs(like, { status: code, reason, words: said, retryAfterMs });
  };
  const isExhausted = name === 'RESOURCE_EXHAUSTED';
  if ((isExhausted || name === 'OUT_OF_RANGE') && TOO_LARGE.test(said))
    return refused(413, 'lower otlp.max_request');
  return isExhausted && retryAfterMs !== null ? refused(429) : refused(like, hint);
}

/** The pause in milliseconds that a RetryInfo asks for; null when there is no readable one. */
export function readRetryDelay(statusDetails: Buffer): number | null {
  const first = (message: Buffer, field: number): Buffer =>
    fieldsOf(message, field, 'status details')[0] ?? NO_BYTES;
  return orElse(null, () => {
    for (const any of fieldsOf(statusDetails, 3, 'status details'))
      if (first(any, 1).toString().endsWith('/google.rpc.RetryInfo'))
        return readDuration(first(first(any, 2), 1));
    return null;
  });
}

/** In whole milliseconds, rounded up; never negative. */
function readDuration(message: Buffer): number {
  const reader = new WireReader(message, 'status details');
  let seconds = 0;
  let nanos = 0;
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | WIRE.varint)) seconds = Number(reader.int64());
    else if (tag === ((2 << 3) | WIRE.varint)) nanos = reader.int32();
    else reader.skip(tag & 7);
  }
  const ms = Math.ceil(seconds * 1000 + nanos / 1e6);
  return Math.min(Math.max(ms, 0), Number.MAX_SAFE_INTEGER);
}
