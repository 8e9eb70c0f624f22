// All failures between this program and the service, as one union for the scraper, the log puller, the backups and the
// typed client. `kind` tells what to do, `reason` what happened; counters and the status page use the reason.
// In: a status, or an error of undici or Node. Out: a ServiceError whose texts contain no key, no header's value and no
// whole body.

import { causeText, MORE_FILES } from '../errors.ts';
import { membersOf, parseJson } from '../lib/json.ts';
import { parseRetryAfter, RETRY_AFTER_MS_MAX } from '../lib/retry-after.ts';
import type { Redact } from './redact.ts';

/** Why a request got no usable answer. */
export type RequestReason = keyof typeof REASONS;

/** The reasons of requests, and the faults of answers with a status of success. */
export type FailureReason =
  | RequestReason
  | 'empty'
  | 'not_metrics'
  | 'unreadable'
  | 'no_list'
  | 'same_page'
  | 'page_limit'
  | 'too_many';

/** Facts about a failure, from the answer and from the key's source after it. */
export interface AnswerFacts {
  /** The status of the answer, if there was one. */
  readonly status?: number;
  /** The service's id of the failed request, for its support. */
  readonly traceId?: string;
  /** How long the service asked to wait; at most 15 minutes. */
  readonly retryAfterMs?: number;
  /** True if the key's source has a new key since the refusal: try again at once. */
  readonly isKeyChanged?: boolean;
}

export interface ErrorFacts extends AnswerFacts {
  /** More specific than `kind`. */
  readonly reason: FailureReason;
  /** `cannot <verb> <object>: <cause>`. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  /**
   * True if the service may have executed the request: check before you send it again. Always false for requests that
   * only read.
   */
  readonly isOutcomeUnknown: boolean;
}

/** A problem of a request; `path` is the path of the field, such as `external_storage.bucket.path`. */
export interface RequestProblem {
  readonly path: string;
  readonly message: string;
}

/** The request is wrong: found by us (with `problems`, nothing was sent) or by the service (without). */
export interface BadRequestError extends ErrorFacts {
  readonly kind: 'bad_request';
  readonly problems: readonly RequestProblem[];
}

export interface CallError extends ErrorFacts {
  readonly kind:
    | 'key'
    | 'not_found'
    | 'conflict'
    | 'rate'
    | 'server'
    | 'timeout'
    | 'network'
    | 'unreadable'
    | 'aborted';
}

export type ServiceError = BadRequestError | CallError;

export interface ErrorResult {
  readonly ok: false;
  readonly error: ServiceError;
}

/** The result of every call of the typed client, which never rejects. */
export type Result<Answer> = ({ readonly ok: true } & Answer) | ErrorResult;

/** The error of a request that is refused before it is sent. `what` is, for example, `create the schedule`. */
export function refusedRequest(what: string, problems: readonly RequestProblem[]): ErrorResult {
  const texts = problems.map(({ path, message }) =>
    path === '' ? message : `${path}: ${message}`,
  );
  return {
    ok: false,
    error: {
      kind: 'bad_request',
      reason: 'bad_request',
      message: `cannot ${what}: ${texts.join('; ')}`,
      hint: 'nothing was sent: correct the request',
      problems,
      isOutcomeUnknown: false,
    },
  };
}

/** The error of a fault beyond a single answer: of a whole list, or of this machine. */
export function ownError(reason: FailureReason, message: string, hint: string): CallError {
  return { kind: 'unreadable', reason, message, hint, isOutcomeUnknown: false };
}

/** The error as one line for users. */
export function errorLine({ message, hint, traceId }: ServiceError): string {
  return `${message}; ${hint}${traceId === undefined ? '' : ` (trace id ${traceId})`}`;
}

// Turns a failed request into its error.

/** How far a request had come when it failed. */
export type Phase = 'connect' | 'head' | 'body';

/** A failure before it gets a message: the reason, and details beyond the reason's text. */
export interface Fault {
  readonly reason: RequestReason;
  readonly detail?: string | undefined;
  /** What to do, instead of the reason's usual hint. */
  readonly hint?: string | undefined;
  /** The service may have executed the request; if absent, the reason decides. */
  readonly mayBeDone?: boolean;
  /** Our own deadline has passed; without this, the reason comes from the other side or the system. */
  readonly isDeadline?: true;
}

