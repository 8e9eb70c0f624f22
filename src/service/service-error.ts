// What a call of the typed client gives when it does not give an answer: one union, told apart by `kind`. The door's
// reasons, which are finer, are mapped to kinds here. No text in it holds a key, a header's value or a whole body.

import type { FailureReason, ServiceFailure } from './failure.ts';

interface ErrorFacts {
  /** `cannot <verb> <object>: <cause>`. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  /** The status of the answer, where there was one. */
  readonly status?: number;
  /** The service's own id of the failed request, for its support. */
  readonly traceId?: string;
  /** How long the service asked to wait. */
  readonly retryAfterMs?: number;
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

const KIND_OF_REASON: Readonly<Record<FailureReason, ServiceError['kind']>> = {
  dns: 'network',
  refused: 'network',
  connect_timeout: 'timeout',
  network: 'network',
  tls: 'network',
  proxy: 'network',
  timeout: 'timeout',
  reset: 'network',
  cut: 'network',
  protocol: 'unreadable',
  encoding: 'unreadable',
  too_large: 'unreadable',
  bomb: 'unreadable',
  redirect: 'unreadable',
  auth: 'key',
  bad_request: 'bad_request',
  not_found: 'not_found',
  conflict: 'conflict',
  rate_limited: 'rate',
  server_error: 'server',
  http_status: 'unreadable',
  not_json: 'unreadable',
  not_stored: 'unreadable',
  aborted: 'aborted',
};

/** After these the service may have done what it was asked for, although its answer is none. */
const UNKNOWN_OUTCOMES: ReadonlySet<FailureReason> = new Set([
  'network',
  'timeout',
  'reset',
  'cut',
  'protocol',
  'encoding',
  'too_large',
  'bomb',
  'server_error',
  'aborted',
]);

/** `isReading`: the request changes nothing. */
export function errorOf(failure: ServiceFailure, isReading: boolean): ErrorResult {
  const { reason, message, hint, status, traceId, retryAfterMs } = failure;
  const kind = KIND_OF_REASON[reason];
  const facts = {
    message,
    hint,
    ...(status === undefined ? {} : { status }),
    ...(traceId === undefined ? {} : { traceId }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    isOutcomeUnknown: !isReading && UNKNOWN_OUTCOMES.has(reason),
  };
  const error = kind === 'bad_request' ? { kind, problems: [], ...facts } : { kind, ...facts };
  return { ok: false, error };
}

/** For a request that is refused before it is sent. `what` is such as `create the schedule`. */
export function refusedRequest(what: string, problems: readonly RequestProblem[]): ErrorResult {
  const told = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return {
    ok: false,
    error: {
      kind: 'bad_request',
      message: `cannot ${what}: ${told.join('; ')}`,
      hint: 'nothing was sent: correct the request',
      problems,
      isOutcomeUnknown: false,
    },
  };
}

/** For an answer that is a success by its status, and of which nothing can be made. */
export function unreadableAnswer(what: string, cause: string, status: number): ErrorResult {
  const message = `cannot ${what}: the answer ${cause}`;
  const hint = 'check that api.base_url and the path are those of the service';
  return {
    ok: false,
    error: { kind: 'unreadable', message, hint, status, isOutcomeUnknown: false },
  };
}

/** The line that a user sees. */
export function errorLine({ message, hint, traceId }: ServiceError): string {
  return `${message}; ${hint}${traceId === undefined ? '' : ` (trace id ${traceId})`}`;
}
