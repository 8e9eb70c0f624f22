// Classifies an answer as one of the kinds of SendResult: the one table of section J3 of the mapping. gRPC's codes
// count as the HTTP status in the same line (otlp-grpc.ts).
//
//   HTTP                                          kind
//   2xx                                           accepted   with the partial success of its body (J4)
//   2xx with a web page, other than empty or OK   settings   from a login or a proxy: nothing was stored
//   408, 429, 502, 503, 504, no answer            retry
//   401, 402, 404, 405, 407, 415, 3xx             settings   redirects are never followed
//   413                                           too_large
//   400, 403, 422, other 4xx                      refused, or too_large if the words are about size (size-words.ts)
//   500, everything else                          unknown

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
import { isAboutSize, namedCap } from './size-words.ts';
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

type RefusalKind = Exclude<SendResult['kind'], 'accepted'>;

const KINDS: ReadonlyMap<number, RefusalKind> = new Map<number, RefusalKind>([
  ...[408, 429, 502, 503, 504].map(status => [status, 'retry'] as const),
  ...[401, 402, 404, 405, 407, 415].map(status => [status, 'settings'] as const),
  [413, 'too_large'],
]);

function kindOf(status: number): RefusalKind {
  const known = KINDS.get(status);
  if (known !== undefined) return known;
  if (isRedirection(status)) return 'settings';
  return status >= 400 && status < 500 ? 'refused' : 'unknown';
}

/** A pause that a busy server asks for (503) is for both signals of its endpoint. */
const BUSY = 503;

const HINTS: Readonly<Record<number, string>> = {
  401: 'check otlp.headers',
  403: 'check otlp.headers and what this key may write',
  404: 'check otlp.endpoint',
  405: 'check otlp.endpoint',
  413: 'lower otlp.max_request or otlp.max_points',
  415: 'check otlp.protocol and otlp.compression',
};

/**
 * By default Prometheus refuses samples older than its newest. It also derives a series per Resource from all points,
 * so a sample that lags behind other series can be too old although its own series is in order.
 */
const TOO_OLD = /out of order|too old sample|out of bounds(?!.*future)/i;
const TOO_OLD_HINT =
  'if this is Prometheus, set storage.tsdb.out_of_order_time_window there, see docs/back-ends/settings.md';

export function classifyAnswer(answer: HttpAnswer, context: ClassifyContext): SendResult {
  const { status, body } = answer;
  const format = bodyFormat(answer.contentType);
  if (status >= 200 && status < 300) {
    if (isWebPage(format, body))
      return refusedForSettings(status, 'the answer is a web page; check otlp.endpoint');
    const success = readPartialSuccess(context.signal, format ?? context.requestFormat, body);
    return { kind: 'accepted', ...success, message: oneLine(context.redact(success.message)) };
  }
  const words = oneLine(context.redact(readErrorMessage(format, body)));
  const reason = describe(status, words);
  const retryAfterMs = parseRetryAfter(answer.retryAfter, context.nowMs);
  return refusedAs(status, { status, reason, words, retryAfterMs });
}

/** Some receivers label an empty answer, or `OK`, as a page. */
function isWebPage(format: BodyFormat | undefined, body: Buffer): boolean {
  if (isMarkup(body)) return true;
  return format === 'html' && !/^\s*(?:ok)?\s*$/i.test(body.toString('latin1', 0, 16));
}

/** The result of a refusal. `like`: the HTTP status that means the same as `status` in its protocol. */
export function refusedAs(
  like: number,
  refusal: {
    readonly status: number;
    readonly reason: string;
    /** The back end's own words. */
    readonly words: string;
    readonly retryAfterMs: number | null;
  },
): SendResult {
  const { retryAfterMs, words, ...said } = refusal;
  const known = kindOf(like);
  const kind = known === 'refused' && isAboutSize(words) ? 'too_large' : known;
  if (kind === 'too_large') return { kind, ...said, named: namedCap(words) };
  if (kind !== 'retry') return { kind, ...said };
  return { kind, ...said, retryAfterMs, pauses: like === BUSY ? 'endpoint' : 'signal' };
}

/** Refused because of our settings, whatever the content. */
export function refusedForSettings(status: number, reason: string): SendResult {
  return { kind: 'settings', status, reason };
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