interface Reason {
  readonly kind: ServiceError['kind'];
  /** The service may have executed the request although its answer says otherwise. */
  readonly mayBeDone?: boolean;
  readonly cause: string;
  readonly hint: string;
}

const REASONS = {
  dns: {
    kind: 'network',
    cause: 'the host name could not be resolved',
    hint: 'check the host in api.base_url and the name servers of this machine',
  },
  refused: {
    kind: 'network',
    cause: 'the connection was refused',
    hint: 'check host and port in api.base_url, and that the service runs',
  },
  connect_timeout: {
    kind: 'timeout',
    cause: 'no connection within the timeout',
    hint: 'check that firewalls let this machine reach the service',
  },
  network: {
    kind: 'network',
    cause: 'the network failed',
    hint: 'check the route from this machine to the service',
  },
  tls: {
    kind: 'network',
    cause: 'the TLS handshake failed',
    hint: 'check that api.base_url names the host of the certificate, and that api.ca holds its authority',
  },
  proxy: {
    kind: 'network',
    cause: 'the proxy did not connect',
    hint: 'check api.proxy, or the variable HTTPS_PROXY, and that the proxy may reach the service',
  },
  timeout: {
    kind: 'timeout',
    cause: 'no complete answer within the timeout',
    hint: 'raise api.timeout if the service normally needs longer',
  },
  reset: {
    kind: 'network',
    cause: 'the connection was closed before an answer came',
    hint: 'check the service and the network path if this lasts',
  },
  cut: {
    kind: 'network',
    cause: 'the answer ended before it was complete',
    hint: 'check the service and the network path if this lasts',
  },
  protocol: {
    kind: 'unreadable',
    cause: 'the answer is not HTTP/1.1',
    hint: 'check scheme and port in api.base_url',
  },
  encoding: {
    kind: 'unreadable',
    cause: 'the answer could not be unpacked',
    hint: 'check the network path between this machine and the service',
  },
  too_large: {
    kind: 'unreadable',
    cause: 'the answer is larger than the limit',
    hint: 'raise the limit if answers of this size are expected',
  },
  bomb: {
    kind: 'unreadable',
    cause: 'the compressed answer unpacks to far more than such text normally does',
    hint: 'check the answer of the service at this address',
  },
  redirect: {
    kind: 'unreadable',
    cause: 'the answer is a redirect that the key must not follow',
    hint: 'set api.base_url to the current address of the service',
  },
  auth: {
    kind: 'key',
    cause: 'the service refused the key',
    hint: 'the key may be wrong or may lack access: check api.key',
  },
  bad_request: {
    kind: 'bad_request',
    cause: 'the service refused the request',
    hint: 'check the parameters; the key may also be wrong: check api.key',
  },
  not_found: {
    kind: 'not_found',
    cause: 'there is nothing at this address',
    hint: 'check api.base_url and the path',
  },
  conflict: {
    kind: 'conflict',
    cause: 'the request conflicts with the present state of the service',
    hint: 'check the present state, or wait until the running operation has ended',
  },
  rate_limited: {
    kind: 'rate',
    cause: 'too many requests',
    hint: 'ask less often, or find out who else uses this key',
  },
  server_error: {
    kind: 'server',
    mayBeDone: true,
    cause: 'the service failed',
    hint: 'check the state of the service if this lasts',
  },
  http_status: {
    kind: 'unreadable',
    cause: 'the service returned an unexpected status',
    hint: 'check api.base_url and the path',
  },
  not_json: {
    kind: 'unreadable',
    cause: 'the answer is not JSON',
    hint: 'check api.base_url and the path',
  },
  web_page: {
    kind: 'unreadable',
    cause: 'the answer is a web page',
    hint: 'check that api.base_url is the address of the API',
  },
  not_stored: {
    kind: 'unreadable',
    cause: 'the answer could not be stored',
    hint: 'check the disk of queue.directory, or of the temporary directory without one',
  },
  aborted: {
    kind: 'aborted',
    cause: 'the request was given up',
    hint: 'nothing: the program is stopping or no longer needs the answer',
  },
} as const;

