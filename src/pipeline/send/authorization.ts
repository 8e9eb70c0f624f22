// The header Authorization, from `otlp.auth`: a user and a password, or a token (tokens.ts). All senders share one, so
// that a token is fetched once for all.

import type { AuthConfig } from '../../config/config.ts';
import type { Clock } from '../../lib/clock.ts';
import { secretWords } from '../../service/redact.ts';
import type { Authorization, Credentials } from './transport.ts';

/** Opens no connection yet. The libraries for tokens are loaded with the first token. */
export async function openAuthorization(
  config: AuthConfig | null,
  clock: Clock,
  timeoutMs: number,
): Promise<Authorization | null> {
  if (config === null) return null;
  if (config.basic !== null) return new Basic(config.basic);
  const [{ Tokens }, { tokenRequests }] = await Promise.all([
    import('./tokens.ts'),
    import('./token-request.ts'),
  ]);
  return new Tokens(tokenRequests(config, clock, timeoutMs), clock);
}

class Basic implements Authorization {
  readonly #config: NonNullable<AuthConfig['basic']>;

  constructor(config: NonNullable<AuthConfig['basic']>) {
    this.#config = config;
  }

  get #value(): string {
    const { user, password } = this.#config;
    return `Basic ${Buffer.from(`${user}:${password.reveal()}`).toString('base64')}`;
  }

  current(): Promise<Credentials> {
    return Promise.resolve({ value: this.#value });
  }

  renew(): Promise<string | null> {
    return Promise.resolve(this.#config.password.refresh() ? this.#value : null);
  }

  secrets(): readonly string[] {
    const password = this.#config.password.reveal();
    // Also a short one: unlike a header's value, it is never the name of a tenant.
    return [password, ...secretWords([this.#value])];
  }

  close(): void {
    // It holds nothing.
  }
}
