// Classifies an HTTP answer as one of the four kinds of SendResult. J is section J of the mapping:
//
//   answer                                              kind      rule
//   2xx                                                 accepted  J.4, with the partial success of its body
//   2xx with a web page                                 hold      from a login or a proxy: nothing was stored
//   429, 502, 503, 504 (and no answer at all)           retry     J.3
//   400, 413, 422                                       split     J.3
//   401, 403, 404, 405                                  hold      J.3: about our key or path, never about content
//   402, 407, 415, 3xx (never followed)                 hold      the same: wrong settings must not cost data
//   408, other 5xx, any other status                    hold      J.3: content may be the cause

import { parseRetryAfter } from '../../lib/retry-after.ts';
import type { Signal } from '../../model/batch.ts';
import {
  bodyFormat,
  isMarkup,
  oneLine,
  readErrorMessage,
  readPartialSuccess,
  type BodyFormat,
} from './answer.ts';
import type { SendResult } from './transport.ts';

/** Headers are '' if absent. A body that could not be read is empty. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string;
  readonly body: Buffer;
}

export interface ClassifyContext {
  readonly signal: Signal;
  /** The format of the request, assumed for a 2xx answer whose Content-Type is absent or unknown. */
  readonly requestFormat: BodyFormat;
  readonly nowMs: number;
  /** Removes secrets from the back end's message, before it is shortened: half a key is a secret, too. */
  readonly redact: (text: string) => string;
}

const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const THROTTLED = 429;
const SPLIT: ReadonlySet<number> = new Set([400, 413, 422]);
/** Statuses that concern our settings, besides all redirects. */
const SETTINGS: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 415]);

const HINTS: Readonly<Record<number, string>> = {
  401: 'check otlp.headers',
  403: 'check otlp.headers and what this key may write',
  404: 'check otlp.endpoint',
  405: 'check otlp.endpoint',
  415: 'check otlp.protocol and otlp.compression',
};

/**
 * By default Prometheus refuses samples older than its newest. It also derives a series per Resource from all points, so
 * a sample that lags behind other series can be too old although its own series is in order.
 */
const TOO_OLD = /out of order|too old sample|out of bounds(?!.*future)/i;
const TOO_OLD_HINT =
  'if this is Prometheus, set storage.tsdb.out_of_order_time_window there, see docs/delivery.md';

export function classifyAnswer(answer: HttpAnswer, context: ClassifyContext): SendResult {
  const { status, body } = answer;
  const format = bodyFormat(answer.contentType);
  if (status >= 200 && status < 300) {
    if (format === 'html' || isMarkup(body))
      return heldForSettings(status, 'the answer is a web page; check otlp.endpoint');
    const success = readPartialSuccess(context.signal, format ?? context.requestFormat, body);
    return { kind: 'accepted', ...success, message: oneLine(context.redact(success.message)) };
  }
  const reason = describe(status, oneLine(context.redact(readErrorMessage(format, body))));
  const retryAfterMs = parseRetryAfter(answer.retryAfter, context.nowMs);
  return refusedAs(status, { status, reason, retryAfterMs });
}

/** The result of a refusal. `like`: the HTTP status that means the same as `status` in its protocol. */
export function refusedAs(
  like: number,
  refusal: {
    readonly status: number;
    readonly reason: string;
    readonly retryAfterMs: number | null;
  },
): SendResult {
  const { status, reason, retryAfterMs } = refusal;
  if (RETRIED.has(like))
    return { kind: 'retry', reason, status, retryAfterMs, isThrottled: like === THROTTLED };
  if (SPLIT.has(like)) return { kind: 'split', status, reason };
  if (SETTINGS.has(like) || isRedirection(like)) return heldForSettings(status, reason);
  return { kind: 'hold', status, reason, mayBeContent: true };
}

/** Held because of our settings, whatever the content. */
export function heldForSettings(status: number, reason: string): SendResult {
  return { kind: 'hold', status, reason, mayBeContent: false };
}

function isRedirection(status: number): boolean {
  return status >= 300 && status < 400;
}

function describe(status: number, message: string): string {
  const isRedirect = isRedirection(status);
  const said = isRedirect ? 'redirects are not followed' : message;
  const statusHint = isRedirect ? 'check otlp.endpoint' : HINTS[status];
  const hint = TOO_OLD.test(said) ? TOO_OLD_HINT : statusHint;
  const parts = [said === '' ? '' : `: ${said}`, hint === undefined ? '' : `; ${hint}`];
  return `the back end answered ${String(status)}${parts.join('')}`;
}
