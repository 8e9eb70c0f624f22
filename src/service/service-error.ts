// What goes wrong between this program and the service, as one union that everybody uses: the scraper, the log puller,
// the watcher of backups, the typed client, its users. `kind` says what to do about it, `reason` what happened: counters and
// the status page go by the reason. In: a status, or an error of undici or Node. Out: a ServiceError whose texts hold no
// key, no header's value and no whole body.

import { causeText } from '../errors.ts';
import { parseRetryAfter } from '../lib/retry-after.ts';
import type { Redact } from './redact.ts';

/** Why a request brought no usable answer. */
export type RequestReason =
  | 'dns'
  | 'refused'
  | 'connect_timeout'
  | 'network'
  | 'tls'
  | 'proxy'
  | 'timeout'
  | 'reset'
  | 'cut'
  | 'protocol'
  | 'encoding'
  | 'too_large'
  | 'bomb'
  | 'redirect'
  | 'auth'
  | 'bad_request'
  | 'not_found'
  | 'conflict'
  | 'rate_limited'
  | 'server_error'
  | 'http_status'
  | 'not_json'
  | 'not_stored'
  | 'aborted';

/** The same, and the faults of answers that are a success by their status. */
export type FailureReason =
  | RequestReason
  | 'empty'
  | 'not_metrics'
  | 'unreadable'
  | 'no_list'
  | 'same_page'
  | 'page_limit';

export interface ErrorFacts {
  /** Finer than `kind`. */
  readonly reason: FailureReason;
  /** `cannot <verb> <object>: <cause>`. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  /** The status of the answer, where there was one. */
  readonly status?: number;
  /** The service's own id of the failed request, for its support. */
  readonly traceId?: string;
  /** How long the service asked to wait; an hour at most. */
  readonly retryAfterMs?: number;
  /** True when the key's source, read again after a refusal, had another key: try it at once. */
  readonly isKeyChanged?: boolean;
  /**
   * True when the request went out and it is not known whether the service has carried it out: look before you send
   * it again. Always false for requests that only read.
   */
  readonly isOutcomeUnknown: boolean;
}

/** One thing that is wrong with a request; `path` is the field's, as `external_storage.bucket.path`. */
export interface RequestProblem {
  readonly path: string;
  readonly message: string;
}

/** The request is wrong: by our own word (`problems`, and nothing was sent) or by the service's (none). */
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

/** What every call of the typed client resolves to; it never rejects. */
export type Result<Answer> = ({ readonly ok: true } & Answer) | ErrorResult;

/** For a request that is refused before it is sent. `what` is such as `create the schedule`. */
export function refusedRequest(what: string, problems: readonly RequestProblem[]): ErrorResult {
  const told = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return {
    ok: false,
    error: {
      kind: 'bad_request',
      reason: 'bad_request',
      message: `cannot ${what}: ${told.join('; ')}`,
      hint: 'nothing was sent: correct the request',
      problems,
      isOutcomeUnknown: false,
    },
  };
}

/** For faults beyond a single answer: of all pages of a list, or of this machine. */
export function ownError(reason: FailureReason, message: string, hint: string): CallError {
  return { kind: 'unreadable', reason, message, hint, isOutcomeUnknown: false };
}

/** For an answer that is a success by its status, and of which nothing can be made. */
export function unreadableAnswer(what: string, cause: string, status: number): ErrorResult {
  const hint = 'check that api.base_url and the path are those of the service';
  const error = ownError('unreadable', `cannot ${what}: the answer ${cause}`, hint);
  return { ok: false, error: { ...error, status } };
}

/** The line that a user sees. */
export function errorLine({ message, hint, traceId }: ServiceError): string {
  return `${message}; ${hint}${traceId === undefined ? '' : ` (trace id ${traceId})`}`;
}

// From a failed request to its error.

/** How far a request had got when its connection failed. */
export type Phase = 'connect' | 'head' | 'body';

/** What is known of a failed request before it is put into words: the reason, and what goes beyond the reason's text. */
export interface Fault {
  readonly reason: RequestReason;
  readonly detail?: string | undefined;
}

interface Reason {
  readonly kind: ServiceError['kind'];
  /** The service may have done what it was asked for, although its answer is none. */
  readonly mayBeDone?: true;
  readonly cause: string;
  readonly hint: string;
}

