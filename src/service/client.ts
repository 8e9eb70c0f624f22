// The typed client of the service: one object with an area for each part of the specification. Programs open it with
// an address and a key; the parts of this program hand in the HTTP client that they share.

import type { Secret } from '../config/config.ts';
import { DEFAULT_ENDPOINTS } from '../config/endpoints.ts';
import { ConfigSecret } from '../config/secrets.ts';
import { bug } from '../errors.ts';
import { systemClock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { AgentApi } from './agent-api.ts';
import { BackupsApi, SchedulesApi } from './backups-api.ts';
import { ServiceHttp } from './http-client.ts';
import { LogsApi } from './logs-api.ts';
import type { ReadOptions } from './operations.ts';
import { type RestorePlaces, RestoresApi } from './restores-api.ts';
import type { Result } from './service-error.ts';

/** What the specification does not fix for all deployments. Paths are below the base URL. */
export interface ServicePaths {
  readonly metrics: string;
  readonly schedules: string;
  readonly backups: string;
  readonly restores: string;
  /** What the body of a restore calls the path of the backup. */
  readonly restoreKey: RestorePlaces['keyMember'];
  /** `/session` and `/chat` are below it. */
  readonly agent: string;
}

const DEFAULT_PATHS: ServicePaths = {
  metrics: DEFAULT_ENDPOINTS.metricsPath,
  ...DEFAULT_ENDPOINTS.backups,
  agent: '/copilot/v1',
};

/** An address with a key; or the way that parts of one program share, which stays theirs to close. */
export type ServiceClientOptions = (ServiceAddress | { readonly http: ServiceHttp }) & {
  readonly paths?: Partial<ServicePaths>;
};

export class ServiceClient {
  readonly metrics: MetricsApi;
  readonly logs: LogsApi;
  readonly schedules: SchedulesApi;
  readonly backups: BackupsApi;
  readonly restores: RestoresApi;
  readonly agent: AgentApi;
  readonly #own: ServiceHttp | null;

  /** Opens no connection yet. Throws when the key would not be safe with these settings. */
  constructor(options: ServiceClientOptions) {
    this.#own = 'http' in options ? null : openHttp(options);
    const http = this.#own ?? ('http' in options ? options.http : bug('no way to the service'));
    const paths = { ...DEFAULT_PATHS, ...options.paths };
    this.metrics = new MetricsApi(http, paths.metrics);
    this.logs = new LogsApi(http);
    this.schedules = new SchedulesApi(http, paths.schedules);
    this.backups = new BackupsApi(http, paths.backups);
    this.restores = new RestoresApi(http, { path: paths.restores, keyMember: paths.restoreKey });
    this.agent = new AgentApi(http, paths.agent);
  }

  /** Ends the connections that it opened itself; running calls fail as `aborted`. */
  async close(): Promise<void> {
    await this.#own?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

// The way to the service for programs that have no configuration of ours: with the same judgement and limits as everywhere.

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
function openHttp(address: ServiceAddress): ServiceHttp {
  const { baseUrl, key, headers = {}, timeoutMs = TIMEOUT_MS, ca, proxy } = address;
  const secrets = Object.entries(headers).map(([name, value]) => [name, secretOf(value)] as const);
  return new ServiceHttp({
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

// The metrics page (service-spec 2.7): Prometheus text with the series of every database service that the key can see,
// or of one. Unread, as the service wrote it.

export interface MetricsQuery extends ReadOptions {
  /** The *name* of one database service, not its id. The specification shows no parameter; this one has been seen. */
  readonly service?: string | undefined;
  /** Of the unpacked page, in bytes; 512 MiB when absent. */
  readonly maxBytes?: number | undefined;
}

export interface MetricsPage {
  readonly text: string;
  /** The Content-Type header: it tells text 0.0.4 and OpenMetrics apart. */
  readonly contentType: string;
}

const ACCEPT =
  'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const PAGE_BYTES_MAX = 512 * 1024 * 1024;

export class MetricsApi {
  readonly #http: ServiceHttp;
  readonly #path: string;

  constructor(http: ServiceHttp, path: string) {
    this.#http = http;
    this.#path = path;
  }

  async read({ service, signal, maxBytes }: MetricsQuery = {}): Promise<Result<MetricsPage>> {
    const answer = await this.#http.get(this.#path, {
      accept: ACCEPT,
      query: service === undefined ? {} : { service },
      maxBodyBytes: maxBytes ?? PAGE_BYTES_MAX,
      signal,
    });
    if (!answer.ok) return answer;
    return { ok: true, text: answer.body.toString('utf8'), contentType: answer.contentType };
  }
}
