// The interface between the sender and the protocols: one attempt to send a request, and six kinds of result. The sender
// decides by the kind; it never interprets a message. Below are the parts that both protocols share: results without an
// answer, redaction, certificates.

import type { SecureContext } from 'node:tls';
import type { OtlpSignalConfig } from '../../config/config.ts';
import { causeText, MORE_FILES, steadyText } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  createRedactor,
  type KnownApis,
  proxySecrets,
  type Redact,
  secretWords,
} from '../../service/redact.ts';
import { contextFor } from '../../service/trust.ts';
import type { QueueRow } from '../queue/commit.ts';
import { oneLine } from './answer.ts';
import type { NamedCap } from './size-words.ts';

/** One OTLP request in protobuf, compressed as the queue holds it. */
export type SendRequest = Pick<QueueRow, 'signal' | 'encoding' | 'body' | 'rawBytes'> & {
  /** The value of the header Authorization, from `otlp.auth`. */
  readonly authorization?: string;
};

/**
 * A request on an idle connection that the back end has closed fails within this time, and goes out again at once. The
 * back end may have worked on a slower request: repeating that at once would double the load of a failing back end.
 */
export const IDLE_CLOSED_MS = 1000;

/** Why a request was not accepted: the words for the operator, without secrets, and the status, or 0 without one. */
interface Refusal {
  readonly reason: string;
  readonly status: number;
}

/**
 * The kinds of answers (J3; classify.ts has the table):
 *
 * - `accepted`: except for `rejected` points, with the back end's message about them; never sent again.
 * - `retry`: busy or away; send the same later, after `retryAfterMs` if the back end set it. `pauses`: whose requests
 *   that pause is for.
 * - `settings`: about our key, path or protocol; says nothing about content.
 * - `too_large`: smaller requests may be accepted; `named`: the limit that its words name (size-words.ts).
 * - `refused`: about this content, or about all requests.
 * - `unknown`: a failure of the back end, which content may cause.
 */
export type SendResult =
  | { readonly kind: 'accepted'; readonly rejected: number; readonly message: string }
  | (Refusal & {
      readonly kind: 'retry';
      readonly retryAfterMs: number | null;
      readonly pauses: 'signal' | 'endpoint';
    })
  | (Refusal & { readonly kind: 'too_large'; readonly named: NamedCap })
  | (Refusal & { readonly kind: 'settings' | 'refused' | 'unknown' });

/** True if the back end has taken some of these points: a success that rejects all of them proves nothing. */
export function isAcceptance(result: SendResult, points: number): boolean {
  return result.kind === 'accepted' && (points === 0 || result.rejected < points);
}

/** The value of the header, or the result of a request that has none. */
export type Credentials = { readonly value: string } | SendResult;

export interface Authorization {
  /** Never throws; an abort gives `retry`. */
  current(abort: AbortSignal): Promise<Credentials>;
  /** Called after a 401 for `value`: another value to try at once, or null. */
  renew(value: string, abort: AbortSignal): Promise<string | null>;
  /** The texts that no message may show. */
  secrets(): readonly string[];
  /** Ends a request for a token that runs; a later one begins anew. */
  close(): void;
}

export interface EndpointOptions {
  readonly config: OtlpSignalConfig;
  /** The service's APIs, whose secrets must not be shown either. */
  readonly apis: KnownApis;
  readonly concurrency: number;
  readonly clock: Clock;
  /** Shared by all transports of a process; null without `otlp.auth`. */
  readonly authorization?: Authorization | null;
}

export interface Transport {
  /**
   * One attempt, within the transport's own deadline. It never throws; an abort gives `retry`. Calls `onSend` whenever the
   * request leaves: over another connection, it may go out again at once.
   */
  send(request: SendRequest, abort: AbortSignal, onSend?: () => void): Promise<SendResult>;
  close(): Promise<void>;
}

// Hints for a request without an answer. Causes are texts from the network, from TLS and from the client libraries; one
// table serves both protocols, because gRPC only passes on a text.