const REASONS: Readonly<Record<RequestReason, Reason>> = {
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
    mayBeDone: true,
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
    hint: 'check api.proxy, and that the proxy may reach the service',
  },
  timeout: {
    kind: 'timeout',
    mayBeDone: true,
    cause: 'no complete answer within the timeout',
    hint: 'raise api.timeout if the service normally needs longer',
  },
  reset: {
    kind: 'network',
    mayBeDone: true,
    cause: 'the connection was closed before an answer came',
    hint: 'check the service and the network path if this lasts',
  },
  cut: {
    kind: 'network',
    mayBeDone: true,
    cause: 'the answer ended before it was complete',
    hint: 'check the service and the network path if this lasts',
  },
  protocol: {
    kind: 'unreadable',
    mayBeDone: true,
    cause: 'the answer is not HTTP/1.1',
    hint: 'check scheme and port in api.base_url',
  },
  encoding: {
    kind: 'unreadable',
    mayBeDone: true,
    cause: 'the answer could not be unpacked',
    hint: 'check the network path between this machine and the service',
  },
  too_large: {
    kind: 'unreadable',
    mayBeDone: true,
    cause: 'the answer is larger than the limit',
    hint: 'raise the limit if answers of this size are expected',
  },
  bomb: {
    kind: 'unreadable',
    mayBeDone: true,
    cause: 'the compressed answer unpacks to far more than such text does',
    hint: 'check the answer of the service at this address',
  },
  redirect: {
    kind: 'unreadable',
    cause: 'the answer is a redirect that the key must not follow',
    hint: 'set api.base_url to the address that the service has now',
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
    hint: 'check that api.base_url is the address of the API, not of a web page',
  },
  not_stored: {
    kind: 'unreadable',
    cause: 'the answer could not be stored',
    hint: 'check the disk of queue.directory, or of the temporary directory without one',
  },
  aborted: {
    kind: 'aborted',
    mayBeDone: true,
    cause: 'the request was given up',
    hint: 'nothing: the program is stopping or no longer needs the answer',
  },
};

/** The error of a request, or of a refusal to send it. */
export function requestError(
  { reason, detail }: Fault,
  request: { readonly method: string; readonly address: string },
  facts: Omit<ErrorFacts, 'reason' | 'message' | 'hint' | 'isOutcomeUnknown'>,
): ServiceError {
  const { kind, mayBeDone = false, cause, hint } = REASONS[reason];
  const { method, address } = request;
  const error = {
    reason,
    message: `cannot ${method.toLowerCase()} ${address}: ${cause}${detail === undefined ? '' : ` (${detail})`}`,
    hint: `${hint}${keyNewsOf(facts.isKeyChanged)}`,
    ...facts,
    isOutcomeUnknown: mayBeDone && method !== 'GET',
  };
  return kind === 'bad_request' ? { kind, problems: [], ...error } : { kind, ...error };
}

function keyNewsOf(isKeyChanged: boolean | undefined): string {
  if (isKeyChanged === undefined) return '';
  return isKeyChanged
    ? '; its source holds another key now, which is used from here on'
    : '; its source was read again and holds the same key';
}

/** The reason for a status that is not a success. `isPlain`: the request had no parameters that could be wrong. */
function reasonOfStatus(status: number, isPlain: boolean): RequestReason {
  // A missing or wrong key has been seen to answer 400: without parameters there is nothing else to refuse.
  if (status === 400) return isPlain ? 'auth' : 'bad_request';
  if (status === 401 || status === 403) return 'auth';
  if (status === 404) return 'not_found';
  if (status === 407) return 'proxy';
  if (status === 409) return 'conflict';
  if (status === 422) return 'bad_request';
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'server_error' : 'http_status';
}

const REASON_OF_CODE: Readonly<Record<string, RequestReason>> = {
  ENOTFOUND: 'dns',
  ENODATA: 'dns',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'network',
  ENETUNREACH: 'network',
  EHOSTDOWN: 'network',
  ENETDOWN: 'network',
  EADDRNOTAVAIL: 'network',
  EACCES: 'network',
  EPERM: 'network',
  EMFILE: 'network',
  ENFILE: 'network',
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
  // The dispatcher's own abort is never used here: this is a proxy that answered CONNECT with another status.
  UND_ERR_ABORTED: 'proxy',
  UND_ERR_CLOSED: 'aborted',
  UND_ERR_DESTROYED: 'aborted',
};

/** Codes of the verification of certificates, as OpenSSL and Node name them. */
const TLS_CODE = /^ERR_(?:TLS|SSL)_|CERT|^UNABLE_TO_|^CRL_|SIGNATURE/;
const BROKEN_CODE = /^(?:UND_ERR_SOCKET|ECONNRESET|ECONNABORTED|EPIPE)$/;

