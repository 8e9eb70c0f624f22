// Sends every request to the service. One client serves one API (one base_url, key and set of headers). Guarantees: the
// key goes only to the origin of base_url, appears in no returned text, and is read again from its source when the
// service refuses it; bodies and times are bounded; nothing is sent before the time that Retry-After asked for; every
// failure is a ServiceError.

import type { ApiConfig } from '../config/config.ts';
import { bug } from '../errors.ts';
import { BodyBuffer } from '../lib/body-buffer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters, CountersOf } from '../lib/counters.ts';
import { parseExactJson, parseJson } from '../lib/json-pointer.ts';
import { validateHeaderValue } from '../lib/node-http.ts';
import { USER_AGENT } from '../lib/version.ts';
import { type Connection, createConnection } from './connection.ts';
import {
  type AnswerHeaders,
  type BodySink,
  type Call,
  exchange,
  firstHeader,
  headerText,
  isSuccess,
  type Method,
  type Outcome,
  type Part,
} from './exchange.ts';
import { createRedactor, type Redact, secretsOf } from './redact.ts';
import {
  type AnswerFacts,
  type ErrorResult,
  type Fault,
  readBadAnswer,
  requestError,
  type Result,
} from './service-error.ts';

export interface ServiceHttpOptions {
  readonly api: ApiConfig;
  readonly clock: Clock;
  readonly counters: Counters;
  /** Shared by all clients of one origin and key; a new one if absent. */
  readonly pause?: Pause;
  /** True while the service refuses the key itself: then a 400 is about the key. */
  readonly isKeyRefused?: () => boolean;
  /** The Accept-Encoding header; by default identity for this machine, else gzip. */
  readonly acceptEncoding?: string;
  /** The user's names for settings, by their keys in the configuration, where the names differ. */
  readonly names?: SettingNames;
}

/** Until when (monotonic) the service asked to send nothing. */
export interface Pause {
  untilMs: number;
}

/** Such as `--base-url` for `api.base_url`. */
export type SettingNames = Readonly<Record<string, string>>;

/** A successful answer (see `isSuccess`), read to its end. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** The Content-Type header; '' if absent. */
  readonly contentType: string;
  /** Unpacked; a view of `into`, valid until `into` is used again. */
  readonly body: Buffer;
  /** The size of the body before unpacking. */
  readonly wireBytes: number;
}

export interface JsonAnswer extends Omit<ServiceAnswer, 'body'> {
  /** Undefined when the body is empty. */
  readonly json: unknown;
}

export type ServiceResult<Answer> = Result<Answer> & {
  /** When the request was sent (wall clock). */
  readonly startedAtMs: number;
  readonly durationMs: number;
};

/** Parameters without a value are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface RequestOptions extends ReadOptions {
  readonly accept?: string;
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Texts in the body that no message may show: the service may echo them. */
  readonly secrets?: readonly string[];
  /** For the whole request; `api.timeout` if absent. */
  readonly timeoutMs?: number;
  /**
   * False if the path names something, such as an id, or a parameter may be missing: a 400 is then not about the key. By
   * default true without a query and a body.
   */
  readonly isPlain?: boolean;
  /** Numbers in JSON that JavaScript would round remain texts, such as ids of 64 bits. True if the method is not GET. */
  readonly isExact?: boolean;
  /** The limit of the unpacked body; 16 MiB if absent. A larger one fails as `too_large`. */
  readonly maxBodyBytes?: number;
  /** `command` if absent. */
  readonly part?: Part;
  /** The buffer for the body; its content is overwritten. */
  readonly into?: BodyBuffer;
  /** Takes the body of a successful answer instead of `into`. Bytes of a failed attempt stay in the sink. */
  readonly sink?: BodySink;
}

const BODY_BYTES_MAX = 16 * 1024 * 1024;
const DOWNLOAD_TIMEOUT_MS = 900_000;

const SHOWN_PATH_LENGTH_MAX = 200;
/** Errors of TLS name all hosts of a certificate, and those of the HTTP library may have several lines. */
const SHOWN_DETAIL_LENGTH_MAX = 300;

export const SERVICE_COUNTERS = {
  requests: {
    name: 'prom2otlp_service_requests_total',
    help: 'Requests to the service by result: ok, or the reason of the failure.',
    labels: ['part', 'result'],
  },
} as const;