/** The error of a request, or of a refusal to send it. */
export function requestError(
  { reason, detail, hint: own, mayBeDone }: Fault,
  request: { readonly method: string; readonly address: string },
  facts: AnswerFacts,
): ServiceError {
  const { kind, cause, hint, ...usual }: Reason = REASONS[reason];
  const { method, address } = request;
  const error = {
    reason,
    message: `cannot ${method.toLowerCase()} ${address}: ${cause}${detail === undefined ? '' : ` (${detail})`}`,
    hint: `${own ?? hint}${wantsTls(reason, address)}${keyNewsOf(facts.isKeyChanged)}`,
    ...facts,
    isOutcomeUnknown: (mayBeDone ?? usual.mayBeDone ?? false) && method !== 'GET',
  };
  return kind === 'bad_request' ? { kind, problems: [], ...error } : { kind, ...error };
}

/** A port for TLS closes a plain connection without a word. */
function wantsTls(reason: RequestReason, address: string): string {
  const isPlain = reason === 'reset' && address.startsWith('http:');
  return isPlain ? '; it may want https:// in api.base_url' : '';
}

function keyNewsOf(isKeyChanged: boolean | undefined): string {
  if (isKeyChanged === undefined) return '';
  return isKeyChanged
    ? '; its source has a new key, which is used from now on'
    : '; its source was read again and has no other usable key';
}

/** Matches messages of a 400 that concern the key. */
const ABOUT_KEY = /\b(?:x-)?api[-_ ]?key\b|\bunauthori[sz]ed\b|\bauthentication\b/i;

/**
 * The reason for a status that is not a success. `isPlain`: the request had no parameters that could be wrong, or the
 * key is known to be refused.
 */
function reasonOfStatus(status: number, isPlain: boolean, message: string): RequestReason {
  // Some deployments answer 400 to a missing or wrong key: without parameters nothing else can be wrong.
  if (status === 400) return isPlain || ABOUT_KEY.test(message) ? 'auth' : 'bad_request';
  if (status === 401 || status === 403) return 'auth';
  if (status === 404) return 'not_found';
  if (status === 407) return 'proxy';
  if (status === 408) return 'server_error';
  if (status === 409) return 'conflict';
  if (status === 422) return 'bad_request';
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'server_error' : 'http_status';
}

/** Other codes mean TLS or the network, see reasonOfError(). */
const REASON_OF_CODE: Readonly<Record<string, RequestReason>> = {
  ENOTFOUND: 'dns',
  ENODATA: 'dns',
  ECONNREFUSED: 'refused',
  // undici's parser: a status below 100.
  ERR_ASSERTION: 'protocol',
  EPROTO: 'tls',
  HOSTNAME_MISMATCH: 'tls',
  INVALID_CA: 'tls',
  INVALID_PURPOSE: 'tls',
  PATH_LENGTH_EXCEEDED: 'tls',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'cut',
  UND_ERR_PRX_CONN: 'proxy',
  UND_ERR_PRX_TLS: 'proxy',
  // The dispatcher's own abort is not used: this is a proxy that answered CONNECT with another status than 200.
  UND_ERR_ABORTED: 'proxy',
  UND_ERR_CLOSED: 'aborted',
  UND_ERR_DESTROYED: 'aborted',
};

/** Error codes of OpenSSL and Node for TLS and certificates. */
const TLS_CODE = /^ERR_(?:TLS|SSL)_|CERT|^UNABLE_TO_|^CRL_|SIGNATURE/;
const BROKEN_CODE = /^(?:UND_ERR_SOCKET|ECONNRESET|ECONNABORTED|EPIPE)$/;

/** OpenSSL's words for an answer in plain text. */
const NO_TLS = /wrong version number|packet length too long/;
const PLAIN_HINT = 'the port does not use TLS: check scheme and port in api.base_url';

/** The reason for an error of undici, Node's sockets or zlib. */
export function faultOfError(error: Error, phase: Phase, isProxied: boolean): Fault {
  const reason = reasonOfError(error, phase);
  const detail = causeText(error);
  const isPlain = reason === 'tls' && NO_TLS.test(detail);
  const hint = isPlain ? PLAIN_HINT : /\bEMFILE\b/.test(detail) ? MORE_FILES : undefined;
  return { reason: isProxied ? proxiedReason(reason, phase) : reason, detail, hint };
}

