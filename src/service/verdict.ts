// Puts a failed request into words: from a fault, or from an answer that is no success, to the ServiceFailure
// that callers see. The origin is shown as it is configured; every other word passes the redactor.

import { parseRetryAfter } from '../lib/retry-after.ts';
import { readErrorBody } from './error-body.ts';
import { headerText, type AnswerHeaders } from './exchange.ts';
import { REASON_TEXTS, reasonOfStatus, type Fault, type ServiceFailure } from './failure.ts';
import type { Redact } from './redact.ts';

/** What is known of a failure beside its reason and texts. */
export type FailureFacts = Omit<ServiceFailure, 'reason' | 'message' | 'hint'>;

export interface BadAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/** A longer Retry-After is taken for a mistake: nobody wants to find metrics missing since last week. */
export const RETRY_AFTER_MS_MAX = 3_600_000;

const SHOWN_PATH_LENGTH_MAX = 200;

/** What an answer with another status than 2xx says. `isPlain`: there were no parameters to be wrong. */
export function readBadAnswer(
  answer: BadAnswer,
  isPlain: boolean,
  redact: Redact,
  nowMs: number,
): { readonly fault: Fault; readonly facts: FailureFacts } {
  const { status, headers, body } = answer;
  const said = readErrorBody(body, redact);
  const retryAfterMs = parseRetryAfter(headerText(headers, 'retry-after'), nowMs);
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

export interface FailedRequest {
  readonly method: string;
  readonly origin: string;
  /** What follows a question mark is not shown. */
  readonly path: string;
  readonly redact: Redact;
}

export function describeFailure(
  request: FailedRequest,
  fault: Fault,
  facts: FailureFacts,
): ServiceFailure {
  const { method, origin, path, redact } = request;
  const { cause, hint } = REASON_TEXTS[fault.reason];
  const shownPath = redact(path.replace(/\?.*/s, '')).slice(0, SHOWN_PATH_LENGTH_MAX);
  const detail = fault.detail === undefined ? '' : ` (${redact(fault.detail)})`;
  return {
    reason: fault.reason,
    message: `cannot ${method.toLowerCase()} ${origin}${shownPath}: ${cause}${detail}`,
    hint: `${hint}${keyNewsOf(facts.isKeyChanged)}`,
    ...facts,
  };
}

function keyNewsOf(isKeyChanged: boolean | undefined): string {
  if (isKeyChanged === undefined) return '';
  return isKeyChanged
    ? '; its source holds another key now, which is used from here on'
    : '; its source was read again and holds the same key';
}