const HINTS: readonly (readonly [cause: RegExp, hint: string])[] = [
  [/ENOTFOUND|EAI_|Name resolution failed/, 'check the host in otlp.endpoint and the name servers'],
  [/ECONNREFUSED/, 'check host and port in otlp.endpoint, and that the back end runs'],
  [/has expired/, 'the back end needs a new certificate'],
  [/not yet valid/, "check the clocks of both machines, and the back end's certificate"],
  [/altnames/, "otlp.endpoint must name a host of the back end's certificate"],
  [
    /unable to (?:verify|get)|self-signed|issuer/,
    'otlp.tls.ca must hold the authority of the back end',
  ],
  [/ alert /, 'the back end ended the handshake: check otlp.tls.cert and otlp.tls.key'],
  [
    /wrong version number|packet length too long/,
    'it speaks plain http: write http:// in otlp.endpoint, or name its port for TLS',
  ],
  [
    /Protocol error|Expected HTTP/,
    'it uses another protocol: for otlp.protocol grpc the port is usually 4317, for http/protobuf 4318',
  ],
  [/Failed to connect/, 'it may want TLS: write https:// in otlp.endpoint'],
  [/\bEMFILE\b/, MORE_FILES],
  // With TLS 1.3 a server asks for our certificate after the handshake; the client does not report that.
  [
    /other side closed|ECONNRESET|disconnected/,
    'its log may say why; it may want https:// in otlp.endpoint, or over https a certificate (otlp.tls.cert)',
  ],
];

/** With a proxy, it is the proxy that was not found, or refused the connection. */
const OF_PROXY =
  /ENOTFOUND|EAI_|Name resolution failed|ECONNREFUSED|Proxy |the proxy did not connect/;
const PROXY_HINT =
  'check otlp.proxy, or the variable HTTPS_PROXY or HTTP_PROXY, and that the proxy runs and may reach the back end';

/** The result of a request without an answer. `cause` must not contain secrets. */
export function noAnswer(cause: string, isProxied = false): SendResult {
  const words = oneLine(steadyText(cause));
  const usual = HINTS.find(([pattern]) => pattern.test(words))?.[1];
  const hint = isProxied && OF_PROXY.test(words) ? PROXY_HINT : usual;
  return retryLater(`no answer: ${words}${hint === undefined ? '' : `; ${hint}`}`);
}

/** The result of a request whose deadline has passed. */
export function notInTime(timeoutMs: number): SendResult {
  const hint = 'raise otlp.timeout if the back end always needs longer';
  return retryLater(`no answer: none within ${Math.round(timeoutMs)} ms; ${hint}`);
}

/** The result of a request that could not be made, or had no answer. */
export function retryLater(reason: string): SendResult {
  return { kind: 'retry', reason, status: 0, retryAfterMs: null, pauses: 'signal' };
}

/** Codes of Node, zlib and zstd when memory is short. */
const MEMORY_CODES: ReadonlySet<unknown> = new Set([
  'ERR_MEMORY_ALLOCATION_FAILED',
  'ERR_ZLIB_INITIALIZATION_FAILED',
  'Z_MEM_ERROR',
  'ZSTD_error_memory_allocation',
]);
/** The message of V8, which has no code. */
const MEMORY_MESSAGE = 'Array buffer allocation failed';

/**
 * The result of a request that cannot be made from the bytes of the queue. If memory is short, it may be made later.
 * Damaged bytes are like content that is refused.
 */
export function notMade(what: string, error: unknown): SendResult {
  const reason = `${what}: ${causeText(error)}`;
  const { code, message } = error as Partial<NodeJS.ErrnoException>;
  if (MEMORY_CODES.has(code) || message === MEMORY_MESSAGE) return retryLater(reason);
  return { kind: 'refused', reason, status: 0 };
}

// Redaction of the back end's messages before they reach a log, the page or the queue: it may echo the key that it
// refuses or, when one gateway serves both ends, the key of the service.

/**
 * Replaces the values of the configured headers, credentials and tokens, the query of the endpoint, and the secrets of
 * the service by `[secret]`.
 */
export function createBackEndRedactor({ config, apis, authorization }: EndpointOptions): Redact {
  const { endpoint, headers, proxy } = config;
  const { search, searchParams } = new URL(endpoint);
  // The values as they are written, and as a back end decodes them.
  const written = search.split(/[?&]/).map(part => part.slice(part.indexOf('=') + 1));
  const query = secretWords([...written, ...searchParams.values()]);
  const whole = search === '' ? [] : [search.slice(1)];
  const own = createRedactor(() => {
    const values = Object.values(headers).map(secret => secret.reveal());
    const ofAuth = authorization?.secrets() ?? [];
    return [...whole, ...query, ...secretWords(values), ...ofAuth, ...proxySecrets(proxy)];
  });
  return text => (text === '' ? text : apis.redact(own(text)));
}

/** Does not check the certificates and the key: the configuration has checked that they can be used together. */
export function createTlsContext({ ca, cert, key }: OtlpSignalConfig['tls']): SecureContext {
  const pair = cert === null || key === null ? null : { cert, key: key.reveal() };
  return contextFor({ ca, pair });
}
