// Keeps a token for all senders: fetches it with the first request, renews it before it expires, and after a 401. One
// request for a token runs at a time, and everybody waits for that one. While the old token is good, nobody waits.

import type { Clock } from '../../lib/clock.ts';
import { secretWords } from '../../service/redact.ts';
import { type Authorization, type Credentials, retryLater, type SendResult } from './transport.ts';

export interface NewToken {
  readonly token: string;
  /** Null if the endpoint does not say: then a 401 ends it. */
  readonly lifetimeMs: number | null;
}

/** How tokens are fetched. */
export interface TokenRequests {
  /** Never throws. */
  fetch(abort: AbortSignal): Promise<NewToken | SendResult>;
  /** The client's own secrets. */
  secrets(): readonly string[];
}

interface Token {
  readonly value: string;
  /** Monotonic: from then on it is renewed beside the requests. */
  readonly renewAtMs: number;
  /** Monotonic: from then on requests wait for the next one. */
  readonly endAtMs: number;
}

/** A token is renewed when a quarter of its time is left, at most this long before its end. */
const RENEW_MS_MAX = 300_000;
/** After a failure, a token that is still good is not renewed again before. */
const RENEW_AGAIN_MS = 10_000;

export class Tokens implements Authorization {
  readonly #requests: TokenRequests;
  readonly #clock: Clock;
  #token: Token | null = null;
  /** The token before: an answer on its way may still echo it. */
  #former: Token | null = null;
  #running: Promise<SendResult | null> | null = null;
  #closing = new AbortController();
  /** Monotonic. */
  #renewNotBeforeMs = -Infinity;

  constructor(requests: TokenRequests, clock: Clock) {
    this.#requests = requests;
    this.#clock = clock;
  }

  async current(abort: AbortSignal): Promise<Credentials> {
    const nowMs = this.#clock.monotonicMs();
    const token = this.#token;
    if (token !== null && nowMs < token.endAtMs) {
      if (nowMs >= Math.max(token.renewAtMs, this.#renewNotBeforeMs)) void this.#renewal();
      return { value: token.value };
    }
    const failure = await this.#wait(abort);
    return failure ?? { value: this.#token?.value ?? '' };
  }

  async renew(value: string, abort: AbortSignal): Promise<string | null> {
    // Another sender's 401 may have been first.
    if (this.#token?.value === value && (await this.#wait(abort)) !== null) return null;
    const now = this.#token?.value;
    return now === undefined || now === value ? null : now;
  }

  secrets(): readonly string[] {
    const tokens = [this.#token, this.#former].flatMap(token =>
      token === null ? [] : token.value,
    );
    // A signed token has parts, which name the client.
    const parts = secretWords(tokens.flatMap(value => value.split('.')));
    return [...secretWords(tokens), ...parts, ...this.#requests.secrets()];
  }

  close(): void {
    this.#closing.abort();
    this.#closing = new AbortController();
  }

  /** Waits for a new token: null, or why there is none. */
  async #wait(abort: AbortSignal): Promise<SendResult | null> {
    if (abort.aborted) return GIVEN_UP;
    const { promise, resolve } = Promise.withResolvers<SendResult>();
    const giveUp = (): void => resolve(GIVEN_UP);
    abort.addEventListener('abort', giveUp, { once: true });
    const failure = await Promise.race([this.#renewal(), promise]);
    abort.removeEventListener('abort', giveUp);
    return failure;
  }

  #renewal(): Promise<SendResult | null> {
    this.#running ??= this.#fetch().finally(() => (this.#running = null));
    return this.#running;
  }

  async #fetch(): Promise<SendResult | null> {
    const fromMs = this.#clock.monotonicMs();
    const fetched = await this.#requests.fetch(this.#closing.signal);
    if ('kind' in fetched) {
      this.#renewNotBeforeMs = this.#clock.monotonicMs() + RENEW_AGAIN_MS;
      return fetched;
    }
    const lifetimeMs = fetched.lifetimeMs ?? Infinity;
    const earlyMs = Math.min(lifetimeMs / 4, RENEW_MS_MAX);
    this.#former = this.#token;
    this.#token = {
      value: `Bearer ${fetched.token}`,
      // It lives from when it was made, which is after the request.
      renewAtMs: fromMs + lifetimeMs - earlyMs,
      // A request on its way must arrive before the end.
      endAtMs: fromMs + lifetimeMs - earlyMs / 5,
    };
    return null;
  }
}

const GIVEN_UP = retryLater('given up before there was a token');
