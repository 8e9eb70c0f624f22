// The only door to the service: every request of every part goes through here, so that what must hold for
// all of them stands in one place. The key goes to the origin of base_url and nowhere else, appears in no
// text that comes out, and is read again from its source when the service refuses it; bodies and times are
// bounded; a token bucket keeps the program from hammering, metrics first; and a failure is a value with one
// of a closed set of reasons. One client serves one API (one base_url, key and set of headers).

import type { ApiConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counter, Counters } from '../lib/counters.ts';
import { TokenBucket } from '../lib/token-bucket.ts';
import {
  PRIORITY,
  prepareCall,
  type Call,
  type DownloadOptions,
  type GetOptions,
  type JsonOptions,
} from './call.ts';
import { createConnection, type Connection } from './connection.ts';
import {
  isSendable,
  refreshCredentials,
  revealCredentials,
  type Credentials,
} from './credentials.ts';
import { exchange, headerText, type AnswerHeaders, type Method, type Outcome } from './exchange.ts';
import type { Fault, ServiceFailure } from './failure.ts';
import { createRedactor, type Redact } from './redact.ts';
import { redirectOf } from './redirect.ts';
import { describeFailure, readBadAnswer, type FailureFacts } from './verdict.ts';

export interface ServiceHttpOptions {
  readonly api: ApiConfig;
  readonly clock: Clock;
  readonly counters: Counters;
  /** Shared by all clients of one origin and key; a bucket of its own when absent. */
  readonly bucket?: TokenBucket;
  /** What is offered as Content-Encoding; by default nothing on this machine, else gzip. */
  readonly acceptEncoding?: string;
  readonly userAgent?: string;
}

/** A success (status 2xx), read to its end. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** The Content-Type header, '' without one. */
  readonly contentType: string;
  /** Unpacked. A view of `into`: valid until that is used again. */
  readonly body: Buffer;
  /** What went over the wire as body, before unpacking. */
  readonly wireBytes: number;
}

export interface JsonAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Undefined when the body is empty. */
  readonly json: unknown;
}

/** When the request went out (wall clock, after waiting for the bucket) and how long it took. */
interface Timing {
  readonly startedAtMs: number;
  readonly durationMs: number;
}

type Failed = { readonly ok: false; readonly failure: ServiceFailure };

export type ServiceResult<Answer> = Timing & (({ readonly ok: true } & Answer) | Failed);
type Verdict = ({ readonly ok: true } & ServiceAnswer) | Failed;

export interface ServiceHttp {
  /** Reads a path below base_url. It never rejects. */
  get(path: string, options: GetOptions): Promise<ServiceResult<ServiceAnswer>>;
  /** Calls an operation of the API. A request that may have had an effect is never sent twice. */
  requestJson(
    method: Method,
    path: string,
    options?: JsonOptions,
  ): Promise<ServiceResult<JsonAnswer>>;
  /** As `get`, but the body goes into a sink: its length is bounded by `maxBodyBytes` alone. */
  download(path: string, options: DownloadOptions): Promise<ServiceResult<ServiceAnswer>>;
  /** Reads the key's source again: true when it holds another key than the one that was last refused. */
  isKeyNew(): boolean;
  /** Ends all connections; what is running fails as `aborted`. */
  close(): Promise<void>;
}

// Far above what the schedule and the log puller ask for: it ends runaway loops, and shares out what is left
// while the service asks to wait.
const RATE_PER_SECOND = 50;
const BURST = 100;

const LOGS_HELD_MS_MAX = 900_000;

/** The bucket that clients of one origin and key share. */
export function createServiceBucket(clock: Clock): TokenBucket {
  return new TokenBucket({ clock, ratePerSecond: RATE_PER_SECOND, burst: BURST });
}

/** Opens no connection yet. Throws an OperatorError when the key would not be safe with these settings. */
export function createServiceHttp(options: ServiceHttpOptions): ServiceHttp {
  return new Door(options);
}