export class ServiceHttp {
  readonly #options: ServiceHttpOptions;
  readonly #pause: Pause;
  readonly #connection: Connection;
  readonly #redact: Redact;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #counters: CountersOf<typeof SERVICE_COUNTERS>;
  #refused: Credentials | null = null;

  /** Opens no connection yet. Throws an OperatorError if the key would not be safe with these settings. */
  constructor(options: ServiceHttpOptions) {
    const { api, counters } = options;
    this.#options = options;
    this.#pause = options.pause ?? { untilMs: -Infinity };
    this.#connection = createConnection(api);
    this.#redact = createRedactor(() => secretsOf(api));
    this.#headers = {
      'user-agent': USER_AGENT,
      'accept-encoding': options.acceptEncoding ?? (this.#connection.isLocal ? 'identity' : 'gzip'),
    };
    this.#counters = counters.of(SERVICE_COUNTERS);
  }

  /** The host and port of the requests. */
  get host(): string {
    return new URL(this.#connection.origin).host;
  }

  /** Reads a path below base_url. Never rejects. With a sink, `api.timeout` only limits the time without a byte. */
  get(path: string, options: RequestOptions): Promise<ServiceResult<ServiceAnswer>> {
    return this.#send(this.#prepare('GET', path, options));
  }

  /** Calls an operation of the API. A request that may have had an effect is never sent twice. */
  async requestJson(
    method: Method,
    path: string,
    options: RequestOptions = {},
  ): Promise<Result<JsonAnswer>> {
    const call = this.#prepare(method, path, { ...options, accept: 'application/json' });
    const result = await this.#send(call);
    if (!result.ok) return result;
    const { body, ...answer } = result;
    const { isExact = method !== 'GET' } = options;
    const text = body.toString();
    const json = isExact ? parseExactJson(text) : parseJson(text);
    if (json !== undefined || text === '') return { ...answer, json };
    // A 303 has a page for people, and was carried out.
    const isPage = result.status < 300 && text.trimStart().startsWith('<');
    const reason = isPage ? 'web_page' : 'not_json';
    return this.#fail(call, { reason, mayBeDone: true }, { status: answer.status });
  }

  /** The user's name for a setting: the option that replaces its key, or its key; `api.key` also with its source. */
  nameOf(key: string): string {
    const { source } = this.#options.api.key;
    const isReferred = key === 'api.key' && source !== '';
    return this.#options.names?.[key] ?? (isReferred ? `${key} (${source})` : key);
  }

  /** Reads the key's source again: true if the key differs from the last refused one. */
  isKeyNew(): boolean {
    return this.#refused !== null && refreshCredentials(this.#options.api, this.#refused);
  }

  async close(): Promise<void> {
    await this.#connection.dispatcher.destroy();
  }

  /** `path` begins with a slash, so that it cannot change the origin. */
  #prepare(method: Method, path: string, options: RequestOptions): Call {
    const { body, secrets = [], query = {}, sink = null } = options;
    const hasNone = body === undefined && Object.values(query).every(value => value === undefined);
    const atLeastMs = sink === null ? 0 : DOWNLOAD_TIMEOUT_MS;
    const { timeoutMs = Math.max(atLeastMs, this.#options.api.timeoutMs) } = options;
    if (!path.startsWith('/')) bug(`the path ${JSON.stringify(path)} does not begin with a slash`);
    // Parsed, so that letters beyond ASCII are percent-encoded instead of refused.
    const url = new URL(`${this.#connection.baseUrl}${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return {
      method,
      path: `${url.pathname}${url.search}`,
      accept: options.accept ?? '*/*',
      body: body === undefined ? null : JSON.stringify(body),
      secrets,
      isPlain: options.isPlain ?? hasNone,
      timeoutMs,
      deadlineMs: this.#options.clock.monotonicMs() + timeoutMs,
      idleTimeoutMs: sink === null ? 0 : this.#options.api.timeoutMs,
      maxBodyBytes: options.maxBodyBytes ?? BODY_BYTES_MAX,
      part: options.part ?? 'command',
      signal: options.signal,
      into: options.into ?? new BodyBuffer(),
      sink,
      isStatusEnough: false,
    };
  }

  /** Makes one attempt. A GET gets a second one if the service refused the key and the source has a new key. */
  async #send(call: Call): Promise<ServiceResult<ServiceAnswer>> {
    let result = await this.#attempt(call);
    const isKeyChanged = !result.ok && result.error.isKeyChanged === true;
    if (isKeyChanged && call.method === 'GET') result = await this.#attempt(call);
    this.#counters.requests.add(1, call.part, result.ok ? 'ok' : result.error.reason);
    return result;
  }

  async #attempt(call: Call): Promise<ServiceResult<ServiceAnswer>> {
    const { clock, api } = this.#options;
    const startedAtMs = clock.nowMs();
    const startMs = clock.monotonicMs();
    const credentials = revealCredentials(api);
    const heldMs = this.#pause.untilMs - startMs;
    const verdict =
      heldMs > 0
        ? this.#refuse(call, heldMs)
        : this.#judge(call, credentials, await this.#exchange(call, credentials));
    return { ...verdict, startedAtMs, durationMs: clock.monotonicMs() - startMs };
  }

  /** Follows at most one redirect. */
  async #exchange(call: Call, credentials: Credentials): Promise<Outcome> {
    if (!isSendable(credentials)) return faulty('auth', 'it is empty or no header may hold it');
    const { origin, isRedirectSafe: isSafe } = this.#connection;
    const { method } = call;
    let { path } = call;
    for (let isFollowed = false; ; isFollowed = true) {
      const outcome = await this.#exchangeOnce({ ...call, path }, credentials);
      const redirect = redirectOf(outcome, { method, origin, path, isSafe });
      if (typeof redirect !== 'string') return redirect;
      if (isFollowed) return faulty('redirect', 'more than one');
      path = redirect;
    }
  }

  /** Sends a GET once more if the other side had just closed the kept connection that it was sent on. */
  async #exchangeOnce(call: Call, credentials: Credentials): Promise<Outcome> {
    const headers = {
      ...this.#headers,
      ...credentials,
      accept: call.accept,
      ...(call.body === null ? {} : { 'content-type': 'application/json' }),
      // Archives are already compressed.
      ...(call.sink === null ? {} : { 'accept-encoding': 'identity' }),
    };
    const way = { ...this.#connection, headers, clock: this.#options.clock };
    const outcome = await exchange(call, way);
    const isStale = outcome.kind === 'fault' && outcome.isStale === true;
    return isStale && call.method === 'GET' ? await exchange(call, way) : outcome;
  }

  #judge(call: Call, sent: Credentials, outcome: Outcome): Result<ServiceAnswer> {
    const isAnswer = outcome.kind === 'answer';
    if (isAnswer && isSuccess(call, outcome.status)) {
      const { status, headers, body, wireBytes } = outcome;
      const contentType = firstHeader(headers, 'content-type');
      return { ok: true, status, headers, contentType, body, wireBytes };
    }
    const { fault, facts } = isAnswer
      ? readBadAnswer(
          { ...outcome, retryAfter: firstHeader(outcome.headers, 'retry-after') },
          call.isPlain || this.#options.isKeyRefused?.() === true,
          this.#redactorOf(call),
          this.#options.clock.nowMs(),
        )
      : { fault: outcome.fault, facts: {} };
    const untilMs = this.#options.clock.monotonicMs() + (facts.retryAfterMs ?? -Infinity);
    this.#pause.untilMs = Math.max(this.#pause.untilMs, untilMs);
    if (fault.reason !== 'auth' && fault.reason !== 'bad_request')
      return this.#fail(call, fault, facts);
    this.#refused = sent;
    return this.#fail(call, fault, { ...facts, isKeyChanged: this.isKeyNew() });
  }

  /** The service asked for a pause: nothing was sent. */
  #refuse(call: Call, retryAfterMs: number): Result<ServiceAnswer> {
    const detail = `held back for another ${Math.ceil(retryAfterMs / 1000)} s`;
    return this.#fail(call, { reason: 'rate_limited', detail }, { retryAfterMs });
  }

  #redactorOf({ secrets }: Call): Redact {
    if (secrets.length === 0) return this.#redact;
    const redact = createRedactor(() => secrets);
    return text => redact(this.#redact(text));
  }

  /** Shows the configured origin; every other text is redacted. */
  #fail(call: Call, found: Fault, facts: AnswerFacts): ErrorResult {
    const redact = this.#redactorOf(call);
    const path = redact(call.path.replace(/\?.*/s, '')).slice(0, SHOWN_PATH_LENGTH_MAX);
    const { detail } = found;
    const line = detail === undefined ? undefined : redact(detail).replace(/[\s\p{C}]+/gu, ' ');
    const fault = { ...found, detail: line?.trim().slice(0, SHOWN_DETAIL_LENGTH_MAX) };
    const request = { method: call.method, address: `${this.#connection.origin}${path}` };
    const error = requestError(fault, request, facts);
    const hint = error.hint.replaceAll(/\bapi\.[a-z_]+/g, key => this.nameOf(key));
    return { ok: false, error: { ...error, hint } };
  }
}

function faulty(reason: Fault['reason'], detail: string): Outcome & { readonly kind: 'fault' } {
  return { kind: 'fault', fault: { reason, detail } };
}

// The key and the configured headers, revealed for one request at a time, because their sources (files, such as mounted
// secrets) may change while the program runs.

/** Header names (lower case except for the key's) to their texts. Held for one request only. */
type Credentials = Readonly<Record<string, string>>;

const KEY_HEADER = 'X-API-Key';

function revealCredentials(api: ApiConfig): Credentials {
  const revealed: Record<string, string> = {};
  for (const [name, value] of Object.entries(api.headers))
    revealed[name.toLowerCase()] = value.reveal();
  revealed[KEY_HEADER] = api.key.reveal();
  return revealed;
}

/**
 * Reads every source again after the service refused these credentials. True if they have changed, even if another
 * request has already read the change.
 */
function refreshCredentials(api: ApiConfig, sent: Credentials): boolean {
  for (const secret of [api.key, ...Object.values(api.headers)]) secret.refresh();
  return Object.entries(revealCredentials(api)).some(([name, text]) => sent[name] !== text);
}

/** False for an empty key, and for characters that no header may contain, such as a line break. */
function isSendable(credentials: Credentials): boolean {
  try {
    for (const [name, text] of Object.entries(credentials)) validateHeaderValue(name, text);
  } catch {
    return false;
  }
  return credentials[KEY_HEADER] !== '';
}

// Redirects are not followed by the HTTP library, which would send the key to any host. One redirect is followed, to the
// same origin over https (or on this machine), if the method allows it.

interface RedirectOptions {
  readonly method: Method;
  readonly origin: string;
  /** The requested path, the base of a relative Location. */
  readonly path: string;
  /** False over plain http to another machine, where even the same origin may be an impostor. */
  readonly isSafe: boolean;
}

/** These keep the method and the body. */
const KEEPING_STATUSES: ReadonlySet<number> = new Set([307, 308]);
/** These would turn a POST into a GET, which is another operation; some services send them after the POST was done. */
const REWRITING_STATUSES: ReadonlySet<number> = new Set([301, 302, 303]);

const LOGIN = /\b(?:log|sign)[-_]?in\b|\b(?:sso|oauth2?|authorize)\b/i;

/**
 * The path to follow; else the outcome of the request, or the reason why the redirect is not followed. A 303 to the same
 * origin after a POST is not a redirect, because the POST was carried out.
 */
export function redirectOf(outcome: Outcome, options: RedirectOptions): string | Outcome {
  if (outcome.kind === 'fault') return outcome;
  const { status, headers } = outcome;
  if (!KEEPING_STATUSES.has(status) && !REWRITING_STATUSES.has(status)) return outcome;
  const isRewriting = options.method !== 'GET' && REWRITING_STATUSES.has(status);
  const refuse = (detail: string): Outcome => ({
    kind: 'fault',
    fault: { reason: 'redirect', detail: `${status} ${detail}`, mayBeDone: isRewriting },
  });
  const location = headerText(headers, 'location');
  const target = URL.parse(location, `${options.origin}${options.path}`);
  // A service behind a proxy that ends TLS may name this origin with http.
  const asked = new URL(options.origin);
  if (target?.protocol === 'http:' && target.host === asked.host) target.protocol = asked.protocol;
  // The request was carried out and its result is at the target, unless the target is a login page.
  const isResult = target?.origin === options.origin && !LOGIN.test(target.pathname);
  if (isRewriting && status === 303 && isResult) return outcome;
  if (location === '' || target === null) return refuse('without a readable Location');
  if (target.origin !== options.origin) return refuse(`to ${placeOf(target)}`);
  if (!options.isSafe) return refuse('over plain http');
  if (isRewriting) return refuse(`to a ${options.method}`);
  return `${target.pathname}${target.search}`;
}

/** Scheme and host only: the rest of the address may repeat a secret. */
function placeOf(target: URL): string {
  const isWeb = target.protocol === 'https:' || target.protocol === 'http:';
  return isWeb ? target.origin.slice(0, 200) : 'an address that is not http';
}
