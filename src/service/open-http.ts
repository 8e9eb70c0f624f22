// The way to the service for programs that have no configuration of ours: an address and a key, with the same
// judgement and the same limits as everywhere.

import type { Secret } from '../config/config.ts';
import { ConfigSecret } from '../config/secrets.ts';
import { systemClock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { createServiceHttp, type ServiceHttp } from './http.ts';

/** A text, or where it is read: again, too, after the service has refused it. */
export type SecretSource = string | (() => string);

export interface ServiceAddress {
  /** Its origin is the only place that the key goes to. */
  readonly baseUrl: string;
  readonly key: SecretSource;
  /** Further request headers, which are kept secret, too. */
  readonly headers?: Readonly<Record<string, SecretSource>>;
  /** Of one request, in milliseconds; 10,000 when absent. A chat has its own. */
  readonly timeoutMs?: number;
  /** PEM text of certificates to trust in place of the system's. */
  readonly ca?: string;
  /** An HTTP proxy, with user and password where it wants them. */
  readonly proxy?: SecretSource;
  /** True lets the key travel over plain http beyond this machine. */
  readonly isInsecureAllowed?: boolean;
}

const TIMEOUT_MS = 10_000;

/** Throws an OperatorError, which holds no secret, when the key would not be safe with these settings. */
export function openHttp(address: ServiceAddress): ServiceHttp {
  const { baseUrl, key, headers = {}, timeoutMs = TIMEOUT_MS, ca, proxy } = address;
  const secrets = Object.entries(headers).map(([name, value]) => [name, secretOf(value)] as const);
  return createServiceHttp({
    api: {
      baseUrl,
      key: secretOf(key),
      headers: Object.fromEntries(secrets),
      timeoutMs,
      ca: ca ?? null,
      proxy: proxy === undefined ? null : secretOf(proxy),
      isInsecureAllowed: address.isInsecureAllowed === true,
    },
    clock: systemClock,
    counters: new Counters(),
  });
}

function secretOf(source: SecretSource): Secret {
  return typeof source === 'string'
    ? new ConfigSecret(source)
    : new ConfigSecret(source(), () => source());
}
