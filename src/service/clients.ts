// The clients of one running bridge: parts that use the same API with the same settings share a client, and
// clients that use the same key at the same origin share a token bucket, whatever else differs between them.

import { createHash } from 'node:crypto';
import type { ApiConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { TokenBucket } from '../lib/token-bucket.ts';
import { createServiceBucket, ServiceHttp, type ServiceHttpOptions } from './http-client.ts';

export interface ServiceClientsOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly userAgent?: string;
  readonly acceptEncoding?: string;
}

/**
 * Equal for settings that reach the same place in the same way with the same secrets. A digest of secrets
 * that may be short: it is for comparing within the process, and is neither stored nor shown.
 */
export function apiIdentity(api: ApiConfig): string {
  const headers = Object.entries(api.headers)
    .map(([name, value]) => [name.toLowerCase(), value.reveal()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const { baseUrl, key, timeoutMs, ca, proxy, isInsecureAllowed } = api;
  return digest([
    baseUrl,
    key.reveal(),
    headers,
    timeoutMs,
    ca,
    proxy?.reveal() ?? null,
    isInsecureAllowed,
  ]);
}

export class ServiceClients {
  readonly #options: ServiceClientsOptions;
  readonly #clients = new Map<string, ServiceHttp>();
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(options: ServiceClientsOptions) {
    this.#options = options;
  }

  /** The client for these settings. Throws an OperatorError when the key would not be safe with them. */
  get(api: ApiConfig): ServiceHttp {
    const identity = apiIdentity(api);
    const known = this.#clients.get(identity);
    if (known !== undefined) return known;
    const options: ServiceHttpOptions = { ...this.#options, api, bucket: this.#bucket(api) };
    const client = new ServiceHttp(options);
    this.#clients.set(identity, client);
    return client;
  }

  async close(): Promise<void> {
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    await Promise.all(clients.map(client => client.close()));
  }

  #bucket(api: ApiConfig): TokenBucket {
    const origin = URL.parse(api.baseUrl)?.origin ?? '';
    const identity = digest([origin, api.key.reveal()]);
    const bucket = this.#buckets.get(identity) ?? createServiceBucket(this.#options.clock);
    this.#buckets.set(identity, bucket);
    return bucket;
  }
}

function digest(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