/** With a proxy, the unreachable host is the proxy. A proxy that requires a password has no separate error code. */
function proxiedReason(reason: RequestReason, phase: Phase): RequestReason {
  const isProxys = reason === 'refused' || reason === 'dns' || reason === 'network';
  return isProxys && phase !== 'body' ? 'proxy' : reason;
}

function reasonOfError(error: Error, phase: Phase): RequestReason {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = REASON_OF_CODE[code];
  if (known !== undefined) return known;
  if (code.startsWith('EAI_')) return 'dns';
  // Errors of undici's parser have no code; one of them is the end of the connection within a chunk.
  const isParserError = error.name === 'HTTPParserError';
  if (isParserError && !error.message.includes('EOF')) return 'protocol';
  if (isParserError || BROKEN_CODE.test(code)) return phase === 'body' ? 'cut' : 'reset';
  if (code === 'ETIMEDOUT') return phase === 'connect' ? 'connect_timeout' : 'timeout';
  return TLS_CODE.test(code) ? 'tls' : 'network';
}

// Reads an answer without success.

/** Reads an answer whose status is not a success. `isPlain`: a 400 can only be about the key. */
export function readBadAnswer(
  answer: { readonly status: number; readonly retryAfter: string; readonly body: Buffer },
  isPlain: boolean,
  redact: Redact,
  nowMs: number,
): { readonly fault: Fault; readonly facts: AnswerFacts } {
  const { status, body } = answer;
  const said = readErrorBody(body, redact);
  const retryAfterMs = parseRetryAfter(answer.retryAfter, nowMs);
  return {
    fault: {
      reason: reasonOfStatus(status, isPlain, said.message ?? ''),
      detail: said.message === undefined ? String(status) : `${status}: ${said.message}`,
    },
    facts: {
      status,
      ...(retryAfterMs === null
        ? {}
        : { retryAfterMs: Math.min(retryAfterMs, RETRY_AFTER_MS_MAX) }),
      ...(said.traceId === undefined ? {} : { traceId: said.traceId }),
    },
  };
}

// Reads the message and the trace id from the body of an error, as one short line. Bodies have a few known shapes; any
// other body shows nothing, so that no HTML page ends up in a log.

export interface ErrorBody {
  readonly message?: string | undefined;
  readonly traceId?: string | undefined;
}

const MESSAGE_LENGTH_MAX = 200;

/**
 * Reads `{errors: [{error, message}], trace_id}`, `{detail: [{loc, msg}]}` (and their plain forms `{message}`,
 * `{error}`, `{detail}`), else nothing. Never throws.
 */
export function readErrorBody(body: Buffer, redact: Redact): ErrorBody {
  const root = membersOf(parseJson(body.toString()));
  const firstText = (...values: unknown[]): string | undefined =>
    values.map(value => shownText(value, redact)).find(text => text !== undefined);
  const first = membersOf(asArray(root['errors'])[0]);
  const message = firstText(
    first['message'],
    first['error'],
    detailOf(root['detail']),
    root['message'],
    root['error'],
  );
  const traceId = firstText(root['trace_id'], root['traceId']);
  const isId = /^[\w.-]{1,64}$/.test(traceId ?? '');
  return { message, traceId: isId ? traceId : undefined };
}

function detailOf(detail: unknown): unknown {
  if (!Array.isArray(detail)) return detail;
  const first = membersOf(detail[0]);
  const place = asArray(first['loc']).map(String).join('.');
  const message = first['msg'];
  return typeof message !== 'string' || place === '' ? message : `${place}: ${message}`;
}

/** One printable line, redacted, then shortened; undefined for anything but text, and for blank text. */
function shownText(value: unknown, redact: Redact): string | undefined {
  if (typeof value !== 'string') return undefined;
  const line = redact(value)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  if (line === '') return undefined;
  if (line.length <= MESSAGE_LENGTH_MAX) return line;
  return `${line.slice(0, MESSAGE_LENGTH_MAX).toWellFormed()}…`;
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