/** Maps what undici, Node's sockets or zlib report to a reason. */
export function faultOfError(error: Error, phase: Phase, isProxied: boolean): Fault {
  const reason = reasonOfError(error, phase);
  return { reason: isProxied ? proxiedReason(reason, phase) : reason, detail: causeText(error) };
}

/** What cannot be reached then is the proxy; one that wants a password is an error without a code of its own. */
function proxiedReason(reason: RequestReason, phase: Phase): RequestReason {
  const isProxys = reason === 'refused' || reason === 'dns' || reason === 'network';
  return isProxys && phase !== 'body' ? 'proxy' : reason;
}

function reasonOfError(error: Error, phase: Phase): RequestReason {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = REASON_OF_CODE[code];
  if (known !== undefined) return known;
  if (code.startsWith('EAI_')) return 'dns';
  // undici's parser gives no code; the end of the connection within a chunk is one of its errors.
  const isParserError = error.name === 'HTTPParserError';
  if (isParserError && !error.message.includes('EOF')) return 'protocol';
  if (isParserError || BROKEN_CODE.test(code)) return phase === 'body' ? 'cut' : 'reset';
  if (code === 'ETIMEDOUT') return phase === 'connect' ? 'connect_timeout' : 'timeout';
  return TLS_CODE.test(code) ? 'tls' : 'network';
}

// What an answer that is no success says.

/** What is known of a failure beside its reason and texts. */
export type AnswerFacts = Pick<ErrorFacts, 'status' | 'retryAfterMs' | 'traceId' | 'isKeyChanged'>;

interface BadAnswer {
  readonly status: number;
  /** The Retry-After header, '' without one. */
  readonly retryAfter: string;
  readonly body: Buffer;
}

/** A longer Retry-After is taken for a mistake: nobody wants to find metrics missing since last week. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** What an answer with another status than 2xx says. `isPlain`: there were no parameters to be wrong. */
export function readBadAnswer(
  answer: BadAnswer,
  isPlain: boolean,
  redact: Redact,
  nowMs: number,
): { readonly fault: Fault; readonly facts: AnswerFacts } {
  const { status, body } = answer;
  const said = readErrorBody(body, redact);
  const retryAfterMs = parseRetryAfter(answer.retryAfter, nowMs);
  return {
    fault: {
      reason: reasonOfStatus(status, isPlain),
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

// The little that is shown of an error answer's body: the service's own message and its trace id, cut to a
// line. Bodies come in a few shapes, seen or specified; whatever has none of them shows nothing, so that no
// page of HTML ends up in a log.

export interface ErrorBody {
  readonly message?: string;
  readonly traceId?: string;
}

const MESSAGE_LENGTH_MAX = 200;

/**
 * Reads `{errors: [{error, message}], trace_id}`, `{detail: [{loc, msg}]}` (and their plain forms `{message}`,
 * `{error}`, `{detail}`), else nothing. It never throws.
 */
export function readErrorBody(body: Buffer, redact: Redact): ErrorBody {
  const root = asObject(parseJson(body)?.json);
  if (root === undefined) return {};
  const text = (value: unknown): string | undefined => shownText(value, redact);
  const first = asObject(asArray(root['errors'])[0]);
  const message =
    text(first?.['message']) ??
    text(first?.['error']) ??
    text(detailOf(root['detail'])) ??
    text(root['message']) ??
    text(root['error']);
  const traceId = text(root['trace_id']) ?? text(root['traceId']);
  return {
    ...(message === undefined ? {} : { message }),
    ...(traceId === undefined || !/^[\w.-]{1,64}$/.test(traceId) ? {} : { traceId }),
  };
}

function detailOf(detail: unknown): unknown {
  const first = asObject(asArray(detail)[0]);
  if (first === undefined) return detail;
  const place = asArray(first['loc']).map(String).join('.');
  const message = first['msg'];
  return typeof message !== 'string' || place === '' ? message : `${place}: ${message}`;
}

/** One printable line, redacted, then cut where it gets long; undefined for anything but text, and for blanks only. */
function shownText(value: unknown, redact: Redact): string | undefined {
  if (typeof value !== 'string') return undefined;
  const line = redact(value)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  if (line === '') return undefined;
  if (line.length <= MESSAGE_LENGTH_MAX) return line;
  return `${line.slice(0, MESSAGE_LENGTH_MAX).toWellFormed()}…`;
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Null when it is no JSON; an empty body is no value. */
export function parseJson(body: Buffer): { readonly json: unknown } | null {
  if (body.length === 0) return { json: undefined };
  try {
    return { json: JSON.parse(body.toString('utf8')) as unknown };
  } catch {
    return null;
  }
}