class Door implements ServiceHttp {
  readonly #api: ApiConfig;
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #connection: Connection;
  readonly #redact: Redact;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #requests: Counter;
  #refused: Credentials | null = null;

  constructor(options: ServiceHttpOptions) {
    const { api, clock, counters } = options;
    this.#api = api;
    this.#clock = clock;
    this.#bucket = options.bucket ?? createServiceBucket(clock);
    this.#connection = createConnection(api);
    this.#redact = createRedactor(api);
    this.#headers = {
      'user-agent': options.userAgent ?? 'prom2otlp',
      'accept-encoding': options.acceptEncoding ?? (this.#connection.isLocal ? 'identity' : 'gzip'),
    };
    this.#requests = counters.counter(
      'prom2otlp_service_requests_total',
      'Requests to the service by how they ended: ok, or the reason of the failure.',
      ['priority', 'result'],
    );
  }

  get(path: string, options: GetOptions): Promise<ServiceResult<ServiceAnswer>> {
    return this.#send(this.#prepare('GET', path, options));
  }

  download(path: string, options: DownloadOptions): Promise<ServiceResult<ServiceAnswer>> {
    return this.#send(this.#prepare('GET', path, options));
  }

  async requestJson(
    method: Method,
    path: string,
    options: JsonOptions = {},
  ): Promise<ServiceResult<JsonAnswer>> {
    const call = this.#prepare(method, path, { ...options, accept: 'application/json' });
    const result = await this.#send(call);
    if (!result.ok) return result;
    const { status, headers, body, startedAtMs, durationMs } = result;
    const parsed = parseJson(body);
    if (parsed !== null)
      return { ok: true, status, headers, json: parsed.json, startedAtMs, durationMs };
    return { ...this.#fail(call, { reason: 'not_json' }, { status }), startedAtMs, durationMs };
  }

  isKeyNew(): boolean {
    return this.#refused !== null && refreshCredentials(this.#api, this.#refused);
  }

  async close(): Promise<void> {
    await this.#connection.dispatcher.destroy();
  }

  #prepare(
    method: Method,
    path: string,
    options: GetOptions & JsonOptions & Partial<DownloadOptions>,
  ): Call {
    return prepareCall(method, path, options, {
      url: this.#connection.baseUrl,
      timeoutMs: this.#api.timeoutMs,
      nowMs: this.#clock.monotonicMs(),
    });
  }

  /** One attempt; a second one when the key that was refused is not the one that its source holds now. */
  async #send(call: Call): Promise<ServiceResult<ServiceAnswer>> {
    let result = await this.#attempt(call);
    const isKeyChanged = !result.ok && result.failure.isKeyChanged === true;
    if (isKeyChanged && call.method === 'GET') result = await this.#attempt(call);
    this.#requests.add(1, call.priority, result.ok ? 'ok' : result.failure.reason);
    return result;
  }

  async #attempt(call: Call): Promise<ServiceResult<ServiceAnswer>> {
    const { signal } = call;
    const priority = PRIORITY[call.priority];
    const maxWaitMs = this.#remainingMs(call);
    const grant = await this.#bucket.take({ priority, maxWaitMs, signal });
    const startedAtMs = this.#clock.nowMs();
    const startMs = this.#clock.monotonicMs();
    const credentials = revealCredentials(this.#api);
    const verdict = grant.isGranted
      ? this.#judge(call, credentials, await this.#exchange(call, credentials))
      : this.#refuse(call, grant.retryAfterMs);
    return { ...verdict, startedAtMs, durationMs: this.#clock.monotonicMs() - startMs };
  }

  /** Follows at most one redirect. */
  async #exchange(call: Call, credentials: Credentials): Promise<Outcome> {
    if (!isSendable(credentials)) return faulty('auth', 'it is empty or no header may hold it');
    const { origin, isRedirectSafe: isSafe } = this.#connection;
    const { method, path } = call;
    const first = await this.#exchangeOnce(call, path, credentials);
    const redirect = redirectOf(first, { method, origin, path, isSafe });
    if (redirect === null) return first;
    if (redirect.kind === 'fault') return redirect;
    const second = await this.#exchangeOnce(call, redirect.path, credentials);
    const isAgain = redirectOf(second, { method, origin, path: redirect.path, isSafe }) !== null;
    return isAgain ? faulty('redirect', 'more than one') : second;
  }

  /** Sends a GET once more when the kept connection it was sent on had just been closed by the other side. */
  async #exchangeOnce(call: Call, path: string, credentials: Credentials): Promise<Outcome> {
    const { dispatcher, origin, connectCount } = this.#connection;
    const run = (): Promise<Outcome> =>
      exchange({
        dispatcher,
        origin,
        method: call.method,
        path,
        headers: {
          ...this.#headers,
          ...credentials,
          accept: call.accept,
          ...(call.body === null ? {} : { 'content-type': 'application/json' }),
          // Archives are packed already.
          ...(call.sink === null ? {} : { 'accept-encoding': 'identity' }),
        },
        body: call.body,
        clock: this.#clock,
        timeoutMs: Math.max(this.#remainingMs(call), 1),
        wholeTimeoutMs: call.timeoutMs,
        signal: call.signal,
        bodyBytesMax: call.maxBodyBytes,
        into: call.into,
        sink: call.sink,
        idleTimeoutMs: call.idleTimeoutMs,
        isProxied: this.#api.proxy !== null,
      });
    const connectionsBefore = connectCount();
    const outcome = await run();
    const isReset = outcome.kind === 'fault' && outcome.fault.reason === 'reset';
    const isKept = connectCount() === connectionsBefore;
    return isReset && isKept && call.method === 'GET' ? run() : outcome;
  }

  #judge(call: Call, sent: Credentials, outcome: Outcome): Verdict {
    const isAnswer = outcome.kind === 'answer';
    if (isAnswer && outcome.status >= 200 && outcome.status < 300) {
      const { status, headers, body, wireBytes } = outcome;
      const contentType = headerText(headers, 'content-type');
      return { ok: true, status, headers, contentType, body, wireBytes };
    }
    const { fault, facts } = isAnswer
      ? readBadAnswer(outcome, call.isPlain, this.#redact, this.#clock.nowMs())
      : { fault: outcome.fault, facts: {} };
    if (facts.retryAfterMs !== undefined)
      this.#bucket.hold(PRIORITY[call.priority], heldMs(call, facts.retryAfterMs));
    if (fault.reason !== 'auth' && fault.reason !== 'bad_request')
      return this.#fail(call, fault, facts);
    this.#refused = sent;
    return this.#fail(call, fault, { ...facts, isKeyChanged: this.isKeyNew() });
  }

  #refuse(call: Call, retryAfterMs: number): Verdict {
    if (call.signal?.aborted === true) return this.#fail(call, { reason: 'aborted' }, {});
    const detail = `held back for another ${Math.ceil(retryAfterMs / 1000)} s`;
    return this.#fail(call, { reason: 'rate_limited', detail }, { retryAfterMs });
  }

  #fail(call: Call, fault: Fault, facts: FailureFacts): Failed {
    const { method, path } = call;
    const request = { method, origin: this.#connection.origin, path, redact: this.#redact };
    return { ok: false, failure: describeFailure(request, fault, facts) };
  }

  #remainingMs(call: Call): number {
    return call.deadlineMs - this.#clock.monotonicMs();
  }
}

/** Logs come back sooner than a service that counts in hours asks for: pulling seldom is its default. */
function heldMs({ priority }: Call, retryAfterMs: number): number {
  return priority === 'logs' ? Math.min(retryAfterMs, LOGS_HELD_MS_MAX) : retryAfterMs;
}

function faulty(reason: Fault['reason'], detail: string): Outcome {
  return { kind: 'fault', fault: { reason, detail } };
}

/** Null when it is no JSON; an empty body is no value. */
function parseJson(body: Buffer): { readonly json: unknown } | null {
  if (body.length === 0) return { json: undefined };
  try {
    return { json: JSON.parse(body.toString('utf8')) as unknown };
  } catch {
    return null;
  }
}
